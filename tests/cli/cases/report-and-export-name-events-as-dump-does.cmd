# a file without its sections (cut, or of an older perf in a pipe) names events by their numbers
"$COATI" record -q -e page-faults -c 1 --no-pack -o rec.data -- "$HELPERS/touch-pages" 100 >/dev/null
size=$(wc -c <rec.data)
head -c $((size * 3 / 4)) rec.data >cut
"$COATI" dump -i cut --stats 2>/dev/null | grep -o 'page-faults$'
"$COATI" report -q -i cut --by event --csv 2>/dev/null | cut -d , -f 1
"$COATI" report -q -i cut 2>/dev/null | grep -c 'samples of page-faults'
"$COATI" export -q -f pprof -o - cut 2>/dev/null | gzip -dc | grep -a -c page-faults
"$COATI" report -q -i cut -e page-faults --json 2>/dev/null | grep -c '"rows":\[{'
