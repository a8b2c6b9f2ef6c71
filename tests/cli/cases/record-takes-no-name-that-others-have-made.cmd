# coati.data is a name that others can make first; what was typed may be anything
mkfifo coati.data
timeout 10 "$COATI" record -q -e page-faults -c 1 -- true
echo "status $?"
timeout 10 "$COATI" record --snapshot -p $$
echo "status $?"
rm coati.data
echo kept >elsewhere
ln -s elsewhere coati.data
"$COATI" record -q -e page-faults -c 1 -- true
echo "status $?"
cat elsewhere
rm coati.data
mkfifo typed
"$COATI" dump -i - <typed | grep -c page-faults >count &
"$COATI" record -q -o typed -e page-faults -c 1 -- true
wait
[ "$(cat count)" -gt 0 ] && echo "typed: read"
