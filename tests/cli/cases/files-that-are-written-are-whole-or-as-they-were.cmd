"$HELPERS/make-flight" flight <"$CLI/patient.txt"
"$COATI" record -q -o recording -F 2000 -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' 2>err || cat err
"$COATI" autopsy -o trace flight
mkdir full readonly
# a program with a sanitizer wants its own library to be the first
if ! grep -q __asan_init "$(realpath "$COATI")"; then
	cc -shared -fPIC -D_GNU_SOURCE -O1 -Wall -Wextra -o quota.so "$CLI/quota.c"
	export QUOTA_LIBRARY="$PWD/quota.so"
fi
unshare -m --propagation private sh -c 'mount -t tmpfs -o size=64k tmpfs full && mount -t tmpfs -o size=64k tmpfs readonly && "$CLI/whole-files" "$COATI" 3 flight recording trace'
