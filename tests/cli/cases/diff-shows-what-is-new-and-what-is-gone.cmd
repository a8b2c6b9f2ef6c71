# recordings with known contents: nothing is left to chance; in turns, so that every stretch of time has both
"$CLI/../lib/write-recording" --mix p.old a.data old_one:600,both:600
"$CLI/../lib/write-recording" --mix p.new b.data new_one:600,both:600
"$COATI" diff a.data b.data | sed -n '/^changed/,/^not/p' | grep -o '[a-z]*[*] *[a-z]*_one.*'
"$COATI" diff -q a.data b.data | grep -c ' both .*p.new'
"$COATI" diff -q a.data b.data --html page.html
read_page page.html diff >data && is_json data && echo fine
grep -o '"side":"[a-z]*"' data
grep -o '"schema":"[a-z0-9.]*"' data
