# The line counts before the environment, and that before the file; labels of all three count.
cat >conf <<END
# a comment
window = 7s
segment = 1s
label = place=file
rename = shift file
off-cpu = no
END
"$HELPERS/shift" &
load=$!
COATI_AGENT_WINDOW=6s COATI_AGENT_LABEL=variable=yes "$COATI" agent -q --config conf --store store --window 300ms --label line=yes -d 2s \
	--print --budget 100% -F 99 >windows
kill $load
# of 6 or 7 seconds there would be one
[ "$(wc -l <windows)" -gt 1 ] || echo "windows: $(wc -l <windows)"
"$COATI" dump -i "$(ls store/*.data | head -n 1)" 2>/dev/null | grep -o 'label\.[a-z]*=[a-z]*' | sort -u
grep -q '"name":"file"' windows || echo "not renamed"
"$COATI" report store --by service --json 2>/dev/null | grep -q '"label":"file"' || echo "the folder does not rename"
"$COATI" report store --by service --json 2>/dev/null | grep -q '"label":"shift"' && echo "the folder has the old name"
echo 'windw = 1s' >conf
"$COATI" agent --config conf --store store
echo "status $?"
