"$COATI" record -q -e page-faults:u -c 1 -o - -- true >stream
"$COATI" dump -T SAMPLE -i stream >file
"$COATI" dump -T SAMPLE -i - <stream | cmp - file && [ -s file ] && echo same
