# programs with names that a spreadsheet or a terminal would act on
bad=$(printf 'x\033[2Jy')
cp "$HELPERS/touch-pages" ./=cmd
cp "$HELPERS/touch-pages" "./$bad"
"$COATI" record -q -e page-faults:u -c 1 -o r -- sh -c './=cmd 50; "./$1" 50' sh "$bad" 2>err || cat err
"$COATI" report -q --by process --csv r >csv
grep -o "^\"'=cmd" csv || cat csv
"$COATI" diff -q --by process --csv r r >csv
grep -o "^\"'=cmd" csv || cat csv
script -qec '"$COATI" export -q -f folded -o - r' /dev/null >shown
grep -c 'x\\x1b\[2Jy' shown >/dev/null && echo "shown"
tr -cd '\033' <shown | wc -c
"$COATI" report -q --by "label:$bad" r 2>err | tr -cd '\033' | wc -c
"$COATI" diff -q --by "label:$bad" r r 2>err | tr -cd '\033' | wc -c
