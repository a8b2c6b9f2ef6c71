"$COATI" stat --json -e sched:sched_process_exec --filter 'filename == "/bin/nonsense"' -e sched:sched_process_exec -- true >out && is_json out
sed -n 's/.*"count":\([0-9]*\).*"count":\([0-9]*\).*/\1 \2/p' out
