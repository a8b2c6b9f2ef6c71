for options in "--flame --min 3" "--html x --min 3" "--source main --by line" "--no-local --debuginfod" "--no-local --root /x"; do
	# shellcheck disable=SC2086
	"$COATI" report $options
	echo $?
done
"$COATI" export -f folded --no-local --debug-dirs /x
echo $?
