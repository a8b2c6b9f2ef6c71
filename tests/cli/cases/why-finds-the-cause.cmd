# a server in which every fiftieth request has bad luck: the cause comes first; without one there is no difference
first()
{
	"$COATI" record -q --trace -- "$HELPERS/requests" 500 "$1" 400 50 >out 2>err || cat err
	"$COATI" why -q --json request >j 2>err || cat err
	python3 -c 'import json; j = json.load(open("j")); print(j["rows"][0]["name"] if j["difference"] else "no difference")'
}
# Time that the host takes away looks like running, and such a run without bad luck has some: again until one is left alone. A tool that always sees a cause fails.
for cause in lock fault cpu none; do
	for try in $(seq 40); do
		case $cause/$(first $cause) in
		lock/futex | fault/'page faults' | cpu/running | none/'no difference') break ;;
		esac
	done
	[ "$try" -lt 40 ] || "$COATI" why -q request
done
