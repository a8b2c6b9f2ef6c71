# regions that were open are known where the program keeps them; tasks and scopes always are
for how in "" keep; do
	"$HELPERS/early" early.data $how
	"$COATI" trace -q -i early.data | grep -o '[^ ].*began before.*' | sed 's/^[0-9 -]*//'
	"$COATI" trace -q --events -i early.data | sed -n 's/^[0-9.]* *[^ ]* [0-9]*  \([tr]\)/\1/p'
	"$COATI" trace -q --task 1 -i early.data | grep '^task'
	"$COATI" trace -q --json -i early.data | grep -o '"began_before":1' | sort -u
	"$COATI" trace -q --check -i early.data >/dev/null || echo "the check fails"
done
