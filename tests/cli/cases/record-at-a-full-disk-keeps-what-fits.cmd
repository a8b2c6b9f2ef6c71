mkdir disk
unshare -m --propagation private sh -c '
	mount -t tmpfs -o size=160k none disk || exit
	"$COATI" record -F 20000 -g none -o disk/coati.data sh -c "i=0; while [ \$i -lt 400000 ]; do i=\$((i+1)); done; echo ran"
	echo "status $?"
	"$COATI" dump -i disk/coati.data --stats >out || echo "dump: $?"
	grep -q "cpu-clock\|cycles" out || cat out
'
