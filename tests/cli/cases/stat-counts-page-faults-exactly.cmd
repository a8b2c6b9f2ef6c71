# Without random addresses: with them the stack or the heap of one program in five needs a page more.
# by chance: a page is taken away and comes back; wrong: one fault too many or too few, in each try
faults()
{
	setarch -R "$COATI" stat --json -qo - -e page-faults:u -- "$HELPERS/touch-pages" "$1" |
		count_of page-faults:u
}
is_exact()
{
	some=$(faults 10)
	more=$(faults 1010)
	[ $((more - some)) = 1000 ] || echo "$some, $more"
}
judge 5 2 is_exact
