# the tables are kept by build ID; some of their rules are changed between two recordings
export XDG_CACHE_HOME=$PWD/cache
work='import json
for i in range(300): json.dumps([{"a": k, "b": [str(k)]} for k in range(300)])'
"$COATI" record -q -g bpf -o b.data -- python3 -c "$work"
"$HELPERS/bend-table" cache/coati/unwind/*.tbl || echo "no table was kept"
"$COATI" record -g bpf --verify 1 -o c.data -- python3 -c "$work" 2>&1 | grep verify
"$COATI" record -q -g bpf --verify 1 -o c.data -- python3 -c "$work" || echo "status $?"
