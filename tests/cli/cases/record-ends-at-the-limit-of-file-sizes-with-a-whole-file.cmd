# the kernel sends SIGXFSZ there; the command that is recorded gets it as ever
(
	ulimit -f 256
	"$COATI" record -c 10000 -o r.data -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
) 2>said || echo "record: $?"
grep -c 'has reached the limit of file sizes (ulimit -f); recording stopped, the command continues' said
"$COATI" report r.data >/dev/null || echo "report: $?"
(
	ulimit -f 2048
	"$COATI" record -o r.data -- dd if=/dev/zero of=big bs=1M count=2
) 2>/dev/null
echo "$?"
