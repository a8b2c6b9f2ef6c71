"$COATI" record -F 500 sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' 2>told
sed -n 's/.* sampled \([0-9]*\) % of CPU time, .*/\1/p' told >share
[ "$(cat share)" -ge 80 ] || [ "$(grep -c steal_told=1 coati.data)" = 0 ] || echo "a host that takes CPU time: sampled $(cat share) %" >busy
grep -c "no samples" told
"$COATI" record -o - sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' 2>/dev/null | "$COATI" report -n 1 - | grep -c 'sampled' || true
