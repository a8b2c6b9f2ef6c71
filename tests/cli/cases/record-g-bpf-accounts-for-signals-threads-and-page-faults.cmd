# a small form of `scripts/soak walker`: signals on a stack of their own, realigned frames, and 500 threads whose page faults are known
COATI_TOOL=$COATI HELPERS=$HELPERS "$CLI/walker-soak" --small shapes throng-500 >said || cat said
