# nested regions are valid at any depth; each transition that a resource type forbids is reported,
# and every view warns about them (threads without a name show the name of their process)
for depth in 64 65 1000 20000; do
	"$HELPERS/forbidden" deep.data "$depth" 0
	"$COATI" trace -q --check deep.data | sed -n 's/.* checks, /checks: /p'
	"$COATI" trace -q deep.data | grep -c 'warning'
done
"$HELPERS/forbidden" wrong.data 0 3
"$COATI" trace -q --check wrong.data >found && echo "the check went well"
sed -n -e 's/^\(wrong: .*\) [0-9]* at .*/\1/p' -e 's/.* checks, /checks: /p' found
for view in "" --events --blame; do
	"$COATI" trace -q $view wrong.data | tr -s ' \n#' ' ' | grep -o 'warning: 3 checks of this timeline fail'
done
"$COATI" trace -q --json wrong.data | grep -o '"wrong":[0-9]*'
