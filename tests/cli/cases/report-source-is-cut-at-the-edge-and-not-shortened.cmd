# code is no name: nothing inside <> or () is left out, and what does not fit ends at the edge
cat >p.c <<'C'
int main(int argc, char **argv)
{
	volatile long a = 0;
	while (a < 100000000) { a += (argc > 0 && argv[0] != (char *)0) ? (long)(1) : (long)(2); /* first (second) third <fourth> fifth (sixth) seventh */ }
	return a == 1;
}
C
cc -O1 -g -o p p.c
"$COATI" record -q -- ./p
line=$(sed -n 4p p.c | sed 's/^\t/        /')
"$COATI" report -q --source main | grep -c -F "     4  $line"
for width in 80 120; do
	TERM=xterm script -qec "stty cols $width rows 50; NO_COLOR=1 $COATI report -q --source main" /dev/null </dev/null | tr -d '\r' >$width
	grep -c -F -x "$(printf '%s' "$line" | cut -c 1-$((width - 25)))…" <<-END
	$(sed -n 's/^.\{16\}     4  //p' $width)
	END
	sed 's/…/./g' $width | awk -v width=$width '/^ *[0-9]/ && length > width'
done
TERM=xterm script -qec "stty cols 80 rows 50; NO_COLOR=1 $COATI report -v --source main" /dev/null </dev/null | tr -d '\r' | grep -c -F "     4  $line"
