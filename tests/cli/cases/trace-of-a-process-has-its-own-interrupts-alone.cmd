# interrupts are recorded on all CPUs while a thread of the process runs there, or one that started later: those of other
# processes that start meanwhile are not shown
sh -c 'while :; do :; done' &
target=$!
"$COATI" record -q --trace -p "$target" -o p.data -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' 2>err || cat err
kill "$target"
"$COATI" trace -q --check -i p.data >out || cat out
"$COATI" trace -q --json -i p.data >j
python3 - "$target" <<'END'
import json, sys
j = json.load(open("j"))
print("of others:", [t for t in j["threads"] if t["pid"] != int(sys.argv[1])])
print("interrupts:", any(t["ledger"].get("irq", 0) > 0 for t in j["threads"]))
END
