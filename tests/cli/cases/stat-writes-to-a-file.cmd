echo old >out; "$COATI" stat -q -o out -e page-faults -- true; grep -c page-faults out; grep -c old out
