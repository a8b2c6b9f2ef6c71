root=$CLI/../..
sed -n '/^```c$/,/^```$/p' "$root/README.md" | sed '1d;$d' >shown
sed '/^\/\*.*\*\/$/d' "$root/examples/measure.c" >real
diff shown real
