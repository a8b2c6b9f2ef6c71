# at paranoid 2: from switch records alone, how long each thread was away, and a word on what is missing
cp "$HELPERS/wait-known" .
chmod 755 wait-known
# again when it differs: a host may take the CPU from us just between a switch and its record; what is wrong is wrong each time
for try in 1 2 3 4 5; do
	as_user ./coati record --off-cpu -- ./wait-known 40 20000 >told 2>err
	status=0
	"$CLI/off-cpu-truth" "$COATI" told >differs || status=$?
	[ $status = 0 ] && [ ! -s differs ] && break
done
cat differs
[ $status = 0 ] || echo "nothing was compared, status $status after $try tries"
grep -c 'off-CPU: how long each thread waits, but not where: .*sysctl kernel.perf_event_paranoid=1' err
as_user ./coati report --mode off | sed -n 2p
