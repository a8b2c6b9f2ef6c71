# four threads that sleep, wait for a futex, a pipe and a page fault, and measure it: what they waited for, and that everything adds up
# by chance: the host takes the CPU just between a switch and its record; wrong: time off CPUs is
# 2 % too long or too short, in each try
agree()
{
	"$COATI" record -q --off-cpu -- "$HELPERS/wait-known" 40 20000 >told 2>err || cat err
	"$CLI/off-cpu-truth" "$COATI" told stacks
}
judge 5 2 agree
