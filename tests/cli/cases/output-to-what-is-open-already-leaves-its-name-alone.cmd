# as /dev/stdout is: a link of the kernel's to what is open, here a file
"$COATI" record -q -e page-faults:u -c 1 -o r -- "$HELPERS/touch-pages" 50 2>err || cat err
ln -s /proc/self/fd/1 out
echo "first" >file
"$COATI" report -q --csv -o out r >>file
head -n 1 file
grep -c touch-pages file
"$COATI" export -q -f folded -o out r >folded
grep -c touch-pages folded
"$COATI" record -q -e page-faults:u -c 1 -o out -- "$HELPERS/touch-pages" 50 >recording 2>err || cat err
"$COATI" report -q --csv recording | grep -c touch-pages
readlink out
ls out.old 2>&1 || :
