# its events are there though nobody had told it to record; afterwards it records no more, and leaves nothing behind
cp "$HELPERS/requests" "$CLI/prelude.sh" .
chmod 755 requests prelude.sh
as_user sh -c './requests 1000000 none 200 >/dev/null & echo $! >pid
until [ "$(readlink /proc/$!/exe)" = "$PWD/requests" ]; do sleep 0.01; done
exec ./coati record -q --trace -p $! -- sh -c ". ./prelude.sh; until_traced $!"' 2>err || cat err
as_user ./coati trace -q --json >j
python3 - <<'PY'
import json
j = json.load(open("j"))
(request,) = [t for t in j["types"] if t["name"] == "request"]
print(request["count"] > 10, j["quality"]["live_lost"], j["quality"]["live_damaged"])
PY
for _ in $(seq 600); do
	[ -n "$(find /dev/shm/coati-65534 -name "$(cat pid)-*" 2>/dev/null)" ] || break
	sleep 0.1
done
find /dev/shm/coati-65534 -name "$(cat pid)-*" 2>/dev/null
kill -KILL "$(cat pid)"
# one that has not the library
sleep 100 &
"$COATI" record -q --trace -p $! -o none.data -- sleep 0.1
kill $!
