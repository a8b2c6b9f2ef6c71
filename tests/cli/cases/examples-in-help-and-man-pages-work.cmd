mkdir bin && ln -s "$COATI" bin/coati
PATH=$PWD/bin:$PATH
export PATH
for verb in doctor list record stat; do
	"$COATI" $verb --help | sed -n '/^Examples:/,/^More/s/^  \(coati .*[^ ]\)   *[^ ].*/\1/p'
	sed -n '/^\.EX/,/^\.EE/{/^coati/p;}' "$CLI/../../docs/man/coati-$verb.1" |
		sed 's/\\-/-/g; s/\\(aq/'"'"'/g'
done | sort -u >all
sed -n '/^\.EX/,/^\.EE/{/^coati/p;}' "$CLI/../../docs/man/coati.1" | sed 's/\\-/-/g' >>all
[ "$(wc -l <all)" -ge 9 ] || echo "only $(wc -l <all) examples were found"
while read -r line; do
	case $line in *sched:*) [ -r /sys/kernel/tracing/events/sched ] || continue ;; esac
	sh -c "$line" >out 2>err </dev/null || { echo "fails: $line"; cat err; }
done <all
