for n in 0 1 3 42 124 125 126 127 255; do "$COATI" stat -qo /dev/null sh -c "exit $n"; [ $? = $n ] || echo "$n became $?"; done
