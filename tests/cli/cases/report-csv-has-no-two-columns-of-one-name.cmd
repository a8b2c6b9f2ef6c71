# whatever the rows are by; labels may have any name
"$COATI" record -q -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
for by in function line address image thread process comm cpu event time wait label:pid label:total task; do
	head=$("$COATI" report -q --by $by --csv 2>/dev/null | head -n 1)
	columns=$(echo "$head" | tr ',' '\n' | wc -l)
	twice=$(echo "$head" | tr ',' '\n' | sort | uniq -d)
	echo "$by: ${head%%,*}, $columns columns${twice:+, twice: $twice}"
done
