# the same conditions in every verb that judges data; the figures are known exactly
"$CLI/../lib/write-recording" losses losses.data
quality=$("$COATI" report -q --json losses.data | grep -o '"quality":{.*')
echo "$quality" | grep -o '"samples":[0-9]*\|"lost":[0-9]*' | head -n 2
try() { # VERB ...
	"$COATI" "$@" >out 2>err
	echo "$1: $?"
	sed -n 's/^[^"]*--fail-if/--fail-if/p' err
}
try export -q -f folded -o x.folded --fail-if 'lost >= 42' losses.data
# the file is there all the same
[ -s x.folded ] || echo "no file"
try export -q -f folded -o x.folded --fail-if 'lost > 42' --fail-if 'samples < 5' losses.data
try export -q -f pprof -o x.pb.gz --fail-if 'sampled < 90%' losses.data
try export -q -f perfdata -o x.perf.data --fail-if 'lost > 0%' losses.data
# nine events, one of two generations incomplete
"$HELPERS/make-flight" patient.live <"$CLI/patient.txt"
try autopsy --fail-if 'events > 8' --fail-if 'incomplete_generations >= 50%' --fail-if 'incomplete_generations > 50%' patient.live
try autopsy --fail-if 'lost > 0' --fail-if 'contradictions > 0%' --fail-if 'missing_batches > 0' patient.live
"$COATI" autopsy --json --fail-if 'events < 9' --fail-if 'clock_unknown >= 0' patient.live 2>/dev/null |
	grep -o '"conditions":.*"failed":[a-z]*'
"$COATI" autopsy -o patient.data patient.live
try why -q no-such-task --fail-if 'live_lost > 0' -i patient.data
try why -q request --fail-if 'live_lost > 0' --fail-if 'lost > 0%' -i patient.data
try why -q request --fail-if 'live_lost >= 0' -i patient.data
"$COATI" why -q request --json --fail-if 'live_lost > 0' -i patient.data | grep -o '"conditions":.*"failed":[a-z]*'
