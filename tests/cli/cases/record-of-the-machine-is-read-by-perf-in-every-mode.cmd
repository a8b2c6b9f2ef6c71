work='i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; ls / >/dev/null'
perf_reads -a -d 50ms
perf_reads -C 0 -- sh -c "$work"
perf_reads --compression-level 9 -a sh -c "$work"
perf_reads --context-switches -a sh -c "$work"
perf_reads --namespaces --cgroups -a sh -c "$work"
perf_reads -e context-switches,cpu-migrations -c 1 -a sh -c "$work"
perf_reads --max-size 1M -F 5000 -a sh -c "$work"
sh -c "while :; do $work; done" &
perf_reads -p $! -- sh -c '. "$CLI/prelude.sh"; until_computed "$1"' sh $!
perf_reads -t $! -- sh -c '. "$CLI/prelude.sh"; until_computed "$1"' sh $!
kill $!
