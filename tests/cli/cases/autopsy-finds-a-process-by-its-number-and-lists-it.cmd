mkdir d
"$HELPERS/make-flight" d/4242-99.live <"$CLI/patient.txt"
echo nonsense >d/1-1.live
: >d/3-3.live
ln -s 4242-99.live d/2-2.live
"$COATI" autopsy --directory d 4242 | head -n 1
"$COATI" autopsy --directory d --list | sort -rn
"$COATI" autopsy --directory d --list --json >out
is_json out && grep -o '"pid":4242,"uid":[0-9]*,"comm":"patient","state":"dead"' out
"$COATI" autopsy --directory d 4243
