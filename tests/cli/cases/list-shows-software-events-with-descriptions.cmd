"$COATI" list --kind software
