chmod 777 .
as_user ./coati agent --store store
echo "status $?"
as_user ./coati doctor --agent | sed -n 's/^\(missing\|ok\|limited\) *\(machine\|mappings\) .*/\1 \2/p'
