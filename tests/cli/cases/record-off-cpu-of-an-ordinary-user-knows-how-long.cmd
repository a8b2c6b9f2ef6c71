# at paranoid 2: from switch records alone, how long each thread was away, and a word on what is missing
cp "$HELPERS/wait-known" .
chmod 755 wait-known
as_user ./coati record --off-cpu -- ./wait-known 40 20000 >told 2>err
grep -c 'off-CPU: how long each thread waits, but not where: .*sysctl kernel.perf_event_paranoid=1' err
as_user ./coati report --mode off | sed -n 2p
"$CLI/off-cpu-truth" "$COATI" told
