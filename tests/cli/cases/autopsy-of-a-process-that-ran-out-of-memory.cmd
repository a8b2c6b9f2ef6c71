# a group with too little memory for it: version 1 of cgroups has its limits elsewhere
base=/sys/fs/cgroup limit=memory.max
[ ! -d $base/memory ] || base=$base/memory limit=memory.limit_in_bytes
group=$base/coati-cli-$$
mkdir $group || exit
echo 32M >$group/$limit
sh -c 'echo $$ >$0/cgroup.procs; "$HELPERS/fly" rec 0; echo "exit $?"' $group 2>/dev/null
tries=0
while ! rmdir $group 2>/dev/null && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.01; done
"$COATI" autopsy --directory rec -n 2 "$(cat pid)" | grep -E '^fly|^thread|works on|  in |value=99|text=|open task'
