# policy and nice value of the recorder while it records, and those of what it runs
see()
{
	"$COATI" record -q --no-pack -g none "$@" -o r.data -- sh -c '
		read -r stat </proc/$PPID/stat
		set -- ${stat##*) }
		echo "recorder nice ${17}, policy ${39}"
		read -r stat </proc/$$/stat
		set -- ${stat##*) }
		echo "command nice ${17}, policy ${39}"'
}
see
see --realtime 1
# who has chosen a priority keeps it
nice -n 3 "$COATI" record -q --no-pack -g none -o r.data -- sh -c '
	read -r stat </proc/$PPID/stat
	set -- ${stat##*) }
	echo "recorder nice ${17}, policy ${39}"'
as_user ./coati record --realtime 1 -e task-clock:u -o /dev/null -- true 2>&1 | sed 's/.*--realtime/--realtime/'
"$COATI" record --realtime 100 true 2>&1 | sed 's/ (.*//'
