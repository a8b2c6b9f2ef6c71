# As go build makes it, and stripped: then names and frames come from Go's own function table. The garbage collector works on stacks of its own, which frame pointers lead back from
export GOCACHE="${GOCACHE-$PWD/go-cache}" GOFLAGS=-mod=mod GOTOOLCHAIN=local
cat >go.mod <<'M'
module p
go 1.19
M
cat >p.go <<'G'
package main

type node struct{ l, r *node }

//go:noinline
func tree(n int) *node {
	if n == 0 {
		return &node{}
	}
	return &node{tree(n - 1), tree(n - 1)}
}

func main() {
	done := make(chan bool)
	for i := 0; i < 2; i++ {
		go func() {
			for k := 0; k < 60; k++ {
				tree(14)
			}
			done <- true
		}()
	}
	<-done
	<-done
}
G
go build -o p . && go build -ldflags='-s -w' -o stripped . || exit 1
for mode in auto fp; do
	"$COATI" record -q -g $mode -o $mode.data -e cpu-clock:u -- ./p
	"$COATI" report -q -i $mode.data --json >$mode.json
done
"$COATI" record -q -o stripped.data -e cpu-clock:u -- ./stripped
"$COATI" report -q -i stripped.data --json >stripped.json
python3 - <<'PY'
import json
def share(name):
    q = json.load(open(name + ".json"))["quality"]
    print("few samples:", q["samples"]) if q["samples"] < 50 else None
    return q["stacks"]["complete"] / q["samples"]
auto, fp = share("auto"), share("fp")
print("auto: %.3f" % auto) if auto < 0.95 else None
print("auto %.3f is worse than fp %.3f" % (auto, fp)) if auto < fp - 0.04 else None
stripped, q = share("stripped"), json.load(open("stripped.json"))["quality"]
print("stripped: %.3f" % stripped) if stripped < 0.95 else None
print("without a symbol:", q["unsymbolized"], "of", q["samples"]) if q["unsymbolized"] > q["samples"] / 100 else None
PY
"$COATI" report -q -i stripped.data --csv --show '^main\.tree$' | sed -n 's/^\(main\.tree\),.*/\1/p'
# the rules are those of .debug_frame
"$HELPERS/go-frames" p | sed 's/^[0-9][0-9][0-9]* functions/functions/'
