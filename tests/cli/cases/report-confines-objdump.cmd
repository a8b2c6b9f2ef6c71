# a program in the place of objdump, as an attacker would have it who made a file that takes objdump over: it reads the
# file that it is about, and neither other files nor can it write or connect
"$COATI" record -q -- "$HELPERS/../../examples/words" >/dev/null
function=$("$COATI" report -q --csv --image words | sed -n 's/^\([a-z_]*\),words,.*/\1/p' | head -n 1)
mkdir bin
echo secret >secret.c
cat >bin/objdump <<'S'
#!/bin/sh
for last; do :; done
tell() { printf '  10:\t%s %s\n' "$1" "$2"; }
if head -c 4 "$last" 2>/dev/null | grep -q ELF; then tell file yes; else tell file no; fi
if cat SECRET 2>/dev/null; then tell secret yes; else tell secret no; fi
if cat /etc/passwd 2>/dev/null; then tell passwd yes; else tell passwd no; fi
if echo x 2>/dev/null >WRITTEN; then tell write yes; else tell write no; fi
if /usr/bin/python3 -c 'import socket; socket.socket()' 2>/dev/null; then tell socket yes; else tell socket no; fi
if /usr/bin/python3 -c 'print()' >/dev/null 2>&1; then tell python yes; else tell python no; fi
if ls /proc/$PPID/fd >/dev/null 2>&1; then tell parent yes; else tell parent no; fi
printf '  20:\tend\n'
S
sed -i "s,SECRET,$PWD/secret.c,; s,WRITTEN,$PWD/written," bin/objdump
chmod +x bin/objdump
PATH=$PWD/bin:$PATH "$COATI" report -q --source "$function" | sed -n 's/^ *10: //p'
[ ! -e written ] || echo "it wrote a file"
# without a sandbox it can
PATH=$PWD/bin:$PATH "$COATI" report -q --no-sandbox --source "$function" | sed -n 's/^ *10: \(write\|secret\)/\1/p'
[ -e written ] || echo "it wrote no file"
