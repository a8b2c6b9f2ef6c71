# recordings with known contents: nothing is left to chance
"$CLI/../lib/write-recording" --mix phases a.data target:300,parse:750,sort:450
"$CLI/../lib/write-recording" --mix phases b.data target:900,parse:375,sort:225
# try WORDS...: how it ends, and how the conditions came out
try()
{
	"$COATI" diff -q a.data b.data "$@" >out 2>err
	echo "status $?"
	sed -n '2,/^#/{/^#/d;p;}' out
	cat err
}
try --fail-if 'func:target > +5%'
try --fail-if 'self:targ*>=10pp' --fail-if 'func:main > 50%'
try --fail-if ' func:target < -5% '
try --fail-if 'image:phases > +50%'
try --fail-if 'func:target > +100000%'
try --fail-if 'func:nobody > 5%'
try --fail-if 'func:std::map<int, long>::operator>> >= 5%'
try --fail-if 'func:target > 1pp' --fail-when possible
try --fail-if 'func:target > 1pp' --fail-when estimate
"$COATI" diff -q a.data b.data --json --fail-if 'func:target > +5%' >json
echo "status $?"
grep -o '"conditions":.*"failed":[a-z]*' json | sed 's/"value":{[^}]*}/VALUE/'
