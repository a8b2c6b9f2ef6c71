# libcoati-live takes 32 MiB for its events, less where the limit for files is lower; below 1 MiB
# the program runs without, and the recorder reports it with the reason
traced()
{
	"$COATI" record --trace -o t.data -- sh -c 'ulimit -f "$1" && exec "$2" 200 none 10' - "$1" "$HELPERS/requests" >told 2>said || cat said
	sed -n 's/of process [0-9]*:/of process PID:/; s/^coati record: no live events/no live events/p' said
	"$COATI" trace -q --events t.data >events || echo "status $?"
	echo "$2: $(grep -c ' task-begin ' events) tasks"
}
traced 8192 "4 MiB"
traced 2048 "1 MiB"
traced 1024 "512 KiB"
# a directory that no recorder removes stays as it is
mkdir own
(ulimit -f 1024 && COATI_TRACE=$PWD/own "$HELPERS/requests" 10 none 10 >told)
ls own
