cat >try.bash <<'END'
PATH=$PWD:$PATH
source ./coati.bash
try() { COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=(); _coati; printf '%s\n' "$1 => ${COMPREPLY[*]}"; }
try 'coati do'
try 'coati stat --per'
try 'coati stat --color '
try 'coati stat -e page-f'
try 'coati stat -e task-clock,page-f'
try 'coati list --na'
try 'coati stat -- cm'
END
printf '#!/bin/sh\nexec "%s" "$@"\n' "$COATI" >coati && chmod +x coati
"$COATI" completion bash >coati.bash
bash try.bash
