# A file system of 400 KiB that somebody else keeps full: windows go on, and when there is room recordings come again.
mkdir disk
# shellcheck disable=SC2016 # words of the inner shell
unshare -m --propagation private sh -u -c '
	mount -t tmpfs -o size=400k none disk || exit
	"$COATI" agent --store disk/store --print --window 300ms --segment 600ms -F 99 --budget 100% >windows 2>said &
	agent=$!
	wait_until() { until sh -c "$1"; do kill -0 $agent || { cat said; touch stop; exit 1; }; sleep 0.1; done; }
	wait_until "ls disk/store/*.data >/dev/null 2>&1"
	(while [ ! -e stop ]; do cat /dev/zero >>disk/fill 2>/dev/null; sleep 0.05; done) &
	filler=$!
	wait_until "grep -q \"cannot write to disk/store\" said"
	before=$(wc -l <windows)
	wait_until "[ \$(wc -l <windows) -gt $((before + 2)) ]"
	touch stop
	wait $filler
	rm disk/fill
	ls disk/store >old
	wait_until "ls disk/store | comm -13 old - | grep -q ."
	kill $agent
	wait $agent || echo "agent: $?"
	grep -q "times without space: [1-9]" said || cat said
'
is_json windows || echo "no JSON"
