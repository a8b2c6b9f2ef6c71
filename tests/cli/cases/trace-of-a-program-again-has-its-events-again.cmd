# at once after the one before, whose recorder the program has not ended yet: it is asked again when it has, and a new one has its events
"$HELPERS/requests" 1000000 none 200 >/dev/null &
pid=$!
"$COATI" record -q --trace -p $pid -o first.data -- sh -c '. "$CLI/prelude.sh"; until_traced "$1"' sh $pid
find /dev/shm/coati-* -name "$pid-*.live" -printf '%i\n' 2>/dev/null >before
"$COATI" record -q --trace -p $pid -o second.data -- sh -c '. "$CLI/prelude.sh"
	is_new() { find /dev/shm/coati-* -name "$1-*.live" -printf "%i\n" 2>/dev/null | grep -qvx -e none -f before; }
	wait_until is_new "$1" && until_traced "$1"' sh $pid
kill -KILL $pid
wait $pid 2>/dev/null
for file in first second; do
	"$COATI" trace -q --json -i $file.data >j
	python3 -c 'import json; print([t["count"] > 10 for t in json.load(open("j"))["types"] if t["name"] == "request"])'
done
rm -f "/dev/shm/coati-$(id -u)/$pid-"*.live
