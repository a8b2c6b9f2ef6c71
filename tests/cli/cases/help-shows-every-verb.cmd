"$COATI" help; "$COATI" --help | cmp - /dev/stdin <<END
$("$COATI" help)
END
