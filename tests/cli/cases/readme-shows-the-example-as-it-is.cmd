root=$CLI/../..
sed -n '/^```c$/,/^```$/p' "$root/docs/library.md" | sed '1d;$d' >shown
sed '/^\/\*.*\*\/$/d' "$root/examples/measure.c" >real
diff shown real
