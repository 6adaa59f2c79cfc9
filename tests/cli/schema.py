#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema.py docs/json.md: run every verb with --json in the current workspace and compare with the documented tables."""
import json
import os
import re
import socket
import subprocess
import sys
import time

objects = {}
name = None
for line in open(sys.argv[1], encoding="utf-8"):
    head = re.match(r"### ([A-Z]+)$", line)
    row = re.match(r"\| ([a-z_]+) \| ([A-Za-z ]+) \|", line)
    if head:
        name = head.group(1)
        objects[name] = {}
    elif row and name and row.group(2) != "type":
        objects[name][row.group(1)] = row.group(2).strip()
wrong = []
seen = set()
BASIC = {"string": str, "path": str, "number": (int, float), "boolean": bool}


def check_type(kind, value, where):
    if kind.endswith(" optional"):
        kind = kind[: -len(" optional")]
    if kind.endswith(" or null"):
        if value is None:
            return
        kind = kind[: -len(" or null")]
    if kind.startswith("list of "):
        if not isinstance(value, list):
            wrong.append("%s: no list" % where)
            return
        for i, v in enumerate(value):
            check_type(kind[len("list of "):], v, "%s[%d]" % (where, i))
    elif kind in BASIC:
        if not isinstance(value, BASIC[kind]) or (kind == "number" and isinstance(value, bool)):
            wrong.append("%s: %r is no %s" % (where, value, kind))
    else:
        check_object(kind, value, where)


def check_object(kind, value, where):
    rows = objects[kind]
    if not isinstance(value, dict):
        wrong.append("%s: no object" % where)
        return
    for key, v in value.items():
        base = key[:-4] if key.endswith("_hex") else key
        if base not in rows or (base != key and rows[base].split()[0] != "path"):
            wrong.append("%s.%s is not documented (%s)" % (where, key, kind))
            continue
        seen.add((kind, base))
        check_type(rows[base] if base == key else "string", v, "%s.%s" % (where, key))
    for key in rows:
        if key not in value and not rows[key].endswith("optional"):
            wrong.append("%s.%s is documented and missing (%s)" % (where, key, kind))


def rein(kind, *args, stderr=False):
    p = subprocess.run(["rein", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    text = p.stderr.decode().strip().split("\n")[-1] if stderr else p.stdout.decode()
    where = "rein " + " ".join(args[:2])
    try:
        value = json.loads(text)
    except ValueError as e:
        wrong.append("%s: no JSON (%s): %r %r" % (where, e, text[:200], p.stderr[:200]))
        return None
    check_object(kind, value, where)
    return value


def sh(*args):
    subprocess.run(args, check=True)


sh("sh", "-c", "echo 1 >a; echo 1 >b; echo 1 >gone; mkdir d; echo 1 >d/x; ln -s a link")
rein("RUN", "run", "--json", "--commit", "--", "sh", "-c",
     "echo 2 >>a; chmod 600 b; rm gone; mv d e; mkfifo f; echo x >\"$(printf '\\377')\"", stderr=True)
rein("RUN", "run", "--json", "--", "true", stderr=True)
rein("TXN", "show", "--json")
rein("TXN", "undo", "--json")
rein("TXN", "redo", "--json")
rein("RUN", "run", "--json", "--hold", "--", "sh", "-c", "echo 3 >>a; echo 3 >n; ln n o; echo 3 >>b", stderr=True)
rein("LIST", "status", "--json")
if subprocess.run("rein help | grep -q '^  diff'", shell=True, check=False).returncode == 0:
    rein("TXN", "diff", "--json")
sh("sh", "-c", "echo outside >>a")
rein("TXN", "commit", "--json")
rein("TXN", "commit", "--json", "--only", "b", "--only", "n")
rein("TXN", "discard", "--json")
sh("sh", "-c", "printf 'version: 1\\nrules:\\n  - {id: x, match: {program: touch}, decide: hold, approvers: [x], expires: 1h}\\n' >\"$HOME/p.yaml\"")
rein("RUN", "run", "--json", "-p", os.environ["HOME"] + "/p.yaml", "--", "touch", "reviewed", stderr=True)
rein("TXN", "discard", "--json")
rein("RUN", "run", "--json", "--on-failure", "discard", "--", "sh", "-c", "echo >>b; exit 1", stderr=True)
rein("RUN", "run", "--json", "--timeout", "100ms", "--", "sleep", "9", stderr=True)
rein("RUN", "run", "--json", "--limit", "output=100,cpu-time=10s", "--", "yes", stderr=True)
rein("RUN", "run", "--json", "--watch-files", "--commit", "--", "sh", "-c", "ls; touch watched; : >/usr/refused || :", stderr=True)
rein("TXN", "show", "--json")
rein("RUN", "run", "--json", "--limit", "output=10", "--agent", "x", "--", "yes", stderr=True)
rein("SAFE", "safe", "--json", "--enter", "--agent", "x", "--reason", "y")
rein("SAFE", "safe", "--json", "--lift", "--agent", "x")
rein("BOXES", "ps", "--json")
box = subprocess.Popen(["rein", "run", "-q", "--discard", "--label", "x", "--", "sleep", "60"])
for _ in range(200):
    time.sleep(0.05)
    boxes = rein("BOXES", "ps", "--json")["boxes"]
    if boxes:
        break
for _ in range(200):  # it is listed before its command has begun
    if rein("BOX", "stats", "--json", boxes[0]["id"]).get("tree"):
        break
    time.sleep(0.05)
rein("ATTACHED", "attach", "--json", boxes[0]["id"], "--", "true", stderr=True)
rein("DONE", "pause", "--json", boxes[0]["id"])
rein("DONE", "resume", "--json", boxes[0]["id"])
rein("STOPPED", "stop", "--all", "--json")
box.wait()
rein("FAILURE", "run", "--json", "--", "true", stderr=True)
subprocess.run(["rein", "stop", "-q", "--agent", "x", "--reason", "y"], check=True)
rein("STARTED", "start", "--json")
rein("STARTED", "start", "--json", "--agent", "x")
listener = socket.create_server(("127.0.0.1", 0))
rein("RUN", "run", "--json", "--approve", "--allow-host", "host.rein.internal:%d" % listener.getsockname()[1], "--", "/usr/bin/python3", "-c",
     "import socket, sys\nsocket.create_connection(('host.rein.internal', int(sys.argv[1])))\n"
     "try: socket.create_connection(('192.0.2.1', 80))\nexcept OSError: pass",
     str(listener.getsockname()[1]), stderr=True)
rein("LIST", "log", "--json", "--all")
rein("GC", "gc", "--json", "--dry-run")
rein("FAILURE", "show", "--json", "nope")
rein("FAILURE", "run", "--json", "--workspace", "/nonexistent", "--", "true", stderr=True)
rein("FAILURE", "attach", "--json", "nope", stderr=True)
rein("VERSION", "version", "--json")
rein("VERDICT", "classify", "--json", "rm -rf /; cat <<x >f; $(")
with open("trial.yaml", "w", encoding="utf-8") as f:
    f.write("version: 1\nrules:\n  - {id: trial, match: {program: make}, decide: deny, mode: advisory}\n")
rein("VERDICT", "classify", "--json", "--policy", "trial.yaml", "make")
if subprocess.run("rein help | grep -q '^  doctor'", shell=True, check=False).returncode == 0:
    rein("DOCTOR", "doctor", "--json")
else:
    seen |= {(k, r) for k in ("DOCTOR", "FEATURE") for r in objects[k]}
for kind, rows in objects.items():
    for key in rows:
        if (kind, key) not in seen:
            wrong.append("%s.%s is documented and was never printed" % (kind, key))
for w in wrong:
    print(w, file=sys.stderr)
sys.exit(1 if wrong else 0)
