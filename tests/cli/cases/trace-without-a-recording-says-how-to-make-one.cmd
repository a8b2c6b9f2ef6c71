"$COATI" trace
"$COATI" why request
