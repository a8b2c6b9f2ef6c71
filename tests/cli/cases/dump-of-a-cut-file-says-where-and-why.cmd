"$COATI" record -q -e page-faults:u -c 1 -o r.data -- true
all=$("$COATI" dump -i r.data | wc -l)
head -c 5000 r.data >cut
"$COATI" dump -i cut >out
echo "exit $?"
[ "$(wc -l <out)" -lt "$all" ] && echo "fewer records"
