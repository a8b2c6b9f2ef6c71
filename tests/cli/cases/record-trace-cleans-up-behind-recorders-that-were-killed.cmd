# folders of live events: one that nobody holds, one that somebody records into, one that was made just now, and one with something else in it
export XDG_RUNTIME_DIR=$PWD
for name in dead held new other; do
	mkdir coati-trace-$name
	>coati-trace-$name/1-2.live
done
>coati-trace-dead/3-4.live.new # of a program that was killed at its start
>coati-trace-other/mine
touch -d '1 hour ago' coati-trace-dead coati-trace-held coati-trace-other
flock coati-trace-held "$COATI" record -q --trace -o t.data -- true 2>err || cat err
ls -d coati-trace-*
ls coati-trace-other
