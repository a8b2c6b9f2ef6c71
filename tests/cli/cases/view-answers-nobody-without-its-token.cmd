# Everything lies below a random token; other hosts, other sites and other paths get nothing.
"$COATI" record -q -- "$HELPERS/touch-pages" 10 >/dev/null 2>&1
"$COATI" view -q --no-open >address & view=$!
wait_until test -s address
page=$(cat address)
root=${page%/*/}
grep -cE '^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/$' address
ask()
{
	curl -s -o answer -w '%{http_code}\n' "$@"
}
ask "$page" && grep -c 'id="data"' answer
ask "$root/"
ask "$root/00000000000000000000000000000000/"
ask -H 'Host: example.com' "$page"
ask -H 'Sec-Fetch-Site: cross-site' "$page"
ask -X POST "$page"
ask "${page}source?file=0"
ask "${page}source?file=99999999"
ask "${page}export?format=nonsense"
ask "${page}../../etc/passwd" --path-as-is
ask "${page}export?format=pprof" && test -s answer && echo pprof
kill $view && wait $view && echo ended
