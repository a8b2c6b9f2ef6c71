# four threads that sleep, wait for a futex, a pipe and a page fault, and measure it: what they waited for, and that everything adds up
"$COATI" record -q --off-cpu -- "$HELPERS/wait-known" 40 20000 >told 2>err
"$CLI/off-cpu-truth" "$COATI" told stacks
