as_user ./coati stat --json -e context-switches,page-faults -- true
