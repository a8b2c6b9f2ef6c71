as_user ./coati stat -e page-faults,task-clock -- ./touch-pages 100
