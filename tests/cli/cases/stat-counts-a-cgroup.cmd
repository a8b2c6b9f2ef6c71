base=/sys/fs/cgroup
for sub in unified perf_event; do [ ! -w $base/$sub/cgroup.procs ] || base=$base/$sub; done
group=$base/coati-cli-$$
mkdir $group || exit
"$COATI" stat --json --cgroup $group -e page-faults -- sh -c '"$1" 3000; echo $$ >$0/cgroup.procs; "$1" 5000' $group "$HELPERS/touch-pages" >out 2>err
tries=0
while ! rmdir $group 2>/dev/null && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.01; done
cat err
is_json out
n=$(count_of page-faults <out)
{ [ "${n:-0}" -ge 5000 ] && [ "$n" -lt 8000 ]; } || cat out
