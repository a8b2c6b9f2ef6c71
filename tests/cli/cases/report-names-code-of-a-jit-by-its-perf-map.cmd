"$COATI" record -q -- "$HELPERS/../kernel/live-lives" map truth
pid=$(sed -n '1s/ .*//p' truth)
trap 'rm -f "/tmp/perf-$pid.map"' EXIT
"$COATI" report -q --csv | grep -c "^made at run time,\[jit pid $pid\],"
# the recording brought the names
rm "/tmp/perf-$pid.map"
"$COATI" report -q --csv | grep -c "^made at run time,\[jit pid $pid\],"
