for locale in C de_DE.UTF-8 fr_FR.UTF-8; do
	LC_ALL=$locale "$COATI" stat -q -e task-clock --csv -o $locale.csv true
	sed 's/[0-9]//g' $locale.csv >$locale.shape
	head -n 1 $locale.csv >$locale.head
done
cmp C.head de_DE.UTF-8.head
