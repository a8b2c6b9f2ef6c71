# as an ordinary user; the tool is copied, because its folder may not be theirs to read
cp "$(realpath "$COATI")" tool
cp "$HELPERS/touch-pages" other
chown 0 other
chmod 4755 other
chmod 777 .
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
as_user ./tool record -o user.data -e page-faults:u -c 1 -- ./other 10 2>&1 | grep rights
as_user ./tool stat -e page-faults:u -- ./other 10 2>&1 | grep -c 'rights of user 0'
chmod 755 other
as_user ./tool record -o user.data -e page-faults:u -c 1 -- ./other 10 2>&1 | grep -c rights
chmod 4755 other
"$COATI" record -o root.data -e page-faults:u -c 1 -- ./other 10 2>&1 | grep -c rights
true
