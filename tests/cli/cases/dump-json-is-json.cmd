"$COATI" record -q -e page-faults:u -c 1 -o r.data -- true
"$COATI" dump --json --raw -i r.data >out && is_json out
grep -q '^{"type":"SAMPLE","event":"page-faults:u","pid":[0-9]*,"tid":[0-9]*,"time_ns":[0-9]*,.*"ip":"0x' out && echo samples
"$COATI" dump --stats --json -i r.data >out && is_json out
grep -q '"schema":"coati.dump.stats.v1"' out && echo stats
