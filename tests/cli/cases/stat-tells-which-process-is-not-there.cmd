"$COATI" stat -p 4194303 -d 1s
