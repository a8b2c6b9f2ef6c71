# above other work of the machine, so that what was put in is what differs;
# a server in which every fiftieth request has bad luck: the cause comes first; without one there is no difference
first()
{
	nice -n -15 "$COATI" record -q --trace -- "$HELPERS/requests" 500 "$1" 400 50 >out 2>err || cat err
	"$COATI" why -q --json request >j 2>err || { cat err && return; }
	python3 -c 'import json; j = json.load(open("j")); print(j["rows"][0]["name"] if j["difference"] else "no difference")'
}
# finds CAUSE ANSWER
finds()
{
	before=$(stolen)
	said=$(first "$1")
	right=no
	[ "$said" != "$2" ] || right=yes
	! blames_host "$before" $right || return 3
	grep -q '"stolen_most_ns": *[0-9]' j || echo "not told what the host took"
	[ "$said" = "$2" ] || { echo "$1: $said, not $2"; "$COATI" why -q request; }
}
# by chance: 5 % of the answers may be wrong (tests/cli/why-runs); wrong: a tool that always sees a
# cause, never does, or guesses
judge 7 4 finds lock futex
judge 7 4 finds fault 'page faults'
judge 7 4 finds cpu running
judge 7 4 finds none 'no difference'
judge 7 4 finds sizes 'no difference'
# requests of many sizes: their tail is said to be their own
"$COATI" why -q request | grep -c 'running varies this much by itself\|chance and the load of the machine explain'
