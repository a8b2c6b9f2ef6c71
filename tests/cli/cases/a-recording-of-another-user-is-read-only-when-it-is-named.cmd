# In a directory where all users make files: what another user put there under a name that a verb looks for is neither
# believed nor waited for, be it a recording, a link to one or a FIFO. Root's and the user's own are.
mkdir -m 1777 public
cd public
"$CLI/../lib/write-recording" simple simple.out
"$CLI/../lib/write-recording" losses losses.out
# all VERBS: what they say without a name of an input
all()
{
	for verb in "report -q" "trace -q" "why -q request" "export -q -f folded -o -" "dump --stats" "view -q --no-open"; do
		timeout 60 "$COATI" $verb >shown 2>said
		echo "${verb%% *} $?: $(wc -c <shown) $(cat said)"
	done
}
cp simple.out coati.data
chown 65534 coati.data
echo "a recording of another user"
all
echo "named"
"$COATI" report -i coati.data | head -n 1
"$COATI" dump --stats -i coati.data | grep -c .
rm coati.data
echo "a link of another user"
cp simple.out ../own
ln -s ../own coati.data
chown -h 65534 coati.data
all
rm coati.data
echo "a FIFO"
mkfifo coati.data
chown 65534 coati.data
all
rm coati.data
# the newest of ours, beside a newer one of another user
echo "beside ours"
cp losses.out ours.data
touch -d '1 hour ago' ours.data
cp simple.out theirs.data
chown 65534 theirs.data
"$COATI" report | head -n 1
echo "of root, to an ordinary user"
mkdir -m 755 ../tool
cp "$(realpath "$COATI")" ../tool/coati
cp losses.out coati.data
chmod 644 coati.data
rm ours.data
setpriv --reuid 65533 --regid 65533 --clear-groups ../tool/coati report | head -n 1
