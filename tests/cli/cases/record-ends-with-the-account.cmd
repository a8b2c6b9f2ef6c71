"$COATI" record -e cpu-clock:u true
