as_user ./coati stat -a -d 10ms 2>err; echo $?
grep -o 'perf_event_paranoid' err | head -n 1
[ "$(wc -l <err)" = 1 ] || cat err
as_user ./coati stat -e page-faults:k -- true 2>err; echo $?
grep -o 'perf_event_paranoid' err | head -n 1
[ "$(wc -l <err)" = 1 ] || cat err
