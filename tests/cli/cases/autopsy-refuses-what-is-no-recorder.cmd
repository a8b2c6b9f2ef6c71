echo hello >f
"$COATI" autopsy f
"$COATI" autopsy "$COATI"
"$COATI" autopsy nowhere
"$COATI" autopsy .
