"$COATI" --version; "$COATI" -V | grep -c "^coati "
