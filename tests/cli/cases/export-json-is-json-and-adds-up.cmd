"$COATI" record -q -o rec.data -e page-faults:u -c 1 -- "$HELPERS/touch-pages" 300 2>err || cat err
"$COATI" export -q --check -f json rec.data || echo "export: status $?"
is_json rec.json || echo "rec.json is no JSON"
python3 - <<'P'
import json
d = json.load(open("rec.json"))
weight = {}
for stack, thread, event, labels, cpu, samples, w in d["entries"]:
    name = d["functions"][d["frames"][d["stacks"][stack][0]]["function"]]["name"]
    weight[name] = weight.get(name, 0) + w
print(d["schema"], sum(weight.values()) == d["weight"], weight["main"] >= 300, d["quality"]["lost"])
P
