for verb in $(verbs); do
	"$COATI" $verb --help | awk -v verb=$verb '
		length > 100 { print verb ": too wide: " $0 }
		/^Examples:/ { seen = 1; next }
		seen && /^  coati / { examples++ }
		END {
			if (NR > 60)
				print verb ": " NR " lines"
			if (examples != 3)
				print verb ": " examples " examples"
		}'
done
