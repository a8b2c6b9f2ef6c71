# More clients than the server has places, which say nothing or stop in the middle of their request, and one of them that asks: it
# gets the page, and so does the next. The first of the crowd have made room.
"$CLI/../lib/write-recording" simple r.data
"$COATI" view -q --no-open r.data >address & view=$!
wait_until test -s address
python3 - "$(cat address)" <<'PY'
import re, socket, sys
host, port, path = re.match(r"http://([^/:]+):(\d+)(/.*)", sys.argv[1]).groups()
def come(words=b""):
    s = socket.create_connection((host, int(port)), 60)
    s.sendall(words)
    return s
def status(s):
    s.settimeout(60)  # a bound against hanging
    return s.recv(12).decode()
ask = ("GET %s HTTP/1.1\r\nHost: %s:%s\r\n\r\n" % (path, host, port)).encode()
crowd = [come(b"GET / HT" if i % 2 else b"") for i in range(64)]
one = come(ask)
crowd += [come() for i in range(64)]
print("in the crowd:", status(one))
print("behind it:", status(come(ask)))
print("the first:", status(crowd[0]) or "gone")
PY
kill $view
wait $view
