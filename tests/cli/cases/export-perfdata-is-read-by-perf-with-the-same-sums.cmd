# What perf says of the copy is what it says of the original, but for its tips; a filter leaves the samples out that it should.
show()
{
	perf report --stdio --no-children -g none -i "$1" 2>err | grep -v -e '^# (Tip' -e '^#$' -e '^$'
}
"$COATI" record -q -o rec.data -e page-faults:u -c 1 -- sh -c "$HELPERS/touch-pages 300; $HELPERS/touch-pages 40" 2>err || cat err
"$COATI" export -q --check -f perfdata rec.data || echo "export: status $?"
show rec.data >before
show rec.perf.data >after
cmp before after
"$COATI" export -q --check -f perfdata --function main -o some.data rec.data || echo "export with a filter: status $?"
wanted=$("$COATI" report --function main --json rec.data | grep -o '"total":[0-9]*' | head -n 1 | cut -d: -f2)
show some.data | grep -q "Event count (approx.): $wanted\$" || { echo "perf does not count $wanted"; show some.data | head -n 5; }
# as a stream, and the stream back into a file
"$COATI" export -q -f perfdata -o - rec.data | cat >stream.data
perf report --stdio --no-children -g none -i - <stream.data 2>err | grep -v -e '^# (Tip' -e '^#$' -e '^$' >after
cmp before after || diff before after | head -n 5
"$COATI" export -q --check -f perfdata -o back.data stream.data || echo "export of a stream: status $?"
show back.data >after
cmp before after
# what cannot be done is refused with its reason
"$COATI" export -f perfdata --hide x rec.data || echo "status $?"
"$COATI" export -f perfdata --counts rec.data || echo "status $?"
"$COATI" export -f perfdata -o two.data rec.data some.data || echo "status $?"
"$COATI" export -f perfdata -o two.data -i - <stream.data || echo "status $?"
[ ! -e two.data ] || echo "half a file is left"
# behind other bytes only a stream can be written
"$COATI" export -q -f perfdata -o - rec.data >>appended.data
show rec.data | grep -v '^# Total Lost' >before
perf report --stdio --no-children -g none -i - <appended.data 2>err | grep -v -e '^# (Tip' -e '^#$' -e '^$' -e '^# Total Lost' >after
cmp before after || diff before after | head -n 5
# a copy is as private as a recording, and not the newest recording of the folder
[ "$(stat -c %a rec.perf.data)" = 600 ] || stat -c %a rec.perf.data
mkdir two && cp rec.data two/ && touch -d tomorrow rec.perf.data && cp -p rec.perf.data two/ && cd two || exit
"$COATI" report 2>&1 | head -n 1 | grep -q '^# rec.data: ' || "$COATI" report 2>&1 | head -n 1
