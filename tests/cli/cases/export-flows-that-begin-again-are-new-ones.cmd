# one that never ended, the same number again, and once more behind its end: three flows, each with its own events
cat >flows.txt <<'TXT'
batch kind=sites pid=4242
- site id=1 kind=5 name="hand-over"
batch tid=4242 generation=1 flags=1 base=1000 pair_cycles=1000 pair_ns=5000000 end_cycles=4001000 end_ns=7000000
1000 open_enter tid=4242 id=0
2000 flow site=1 id=12 phase=0
3000 flow site=1 id=12 phase=1
4000 flow site=1 id=12 phase=0
5000 flow site=1 id=12 phase=2
6000 flow site=1 id=12 phase=0
7000 flow site=1 id=12 phase=1
8000 flow site=1 id=12 phase=1
9000 flow site=1 id=12 phase=2
10000 flow site=1 id=13 phase=2
batch kind=end flags=1
TXT
"$HELPERS/make-flight" flows.live <flows.txt
"$COATI" autopsy -o flows.data flows.live
"$COATI" export -q -f perfetto --check -i flows.data -o flows.pftrace
"$CLI/../lib/read-perfetto" flows.pftrace | sed -n 's/.*"flows": \(\[[^]]*\]\).*/\1/p'
