# a live event between two system calls, on changing CPUs: no time outside the stated bound
for try in 1 2 3 4 5; do
	"$COATI" record -q --trace --syscalls -- "$HELPERS/sandwich" 700 >told 2>err || cat err
	status=0
	"$CLI/clock-truth" "$COATI" told || status=$?
	[ $status = 3 ] || break
done
[ $status = 0 ] || echo "status $status after $try tries"
