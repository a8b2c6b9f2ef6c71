# 40 naps in a template, called by a function whose name is too long as well: lines have the short
# names, JSON the whole ones
"$COATI" record -q --trace -- "$HELPERS/templates" 40 2>err || cat err
"$COATI" trace -q --events -n 0 | grep -o 'sleep for=.*app::Store.*' | sed 's/.*at=//' | sort -u
"$COATI" trace -q --blame -n 0 | grep -o ' at syscall.*'
"$COATI" trace -q --json --blame -n 0 | grep -o '"waiter_stack":"[^"]*app::Store[^"]*"' | sort -u
