# tasks that begin on one thread and CPU and end on others: each line stands on the thread that it
# happened on, with its CPU; a thread's own view has what happened there
cp "$HELPERS/handed" .
chmod 755 handed
export XDG_RUNTIME_DIR="$PWD/run"
mkdir -m 777 run
as_user ./coati record -q --trace -- ./handed 50 >told 2>err || cat err
as_user ./coati trace -q --json --events -n 0 >events
as_user ./coati trace -q --json --thread "$(sed -n 's/^begin \([0-9]*\) .*/\1/p' told)" -n 0 >thread
python3 - <<'PY'
import json
where = {line.split()[0]: line.split()[1:] for line in open("told")}
got = {}
for view in "events", "thread":
    for e in json.load(open(view))["events"]:
        words = e["event"].split()
        if words[0].startswith("task-"):
            key = (view, words[0], "".join(k for k, (tid, cpu) in where.items() if [str(e["tid"]), "cpu=" + cpu] == [tid, words[-1]]))
            got[key] = got.get(key, 0) + 1
print(*(f"{view}: {word} x {n} on {which or 'another thread or CPU'}" for (view, word, which), n in sorted(got.items())), sep="\n")
PY
