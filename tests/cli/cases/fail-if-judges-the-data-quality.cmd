# A ring of four pages has no room for copies of 8 KiB at 5 kHz: some are lost, and the option that helps is named.
cat >spin <<'S'
i=0
while [ $i -lt 300000 ]; do i=$((i + 1)); done
S
"$COATI" record -q -m 16k -g dwarf --stack-size 8k -F 5000 --fail-if 'lost > 0' --fail-if 'samples < 10' sh spin
echo "record: $?"
"$COATI" report --json --fail-if 'lost > 0%' --fail-if 'lost > 100%' --fail-if 'sampled < 1%' >json
echo "report: $?"
grep -o '"conditions":.*"failed":[a-z]*' json
"$COATI" report -n 1 | grep -c '^# [0-9,]* records were lost because a ring buffer was full: coati record --ring-size (-m) 16M '
"$COATI" report -n 1 --fail-if 'throttled > 1000' >/dev/null
echo "report: $?"
"$COATI" record -q -o - sh spin >stream
"$COATI" report --fail-if 'sampled < 1%' - <stream >/dev/null
echo "a stream: $?"
"$COATI" record -q -e page-faults -c 1 -o - sh spin | "$COATI" report --fail-if 'sampled < 1%' - >/dev/null
echo "a stream without a clock: $?"
"$COATI" record -q --fail-if 'samples >= 0' sh -c 'exit 7'
echo "a command that fails: $?"
"$COATI" record -q --trace -o trace.data sh spin
"$COATI" trace --fail-if 'live_lost > 1%' --fail-if 'lost > 99%' trace.data >/dev/null
echo "trace: $?"
"$COATI" trace --json --fail-if 'samples >= 0' trace.data | grep -o '"conditions":.*"failed":[a-z]*'
