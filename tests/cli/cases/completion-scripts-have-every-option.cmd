for shell in bash zsh fish; do
	"$COATI" completion $shell >$shell
	for verb in $(verbs); do
		"$COATI" $verb --help | sed -n '/^Examples/q; s/^  \(-., \|    \)--\(\[no-\]\)\{0,1\}\([a-z-]*\).*/\3/p'
	done | sort -u | while read -r name; do
		grep -q -e "--$name" -e "-l $name" $shell || echo "$shell: $name"
	done
done
