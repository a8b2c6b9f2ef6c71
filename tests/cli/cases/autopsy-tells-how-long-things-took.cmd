printf '%s\n' 'batch kind=sites pid=4242' '- site id=1 kind=1 name="serve"' \
	'batch tid=4242 generation=1 flags=0 base=1000 pair_cycles=1000 pair_ns=5000 capacity=200' \
	'1000 region_begin site=1' '3001000 region_end' '3001100 region_begin site=1' '3001200 region_end' |
	"$HELPERS/make-flight" f.live
"$COATI" autopsy f.live | grep region_end
"$COATI" autopsy --json f.live | grep -o -e '"duration_ns":[0-9]*' -e 'region_end [^}]*duration=[0-9]*'
