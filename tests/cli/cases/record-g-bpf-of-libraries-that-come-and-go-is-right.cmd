# two libraries of one size, by turns at the same address: rules of the one that is gone must not be used
"$COATI" record -F 5000 -g bpf --verify 1 -o b.data -- "$HELPERS/reload" 300 "$HELPERS/libreloaded-1.so" "$HELPERS/libreloaded-2.so" 2>&1 | grep verify
