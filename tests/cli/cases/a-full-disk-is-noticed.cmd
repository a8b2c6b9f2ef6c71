for words in "help" "--version" "doctor --json" "list --kind software" "stat -d 1ms -p $$" "completion bash"; do
	"$COATI" $words >/dev/full 2>err && echo "$words: ended with 0"
	grep -q "cannot write to standard output: No space left on device" err || { echo "$words:"; cat err; }
done
"$COATI" stat --json true >/dev/full 2>err
echo $?
