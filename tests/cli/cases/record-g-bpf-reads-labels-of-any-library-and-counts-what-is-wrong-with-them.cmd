# Programs that publish labels as OpenTelemetry has it, without our library, and not always as they should; the variable is in
# the program, or in a library that the program reaches it in by a descriptor. The program has ended before its samples are read.
mkfifo in out
for program in foreign foreign-library; do
	"$HELPERS/$program" whole 10 edge 15 again 20 hidden 40 odd 80 unnamed 160 cut 320 long 640 invalid 1280 far 2560 <in >out &
	exec 8>in 7<out
	read -r pid <&7
	"$COATI" record -v -g bpf -e page-faults:u -c 1 -o l.data -p "$pid" -- sh -c 'echo >&8; read -r done <&7; echo >&8; read -r end <&7' 2>&1 | grep label
	exec 8>&-
	wait $!
	"$COATI" report -i l.data --by label:tenant --csv | awk -F, '$1 == "acme" { print "tenant=acme", $9 }'
	"$COATI" report -i l.data --by label:none 2>&1 >/dev/null | cut -d, -f 1,2 | cat -v
done
