echo precious >rec
ln rec other
"$COATI" dump -i rec -o rec
echo "$?"
"$COATI" dump -i rec -o other
echo "$?"
"$COATI" dump -i - -o rec <rec
echo "$?"
cat rec
