"$COATI" doctor "$(printf -- '--a\nb\033c')"
echo $?
"$COATI" "$(printf 'st\nat')"
echo $?
"$COATI" stat -e "$(printf 'x\033[2J')" -- true
echo $?
