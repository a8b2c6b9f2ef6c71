# a program without symbols and unwind data: its parts, by address, add up to what it has as a whole
cat >p.c <<'C'
#include <spin.h>
#include <stdlib.h>
__attribute__((noinline, aligned(4096))) void low(long n) { SPIN(n); }
__attribute__((noinline, aligned(4096))) void high(long n) { SPIN(n); }
int main(int argc, char **argv) { low(atol(argv[1])); high(atol(argv[1])); return argc < 0; }
C
cc -O1 -fno-asynchronous-unwind-tables -no-pie -o whole p.c
at() { nm whole | sed -n "s/^0*\([0-9a-f]*\) T $1\$/\1/p"; }
low=0x$(at low) high=0x$(at high)
# shellcheck disable=SC2046 # address and size of .text: its last range ends with it
set -- $(readelf -SW whole | sed -n 's/.* \.text *PROGBITS *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\) .*/0x\1 0x\2/p')
text_end=$(($1 + $2))
strip -s -R .eh_frame -R .eh_frame_hdr -o app whole
"$COATI" record -q -F 5000 -g fp -o rec.data -- ./app 60000000
self() { # OPTION...: the weight of the rows of the program's own code, and their number
	"$COATI" report -q --csv "$@" rec.data | awk -F , '$2 == "app" { n++; sum += $9 } END { printf "%.0f %d\n", sum, n }'
}
whole=$(self)
parts=$(self --split-nameless 4k)
[ "${whole% *}" = "${parts% *}" ] || echo "$whole is not $parts"
[ "${parts#* }" -gt "${whole#* }" ] || echo "nothing was split: $parts"
name() { # START: the range that begins there
	end=$(($1 + 4096))
	[ "$end" -lt "$text_end" ] || end=$text_end
	printf 'app!.text@%#x-%#x' "$1" "$end"
}
for at in "$low" "$high"; do
	"$COATI" report -q --csv --split-nameless 4k rec.data | grep -q "^$(name "$at")," || echo "no row $(name "$at")"
done
# the instructions of a range: the function begins it
"$COATI" report -q --split-nameless 4k --source "$(name "$low")" rec.data | grep -c "^ .*${low#0x}:"
# in every format, and read back by its own reader
folded() { "$COATI" export -q -f folded -o - "$@" rec.data; }
sum() { awk '{ sum += $NF } END { printf "%.0f\n", sum }'; }
[ "$(folded | sum)" = "$(folded --split-nameless 4k | sum)" ] || echo "the sums of folded stacks differ"
folded --split-nameless 4k | grep -c ";$(name "$high") " | sed 's/[1-9][0-9]*/some/'
for format in pprof speedscope firefox perfetto chrome otlp json folded; do
	"$COATI" export -q -f $format -o "x.$format" --split-nameless 4k --check rec.data || echo "$format: status $?"
	"$COATI" export -q -f $format -o "y.$format" --no-compress --split-nameless 4k rec.data
	grep -q "$(name "$low")" "y.$format" || echo "$format has no range"
done
"$COATI" export -f perfdata -o x.perfdata --split-nameless 4k --check rec.data 2>&1 | grep -o 'perfdata holds.*'
"$COATI" report rec.data | grep -o 'split-nameless.*'
"$COATI" report --split-nameless 4k rec.data | grep -c 'split-nameless'
"$COATI" diff --split-nameless 4k rec.data rec.data --json | grep -o "$(name "$low")" | head -n 1 | sed 's/0x.*/range/'
