# four threads that sleep, wait for a futex, a pipe and a page fault, and measure it: what they waited for, and that everything adds up
for try in 1 2 3 4 5; do
	"$COATI" record -q --off-cpu -- "$HELPERS/wait-known" 40 20000 >told 2>err
	status=0
	"$CLI/off-cpu-truth" "$COATI" told stacks || status=$?
	[ $status = 3 ] || break
done
[ $status = 0 ] || echo "nothing was compared, status $status after $try tries"
