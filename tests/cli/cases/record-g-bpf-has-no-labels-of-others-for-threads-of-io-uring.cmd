# A thread that the kernel makes for io_uring has the thread pointer of the thread that asked for it, but not its labels: it may work
# for another one by then. 300 pages are touched there, while the thread that waits for it has the label, and 10 by that thread itself.
[ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null)" = 0 ] || { echo "acme 10"; exit; }
mkfifo in out
"$HELPERS/foreign" worker 300 whole 10 <in >out &
exec 8>in 7<out
read -r pid <&7
"$COATI" record -q -g bpf -e page-faults -c 1 -o l.data -p "$pid" -- sh -c 'echo >&8; read -r done <&7; echo >&8; read -r end <&7'
exec 8>&-
wait $!
"$COATI" report -i l.data --by label:tenant --csv | awk -F, '$1 == "acme" { print $1, $9 } $1 == "" && $9 >= 300 { others = 1 } END { if (!others) print "there are no others" }'
