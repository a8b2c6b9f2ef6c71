rec() { "$COATI" record -q "$@" -- "$HELPERS/phases" 100 100; }
rec -e task-clock:u -F 2000 -o a.data
rec -e task-clock:u -F 500 -o rate.data
rec -e cpu-clock:u -F 2000 -o event.data
rec -e task-clock:u -F 2000 -g none -o flat.data
for other in rate event flat; do
	"$COATI" diff -q a.data $other.data | grep '^# [drt]'
done
"$COATI" diff -q a.data rate.data --json | grep -o '"warnings":\["[^"]*'
"$COATI" diff -q a.data a.data --measure run | grep '^# fewer'
"$COATI" diff a.data absent.data
echo "status $?"
head -c 3000 a.data >cut.data
"$COATI" diff -q a.data cut.data >out 2>err
[ $? -le 3 ] && [ -s err -o -s out ] && echo "said"
