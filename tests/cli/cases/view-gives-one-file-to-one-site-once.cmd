# --firefox: the export is for profiler.firefox.com, and for one fetch.
"$COATI" record -q -- "$HELPERS/touch-pages" 10 >/dev/null 2>&1
"$COATI" view -q --no-open --firefox >address & view=$!
wait_until test -s address
grep -c '^https://profiler.firefox.com/from-url/http%3A%2F%2F127.0.0.1%3A' address
file=$(sed 's,.*from-url/,,; s,%3A,:,g; s,%2F,/,g' address)
ask()
{
	curl -s -o answer -D head -w '%{http_code}\n' "$@"
}
ask "$file"
ask -H 'Origin: https://example.com' -H 'Sec-Fetch-Site: cross-site' "$file"
ask -X OPTIONS -H 'Origin: https://profiler.firefox.com' "$file"
ask -H 'Origin: https://profiler.firefox.com' -H 'Sec-Fetch-Site: cross-site' "$file"
grep -c '^Access-Control-Allow-Origin: https://profiler.firefox.com' head
gzip -dc answer 2>/dev/null | grep -c '"preprocessedProfileVersion"'
ask -H 'Origin: https://profiler.firefox.com' "$file"
kill $view && wait $view && echo ended
