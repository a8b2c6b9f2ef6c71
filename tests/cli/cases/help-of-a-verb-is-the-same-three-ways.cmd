for verb in $(verbs); do
	"$COATI" help $verb >a
	"$COATI" $verb --help >b
	"$COATI" $verb -h >c
	cmp a b && cmp b c
done
