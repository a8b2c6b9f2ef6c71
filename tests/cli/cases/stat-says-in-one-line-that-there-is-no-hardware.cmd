"$COATI" stat -o /dev/null -- true
