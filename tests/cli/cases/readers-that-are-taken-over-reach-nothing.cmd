# Code that has taken over a reader (hijack.c) opens and makes no file, connects to nobody, starts nothing and traces nobody.
# The same code does all of it where there is no sandbox: that the attempts fail is the sandbox's doing.
"$CLI/../lib/write-recording" simple r.data
"$HELPERS/make-flight" f.live <"$CLI/patient.txt"
"$COATI" autopsy -o t.data f.live
# over WORDS...: what came of it, confined and not
over()
{
	for how in confined free; do
		rm -f planted
		[ $how = confined ] && unset COATI_NO_SANDBOX || export COATI_NO_SANDBOX=1
		LD_PRELOAD="$HELPERS/libhijack.so" "$COATI" "$@" >out 2>err
		echo "$1 $how: $(grep -c ': worked$' err) of $(grep -cE '^[a-z/ ]+: ([A-Z]+|worked)$' err) worked, $(find . -name planted | wc -l) file planted"
	done
	unset COATI_NO_SANDBOX
}
over report -q r.data
over trace -q t.data
over why -q request -i t.data
over export -q -f folded -o - r.data
over diff -q r.data r.data
over dump r.data
over autopsy f.live
# each attempt by name; --no-sandbox is the other way to leave it out
LD_PRELOAD="$HELPERS/libhijack.so" "$COATI" report -q r.data 2>&1 >out
rm -f planted
LD_PRELOAD="$HELPERS/libhijack.so" "$COATI" report -q --no-sandbox r.data 2>&1 >out
rm -f planted
# a server prints its address when it is confined
for how in '' --no-sandbox; do
	rm -f address
	LD_PRELOAD="$HELPERS/libhijack.so" "$COATI" view -q --no-open $how r.data >address 2>err & view=$!
	wait_until test -s address
	kill $view
	wait $view 2>/dev/null
	echo "view $how: $(grep -c ': worked$' err) of $(grep -cE '^[a-z/ ]+: ([A-Z]+|worked)$' err) worked"
	rm -f planted
done
