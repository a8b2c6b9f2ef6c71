pages=$CLI/../../docs/man
for verb in $(verbs); do
	"$COATI" $verb --help | sed -n '/^Examples/q; s/^  \(-., \|    \)--\(\[no-\]\)\{0,1\}\([a-z-]*\).*/--\3/p' | sort -u >in-help
	# Only the OPTIONS section, and there only the tags: the line behind .TP
	sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$pages/coati-$verb.1" | sed -n '/^\.TP/{n;p;}' | sed 's/\\-/-/g' |
		grep -o -e '--[a-z][a-z-]*' | sed 's/^--no-scale$/--scale/' | sort -u >in-page
	diff in-help in-page | sed "s/^/$verb: /"
	# short letters too
	"$COATI" $verb --help | sed -n '/^Examples/q; s/^  \(-[a-zA-Z]\), --.*/\1/p' | sort -u >in-help
	sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$pages/coati-$verb.1" | sed -n '/^\.TP/{n;p;}' | sed 's/\\-/-/g; s/--[a-z-]*//g' |
		grep -o -e '-[a-zA-Z]' | sort -u >in-page
	diff in-help in-page | sed "s/^/$verb: /"
done
# so is every limit of readers
sed -n 's/.*"\(COATI_[A-Z]*_MOST\)".*/\1/p' "$CLI/../../src/base/limits.c" | sort >in-code
sed -n '/^\.SH LIMITS/,/^\.SH E/p' "$pages/coati.1" | grep -o '^COATI_[A-Z]*_MOST' | sort >in-page
[ -s in-code ] && diff in-code in-page
