#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the gate refuses is a violation of medium severity: counted once a name and port in a box, and more than three of an
agent pause the box, while it runs."""
import os, subprocess, time

from lib import *

RULES = ["--allow-host", "site.test", "--allow-host", "ro.test,ro"]


def rein(*args):
    return subprocess.run(USER + [BUILD + "/rein", *args], cwd=T + "/work", env=ENV, capture_output=True, text=True, timeout=60)


def network(r):
    return [v["text"] for v in r.json.get("violations", []) if v["type"] == "network" and v["severity"] == "medium"]


def ask(*names):
    return ["sh", "-c", "; ".join(f"curl -sS -m 5 http://{n}/" for n in names)]


r = box(RULES, ask("a.test", "b.test", "c.test", "d.test", "e.test"))
check(len(network(r)) == 5 and not r.json["safe_mode"] and "violation:" not in r.err, "of nobody in particular: recorded, without consequences", r)
r = box(RULES + ["--agent", "one"], ask("other.test", "other.test", "other.test", "other.test", "OTHER.test.", "other.test"))
v = network(r)
check(len(v) == 1 and v[0].startswith("other.test: no rule allows this host") and "--allow-host other.test" in v[0] and not r.json["safe_mode"],
      "whoever tries again has not tried something else", r)
check("violation: network (medium): other.test" in r.err, "the agent is told at once, with the way to ask for it", r)
r = box(RULES + ["--agent", "two"], ["/usr/bin/python3", "-c", """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for name, port in (("site.test", 443), ("site.test", 444), ("ro.test", 443), ("ro.test", 445), ("ro.test", 446)):
    try: s.sendto(b"x", (socket.gethostbyname(name), port))
    except OSError: pass
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    try: socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP)
    except OSError: pass
try: socket.gethostbyaddr("8.8.8.8")
except OSError: pass
"""])
check(not network(r) and r.net["refused"] >= 5, "another transport to what is allowed, a ping, an address's name: refused, not violations", r)
r = box(RULES + ["--agent", "five"], ["/usr/bin/python3", "-c", r"""
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: s.sendto(b"x", (socket.gethostbyname("ro.test"), 80))
except OSError: pass
time.sleep(0.3)
s = socket.create_connection(("ro.test", 80)); s.sendall(b"DELETE / HTTP/1.1\r\nHost: ro.test\r\n\r\n"); s.recv(1000)
"""])
check([x.split(":")[0] for x in network(r)] == ["ro.test"], "which hide no violation at the same name and port", r)
r = box(RULES + ["--agent", "six"], ["/usr/bin/python3", "-c", """
import socket, time
s, a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.gethostbyname("site.test")
for port in range(1000, 2100):
    try: s.sendto(b"x", (a, port))
    except OSError: pass
    if port % 100 == 0: time.sleep(0.05)
try: socket.gethostbyname("other.test")
except OSError: pass
"""])
check([x.split(":")[0] for x in network(r)] == ["other.test"] and r.net["refused"] > 1000, "however many there are", r)
r = box(RULES + ["--agent", "two"], ["/usr/bin/python3", "-c", """
import socket
for family in (socket.AF_VSOCK, socket.AF_PACKET):
    try: socket.socket(family, socket.SOCK_STREAM)
    except OSError: pass
"""])
check(len(network(r)) == 2 and not r.json["safe_mode"], "sockets that lead round the network are", r)

# one box after the other
for i, n in enumerate(("a.test", "b.test", "c.test")):
    r = box(RULES + ["--agent", "three"], ask(n))
    check(len(network(r)) == 1 and not r.json["safe_mode"], f"the violation of box {i + 1}", r)
r = box(RULES + ["--agent", "three"], ask("site.test"))
check(r.status == 0 and "GET / of site.test" in r.out, "what is allowed still works", r)
r = box(RULES + ["--agent", "three"], ["sh", "-c", "curl -sS http://ro.test/ -d x >/dev/null; exit 0"])
check(r.json.get("safe_mode") and any("ro.test:80" in x for x in network(r)), "the fourth begins safe mode", r)
r = box(RULES + ["--agent", "three"], ask("site.test"))
check(r.status != 0 and "no network until a person lifts it" in json.dumps(r.json) + r.err and not r.seen, "then there is no network", r)
with open(T + "/home/net.yaml", "w") as f:
    f.write("version: 1\nnetwork: {allow: ['site.test,inspect']}\n")
r = box(["--policy", T + "/home/net.yaml", "--publish", "7654", "--agent", "three"], ["sh", "-c", "curl -sS -m 5 http://site.test/; test $SSL_CERT_FILE = $PWD/ca.crt || exit 9"])
check(r.status == 0 and r.net["mode"] == "none" and not r.seen and "GET" not in r.out, "a policy's network is not there, and its certificates neither", r)
p = rein("safe", "--lift", "--agent", "three")
r = box(RULES + ["--agent", "three"], ask("site.test"))
check(p.returncode == 0 and r.status == 0, "until a person lifts it", r)

# in one box, while it runs
argv = USER + [BUILD + "/rein", "run", "--approve", "--agent", "four", "--workspace", T + "/work"] + RULES + [
    "--", "sh", "-c", "echo begun >before; for n in a b c d e f; do curl -sS -m 5 http://$n.test/; done; sleep 1; echo 2 >after; sleep 60"]
p = subprocess.Popen(argv, cwd=T + "/work", env=ENV, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
boxes = []
for _ in range(200):
    boxes = [b for b in json.loads(rein("ps", "--json").stdout or "{}").get("boxes", []) if b["state"] == "paused"]
    if boxes:
        break
    time.sleep(0.05)
check(len(boxes) == 1 and boxes[0]["network"] == "restricted", "the box is paused while it runs")
log = rein("audit", "log", "--type", "violation", "--json").stdout
check("d.test" in log, "each violation is on the record")
check("safe_mode" in rein("audit", "log", "--type", "stop", "--json").stdout, "and so is the incident")
check("four" in rein("safe").stdout, "safe mode is on for the agent")
rein("kill", boxes[0]["id"]) if boxes else p.kill()
err = p.communicate(timeout=30)[1]
check("is paused and safe mode is on for agent four" in err and "violation: network (medium): d.test" in err, "whoever started it was told why")
check(not os.path.exists(T + "/work/before") and not os.path.exists(T + "/work/after"), "nothing of it stays")
finish()
