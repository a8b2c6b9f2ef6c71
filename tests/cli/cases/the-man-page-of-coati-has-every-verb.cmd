for verb in $(verbs) help; do
	grep -q "^\.B[RI]* $verb" "$CLI/../../docs/man/coati.1" || echo "$verb is not in coati.1"
done
