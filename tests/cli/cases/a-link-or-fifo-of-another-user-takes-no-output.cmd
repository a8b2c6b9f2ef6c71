# In a directory of another user, who has made the names that a verb writes to.
"$CLI/../lib/write-recording" simple r.data
echo kept >victim
mkdir theirs
chown 65534 theirs
cd theirs
# plant TARGET: links of the other user
plant()
{
	for name in typed r.folded; do
		ln -sfn "$1" $name
		chown -h 65534 $name
	done
}
# of WORDS...: what comes of it, and of the file that root alone can write to
of()
{
	timeout 60 "$COATI" "$@" >/dev/null 2>said
	echo "$1 $?: $(cat ../victim)"
	sed "s|^|  |" said
}
all()
{
	of report -q -o typed ../r.data
	of export -q -f folded -o typed ../r.data
	of record -q -o typed -e page-faults -c 1 -- true
	of stat -q -e page-faults -o typed -- true
	rm -rf typed*
}
echo "a link through /proc to a file: replaced"
plant "/proc/self/root$(realpath ..)/victim"
all
plant "/proc/self/root$(realpath ..)/victim"
of stat -q -e page-faults --interval 10ms -o typed -- true
echo "a link to a file: replaced, and not followed where it would grow"
plant ../victim
all
plant ../victim
of stat -q -e page-faults --interval 10ms -o typed -- true
echo "a link to a FIFO: not followed"
mkfifo fifo
chown 65534 fifo
plant fifo
of report -q -o typed ../r.data
of export -q -f folded -o typed ../r.data
echo "names that were not typed: a link to a FIFO, to a file, a FIFO"
of export -q -f folded ../r.data
plant ../victim
of export -q -f folded ../r.data
rm r.folded
mkfifo r.folded
chown 65534 r.folded
of export -q -f folded ../r.data
of export -q -f folded --no-sandbox ../r.data
echo "typed: it may be a FIFO"
cat r.folded >got &
of export -q -f folded -o r.folded ../r.data
wait
wc -l <got
