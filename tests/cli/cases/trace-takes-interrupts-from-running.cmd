# the clock alone interrupts a thread that computes: its time is a part of its own, in text and JSON, and time breakdowns add up; --no-irq leaves it out
"$COATI" record -q --trace -o with -- "$HELPERS/requests" 600 none 1000 >out 2>err || cat err
"$COATI" record -q --trace --no-irq -o without -- "$HELPERS/requests" 100 none 1000 >out 2>err || cat err
"$COATI" trace -q --check -i with >out || cat out
"$COATI" trace -q --json -i with >j
"$COATI" trace -q --json -i without >j0
python3 - <<'END'
import json
j, j0 = json.load(open("j")), json.load(open("j0"))
irq = [t["ledger"].get("irq", 0) for t in j["threads"]]
for t in j["threads"]:
    l = t["ledger"]
    if sum(v for k, v in l.items() if k != "duration") != l["duration"]:
        print("does not add up:", l)
    if l.get("irq", 0) > l["duration"] / 2:
        print("more interrupts than anything else:", l)
print(json.dumps(j).count('"has_irqs": true') or json.dumps(j).count('"has_irqs":true'), max(irq) > 0)
print(any("irq" in t["ledger"] for t in j0["threads"]))
END
"$COATI" trace -q -i with | grep -c 'worker-.* irq ' | sed 's/[1-9].*/irq in text/'
"$COATI" report -q -i with --json 2>/dev/null | grep -c 'irq-' | sed 's/^0$/none in the profile/'
