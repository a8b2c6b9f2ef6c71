# a program with a flight recorder that stops itself in the middle of a request
folder=/dev/shm/coati-$(id -u)
"$HELPERS/fly" "$folder" 19 &
tries=0
until grep -q '^State:	T' /proc/$!/status || [ $tries -gt 1000 ]; do tries=$((tries + 1)); sleep 0.01; done
"$COATI" record -p $! --snapshot -o s.data
"$COATI" trace --events -i s.data | grep -c -e 'last words' -e 'nothing to do'
"$COATI" trace --json -q -i s.data >j && is_json j
grep -q '^State:	T' /proc/$!/status || echo "it does not run any more"
kill -9 $!
wait $! 2>/dev/null
rm -f "$folder/$!-"*.live
"$COATI" record -p $! --snapshot -o t.data || echo "status $?"
"$COATI" record -p $$ --snapshot -o t.data || echo "status $?"
[ ! -e t.data ] || echo "there is a file"
