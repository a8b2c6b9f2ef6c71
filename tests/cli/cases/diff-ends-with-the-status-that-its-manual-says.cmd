# recordings with known contents: nothing is left to chance
"$CLI/../lib/write-recording" --mix phases a.data target:300,parse:750,sort:450
"$CLI/../lib/write-recording" --mix phases b.data target:900,parse:375,sort:225
# try WORDS...: the status, and what is said
try()
{
	"$COATI" diff -q "$@" >out 2>err
	echo "status $?"
	cat err
}
try a.data b.data
try a.data a.data --fail-if 'func:target > +20%'
try a.data b.data --fail-if 'func:target > +20%'
try a.data b.data --fail-if 'func:target > +20%' --fail-if 'func:nobody > 1%'
try a.data absent.data
try a.data "$HELPERS/phases"
try a.data a.data -o /dev/full
try a.data a.data -o absent/file
try a.data a.data --html absent/file
try a.data a.data --by nothing
try a.data a.data --fail-if 'func:target'
try a.data
try a.data a.data --function nobody
# behind the dashes only recordings stand
try a.data -- b.data --json
try a.data a.data -- b.data -o out.txt
# one file is one run, whatever its name
ln -s a.data link.data
try a.data b.data link.data -- b.data
cp b.data ./-b.data
try --json a.data -- -b.data
"$COATI" diff --help | grep '^Exit'
