# not as long as the machine runs
sleep 60 &
sleep 0.2
"$COATI" record -q --trace -p $! -d 300ms -o s.data
kill $!
"$COATI" trace -q s.data | head -n 1
