"$COATI" stat -q -e cycles,page-faults -- true
