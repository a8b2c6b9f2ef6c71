"$COATI" dump
