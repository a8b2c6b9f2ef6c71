# four threads that sleep, wait for a futex, a pipe and a page fault, and measure it: what they waited for, and that everything adds up
# again when it differs: a host may take the CPU from us just between a switch and its record; what is wrong is wrong each time
for try in 1 2 3 4 5; do
	"$COATI" record -q --off-cpu -- "$HELPERS/wait-known" 40 20000 >told 2>err
	status=0
	"$CLI/off-cpu-truth" "$COATI" told stacks >differs || status=$?
	[ $status = 0 ] && [ ! -s differs ] && break
done
cat differs
[ $status = 0 ] || echo "nothing was compared, status $status after $try tries"
