# No agent fits into 8 MiB: sampling begins anew at the end of the first window, and not again in the 30 seconds
# after it. The windows go on without a gap.
"$COATI" agent --print --memory 8M --window 300ms -d 2400ms --budget 100% >windows 2>said || echo "agent: $?"
grep -c 'over the limit of 8 MiB' said
python3 - <<'END'
import json
windows = [json.loads(line) for line in open("windows")]
print([w["sequence"] for w in windows] == list(range(1, len(windows) + 1)), len(windows) >= 2)
print(sum(w["start_ns"] != before["end_ns"] for before, w in zip(windows, windows[1:])), "gaps")
END
