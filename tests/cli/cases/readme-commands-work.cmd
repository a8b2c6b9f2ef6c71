# The first minute, with shorter times.
mkdir build && ln -s "$COATI" build/coati && ln -s "$HELPERS/../../examples" build/examples
sed -n '/^## The first minute/,/^## The library/{/^build\/coati/p;}' "$CLI/../../README.md" |
	sed 's/ -I 1s -d 5s/ -I 20ms -d 50ms/; s/ -d 1s/ -d 20ms/' >lines
[ "$(wc -l <lines)" -ge 5 ] || echo "only $(wc -l <lines) commands were found"
while read -r line; do
	status=0
	sh -c "$line" >out 2>err </dev/null || status=$?
	# one short recording of each may not tell
	case $status:$line in 0:* | 3:*coati\ diff*) ;; *) echo "fails with $status: $line" && cat err ;; esac
done <lines
