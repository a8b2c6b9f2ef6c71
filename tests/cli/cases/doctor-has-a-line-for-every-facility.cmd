"$COATI" doctor
