# a server in which every fiftieth request has bad luck: the cause comes first; without one there is no difference
first()
{
	"$COATI" record -q --trace -- "$HELPERS/requests" 500 "$1" 400 50 >out 2>err || cat err
	"$COATI" why -q --json request >j 2>err || cat err
	python3 -c 'import json; j = json.load(open("j")); print(j["rows"][0]["name"] if j["difference"] else "no difference")'
}
# What is left to chance is tried again. A tool that always sees a cause fails, and one that never does.
for cause in lock fault cpu none sizes; do
	for try in $(seq 5); do
		case $cause/$(first $cause) in
		lock/futex | fault/'page faults' | cpu/running | none/'no difference' | sizes/'no difference') break ;;
		esac
	done
	grep -q '"stolen_most_ns": *[0-9]' j || echo "not told what the host took"
	[ "$try" -lt 5 ] || "$COATI" why -q request
done
# requests of many sizes: their tail is said to be their own
"$COATI" why -q request | grep -c 'running spreads that far by itself\|nothing but chance'
