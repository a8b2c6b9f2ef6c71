"$COATI" doctor --json >out && is_json out
grep -c '^{"schema":"coati.doctor.v1","version":"[0-9.]*","ok":true,"checks":\[{"topic":"kernel","state":"ok"' out
