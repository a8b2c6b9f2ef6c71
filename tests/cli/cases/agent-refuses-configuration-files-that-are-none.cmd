# A file that gives no bytes, is too long or can be changed by others is refused, with the reason.
mkfifo fifo
mkdir dir
ln -s nowhere link
head -c 300000 /dev/zero | tr '\0' '#' >long
printf 'window = 1s\0\n' >zero
echo 'window = 1s' >anybody
chmod 666 anybody
echo 'window = 1s' >other
chown 65534 other
for f in fifo dir link long zero anybody other /dev/null /dev/zero missing; do
	"$COATI" agent --config $f --print -d 1ms 2>&1 >out | head -n 1
	[ ! -s out ] || echo "$f: it ran"
done
