"$COATI" stat -- echo hello
