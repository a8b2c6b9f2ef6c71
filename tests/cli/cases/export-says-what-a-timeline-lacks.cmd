lib=$CLI/../lib
"$lib/write-recording" losses losses.data
"$lib/write-recording" untimed untimed.data
"$lib/write-recording" events events.data
"$lib/write-recording" empty empty.data
"$COATI" export -f speedscope -i losses.data
"$COATI" export -f firefox --no-compress -i untimed.data
"$COATI" export -f perfetto -i events.data
"$COATI" export -f chrome -i empty.data
ls *.json* *.pftrace
