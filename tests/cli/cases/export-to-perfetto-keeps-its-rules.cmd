# sequences, flags, numbers, clocks: as a reader sees them that knows nothing of our code
lib=$CLI/../lib
"$lib/write-recording" all
for recording in *.data; do
	"$COATI" export -q -f perfetto -i "$recording" --comment 'for you' -o "$recording.trace" || echo "$recording: status $?"
	"$lib/read-perfetto" "$recording.trace" >"$recording.totals" || echo "$recording: no trace"
done
python3 - <<'PY'
import json
t = json.load(open("losses.data.totals"))
print([[name, notes.get("count")] for time, name, notes in t["losses"]])
print(t["attributes"]["coati.comment"], "|", t["attributes"]["coati.quality"].split(";")[0])
print(t["attributes"]["coati.note.1"])
PY
