# Whatever the umask: directories 0700, recordings and waiting windows 0600. After SIGKILL every recording of the directory can be
# read, the one that was being written up to where it was cut.
umask 0
"$COATI" agent -q --store store --spool spool --clickhouse http://127.0.0.1:1/none --window 200ms --send-every 1s --segment 400ms -F 99 \
	--budget 100% 2>said &
agent=$!
wait_until sh -c 'ls spool/*.parcel && ls store/*-0001.data' >/dev/null 2>&1 || { cat said; exit; }
kill -9 $agent
wait $agent 2>/dev/null || echo "agent: $?"
stat -c '%a %F' store spool
stat -c '%a %F' store/*.data spool/* | sed 's/ empty//' | sort | uniq -c | sed 's/^ *[0-9]*/some/'
for file in store/*.data; do
	"$COATI" dump --stats -i "$file" >records 2>said || grep -q 'it was cut' said || cat said
	grep SAMPLE records >>samples
done
test -s samples || echo "no samples"
# and it stores nothing where all others may make files
mkdir -m 1777 public
"$COATI" agent -q --store public -d 1s 2>&1 || echo "public: $? $(ls public)"
