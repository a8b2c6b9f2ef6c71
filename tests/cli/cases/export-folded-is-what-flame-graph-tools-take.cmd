# What flamegraph.pl does with a line: the number behind the last blank is the weight, semicolons part frames.
"$COATI" record -q -o rec.data -e page-faults:u -c 1 -- "$HELPERS/touch-pages" 300 2>err || cat err
"$COATI" export -q --check -f folded rec.data || echo "export: status $?"
wanted=$("$COATI" report --json rec.data | grep -o "\"total\":[0-9]*" | head -n 1 | cut -d: -f2)
got=$(awk '{ n = $NF; $NF = ""; if (n !~ /^[0-9]+$/ || !/;/) bad++; sum += n } END { print sum (bad ? " bad" : "") }' rec.folded)
[ "$got" = "$wanted" ] || echo "the lines add up to $got, report says $wanted"
LC_ALL=C sort -c -u rec.folded 2>err || { cut -d' ' -f1 rec.folded | uniq -d; }
grep -q '^touch-pages-[0-9]*/[0-9]*;.*;main [0-9]*$' rec.folded || { echo "no stack ends in main"; head -n 3 rec.folded; }
# several recordings are added up
"$COATI" export -q --check -f folded -o two.folded rec.data -i rec.data || echo "export of two: status $?"
got=$(awk '{ sum += $NF } END { print sum }' two.folded)
[ "$got" = $((2 * wanted)) ] || echo "twice $wanted is $got"
