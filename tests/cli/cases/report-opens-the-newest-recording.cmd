"$COATI" record -q -o old.data -- true
"$COATI" record -q -o new.data -- true
echo text >later.data
touch -d '2001-01-01' old.data
"$COATI" report -q | head -n 1
"$COATI" report -q old.data | head -n 1
