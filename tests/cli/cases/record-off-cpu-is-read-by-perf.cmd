perf_reads --off-cpu -- "$HELPERS/wait-known" 3 2000
perf_reads --off-cpu -g fp -- "$HELPERS/wait-known" 3 2000
perf_reads --off-cpu -a -d 50ms
perf_reads --off-cpu -C 0 -d 50ms
"$COATI" record -q --off-cpu -o - -- "$HELPERS/wait-known" 3 2000 2>/dev/null >stream
perf script -i - <stream >out 2>err || echo "perf script of a stream: status $?"
[ ! -s err ] || head -n 5 err
grep -q off-cpu out || echo "perf shows no off-cpu"
