#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is allowed works, for real programs that know nothing of a gate."""
import os, select, shutil, subprocess, sys, threading, socket, time, json

from lib import *

SITE = ["--allow-host", "site.test"]


def sh(text):
    return ["sh", "-c", text]


def works(name, options, command, wanted, seen=None, **more):
    r = box(options, command, **more)
    good = r.status == 0 and wanted in r.out and not r.why
    if seen:
        good = good and any(x.startswith(seen) for x in r.seen)
    check(good, name, r)
    return r


# a program that has closed what a server keeps: forgotten in the end
ended = []


def silent_server(s):
    c, _ = s.accept()
    while c.recv(100):
        pass
    begun, p = time.time(), select.poll()
    waiting, _ = s.accept()
    p.register(c, 0)
    p.poll(40000)
    ended.append(time.time() - begun)
    waiting.close()


quiet = socket.socket(); quiet.bind(("127.0.0.1", 7779)); quiet.listen()
threading.Thread(target=silent_server, args=(quiet,), daemon=True).start()
leaving = threading.Thread(target=lambda: box(["--allow-host", "host.rein.internal:7779"], ["/usr/bin/python3", "-c", """
import socket, time
a = socket.socket()
a.setsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2, 1); a.connect(("host.rein.internal", 7779)); a.sendall(b"x"); a.close()
socket.create_connection(("host.rein.internal", 7779)).recv(1)
"""]))
if not BACKEND:  # the gate is the same; and runsc does not pass the socket's own time on: there it is a minute
    leaving.start()

works("curl http", SITE, ["curl", "-sS", "http://site.test/a"], "GET /a of site.test", "http ")
works("curl http -6", SITE, ["curl", "-sS", "-6", "http://site.test/a"], "GET /a of site.test")
works("curl http -4", SITE, ["curl", "-sS", "-4", "http://site.test/a"], "GET /a of site.test")
works("curl https", SITE, ["curl", "-sS", "https://site.test/b"], "GET /b of site.test", "sni ")
works("a host that has IPv6 only", ["--allow-host", "six.test"], ["curl", "-sS", "https://six.test/"], "GET / of six.test")
works("several requests on one connection", SITE, ["curl", "-sS", "http://site.test/1", "http://site.test/2", "-d", "x=1",
      "http://site.test/3"], "POST /3 of site.test body 3")
works("a chunked upload", SITE, sh("head -c 300000 /dev/zero | curl -sS -T - http://site.test/up"), "PUT /up of site.test body 300000")
works("a long upload", SITE, sh("head -c 9000000 /dev/zero | curl -sS --data-binary @- http://site.test/up"), "body 9000000")
works("a long download", SITE, sh("curl -sS http://site.test/bytes/30000000 | wc -c"), "30000000")
works("a long download over TLS", SITE, sh("curl -sS https://site.test/bytes/30000000 | wc -c"), "30000000")
works("nothing is paced on the way to the gate", SITE, ["cat", "/proc/sys/net/ipv4/tcp_congestion_control"], "reno")
works("many at once", SITE, sh("for i in $(seq 40); do curl -sS http://site.test/bytes/100000 -o /dev/null -w '%{size_download}\\n' & done | sort -u; wait"), "100000")
works("a wildcard", ["--allow-host", "*.wild.test"], ["curl", "-sS", "https://a.wild.test/"], "GET / of a.wild.test")
works("a canonical name", ["--allow-host", "good-cname.test"], ["curl", "-sS", "http://good-cname.test/"], "GET / of good-cname.test")
works("an answer that does not fit a datagram", ["--allow-host", "big.test"], ["curl", "-sS", "http://big.test/"], "GET / of big.test")
works("a slow name server", ["--allow-host", "slow.test"], ["curl", "-sS", "http://slow.test/"], "GET / of slow.test")
works("a name server that fails once", ["--allow-host", "tired.test"], ["curl", "-sS", "http://tired.test/"], "GET / of tired.test")
works("a question that is lost once", ["--allow-host", "lost.test"], ["curl", "-sS", "http://lost.test/"], "GET / of lost.test")
works("one public address among shut ones", ["--allow-host", "mixed.test"], ["curl", "-sS", "http://mixed.test/"], "GET / of mixed.test")
works("a second address where the first refuses", ["--allow-host", "failing.test"], ["curl", "-sS", "http://failing.test/"], "GET / of failing.test")
works("a second address where the first is silent", ["--allow-host", "silent.test"], ["curl", "-sS", "-m", "10", "http://silent.test/"], "GET / of silent.test")
works("what nobody looks at", ["--allow-host", "site.test,raw"], ["/usr/bin/python3", "-c", """
import socket
s = socket.create_connection(("site.test", 80)); s.sendall(b"GET /raw HTTP/1.1\\nHost: anything\\n\\n"); d = b""
while b" body " not in d: d += s.recv(1000) or exit(1)
print(d)
"""], "GET /raw of anything")
works("a port of its own", ["--allow-host", "site.test:8080"], ["curl", "-sS", "http://site.test:8080/p"], "GET /p of site.test:8080")
works("an address by number", ["--allow-host", "93.184.10.2"], ["curl", "-sS", "http://93.184.10.2/"], "GET / of 93.184.10.2")
works("a private network that is named", ["--allow-host", "private.test", "--allow-host", "10.9.0.0/16"],
      ["curl", "-sS", "http://private.test/"], "GET / of private.test")
works("a host in a network that the gate's own addresses are of", ["--allow-host", "100.101.102.103"], ["curl", "-sS", "http://100.101.102.103/"], "GET / of 100.101.102.103")
r = box(["--allow-host", "100.64.0.0/10"], ["curl", "-sS", "http://100.64.9.9/"])
check(r.why == {("100.64.9.9", 80, "no_name")}, "one of the gate's own that nobody has is no place", r)
works("an IPv6 address by number", ["--allow-host", "[2606:4700:1::1]:80"], ["curl", "-sS", "http://[2606:4700:1::1]/"], "GET /")
works("the machine's own hosts file", ["--allow-host", "fixed-good.test"], ["curl", "-sS", "http://fixed-good.test/"], "GET / of fixed-good.test")
works("reading where only reading is allowed", ["--allow-host", "ro.test,ro"], ["curl", "-sS", "http://ro.test/x"], "GET /x")
works("HEAD where only reading is allowed", ["--allow-host", "ro.test,ro"], ["curl", "-sSI", "http://ro.test/x"], "200 OK")
works("an upgraded connection", SITE, ["/usr/bin/python3", "-c", """
import socket
s = socket.create_connection(("site.test", 80))
s.sendall(b"GET /upgrade HTTP/1.1\\r\\nHost: site.test\\r\\nConnection: Upgrade\\r\\nUpgrade: test\\r\\n\\r\\n")
d = s.recv(4096)
assert d.startswith(b"HTTP/1.1 101"), d
s.sendall(b"\\0any bytes\\n")
print(s.recv(100))
"""], "echo \\x00any bytes")
works("an upgraded connection, agreed to in pieces", SITE, ["/usr/bin/python3", "-c", """
import socket
s = socket.create_connection(("site.test", 80))
s.sendall(b"GET /upgrade/pieces HTTP/1.1\\r\\nHost: site.test\\r\\nConnection: Upgrade\\r\\nUpgrade: test\\r\\n\\r\\n")
d = b""
while b"\\r\\n\\r\\n" not in d: d += s.recv(4096)
s.sendall(b"\\0any bytes\\n")
print(s.recv(100))
"""], "echo \\x00any bytes")
works("who speaks first", ["--allow-host", "ssh.test:22"], ["/usr/bin/python3", "-c", """
import socket
s = socket.create_connection(("ssh.test", 22))
print(s.recv(100)); s.sendall(b"hello"); print(s.recv(100)); s.shutdown(socket.SHUT_WR); print(s.recv(100))
"""], "heard hello")
works("a database's first word", ["--allow-host", "db.test:5432"], ["/usr/bin/python3", "-c", """
import socket
s = socket.create_connection(("db.test", 5432))
s.sendall(b"\\0\\0\\0\\x08\\x04\\xd2\\x16\\x2f"); print(s.recv(100))
s.sendall(b"Q" * 70000); n = 0
while n < 70000: n += len(s.recv(65536))
print("whole", n)
"""], "whole 70000")
r = works("ssh's own client", ["--allow-host", "ssh.test:22"], sh("ssh -v -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=5 -o BatchMode=yes x@ssh.test true 2>&1 | cat"), "remote software version outside") if shutil.which("ssh") else None
works("python", SITE, ["/usr/bin/python3", "-c", "import urllib.request as u; print(u.urlopen('https://site.test/py').read())"], "GET /py of site.test")
if shutil.which("node", path=ENV["PATH"]):
    works("node", SITE, ["node", "-e", "fetch('https://site.test/js').then(r=>r.text()).then(console.log)"], "GET /js of site.test")
    works("node, its own resolver", SITE, ["node", "-e", "require('dns').resolve4('site.test',(e,a)=>console.log(e,a.length))"], "null 1")
if shutil.which("java", path=ENV["PATH"]):
    os.makedirs(T + "/work/j", exist_ok=True)
    with open(T + "/work/j/A.java", "w") as f:
        f.write('public class A { public static void main(String[] a) throws Exception { System.out.print(new String('
                'new java.net.URL("http://site.test/java").openStream().readAllBytes())); } }')
    works("java", SITE, ["java", "j/A.java"], "GET /java of site.test", timeout=120)

# a program without a C library's resolver, statically linked
with open(T + "/work/static.c", "w") as f:
    f.write(open(HERE + "/static.c").read())
if subprocess.run(["cc", "-static", "-o", T + "/work/static", T + "/work/static.c"], capture_output=True).returncode == 0:
    if KIND != "runsc":  # whose read(2) of a socket does not wait: docs/limits.md
        works("a static program with a resolver of its own", SITE, ["./static", "site.test", "80"], "GET / of site.test")

# git, pip and npm over https
subprocess.run(f"""set -e; cd {T}; git init -q --bare files/repo.git; git init -q src; cd src
git -c user.name=t -c user.email=t@t commit -q --allow-empty -m first; git push -q {T}/files/repo.git HEAD:refs/heads/main
cd {T}/files/repo.git; git symbolic-ref HEAD refs/heads/main; git update-server-info; chmod -R a+rX {T}/files""",
               shell=True, check=True, env=dict(ENV, HOME=T + "/home"), stdout=subprocess.DEVNULL)
works("git clone over https", SITE, sh("git clone -q https://site.test/files/repo.git got && git -C got log --oneline"), "first")
subprocess.run(["/usr/bin/python3", "-c", f"""
import zipfile, os
os.makedirs("{T}/files/simple/tiny", exist_ok=True)
z = zipfile.ZipFile("{T}/files/simple/tiny/tiny-1.0-py3-none-any.whl", "w")
z.writestr("tiny.py", "x = 42"); z.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
z.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
z.writestr("tiny-1.0.dist-info/RECORD", ""); z.close()
open("{T}/files/simple/tiny/index.html", "w").write('<a href="tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>')
"""], check=True)
if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True).returncode == 0:
    works("pip install", ["--allow-host", "pkg.test"], sh("/usr/bin/python3 -m pip install -q --no-deps --target=lib --index-url https://pkg.test/files/simple/ tiny && PYTHONPATH=lib /usr/bin/python3 -c 'import tiny; print(tiny.x)'"), "42", timeout=120)
if shutil.which("npm", path=ENV["PATH"]):
    subprocess.run(f"""set -e; cd {T}; mkdir -p pack/package files/npm; echo '{{"name":"tiny","version":"1.0.0"}}' >pack/package/package.json
echo 'module.exports=42' >pack/package/index.js; tar -C pack -czf files/npm/tiny.tgz package
echo '{{"name":"tiny","dist-tags":{{"latest":"1.0.0"}},"versions":{{"1.0.0":{{"name":"tiny","version":"1.0.0","dist":{{"tarball":"https://pkg.test/files/npm/tiny.tgz"}}}}}}}}' >files/npm/tiny
chmod -R a+rX files""", shell=True, check=True)
    works("npm install", ["--allow-host", "pkg.test"], sh("npm install --silent --fetch-retries 0 --cafile \"$NODE_EXTRA_CA_CERTS\" --no-audit --no-fund --registry https://pkg.test/files/npm/ tiny && node -p 'require(\"tiny\")'"), "42", timeout=120)

# the box's own servers
works("servers inside, on any port", SITE, ["/usr/bin/python3", "-c", """
import socket, threading
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "")):
    for port in (80, 5000):
        s = socket.socket(family); s.setsockopt(1, 2, 1); s.bind((address, port)); s.listen()
        c = socket.socket(family); c.connect((address or "0.0.0.0", port)); a, _ = s.accept()
        c.sendall(b"in"); assert a.recv(9) == b"in"; s.close(); a.close(); c.close()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 7000)); u.sendto(b"x", ("127.0.0.1", 7000)); u.recv(9)
print("served", socket.gethostbyname("localhost"), socket.gethostbyname(socket.gethostname()))
"""], "served 127.0.0.1")

# the truth about connecting: nobody there is "refused", at once
r = box(["--allow-host", "refused.test:80"], ["/usr/bin/python3", "-c", """
import socket
try: socket.create_connection(("refused.test", 80), timeout=5); print("connected")
except ConnectionRefusedError: print("refused")
"""])
check("refused" in r.out and not r.why, "a host where nobody listens refuses the connection", r)

# text records, and names that lead back
works("other kinds of records", ["--allow-host", "*.wild.test"], ["/usr/bin/python3", "-c", """
import socket, struct
def ask(name, kind):
    q = struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + struct.pack(">BHH", 0, kind, 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect(("8.8.8.8", 53)); s.send(q); return s.recv(4096)
print(ask("txt.wild.test", 16), ask("a.wild.test", 65)[6:8])
a = socket.gethostbyname("a.wild.test"); print("back", socket.gethostbyaddr(a)[0])
"""], "back a.wild.test")

# everything public
works("open: any public host", ["--net", "open"], ["curl", "-sS", "https://other.test/"], "GET / of other.test")
works("open: any public address", ["--net", "open"], ["curl", "-sS", "http://93.184.10.2/"], "GET / of 93.184.10.2")

# one kind of address does not exist, the other is not told: that is no answer
r = box(["--allow-host", "half.test"], ["/usr/bin/python3", "-c", r'''
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20); s.connect(("8.8.8.8", 53))
s.send(struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\4half\4test\0" + struct.pack(">HH", 1, 1)); print("rcode", s.recv(512)[3] & 15)'''])
check("rcode 2" in r.out, "a name server that is silent does not make a name that does not exist", r)

# budgets and bandwidth
r = box(["--allow-host", "budget.test", "--net-max", "50K"], sh("curl -sS http://budget.test/bytes/10000 -o /dev/null && echo small; curl -sS http://budget.test/bytes/1000000 -o /dev/null || echo cut"))
check("small" in r.out and "cut" in r.out and any(w == "budget" for _, _, w in r.why) and r.net["received_bytes"] + r.net["sent_bytes"] <= 51200,
      "a budget of the box is kept to the byte", r)
r = box(["--allow-host", "budget.test,max=50K"], sh("curl -sS http://budget.test/end/1000000 -o got && echo whole; tail -c 500 got | tr -d x"))
check(r.out == "" and "reset" in r.err and any(w == "budget" for _, _, w in r.why), "an answer that is cut off does not end in words of ours", r)
r = box(["--allow-host", "budget.test,up=20K", "--allow-host", "site.test"], sh("head -c 100000 /dev/zero | curl -sS --data-binary @- http://budget.test/; head -c 100000 /dev/zero | curl -sS --data-binary @- http://site.test/"))
check("of budget.test body" not in r.out and "body 100000" in r.out and any(w == "budget" for _, _, w in r.why), "a budget of one host leaves the others alone", r)
t = time.time()
EXACT = r'''
import socket
s = socket.create_connection(("budget.test", 80), 10)
head = b"GET /hello HTTP/1.1\r\nHost: budget.test\r\nX: "
s.sendall(head + b"x" * (196 - len(head)) + b"\r\n\r\n"); print(s.recv(65536)); s.sendall(MORE); s.shutdown(socket.SHUT_WR); print(s.recv(65536))'''
r = box(["--allow-host", "budget.test,up=200"], ["/usr/bin/python3", "-c", EXACT.replace("MORE", "b''")])
check("200 OK" in r.out and r.status == 0 and not r.why and r.net["sent_bytes"] == 200, "a budget that is used up to the byte is not over it", r)
r = box(["--allow-host", "budget.test,up=200"], ["/usr/bin/python3", "-c", EXACT.replace("MORE", "b'G'")])
check("200 OK" in r.out and ("budget.test", 80, "budget") in r.why and r.net["sent_bytes"] == 200, "one byte more is", r)
r = box(["--allow-host", "host.rein.internal:7"], ["/usr/bin/python3", "-c", r"""
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.sendto(struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"\4host\4rein\x08internal\0\0\x10\0\1", ("127.0.0.1", 53))
print("code", s.recv(512)[3] & 15)"""])
check("code 0" in r.out and not r.seen, "the name of this machine is nobody's business outside, and it is there", r)
r = box(["--allow-host", "ro.test,ro"], ["curl", "-sS", "--data", "x" * 500, "http://ro.test/x"])
check(("ro.test", 80, "method") in r.why and r.net["sent_bytes"] == 0 and r.net["hosts"][0]["sent_bytes"] == 0, "what is refused was not sent", r)
r = box(["--allow-host", "budget.test", "--net-rate", "1M"], sh("curl -sS http://budget.test/bytes/2000000 | wc -c"))
t = time.time() - t
check("2000000" in r.out and 1.4 < t < 6, f"bandwidth: 2 MB at 1 MB/s took {t:.1f} s", r)

# a server inside, published
with socket.socket() as s:
    s.bind(("127.0.0.1", 0)); port = s.getsockname()[1]
result = []
th = threading.Thread(target=lambda: result.append(box(["--net", "none", "--publish", f"{port}:8000"], ["/usr/bin/python3", "-c", """
import socket
s = socket.socket(); s.bind(("127.0.0.1", 8000)); s.listen()
for _ in range(3):
    c, _ = s.accept(); d = c.recv(100); c.sendall(b"inside heard " + d); c.close()
print("done")
"""])))
th.start()
said = []
for _ in range(3):
    for _ in range(100):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as c:
                c.sendall(b"hello"); d = c.recv(100)
            if d:
                said.append(d); break
        except OSError:
            pass
        time.sleep(0.05)
th.join()
check(said == [b"inside heard hello"] * 3 and "done" in result[0].out, "a published port leads inside", result[0])

# many at once: all are heard, one after the other
result = []
th = threading.Thread(target=lambda: result.append(box(["--net", "none", "--publish", f"{port}:8000"], ["/usr/bin/python3", "-c", """
import socket
s = socket.socket(); s.bind(("127.0.0.1", 8000)); s.listen(1000)
for _ in range(402):
    c, _ = s.accept(); c.sendall(b"hello"); c.close()
"""])))
th.start()
for _ in range(100):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as c:
            if c.recv(100):
                break
    except OSError:
        pass
    time.sleep(0.05)
many, heard = [], 0
for _ in range(400):
    c = socket.socket(); c.setblocking(False); c.connect_ex(("127.0.0.1", port)); many.append(c)
for c in many:
    c.settimeout(5)
    try:
        heard += c.recv(100) == b"hello"
    except OSError:
        pass
    c.close()
while th.is_alive(): # the last one ends it, when all have been answered; and those it did not hear of
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).recv(100)
    except OSError:
        pass
    th.join(0.05)
check(heard == 400, f"400 at once to a published port are all heard, not {heard}", result[0])

# one that listens at "localhost", which is ::1 to many
th = threading.Thread(target=lambda: result.append(box(["--net", "none", "--publish", f"{port}:8000"], ["/usr/bin/python3", "-c", """
import socket
s = socket.socket(socket.AF_INET6); s.bind(("::1", 8000)); s.listen(); s.settimeout(15)
c, _ = s.accept(); d = c.recv(100); c.sendall(b"inside heard " + d); c.close()
print("done")
"""])))
th.start()
said = b""
for _ in range(100):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as c:
            c.sendall(b"hello"); said = c.recv(100)
            break
    except OSError:
        time.sleep(0.05)
th.join()
check(said == b"inside heard hello" and "done" in result[-1].out, "a server inside that listens at ::1 alone", result[-1])

for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.socket(family) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind((address, port)); s.listen()
        r = box(["--net", "none", "--publish", f"{port}:8000"], ["echo", "ran"])
    check(r.status != 0 and "ran" not in r.out and f"publish port {port}" in r.err + json.dumps(r.json), f"a port that somebody has at {address} is not published", r)

# the host's own loopback, and local sockets, only by name
def serve(s, text):
    while True:
        try:
            c, _ = s.accept()
        except OSError:
            return
        c.sendall(text); c.close()
h = socket.socket(); h.bind(("127.0.0.1", 7777)); h.listen()
threading.Thread(target=serve, args=(h, b"the host's own"), daemon=True).start()
works("this machine's loopback, by its name and port", ["--allow-host", "host.rein.internal:7777"], ["/usr/bin/python3", "-c",
      "import socket; print(socket.create_connection(('host.rein.internal', 7777)).recv(100))"], "the host's own")
def hang_up(s):
    """Says why after the first words, and does not listen to the rest: the kernel resets."""
    while True:
        c, _ = s.accept()
        c.recv(1000); time.sleep(0.1); c.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 8\r\n\r\ntoo much"); c.close()
e = socket.socket(); e.bind(("127.0.0.1", 7778)); e.listen()
threading.Thread(target=hang_up, args=(e,), daemon=True).start()
works("a server that hangs up on a sender says why", ["--allow-host", "host.rein.internal:7778"], ["/usr/bin/python3", "-c", """
import socket
s = socket.create_connection(("host.rein.internal", 7778), 10)
s.sendall(b"POST / HTTP/1.1\\r\\nHost: host.rein.internal:7778\\r\\nContent-Length: 90000000\\r\\n\\r\\n")
try:
    for _ in range(1000): s.sendall(b"x" * 90000)
except OSError: pass
print(s.recv(1000))
"""], "too much")
path = T + "/home/agent.sock"
u = socket.socket(socket.AF_UNIX); u.bind(path); os.chmod(path, 0o777); u.listen()
threading.Thread(target=serve, args=(u, b"local socket"), daemon=True).start()
code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({path!r}); print(s.recv(100))"
r = box([], ["/usr/bin/python3", "-c", code])
check(r.status != 0 and "local" not in r.out, "a local socket that is not named is out of reach", r)
if KIND == "runsc":
    r = box(["--allow-socket", path], ["/usr/bin/python3", "-c", code])
    check(r.status == 125 and "--allow-socket" in r.err, "a local socket that is named is refused, with the reason", r)
else:
    works("a local socket that is named", ["--allow-socket", path], ["/usr/bin/python3", "-c", code], "local socket")

r = box(SITE, sh("curl -sS http://site.test/ -o /dev/null"))
hosts = r.net.get("hosts", [])
check(len(hosts) == 1 and hosts[0]["name"] == "site.test" and hosts[0]["connections"] == 1 and hosts[0]["sent_bytes"] > 50
      and r.net["refused"] == 0, "what was carried is reported by host", r)
if not BACKEND:
    leaving.join()
    check(ended and 15 < ended[0] < 35, f"what a program has closed does not stay because the server is silent {ended}")
finish()
