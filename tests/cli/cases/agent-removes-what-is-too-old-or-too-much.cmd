mkdir store
for i in 1 2 3 4 5 6; do
	head -c 300000 /dev/zero >"store/coati-2026010${i}T000000Z-0001.data"
done
touch -d '10 days ago' store/coati-2026010[12]*
cp store/coati-20260101T000000Z-0001.data store/mine.data
touch -d '10 days ago' store/mine.data
"$COATI" agent -q --store store --window 200ms --segment 1s -d 1500ms --keep-age 168h --keep-bytes 1M --budget 100%
ls store | grep -c '^coati-202601'
ls store/mine.data
[ "$(du -sk --exclude=mine.data store | cut -f 1)" -le 1100 ] || du -sk store
