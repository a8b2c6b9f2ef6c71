# another user has the name of root's folder, with a file for the process; in a /dev/shm of our own
cat >inside <<'END'
. "$CLI/prelude.sh"
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
unset XDG_RUNTIME_DIR
mkdir -m 700 /dev/shm/coati-0
chown 65534 /dev/shm/coati-0
"$HELPERS/recorder" stay >told 2>said &
wait_until test -s told
wait_until test -e turns
pid=$(cut -d ' ' -f 1 told)
"$HELPERS/make-flight" "/dev/shm/coati-0/$pid-99.live" "$pid" <"$CLI/patient.txt"
chown 65534 /dev/shm/coati-0/*
sed 's/coati-0-[0-9a-f]*$/coati-0-NUMBER/' said
head -n 1 told | cut -d ' ' -f 2-
"$COATI" record -q --trace -o file -p "$pid" -- sh -c 'n=$(wc -l <turns); until [ "$(wc -l <turns)" -gt "$((n + 1))" ]; do sleep 0.01; done'
kill -9 "$pid"
wait
"$COATI" trace -q --events file >events
echo "invented: $(grep -c 'GET /' events)"
[ "$(grep -c 'true words' events)" -ge 100 ] && echo "the true ones are there"
"$COATI" autopsy -n 1 "$pid" | head -n 1 | sed "s/$pid/PID/g"
END
unshare -m --propagation private sh -eu inside
