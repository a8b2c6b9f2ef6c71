# how many files are looked at has a limit, which is reported with how to raise it
mkdir -m 700 many
for i in 1 2 3 4 5; do "$HELPERS/make-flight" many/$i-99.live $i <"$CLI/patient.txt"; done
: >many/other
for most in 3 5; do
	COATI_RECORDERS_MOST=$most "$COATI" autopsy --list --directory many | wc -l
done
COATI_RECORDERS_MOST=1 "$COATI" autopsy --clean 0s --directory many
ls many | wc -l
COATI_RECORDERS_MOST=x "$COATI" autopsy --list --directory many | wc -l
