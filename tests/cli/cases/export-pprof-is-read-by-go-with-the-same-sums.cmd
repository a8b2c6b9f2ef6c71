# Faults are counted exactly: what go adds up must be what report adds up, by function and by thread.
"$COATI" record -q -o rec.data -e page-faults:u -c 1 -- "$HELPERS/touch-pages" 500 2>err || cat err
"$COATI" export -q --check -f pprof rec.data || echo "export: status $?"
"$COATI" report --csv rec.data >report.csv 2>err
HOME=$PWD
export HOME
go tool pprof -raw rec.pb.gz >raw 2>err || cat err
go tool pprof -top -nodecount=0 -sample_index=page-faults:u rec.pb.gz >top 2>err || cat err
go tool pprof -tags -sample_index=page-faults:u rec.pb.gz >tags 2>err || cat err
total=$(awk '/^Locations/ { exit } /^ +[0-9]+ +[0-9]+: / { sum += $2 } END { print sum }' raw)
wanted=$("$COATI" report --json rec.data | grep -o "\"total\":[0-9]*" | head -n 1 | cut -d: -f2)
[ "$total" = "$wanted" ] || echo "go adds up $total, report $wanted"
grep -q '^Comment: 0 lost, 0 throttled; stacks: ' raw || echo "the account is not among the comments"
grep -q '^samples/count page-faults:u/count\[dflt\]' raw || { echo "the types of samples are others"; grep '^samples/' raw; }
# self of main, of both
mine=$(awk -F, '$1 ~ /^main$/ || $3 == "main" || $4 == "main" || $5 == "main" { print; exit }' report.csv)
[ -n "$mine" ] || { echo "report has no main:"; head -n 3 report.csv; }
theirs=$(awk '$NF == "main" { print $1; exit }' top)
case ",$mine," in *",$theirs,"*) ;; *) echo "self of main: go has $theirs, report $mine" ;; esac
grep -q "thread_name: Total $wanted" tags || { echo "the threads' names do not add up:"; cat tags; }
grep -q ': touch-pages$' tags || { echo "no thread has the name of the program:"; cat tags; }
