#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looking into TLS: what it lets through, what it does not get past, and what it leaves alone."""
import hashlib, os, shutil, subprocess, threading

from lib import *

GET = ["curl", "-sS", "-m", "10"]
API = ["--allow-host", "site.test,inspect,methods=GET+POST,path=/v1/*,path=/exact", "--allow-host", "other.test",
       "--allow-host", "ro.test,inspect,ro"]
ALL = ["--allow-host", "site.test,inspect", "--allow-host", "pkg.test,inspect"]
PRELUDE = r'''
import os, socket, ssl, sys, time
def connect(name="site.test", sni=None, alpn=None, check=True):
    c = ssl.create_default_context() if check else ssl._create_unverified_context()
    if alpn: c.set_alpn_protocols(alpn)
    return c.wrap_socket(socket.create_connection((name, 443), 10), server_hostname=sni or name)
def hear(t, n=1 << 20):
    out = b""
    try:
        while len(out) < n:
            d = t.recv(65536)
            if not d: break
            out += d
    except OSError as e: out += b" error " + str(e).encode()
    return out.decode("latin1")
def raw(data, more=b"", **k):
    try:
        t = connect(**k); t.sendall(data)
        if more: print(t.recv(65536).decode()); t.sendall(more)
        print(hear(t))
    except OSError as e: print("error", e)
'''


def python(code):
    return ["/usr/bin/python3", "-c", PRELUDE + code]


def works(name, options, command, wanted, seen=None, **more):
    r = box(options, command, **more)
    check(r.status == 0 and wanted in r.out and not r.why and (not seen or any(x.startswith(seen) for x in r.seen)), name, r)
    return r


def refused(name, command, why, options=API, served=()):
    """It is refused for this reason, and the server got no request but, at most, those served."""
    r = box(options, command, timeout=90)
    got = [x for x in r.seen if x.startswith("http ")]
    check(why in {w for _, _, w in r.why} and len(got) <= len(served) and all(s in g for s, g in zip(served, got)) and "GOT" not in r.out, name, r)
    return r


# a program that begins and falls silent: looked at in the end
stalled = []
silent = threading.Thread(target=lambda: stalled.append(box(API, python(r'''
i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
c = ssl.create_default_context().wrap_bio(i, o, server_hostname="site.test")
try: c.do_handshake()
except ssl.SSLWantReadError: pass
s = socket.create_connection(("site.test", 443), 40); s.sendall(o.read())
n = 0
while s.recv(65536): n += 1
print("ended", n)
'''), timeout=90)))
silent.start()

# what is allowed
works("a request that is allowed", API, GET + ["https://site.test/v1/a?q=/../x"], "GET /v1/a?q=/../x of site.test", "sni ")
works("another method", API, GET + ["-d", "x=1", "https://site.test/v1/a"], "POST /v1/a of site.test body 3")
works("an exact path", API, GET + ["https://site.test/exact"], "GET /exact of site.test")
works("several on one connection", API, GET + ["https://site.test/v1/1", "https://site.test/v1/2", "-d", "y", "https://site.test/v1/3"], "POST /v1/3 of site.test body 1")
works("curl asks for HTTP/2 and gets 1.1", API, GET + ["--http2", "-o", "/dev/null", "-w", "version %{http_version}", "https://site.test/v1/a"], "version 1.1")
works("reading", API, GET + ["https://ro.test/x"], "GET /x of ro.test")
works("a wildcard", ["--allow-host", "*.wild.test,inspect,path=/v1/*"], GET + ["https://a.wild.test/v1/x"], "GET /v1/x of a.wild.test")
works("later rules for the same host add", ["--allow-host", "site.test,inspect,methods=GET", "--allow-host", "site.test,inspect,methods=PUT,path=/up"],
      GET + ["-T", "ca.crt", "https://site.test/up"], "PUT /up of site.test")
works("an upload", ALL, ["sh", "-c", "head -c 9000000 /dev/zero | curl -sS --data-binary @- https://site.test/up"], "body 9000000")
works("a chunked upload", ALL, ["sh", "-c", "head -c 300000 /dev/zero | curl -sS -T - https://site.test/up"], "PUT /up of site.test body 300000")
works("a download", ALL, ["sh", "-c", "curl -sS https://site.test/bytes/30000000 | wc -c"], "30000000")
works("a server that ends without a word", ALL, python(r'''
t = connect(); t.sendall(b"GET /end/9000000 HTTP/1.1\r\nHost: site.test\r\n\r\n"); time.sleep(1)
print(len(hear(t, 1 << 30).split("\r\n\r\n", 1)[1]))
'''), "9000000\n")
r = box(ALL, python(r'''
c = ssl.create_default_context(); c.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
t = c.wrap_socket(socket.create_connection(("site.test", 443), 10), server_hostname="site.test", suppress_ragged_eofs=False)
t.sendall(b"GET /end/10 HTTP/1.1\r\nHost: site.test\r\n\r\n")
try:
    while t.recv(65536): pass
    print("announced")
except ssl.SSLError as e: print("cut", e)
'''))
check("cut" in r.out, "an end that the server did not announce is not announced to the program", r)
works("many at once", ALL, ["sh", "-c", "for i in $(seq 40); do curl -sS https://site.test/bytes/100000 -o /dev/null -w '%{size_download}\\n' & done | sort | uniq -c; wait"], "40 100000")
works("an upgraded connection", ALL, python(r'''
t = connect(); t.sendall(b"GET /upgrade HTTP/1.1\r\nHost: site.test\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
assert t.recv(4096).startswith(b"HTTP/1.1 101"); t.sendall(b"\0any\n"); print(t.recv(100))
'''), "echo \\x00any")
works("TLS 1.2", API, GET + ["--tls-max", "1.2", "https://site.test/v1/a"], "GET /v1/a")
with open(T + "/home/inspect.yaml", "w") as f:
    f.write("version: 1\nnetwork: {allow: ['site.test,inspect,path=/v1/*']}\n")
works("by a policy's rule", ["--policy", T + "/home/inspect.yaml"], GET + ["https://site.test/v1/a"], "GET /v1/a of site.test")
works("python", ALL, ["/usr/bin/python3", "-c", "import urllib.request as u; print(u.urlopen('https://site.test/py').read())"], "GET /py of site.test")
if shutil.which("node", path=ENV["PATH"]):
    works("node", ALL, ["node", "-e", "fetch('https://site.test/js').then(r=>r.text()).then(console.log)"], "GET /js of site.test")
subprocess.run(f"""set -e; cd {T}; git init -q --bare files/repo.git; git init -q src; cd src
git -c user.name=t -c user.email=t@t commit -q --allow-empty -m first; git push -q {T}/files/repo.git HEAD:refs/heads/main
cd {T}/files/repo.git; git symbolic-ref HEAD refs/heads/main; git update-server-info; chmod -R a+rX {T}/files""",
               shell=True, check=True, env=dict(ENV, HOME=T + "/home"), stdout=subprocess.DEVNULL)
works("git", ALL, ["sh", "-c", "git clone -q https://site.test/files/repo.git got && git -C got log --oneline"], "first")

# a server that takes its time: whoever waits for it does nothing meanwhile
def busy():
    ticks = -1  # there is none
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{pid}/comm").read().strip() == "rein-gate" and os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
                ticks = max(ticks, 0) + sum(map(int, open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))
        except OSError:
            pass
    return ticks


def watched(*a, **k):
    """Run it, and tell what time the gate took for it."""
    most, over = [-1], threading.Event()
    def look():
        while not over.wait(0.1):
            most[0] = max(most[0], busy())
    watcher = threading.Thread(target=look); watcher.start()
    r = box(*a, **k)
    over.set(); watcher.join()
    return r, most[0] / os.sysconf("SC_CLK_TCK")


for url in ("http://site.test/slowly", "https://site.test/slowly"):
    r, spent = watched(ALL, ["sh", "-c", f"head -c 30000000 /dev/zero | curl -sS --data-binary @- {url}"])
    check(r.status == 0 and "POST /slowly" in r.out and 0 <= spent < 1, f"a slow server over {url.split(':')[0]} costs {spent:.2f} s of the gate's time", r)

# no descriptor left for those who come: they are turned away, and told
r, spent = watched(["--allow-host", "93.184.10.99"], python(r'''
def begin(to):
    s = socket.socket(); s.setblocking(False); s.connect_ex(to)
    return s
v = [begin(("93.184.10.99", 80)) for _ in range(170)]; time.sleep(1)  # nobody is there to answer
v += [begin(("8.8.8.8", 53)) for _ in range(20)]; time.sleep(3); print("done")
'''), under=["prlimit", "--nofile=200:200"])
check(r.status == 0 and "done" in r.out and 0 <= spent < 1, f"more than there are descriptors for cost {spent:.2f} s of the gate's time", r)

# what is not
shutil.copy(T + "/cert", T + "/work/only.crt")
os.chmod(T + "/work/only.crt", 0o644)
refused("another path", GET + ["https://site.test/v2/a"], "request")
r = refused("another method", GET + ["-X", "DELETE", "https://site.test/v1/a"], "request")
check("403" in box(API, GET + ["-i", "https://site.test/v2/a"]).out, "the program is told, inside its own connection")
for path in ("/v1/../admin", "/v1/%2e%2e/admin", "/v1/.%2E/admin", "/v1//admin", "/v1/..;/admin", "/v1/%2fadmin", "/v1/x%00", "/v1/%252e%252e/a",
             "/v1/\\..\\admin", "/v1/./a", "/exact/", "/v1", "/V1/a"):
    refused(f"the path {path}", python(f"raw({('GET ' + path + ' HTTP/1.1').encode()!r} + b'\\r\\nHost: site.test\\r\\nConnection: close\\r\\n\\r\\n')"), "request")
HEAD = b"GET /v1/a HTTP/1.1\r\nHost: site.test\r\n"
for name, data, why in (
        ("another host", b"GET /v1/a HTTP/1.1\r\nHost: other.test\r\n\r\n", "host"),
        ("another port", b"GET /v1/a HTTP/1.1\r\nHost: site.test:80\r\n\r\n", "host"),
        ("no host", b"GET /v1/a HTTP/1.1\r\n\r\n", "not_http"),
        ("two hosts", HEAD + b"Host: other.test\r\n\r\n", "not_http"),
        ("the same host twice", HEAD + b"Host: site.test\r\n\r\n", "not_http"),
        ("an absolute target", b"GET https://site.test/v1/a HTTP/1.1\r\nHost: site.test\r\n\r\n", "not_http"),
        ("an absolute target without TLS", b"GET http://site.test/v1/a HTTP/1.1\r\nHost: site.test\r\n\r\n", "not_http"),
        ("another host's absolute target", b"GET https://other.test/v1/a HTTP/1.1\r\nHost: site.test\r\n\r\n", "not_http"),
        ("a tunnel", b"CONNECT other.test:443 HTTP/1.1\r\nHost: site.test\r\n\r\n", "connect"),
        ("HTTP/2 without asking", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "not_http"),
        ("HTTP/0.9", b"GET /v1/a\r\n\r\n", "not_http"),
        ("two lengths", b"POST /v1/a HTTP/1.1\r\nHost: site.test\r\nContent-Length: 0\r\nContent-Length: 40\r\n\r\n", "not_http"),
        ("a length and chunks", b"POST /v1/a HTTP/1.1\r\nHost: site.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "not_http"),
        ("an odd length", b"POST /v1/a HTTP/1.1\r\nHost: site.test\r\nContent-Length: +5\r\n\r\nabcde", "not_http"),
        ("a list of codings", b"POST /v1/a HTTP/1.1\r\nHost: site.test\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "not_http"),
        ("a coding that looks like one", b"POST /v1/a HTTP/1.1\r\nHost: site.test\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "not_http"),
        ("a blank before the colon", b"POST /v1/a HTTP/1.1\r\nHost: site.test\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "not_http"),
        ("a folded header", HEAD + b"X: y\r\n Transfer-Encoding: chunked\r\n\r\n", "not_http"),
        ("lines that end in LF", b"GET /v1/a HTTP/1.1\nHost: site.test\n\n", "not_http"),
        ("a lone CR", HEAD + b"X: a\rHost: other.test\r\n\r\n", "not_http")):
    refused(name, python(f"raw({data!r})"), why)
for name, data, why in (
        ("another host in the second request", b"GET /v1/a HTTP/1.1\r\nHost: other.test\r\n\r\n", "host"),
        ("another path in the second request", b"GET /admin HTTP/1.1\r\nHost: site.test\r\n\r\n", "request"),
        ("another method in the second request", b"DELETE /v1/a HTTP/1.1\r\nHost: site.test\r\n\r\n", "request"),
        ("something else after the first request", b"\0\0\0\0", "not_http")):
    refused(name, python(f"raw({(HEAD + chr(13).encode() + chr(10).encode())!r}, {data!r})"), why, served=["GET /v1/a"])
refused("a request behind a short body", python(r'raw(b"POST /v1/a HTTP/1.1\r\nHost: site.test\r\nContent-Length: 3\r\n\r\nabcDELETE /admin HTTP/1.1\r\nHost: site.test\r\n\r\n")'),
        "request", served=["POST /v1/a"])
refused("a request behind the last chunk", python(r'raw(b"POST /v1/a HTTP/1.1\r\nHost: site.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nDELETE /admin HTTP/1.1\r\nHost: site.test\r\n\r\n")'),
        "request", served=["POST /v1/a"])
refused("a chunk's size that overflows", python(r'raw(b"POST /v1/a HTTP/1.1\r\nHost: site.test\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx")'), "not_http", served=["POST /v1/a"])
for field in ("X-HTTP-Method-Override: DELETE", "x-http-method: PUT", "X_Method_Override: PATCH", "X-Original-URL: /admin", "X-Rewrite-Url: /admin"):
    refused(f"another request by {field}", GET + ["-H", field, "-d", "x", "https://site.test/v1/a"], "request")
refused("another request where only reading is allowed", GET + ["-H", "X-HTTP-Method-Override: DELETE", "https://ro.test/x"], "request")
works("where nothing is said of requests it is nobody's business", ALL, GET + ["-H", "X-HTTP-Method-Override: PUT", "https://site.test/x"], "GET /x of site.test")
refused("writing where only reading is allowed", GET + ["-d", "x", "https://ro.test/x"], "method")
refused("what another host's rule allows", GET + ["-X", "DELETE", "https://site.test/v1/a"], "request",
        API + ["--allow-host", "pkg.test,inspect,methods=DELETE"])
refused("what another host's rule allows", GET + ["https://site.test/admin"], "request", API + ["--allow-host", "other.test,inspect,path=/admin"])
refused("what a later rule would allow that speaks of no requests", GET + ["https://site.test/v2/a"], "request", API + ["--allow-host", "site.test,inspect"])
refused("an absolute target where all requests are allowed", python(r"raw(b'GET http://site.test/a HTTP/1.1\r\nHost: site.test\r\n\r\n')"), "not_http", ALL)
refused("what another port's rule allows", GET + ["-X", "DELETE", "https://site.test/v1/a"], "request",
        API + ["--allow-host", "site.test:8443,inspect,methods=DELETE"])
refused("another protocol where only reading is allowed", python("s = socket.create_connection(('db.test', 5432), 10); s.sendall(b'\\0GOT'); print(hear(s))"),
        "opaque", ["--allow-host", "db.test:5432,ro"])
refused("TLS without a name to a number where only reading is allowed", python("""
try: t = ssl._create_unverified_context().wrap_socket(socket.create_connection(("93.184.10.1", 443), 10)); t.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"); print("GOT", hear(t))
except OSError as e: print("error", e)"""), "opaque", ["--allow-host", "93.184.10.1,ro"])
refused("another name in the handshake", python("raw(b'x', sni='other.test', check=False)"), "sni")
refused("HTTP/2 alone", python("raw(b'x', alpn=['h2'])"), "handshake")
refused("plain text", GET + ["http://site.test:443/v1/a"], "not_tls")
refused("a program that trusts somebody else alone", GET + ["--cacert", "only.crt", "https://site.test/v1/a"], "handshake")
if shutil.which("openssl"):
    r = box(API, ["sh", "-c", "(sleep 0.5; echo R; sleep 1; printf 'GET /admin HTTP/1.1\\r\\nHost: site.test\\r\\n\\r\\n'; sleep 1) | openssl s_client -tls1_2 -connect site.test:443 -servername site.test 2>&1"])
    check(("no renegotiation" in r.out or "request" in {w for _, _, w in r.why}) and not any(x.startswith("http ") for x in r.seen), "a second handshake inside the first", r)
    r = box(API, ["sh", "-c", "openssl s_client -tls1_1 -cipher ALL:@SECLEVEL=0 -connect site.test:443 -servername site.test </dev/null 2>&1"])
    check("handshake" in {w for _, _, w in r.why} and "Server certificate" not in r.out, "an old TLS from the program", r)
for host in ("expired", "wrongname", "selfsigned", "old"):
    r = refused(f"a server whose certificate is bad: {host}", GET + ["-k", f"https://{host}.test/"], "certificate", ["--allow-host", f"{host}.test,inspect"])
refused("methods without looking inside", GET + ["https://site.test/v1/a"], "opaque", ["--allow-host", "site.test,methods=GET"])
refused("paths without looking inside", GET + ["https://site.test/v1/a"], "opaque", ["--allow-host", "site.test,path=/v1/*"])
works("plain HTTP needs no certificate for that", ["--allow-host", "site.test,methods=GET,path=/v1/*"], GET + ["http://site.test/v1/a"], "GET /v1/a")
refused("plain HTTP, another path", GET + ["http://site.test/v2/a"], "request", ["--allow-host", "site.test,methods=GET,path=/v1/*"])
r = box(API + ["--agent", "quiet"], GET + ["--cacert", "only.crt", "https://site.test/v1/a"])
check(not r.json.get("violations"), "who is not trusted has violated nothing", r)

# what it leaves alone, and what it gives away
ISSUER = "import ssl,socket; t=connect('%s',check=False); import hashlib; print(hashlib.sha256(t.getpeercert(True)).hexdigest())"
real = subprocess.run(["openssl", "x509", "-in", T + "/cert", "-outform", "DER"], capture_output=True).stdout
r = box(API, python(ISSUER % "other.test"))
check(hashlib.sha256(real).hexdigest() in r.out, "a host without such a rule keeps its own certificate", r)
bundle = lambda: box(ALL, ["sh", "-c", 'test "$SSL_CERT_FILE" = "$CURL_CA_BUNDLE" && test "$GIT_SSL_CAINFO" = "$NODE_EXTRA_CA_CERTS" && cat "$SSL_CERT_FILE"'])
a, b = bundle(), bundle()
ca = open(T + "/work/ca.crt").read()
check(a.status == 0 and a.out.startswith(ca) and a.out.count("BEGIN CERT") == ca.count("BEGIN CERT") + 1 and a.out != b.out,
      "each box trusts an authority of its own besides the machine's", a)
check("PRIVATE" not in a.out, "its key is not there", a)
r = box(ALL, ["sh", "-c", "echo x >>$SSL_CERT_FILE; rm -f $SSL_CERT_FILE; test -s $SSL_CERT_FILE && echo stays"])
check("stays" in r.out, "the file cannot be changed", r)
r = box(["--allow-host", "site.test"], ["sh", "-c", "echo $SSL_CERT_FILE; ls /run/rein"])
check(T + "/work/ca.crt" in r.out and r.status != 0, "nothing of it where nothing is looked into", r)

# what cannot be carried out
os.makedirs(T + "/bare")
for p in ("rein", "rein-box", "rein-gate"):
    shutil.copy(f"{BUILD}/{p}", T + "/bare")
p = subprocess.run(USER + [T + "/bare/rein", "run", "--approve", "--allow-host", "site.test,inspect", "--", "true"], cwd=T + "/work", env=ENV, capture_output=True, text=True)
check(p.returncode != 0 and "rein-tls" in p.stderr, "without the module it does not run, and says what is missing")
for bad in ("site.test,inspect,raw", "10.0.0.1,inspect", "site.test,methods=get", "site.test,methods=", "site.test,methods=GET+", "site.test,path=v1", "site.test,path=/a?b"):
    r = box(["--allow-host", bad], ["true"])
    check(r.status == 2 or r.status == 64 or "host rule" in r.err + json.dumps(r.json), f"the rule {bad}", r)
silent.join()
check(stalled and "slow" in {w for _, _, w in stalled[0].why} and "ended" in stalled[0].out, "a handshake that does not come to an end", stalled and stalled[0])
finish()
