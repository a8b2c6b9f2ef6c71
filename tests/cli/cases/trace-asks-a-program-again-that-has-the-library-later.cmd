# asked before it is the program that links the library, as one is that has only just started: it is asked again, and its events are there
sh -c 'sleep 0.3; exec "$0" 1000000 none 200' "$HELPERS/requests" >/dev/null &
"$COATI" record -q --trace -p $! -- sh -c '. "$CLI/prelude.sh"; until_traced "$1"' sh $!
kill -KILL $!
wait $! 2>/dev/null
rm -f "/dev/shm/coati-$(id -u)/$!-"*.live
"$COATI" trace -q --json >j
python3 - <<'PY'
import json
names = [t["name"] for t in json.load(open("j"))["types"]]
print(names.count("request"))
PY
