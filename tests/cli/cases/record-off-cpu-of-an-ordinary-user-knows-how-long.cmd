# at paranoid 2: from switch records alone, how long each thread was away, and a word on what is missing
cp "$HELPERS/wait-known" .
chmod 755 wait-known
# by chance: the host takes the CPU just between a switch and its record; wrong: time off CPUs is
# 2 % too long or too short, in each try
agree()
{
	as_user ./coati record --off-cpu -- ./wait-known 40 20000 >told 2>err
	"$CLI/off-cpu-truth" "$COATI" told
}
judge 5 2 agree
grep -c 'off-CPU: waits have no stacks, .*sysctl kernel.perf_event_paranoid=1' err
as_user ./coati report --mode off | sed -n 2p
