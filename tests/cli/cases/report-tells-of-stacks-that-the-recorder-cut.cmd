# 64 bytes of stack hold no caller of main's; and the whole stack of a small program is no guess and has no gap.
words=$HELPERS/../../examples/words
"$COATI" record -q -g table --stack-size 64 -o cut.data -- "$words" >/dev/null
"$COATI" record -q -g table -o whole.data -- "$words" >/dev/null
for file in cut whole; do
	"$COATI" report -i $file.data --json |
		sed 's/.*"complete": *\([0-9]*\), *"truncated": *\([0-9]*\).*/\1 \2/' >$file
	read -r complete truncated <$file
	[ "$complete" -gt "$truncated" ] && echo "$file.data: mostly complete" || echo "$file.data: mostly truncated"
done
