# a /proc/stat of our own: the host takes ten seconds before the requests, or some all the time.
# Requests that compute 1 ms longer are too short for samples to tell.
cat >steal.sh <<'END'
# the count, in place and of the same length, so that a reader never finds a part of it
set_steal()
{
	printf 'cpu  1 2 3 4 5 6 7 %08d 9 10\n' "$1" | dd of=stat conv=notrunc status=none
}
set_steal 1000
mount --bind stat /proc/stat || exit
if [ "$1" = before ]; then
	"$COATI" record -q --trace -o r.data -- sh -c '. ./set; sleep 0.2; set_steal 2000; sleep 0.3; "$HELPERS/requests" 2000 cpu 100' >out
else
	( n=1000; while [ ! -e over ]; do n=$((n + 10)); set_steal $n; sleep 0.01; done ) &
	"$COATI" record -q --trace -o r.data -- "$HELPERS/requests" 2000 cpu 100 >out
	: >over
	wait
	rm over
fi
END
sed -n '/^set_steal()/,/^}/p' steal.sh >set
export HELPERS
# finds WHEN ANSWER
finds()
{
	rm -f stat
	"$CLI/../../scripts/apart" sh steal.sh "$1" 2>err || cat err
	"$COATI" why -q --json -i r.data request >j 2>err || { cat err && return; }
	is=$(python3 -c 'import json; j = json.load(open("j")); print(j["verdict"], j["reason"], j.get("decided_by"))')
	[ "$is" = "$2" ] || { echo "$1: $is, not $2"; "$COATI" why -q -i r.data request; }
}
# by chance: 5 % of the answers may be wrong; wrong: a tool that compares with the sum
judge 9 5 finds before 'causes extra running'
judge 9 5 finds meanwhile 'cannot tell steal running'
