# The planted moment is a call of sync(2). The recording that is kept has the load of before it, and says why it was made.
"$HELPERS/shift" &
load=$!
"$COATI" agent --store store --window 500ms --when 'rate(syscalls:sys_enter_sync) > 0' --keep 3s --memory 256M --budget 100% 2>said &
agent=$!
wait_until grep -qs sampling said
# two seconds of the trace lie before the moment
sleep 3
sync
wait_until grep -qs ' kept ' said
kill $agent
wait $agent || echo "agent: $?"
kill $load
kept=$(ls store/kept/*.data)
"$COATI" dump -i "$kept" 2>/dev/null >dump
grep -q 'armed.reason=rate(syscalls:sys_enter_sync) > 0 .*armed.past=trace' dump || echo "it does not say why"
moment=$(sed -n 's/.*armed.moment_ns=\([0-9]*\).*/\1/p' dump | head -n 1)
"$COATI" report --json -i "$kept" --by comm --limit 0 2>/dev/null >report
grep -q '"shift"' report || echo "it has nothing of the load"
python3 - "$moment" <<'END'
import re, sys
moment = int(sys.argv[1]) / 1e9
times = [float(m.group(1)) for m in (re.match(r" *([0-9]+\.[0-9]+) .* SAMPLE cpu-clock", l) for l in open("dump", errors="replace")) if m]
before = moment - min(times) if times else 0
if before < 1:
    print("only", before, "s before the moment")
if not times or max(times) <= moment:
    print("nothing after the moment")
END
"$COATI" trace -q -i "$kept" -n 0 2>/dev/null | grep -q ' shift ' || echo "it is no trace"
