#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The world outside, for tests of the network gate: name server, web, mail-like and other servers, each on
addresses that exist only in this network namespace. Everything that arrives is written to a log, which is the
truth the tests are held against.

    world.py LOG CERT KEY FILES     (prints "ready", serves until its input ends)
"""
import http.server, os, socket, ssl, struct, sys, threading, time, warnings

LOG, CERT, KEY, FILES = sys.argv[1:5]
lock = threading.Lock()


def log(*words):
    with lock, open(LOG, "a") as f:
        f.write(" ".join(str(w) for w in words) + "\n")


# --- names ---
rebinds = {}
asked = set()
ZONE = {
    "site.test": ["93.184.10.1", "2606:4700:1::1"], "six.test": ["2606:4700:1::1"], "other.test": ["93.184.10.2"],
    "ssh.test": ["93.184.10.4"], "db.test": ["93.184.10.4"], "ro.test": ["93.184.10.5"], "budget.test": ["93.184.10.6"],
    "private.test": ["10.9.9.9"], "meta.test": ["169.254.169.254"], "loop.test": ["127.0.0.1"],
    "zero.test": ["0.0.0.0"], "mapped.test": ["::ffff:127.0.0.1"], "nat64.test": ["64:ff9b::7f00:1"],
    "sixto4.test": ["2002:7f00:1::"], "ula.test": ["fd00:9::9"], "multi.test": ["224.0.0.251"], "own.test": ["93.184.20.1"],
    "second.test": ["93.184.20.9"], "own6.test": ["2606:4700:2::1"],
    "mixed.test": ["10.9.9.9", "93.184.10.1"], "refused.test": ["93.184.10.8"], "cname.test": "private.test",
    "good-cname.test": "site.test", "slow.test": ["93.184.10.1"], "azure.test": ["168.63.129.16"], "big.test": ["93.184.10.1"],
    "pkg.test": ["93.184.10.7"], "expired.test": ["93.184.10.11"], "wrongname.test": ["93.184.10.12"],
    "selfsigned.test": ["93.184.10.13"], "old.test": ["93.184.10.14"], "half.test": [],
    "tired.test": ["93.184.10.1"], "lost.test": ["93.184.10.1"],
    "failing.test": ["93.184.10.8", "93.184.10.1"], "silent.test": ["93.184.10.99", "93.184.10.1"],
}


def addresses(name):
    for _ in range(8):
        if name == "rebind.test":
            rebinds[name] = rebinds.get(name, 0) + 1
            return name, ["93.184.10.1"] if rebinds[name] <= 2 else ["127.0.0.1"]
        if name.endswith(".wild.test"):
            return name, ["93.184.10.3"]
        found = ZONE.get(name)
        if isinstance(found, str):
            name = found
            continue
        return name, found
    return name, None


def encode(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".") if x) + b"\0"


def answer(q, over):
    ident, flags, n = struct.unpack(">HHH", q[:6])
    at, labels = 12, []
    while q[at]:
        labels.append(q[at + 1:at + 1 + q[at]].decode("latin1"))
        at += 1 + q[at]
    kind = struct.unpack(">H", q[at + 1:at + 3])[0]
    question, name = q[12:at + 5], ".".join(labels).lower()
    log("dns", name, kind, over)
    if name == "half.test" and kind == 1:
        time.sleep(30)
    if name in ("tired.test", "lost.test") and (name, kind) not in asked:  # the first time: a failure, or nothing
        asked.add((name, kind))
        return name == "tired.test" and struct.pack(">HHHHHH", ident, 0x8182, 1, 0, 0, 0) + question
    if name == "slow.test":
        time.sleep(0.3)
    real, found = addresses(name)
    records = []
    if found is None:
        return struct.pack(">HHHHHH", ident, 0x8183, 1, 0, 0, 0) + question
    if real != name:
        records.append((b"\xc0\x0c", 5, encode(real)))
    owner = encode(real)
    for a in found:
        four = ":" not in a
        if kind == (1 if four else 28):
            records.append((owner, kind, socket.inet_pton(socket.AF_INET if four else socket.AF_INET6, a)))
    if kind == 16:
        text = b"hello-from-outside"
        records.append((owner, 16, bytes([len(text)]) + text))
    if name == "big.test" and over == "udp":
        return struct.pack(">HHHHHH", ident, 0x8380, 1, 0, 0, 0) + question  # truncated: come again over TCP
    body = b"".join(o + struct.pack(">HHIH", k, 1, 0 if "rebind" in name else 60, len(d)) + d for o, k, d in records)
    return struct.pack(">HHHHHH", ident, 0x8180, 1, len(records), 0, 0) + question + body


def dns_udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("93.184.10.53", 53))
    while True:
        q, peer = s.recvfrom(4096)
        threading.Thread(target=lambda q=q, peer=peer: s.sendto(answer(q, "udp") or b"", peer), daemon=True).start()


def dns_tcp(c, _):
    with c:
        while True:
            head = c.recv(2, socket.MSG_WAITALL)
            if len(head) < 2:
                return
            a = answer(c.recv(struct.unpack(">H", head)[0], socket.MSG_WAITALL), "tcp")
            c.sendall(struct.pack(">H", len(a)) + a)


# --- servers ---
class Web(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *a):
        super().__init__(*a, directory=FILES)

    def log_message(self, *a):
        pass

    def say(self, text, status=200, more=()):
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        for k, v in more:
            self.send_header(k, v)
        self.send_header("Content-Length", len(data))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def handle_any(self):
        log("http", self.server.server_address[0], self.server.server_address[1], self.command, self.path,
            self.headers.get("Host", "-"))
        n = int(self.headers.get("Content-Length") or 0)
        if self.path == "/slowly":  # whoever sends must wait
            for _ in range(10):
                time.sleep(0.2)
                n -= len(self.rfile.read(min(n, 65536)))
        body = self.rfile.read(n)
        if self.headers.get("Transfer-Encoding") == "chunked":
            while True:
                size = int(self.rfile.readline(), 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
        for k in ("Authorization", "X-Api-Key"):
            if k in self.headers:
                log("auth", k, self.headers[k])
        if self.path.startswith("/say/"):  # the header's value again: in a header, in the body, in two pieces, at the very end
            value = self.headers.get("Authorization", "") or self.headers.get("X-Api-Key", "")
            if self.path == "/say/header":
                return self.say("said\n", 200, [("X-Said", value)])
            if self.path == "/say/pieces":
                self.send_response(200)
                self.send_header("Content-Length", len(value))
                self.end_headers()
                for i in range(len(value)):
                    self.wfile.write(value[i:i + 1].encode())
                    self.wfile.flush()
                    time.sleep(0.002)
                return None
            if self.path == "/say/half":
                return self.say(value[:-8])
            return self.say("you said " + value + "\n")
        if self.path.startswith("/redirect/"):
            return self.say("", 302, [("Location", "http://" + self.path[10:])])
        if self.path.startswith("/bytes/"):
            return self.say(b"x" * int(self.path[7:]))
        if self.path.startswith("/end/"):  # the end of the connection is the end of the answer
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"x" * int(self.path[5:]))
            self.close_connection = True
            return None
        if self.path in ("/upgrade", "/upgrade/pieces") and self.headers.get("Upgrade"):
            if self.path == "/upgrade/pieces":  # the head in two, cut in the status
                self.wfile.write(b"HTTP/1.1 1")
                self.wfile.flush()
                time.sleep(0.3)
                self.wfile.write(b"01 Switching Protocols\r\n")
            else:
                self.send_response(101)
            self.send_header("Upgrade", self.headers["Upgrade"])
            self.send_header("Connection", "Upgrade")
            self.end_headers()
            while True:
                data = self.connection.recv(4096)
                if not data:
                    break
                self.wfile.write(b"echo " + data)
            self.close_connection = True
            return None
        if self.path.startswith("/files/"):
            self.path = self.path[6:]
            return super().do_GET() if self.command == "GET" else super().do_HEAD()
        return self.say(f"{self.command} {self.path} of {self.headers.get('Host')} body {len(body)}\n")

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = handle_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, port, tls=False, named=None):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), Web)
        self.tls = None
        if tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*(named and (f"{os.path.dirname(CERT)}/{named}.pem", f"{os.path.dirname(CERT)}/{named}.key") or (CERT, KEY)))
            if named == "old":
                warnings.simplefilter("ignore", DeprecationWarning)
                self.tls.set_ciphers("ALL:@SECLEVEL=0")
                self.tls.minimum_version = self.tls.maximum_version = ssl.TLSVersion.TLSv1_1
            self.tls.sni_callback = lambda s, name, c: log("sni", address, name)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def get_request(self):
        c, peer = super().get_request()
        log("tcp", *self.server_address[:2])
        return c, peer

    def finish_request(self, c, peer):
        if self.tls:
            try:
                c = self.tls.wrap_socket(c, server_side=True)
            except OSError:
                return
        super().finish_request(c, peer)
        if self.tls:
            try:
                c.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def handle_error(self, *a):
        pass


def listen(address, port, handle):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.listen(512)

    def loop():
        while True:
            c, _ = s.accept()
            if port != 53:
                log("tcp", address, port)
            threading.Thread(target=handle, args=(c, port), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()


def banner(c, _):
    """Speaks first, as ssh and mail servers do, then answers."""
    with c:
        c.sendall(b"SSH-2.0-outside\r\n")
        while True:
            d = c.recv(65536)
            if not d:
                return
            c.sendall(b"heard " + d)


def echo(c, _):
    with c:
        while True:
            d = c.recv(1 << 16)
            if not d:
                return
            c.sendall(d)


def udp(address, port):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, port))
    while True:
        d, peer = s.recvfrom(65536)
        log("udp", address, port, d[:20])
        s.sendto(b"GOT udp", peer)


def main():
    for a in ("93.184.10.1", "93.184.10.2", "93.184.10.3", "93.184.10.4", "93.184.10.5", "93.184.10.6", "93.184.10.7",
              "169.254.169.254", "10.9.9.9", "100.101.102.103", "168.63.129.16", "2606:4700:1::1", "fd00:9::9"):
        Server(a, 80)
        Server(a, 8080)
        Server(a, 443, tls=True)
    for a, named in (("93.184.10.11", "expired"), ("93.184.10.12", "wrongname"), ("93.184.10.13", "selfsigned"), ("93.184.10.14", "old")):
        Server(a, 443, tls=True, named=named)
    listen("93.184.10.4", 22, banner)
    listen("93.184.10.4", 5432, echo)
    listen("93.184.10.1", 5432, echo)
    listen("10.9.9.9", 5432, echo)
    listen("93.184.10.2", 53, dns_tcp)   # somebody else's name server
    listen("93.184.10.53", 53, dns_tcp)
    threading.Thread(target=dns_udp, daemon=True).start()
    for a, p in (("93.184.10.1", 443), ("93.184.10.1", 9999), ("93.184.10.2", 53), ("93.184.10.4", 123), ("2606:4700:1::1", 9999)):
        threading.Thread(target=udp, args=(a, p), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


main()
