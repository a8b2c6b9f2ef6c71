"$COATI" report
