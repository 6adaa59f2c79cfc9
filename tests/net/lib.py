# SPDX-License-Identifier: Apache-2.0
"""What the network tests share: running a program in a box, reading what rein says and what the world saw."""
import json, os, subprocess, sys, time

T, KIND, BUILD = os.environ["NET_T"], os.environ["NET_KIND"], os.environ["NET_BUILD"]
HERE, WORLD = os.environ["NET_HERE"], os.environ["NET_WORLD"]
USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if KIND == "user" else []
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": T + "/home", "REIN_STATE": T + "/home/state",
       "LC_ALL": "C.UTF-8", "SSL_CERT_FILE": T + "/work/ca.crt", "CURL_CA_BUNDLE": T + "/work/ca.crt", "GIT_SSL_CAINFO": T + "/work/ca.crt",
       "NODE_EXTRA_CA_CERTS": T + "/work/ca.crt", "PIP_CERT": T + "/work/ca.crt", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
       "GIT_TERMINAL_PROMPT": "0"}
BACKEND = ["--backend", "oci:" + KIND] if KIND in ("crun", "runc", "runsc") else []
number = failed = 0


class Run:
    pass


def settle():
    """What a run before sent may still wait to be read: until it was, the world's log is not about the next one."""
    for _ in range(100):
        rows = [row.split() for name in ("tcp", "tcp6") for row in open(f"/proc/{WORLD}/net/{name}")]
        if not any(row[3] in ("01", "08") for row in rows):     # connected, or left by its peer
            return
        time.sleep(0.05)


def box(options, command, timeout=60, stdin=None, pass_fds=(), under=()):
    """Run it; the result has status, out, err (without the report), net (the report's network), seen (the world's log)."""
    settle()
    before = os.path.getsize(T + "/log")
    argv = USER + list(under) + [BUILD + "/rein", "run", "--json", "--discard", "--approve", "--workspace", T + "/work"] + BACKEND + options + ["--"] + command
    p = subprocess.run(argv, cwd=T + "/work", env=ENV, capture_output=True, timeout=timeout, input=stdin,
                       pass_fds=pass_fds)
    r = Run()
    r.status, r.out = p.returncode, p.stdout.decode("utf8", "replace")
    lines = p.stderr.decode("utf8", "replace").splitlines()
    r.err = "\n".join(lines[:-1])
    try:
        r.json = json.loads(lines[-1])
    except (ValueError, IndexError):
        r.json, r.err = {}, "\n".join(lines)
    r.net = r.json.get("network", {})
    r.why = {(x["name"], x["port"], x["why"]) for x in r.net.get("refusals", [])}
    with open(T + "/log") as f:
        f.seek(before)
        r.seen = f.read().splitlines()
    return r


def check(good, name, r=None):
    global number, failed
    number += 1
    print(("ok" if good else "not ok"), number, "-", name, flush=True)
    if not good:
        failed += 1
        if r is not None:
            for k in ("status", "out", "err", "why", "seen"):
                print("#  ", k, "=", str(getattr(r, k))[:1500].replace("\n", "\n#   "), flush=True)


def finish():
    print(f"1..{number}", flush=True)
    sys.exit(1 if failed else 0)
