# sequences, flags, numbers, clocks: as a reader sees them that knows nothing of our code; and the totals are those of the report
lib=$CLI/../lib
export COATI_TOOL="$COATI"
for kind in simple empty one untimed perfclock losses hostile renamed events faults kernel; do
	"$lib/write-recording" $kind $kind.data
	"$COATI" export -q -f perfetto -i $kind.data -o trace || echo "$kind: status $?"
	"$lib/read-perfetto" trace >totals || echo "$kind: no trace"
	"$lib/compare-totals" totals $kind.data || echo "$kind: not the same"
done
"$COATI" export -q -f perfetto -i losses.data --comment 'for you' -o trace
"$lib/read-perfetto" trace >totals
python3 - <<'PY'
import json
t = json.load(open("totals"))
print([[name, notes.get("count")] for time, name, notes in t["losses"]])
print(t["attributes"]["coati.comment"], "|", t["attributes"]["coati.quality"].split(";")[0])
print(t["attributes"]["coati.note.1"])
PY
