perf record -q -e page-faults -c 1 -o rec -- "$HELPERS/touch-pages" 100 >/dev/null 2>&1
# Among the samples, before the sections with the names: where the data ends is in the header.
end=$(od -A n -t u8 -j 40 -N 16 rec | awk '{ print $1 + $2 }')
head -c $((end - 1000)) rec >cut
"$COATI" dump -i cut --stats 2>/dev/null | grep -o 'page-faults$'
"$COATI" dump -i cut -e page-faults -n 1 2>/dev/null | grep -o 'SAMPLE page-faults:'
