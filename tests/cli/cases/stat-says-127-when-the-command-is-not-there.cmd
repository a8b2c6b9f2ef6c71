"$COATI" stat -q -- ./no-such-command
