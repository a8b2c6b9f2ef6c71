for n in INT:130 TERM:143 KILL:137 SEGV:139 USR1:138; do
	"$COATI" stat -qo out sh -c "kill -${n%:*} \$\$"
	[ $? = ${n#*:} ] || echo "$n became $?"
	grep -q "ended by SIG${n%:*}" out || cat out
done
