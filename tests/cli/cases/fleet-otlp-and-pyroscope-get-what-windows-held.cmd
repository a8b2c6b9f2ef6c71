# OTLP: one request for all services, sent again after 503; push: one for each service. The sums are
# those of the windows, also when other readers add them up.
. "$CLI/../fleet/server.sh"
"$FLEET/send-windows" totals 1 6 | awk '$1 == "cpu-clock" && $2 == "all" { print $4 }' >wanted
for kind in otlp push; do
	port=$(free_port)
	mkdir $kind
	"$CLI/../fleet/receiver" "$port" $kind 503 429 &
	receiver=$!
	wait_until curl -s -o /dev/null "http://127.0.0.1:$port/"
	"$FLEET/send-windows" $kind "http://127.0.0.1:$port" 1 6
	kill $receiver
	wait $receiver 2>/dev/null
	find $kind -name '*.body' | wc -l
	cat $kind/*.path | sed 's/&.*//' | sort
done
for body in push/*.body; do
	"$CLI/../lib/read-pprof" "$body"
done | python3 -c 'import json, sys
text, total, at = sys.stdin.read(), 0, 0
while text[at:].strip():
    value, used = json.JSONDecoder().raw_decode(text[at:].lstrip())
    at += len(text[at:]) - len(text[at:].lstrip()) + used
    total += sum(weight for name, weight in value["self"])
print(total)' >sums
"$FLEET/send-windows" totals 1 6 | awk '$2 == "all" { on[$1] = $4 } END { printf "%.0f %.0f\n", on["cpu-clock"], on["off-cpu"] }' >both
read -r on off <both
read -r sum <sums
[ "$sum" = "$on" ] || [ "$sum" = $((on + off)) ] || echo "push has $sum, and not $on or $((on + off))"
[ "$(head -c 2 otlp/0.body | od -An -tx1 | tr -d ' ')" != 1f8b ] || echo "the body is still compressed"
[ "$(wc -c <otlp/0.body)" -gt 1000 ] || echo "there is little in it"
