perf record -q -e page-faults -c 1 -o rec -- "$HELPERS/touch-pages" 100 >/dev/null 2>&1
# Past the records of the start, before the sections with the names.
head -c 6000 rec >cut
"$COATI" dump -i cut --stats 2>/dev/null | grep -o 'page-faults$'
"$COATI" dump -i cut -e page-faults -n 1 2>/dev/null | grep -o 'SAMPLE page-faults:'
