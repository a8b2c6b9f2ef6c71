# a recording with known contents: nothing is left to chance
"$CLI/../lib/write-recording" --mix phases a.data target:1000,parse:2500,sort:1500
"$COATI" diff a.data a.data
