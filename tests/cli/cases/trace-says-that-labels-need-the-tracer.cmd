# examples/serve links the archive and uses no tracer
mkfifo in
"$HELPERS/../../examples/serve" unix:socket <in >/dev/null &
exec 9>in
echo acme >&9
while ! grep -q OTEL_CTX /proc/$!/maps; do sleep 0.05; done
"$COATI" record --trace -p $! -- sleep 0.1 2>&1 | grep -o 'no live events: .*' | sed "s/$!/PID/"
exec 9>&-
wait $!
