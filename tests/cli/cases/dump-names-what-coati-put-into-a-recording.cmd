"$COATI" record -q -o a.data -- "$HELPERS/../../examples/words" >/dev/null
"$COATI" dump -e coati/live a.data | sed -n 's/.* \(batch=symbols version=1\) size=[0-9]* \(image=.*\) build_id=[0-9a-f]*$/\1 \2/p' |
	sed -n 's|=/.*/words$|=words|p'
"$COATI" dump -e coati/live a.data | grep -c payload=
"$COATI" dump -e coati/live --json -i a.data | sed -n '1s/.*"batch":"\([a-z]*\)".*/\1/p'
"$COATI" dump a.data b.data
echo $?
