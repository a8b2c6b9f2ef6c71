# Two functions, one after the other at the same place within some tenths of a second: each has the weight of its own time.
"$COATI" record -q -- "$HELPERS/../kernel/live-lives" dump truth
pid=$(sed -n '1s/ .*//p' truth)
jit_rows() { # [OPTION...]: "NAME,SELF,TOTAL" of the code that was made at run time
	"$COATI" report -q --csv "$@" | sed -n "s/^\([a-z]* code\),\[jit pid $pid\],.*,\([0-9]*,[0-9]*\),[0-9]*,[0-9]*\$/\1,\2/p" | sort
}
by_segment() {
	awk '!seen[$2]++ { printf "@%.9f-@%.9f\n", $2 / 1e9, $3 / 1e9 }' truth | while read -r range; do
		jit_rows --time "$range"
	done
}
jit_rows >all
by_segment >parts
sed 's/,.*//' all
cmp all parts
"$COATI" report -q --csv | grep -c '^\[anon'
# the recording brought the names, and when each was right
rm jit-*.dump
jit_rows | cmp all -
by_segment | cmp all -
