"$COATI" record -q -- "$HELPERS/../../examples/words" >/dev/null
function=$("$COATI" report -q --csv --image words | sed -n 's/^\([a-z_]*\),words,.*/\1/p' | head -n 1)
mkdir bin
printf '#!/bin/sh\nexit 3\n' >bin/objdump
chmod +x bin/objdump
PATH=$PWD/bin:$PATH "$COATI" report -q --source "$function" | grep 'objdump'
printf '#!/bin/sh\nkill -9 $$\n' >bin/objdump
PATH=$PWD/bin:$PATH "$COATI" report -q --source "$function" | grep 'objdump'
