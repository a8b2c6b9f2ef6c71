# no loop, no wrong root: what cannot be right is not complete. The program itself is what it costs CPU time.
for kind in still far loop; do
	"$COATI" record -q -g bpf -o $kind.data -- "$HELPERS/bent" $kind 0.2
	"$COATI" report -q -i $kind.data --json >$kind.json
done
python3 - <<'PY'
import json
for kind in ("still", "far", "loop"):
    q = json.load(open(kind + ".json"))["quality"]
    print(kind, "few samples:", q["samples"]) if q["samples"] < 50 else None
    print(kind, "complete: %d of %d" % (q["stacks"]["complete"], q["samples"])) if q["stacks"]["complete"] > 0.2 * q["samples"] else None
PY
