# A container without CAP_BPF, and a machine that shows no cgroup files: windows have the load, by a
# service, and the doctor says what is missing.
# shellcheck disable=SC2016 # words of the inner shell
unshare -m --propagation private sh -u -c '
	mount -t tmpfs none /sys/fs/cgroup || exit
	caps="--bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin"
	setpriv $caps "$COATI" agent -q --print --window 200ms -F 199 --budget 100% >windows 2>said &
	agent=$!
	"$HELPERS/phases" 100000 100 >/dev/null &
	load=$!
	until grep -qs "\"name\":\"[^\"]*\",[^}]*\"weight\":[1-9]" windows; do kill -0 $agent || break; sleep 0.1; done
	kill $load $agent
	wait $load 2>/dev/null
	wait $agent || { echo "agent: $?"; cat said; }
	setpriv $caps "$COATI" doctor --agent | sed -n "s/^\(ok\|limited\|missing\) *\(machine\|stacks\|cgroups\) .*/\1 \2/p; s/^ *> //p"
'
python3 - <<'END2'
import json
windows = [json.loads(l) for l in open("windows")]
print(sum(e["weight"] for w in windows for e in w["events"]) > 0)
END2
