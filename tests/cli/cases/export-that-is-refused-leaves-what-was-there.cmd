# A file is whole or as it was; a recording that is a folder is not written into.
"$COATI" record -q -o some.data -e page-faults:u -c 1 -- "$HELPERS/touch-pages" 10 2>err || cat err
echo kept >there.folded
"$COATI" export -q -o there.folded --focus '(' some.data 2>err && echo "not refused"
"$COATI" export -q -o there.folded missing.data 2>err && echo "not refused"
cat there.folded
mkdir folder && cp some.data folder/data
"$COATI" export -q -f folded -o folder/data -i folder 2>err && echo "not refused"
cmp some.data folder/data
ln -s there.folded link.folded
"$COATI" export -q -o link.folded some.data || echo "status $?"
[ ! -L link.folded ] && grep -c touch link.folded && cat there.folded
ls
