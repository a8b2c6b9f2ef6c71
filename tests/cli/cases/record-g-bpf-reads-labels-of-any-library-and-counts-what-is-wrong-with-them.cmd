# Programs that publish labels as OpenTelemetry has it, without our library, and not always as they should; the variable is in
# the program, in a library that reaches it by a descriptor, or in one that is loaded later, of which each thread has its own part. The
# program has ended before its samples are read.
mkfifo in out
# record PROGRAM KIND N...: what the recorder says of labels, and how many samples have the right one.
record()
{
	"$@" <in >out &
	exec 8>in 7<out
	read -r pid <&7
	"$COATI" record -v -g bpf -e page-faults:u -c 1 -o l.data -p "$pid" -- sh -c 'echo >&8; read -r done <&7; echo >&8; read -r end <&7' 2>&1 | grep label
	exec 8>&-
	wait $!
	"$COATI" report -i l.data --by label:tenant --csv | awk -F, '$1 == "acme" { print "tenant=acme", $9 }'
}
for program in foreign foreign-library foreign-loaded; do
	record "$HELPERS/$program" whole 10 edge 15 again 20 hidden 40 odd 80 unnamed 160 cut 320 long 640 invalid 1280 far 2560
	"$COATI" report -i l.data --by label:none 2>&1 >/dev/null | cut -d, -f 1,2 | cat -v
done
# another C library
if command -v musl-gcc >/dev/null && mkdir musl && musl-gcc -shared -fPIC -o musl/libforeign-module.so "$CLI/foreign-tls.c" &&
	musl-gcc -D_GNU_SOURCE -o musl/loaded "$CLI/foreign.c" "$CLI/foreign-load.c"; then
	record musl/loaded whole 15 >found
	grep -qx 'tenant=acme 15' found || cat found
fi
