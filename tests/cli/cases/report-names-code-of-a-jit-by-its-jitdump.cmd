"$COATI" record -q -- "$HELPERS/../kernel/live-lives" dump truth
pid=$(sed -n '1s/ .*//p' truth)
"$COATI" report -q --csv | grep -c -e "^first code,\[jit $pid\]," -e "^second code,\[jit $pid\],"
"$COATI" report -q --csv | grep -c '^\[anon'
# the recording brought the names
rm jit-*.dump
"$COATI" report -q --csv | grep -c -e "^first code,\[jit $pid\]," -e "^second code,\[jit $pid\],"
