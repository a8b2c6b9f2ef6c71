"$COATI" record -q -g none -e page-faults:u,cpu-clock:u -c 1 -o r.data -- true
"$COATI" dump -i r.data -e nosuch
echo "status $?"
# in a stream events come with the records
"$COATI" record -q -g none -e page-faults:u -c 1 -o - -- true >s.data
"$COATI" dump -i s.data -e "page*" -e "nosuch*" --stats >/dev/null
echo "status $?"
