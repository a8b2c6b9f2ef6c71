"$COATI" stat --json -e cycles,page-faults -- true
