# every reader, every fault: with --strict the status and one sentence, without it neither; the data is there both times
for kind in simple losses late damaged; do "$CLI/../lib/write-recording" $kind $kind.data; done
head -c $(($(stat -c %s simple.data) - 40)) simple.data >cut.data
"$HELPERS/make-flight" whole.live <"$CLI/patient.txt"
"$COATI" autopsy -o whole.data whole.live
# try WORDS...: plainly, then strictly
try()
{
	"$COATI" "$@" >plain 2>plain.err
	was=$?
	"$COATI" "$@" --strict >strict 2>strict.err
	echo "$*: $was, $?"
	sed -n 's/.*--strict: //p' strict.err
	cmp plain strict
	! grep -e --strict plain.err
}
for kind in simple losses late damaged cut; do
	try report -q $kind.data
	try report -q --html - $kind.data
	try trace -q $kind.data
	try export -q -f folded -o - $kind.data
	try dump --stats $kind.data
	try diff -q simple.data $kind.data
done
# all recordings of a store together, also those that are not the first
mkdir store
cp simple.data store/coati-20261116T170000Z-0001.data
try top -q --store store --from 2026-01-01
cp losses.data store/coati-20261116T171000Z-0002.data
cp damaged.data store/coati-20261116T172000Z-0003.data
try top -q --store store --from 2026-01-01
try why -q request -i whole.data
try autopsy whole.live
# a recorder with a chunk that makes no sense, shown and saved
cp whole.live damaged.live
printf '\377\377\377\377\377\377\377\377' | dd of=damaged.live bs=1 seek=12288 conv=notrunc status=none
try autopsy damaged.live
"$COATI" autopsy --strict -o saved.data damaged.live
echo "saved: $? $("$COATI" dump --stats saved.data | grep -c .)"
# a page of what is not whole is not served; the other one is
"$COATI" view -q --no-open --strict losses.data >address
echo "view: $? $(wc -c <address)"
"$COATI" view -q --no-open --strict simple.data >address & view=$!
wait_until test -s address
kill $view && wait $view && echo "view: served"
# conditions are judged beside it: what is known to be wrong comes first
"$COATI" report -q --strict --fail-if 'sampled < 5%' losses.data >out 2>err
echo "both: $? $(wc -l <err)"
"$COATI" diff -q --strict --fail-if 'func:leaf > 1%' losses.data simple.data >out 2>err
echo "both: $? $(wc -l <err)"
"$COATI" autopsy --strict --list
echo "list: $?"
