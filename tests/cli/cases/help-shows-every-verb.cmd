"$COATI" help; "$COATI" --help | cmp - /dev/stdin <<END
$("$COATI" help)
END
# Every verb that has a man page is in the overview.
for page in "$CLI"/../../docs/man/coati-*.1; do
	verb=${page##*/coati-}
	verb=${verb%.1}
	[ "$verb" = completion ] || "$COATI" help | grep -q "^  $verb " || echo "the overview has no $verb" >&2
done
