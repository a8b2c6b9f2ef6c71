"$COATI" stat -q -o - -e page-faults -- true | grep -c page-faults
