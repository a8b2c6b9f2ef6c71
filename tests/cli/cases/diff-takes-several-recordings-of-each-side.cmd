for i in 1 2 3 4; do
	"$COATI" record -q -e task-clock:u -F 5000 -o $i.data -- "$HELPERS/phases" 60 100
done
cp 4.data 4,5.data
# sides WORDS...: how many files each side has
sides()
{
	"$COATI" diff -q --json "$@" | grep -o '"files":\[[^]]*\]'
}
sides 1.data,2.data 3.data
sides 1.data 2.data -- 3.data 4,5.data
sides --by image -- 1.data 2.data
sides --before 1.data,2.data --before 3.data --after 4.data
sides 1.data,2.data -- 3.data,4.data
# four of each side: a recording is the unit
"$COATI" diff -q --json 1.data 2.data 3.data 4.data -- 4.data 3.data 2.data 1.data | grep -o '"units":[0-9]*,"unit_is":"[a-z]*"'
# the same seed gives the same answer, another one another
"$COATI" diff -q --json 1.data 2.data >a
"$COATI" diff -q --json 1.data 2.data >b
cmp a b && echo same
