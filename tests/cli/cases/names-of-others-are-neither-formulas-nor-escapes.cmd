# programs with names that a spreadsheet or a terminal would act on
bad=$(printf 'x\033[2Jy')
cp "$HELPERS/touch-pages" ./=cmd
cp "$HELPERS/touch-pages" "./$bad"
"$COATI" record -q -e page-faults:u -c 1 -o r -- ./=cmd 50 2>err || cat err
"$COATI" record -q -e page-faults:u -c 1 -o s -- "./$bad" 50 2>err || cat err
"$COATI" report -q --by process --csv r >csv
grep -o "^\"'=cmd" csv || cat csv
"$COATI" diff -q --by process --csv r r >csv
grep -o "^\"'=cmd" csv || cat csv
script -qec '"$COATI" export -q -f folded -o - s' /dev/null >shown
grep -c 'x\\x1b\[2Jy' shown >/dev/null && echo "shown"
tr -cd '\033' <shown | wc -c
"$COATI" report -q --by "label:$bad" s 2>err | tr -cd '\033' | wc -c
"$COATI" diff -q --by "label:$bad" s s 2>err | tr -cd '\033' | wc -c
