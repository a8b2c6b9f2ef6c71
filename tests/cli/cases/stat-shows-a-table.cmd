"$COATI" stat -q -- true
