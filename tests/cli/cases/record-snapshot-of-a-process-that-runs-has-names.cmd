# samples in a recorder's memory are addresses: while the program runs, their names are asked for; another program in its place has others
folder=/dev/shm/coati-$(id -u)
stopped() {
	tries=0
	until grep -q "^State:	$1" /proc/$2/status || [ $tries -gt 2000 ]; do tries=$((tries + 1)); sleep 0.01; done
}
named() {
	"$COATI" report -q --json -e live:cpu -i "$1" >"$1.json" && is_json "$1.json"
	grep -o -e 'spend_[a-z]*' -e '"samples":' "$1.json" | sort -u
}
cp "$HELPERS/sampled" .
./sampled --fly "$folder" &
stopped T $!
"$COATI" record -q -p $! --snapshot -o s.data
named s.data
"$COATI" autopsy -o a.data $!
# but for the reading of both clocks: 8, 8 and 4 bytes
[ "$(cmp -l s.data a.data | wc -l)" -le 20 ] && echo alike
kill -CONT $!
tries=0
until [ "$(cat /proc/$!/comm)" = sleep ] || [ $tries -gt 2000 ]; do tries=$((tries + 1)); sleep 0.01; done
echo "another program:"
"$COATI" autopsy -o later.data $!
named later.data
"$COATI" dump --stats later.data | grep -i -c mmap
kill -9 $!
wait $! 2>/dev/null
rm -f "$folder/$!-"*.live
