# As the case of view of this name: more clients than there are places, which say nothing or half a request, and one that asks.
"$COATI" agent -q --metrics "unix:$PWD/socket" --window 1s --budget 100% -F 49 2>said & agent=$!
wait_until test -S socket || { cat said; exit; }
python3 - <<'PY'
import socket
def come(words=b""):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)  # a bound against hanging
    s.connect("socket")
    s.sendall(words)
    return s
def status(s):
    return s.recv(12).decode()
ask = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
crowd = [come(b"GET / HT" if i % 2 else b"") for i in range(64)]
one = come(ask)
crowd += [come() for i in range(64)]
print("in the crowd:", status(one))
print("behind it:", status(come(ask)))
print("the first:", status(crowd[0]) or "gone")
PY
kill $agent
wait $agent || cat said
