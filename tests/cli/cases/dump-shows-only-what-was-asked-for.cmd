"$COATI" record -q -g none -e page-faults:u,cpu-clock:u -c 1 -o r.data -- true
"$COATI" dump -e "page-*" -i r.data | grep -vc " SAMPLE page-faults:u:"
"$COATI" dump -T COMM -i r.data | grep -vc " COMM "
"$COATI" dump -p 1 -T SAMPLE -i r.data | wc -l
"$COATI" dump -n 3 -i r.data | wc -l
"$COATI" dump --time 0,0.000000001 -T SAMPLE -i r.data | wc -l
