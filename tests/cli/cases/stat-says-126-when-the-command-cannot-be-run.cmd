echo >plain; "$COATI" stat -q -- ./plain
