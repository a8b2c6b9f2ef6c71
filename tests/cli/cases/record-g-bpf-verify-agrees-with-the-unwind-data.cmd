# every stack that was walked in the kernel, against the unwind data itself
"$COATI" record -g bpf --verify 1 -o b.data -- "$HELPERS/deep" 60 0.3 2>&1 | grep verify
"$COATI" record -g bpf --verify 1 -o c.data -- python3 -c 'import json
for i in range(900): json.dumps([{"a": k, "b": [str(k)]} for k in range(300)])' 2>&1 | grep verify
