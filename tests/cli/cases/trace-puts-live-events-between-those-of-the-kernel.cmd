# a live event between two system calls, on changing CPUs: no time outside the stated bound
# nothing is left to chance; where records were lost there is nothing to compare
lies_between()
{
	"$COATI" record -q --trace --syscalls -- "$HELPERS/sandwich" 700 >told 2>err || cat err
	status=0
	"$CLI/clock-truth" "$COATI" told >said || status=$?
	[ $status = 0 ] || cat said
	return $status
}
judge 1 0 lies_between
cat said
