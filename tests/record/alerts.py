#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alerts from the policy to a webhook, a command and a desktop, against a server on this machine that
answers, fails, hangs, redirects and hangs up.   alerts.py REIN RECORD_FILL"""
import glob, hashlib, hmac, http.server, json, os, shutil, signal, ssl, subprocess, sys, tempfile, threading, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import verify

class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    def handle_error(self, *a): pass                     # a client that was killed or does not like our certificate

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        s = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with s.lock:
            s.seen.append((self.path, dict(self.headers), body))
            how = s.script.pop(0) if s.script else 200
        if how == "hang":
            s.release.wait(30)
            how = 200
        if how == "close":
            self.connection.close()
            return
        self.send_response(302 if how == "redirect" else how)
        if how == "redirect":
            self.send_header("Location", s.elsewhere)
        if how == 429:
            self.send_header("Retry-After", "7")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *a): pass

def serve(context=None):
    s = Server(("127.0.0.1", 0), Handler)
    if context:
        s.socket = context.wrap_socket(s.socket, server_side=True)
    s.seen, s.script, s.lock, s.release = [], [], threading.Lock(), threading.Event()
    s.url = "%s://127.0.0.1:%d/" % ("https" if context else "http", s.server_address[1])
    threading.Thread(target=s.serve_forever, daemon=True).start()
    return s

class World:
    """A home, a state directory and a server of its own."""
    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="rein-alerts-")
        self.state, self.home = self.top + "/state", self.top + "/home"
        os.makedirs(self.home + "/.config/rein"); os.makedirs(self.top + "/work")
        self.server = serve()
        keep = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        self.env = {**keep, "HOME": self.home, "REIN_STATE": self.state, "XDG_CONFIG_HOME": self.home + "/.config"}
    def __enter__(self): return self
    def __exit__(self, *a):
        self.server.release.set()
        self.server.shutdown(); self.server.server_close()
        shutil.rmtree(self.top)
    def policy(self, alerts, webhook=""):
        with open(self.home + "/.config/rein/policy.yaml", "w") as f:
            f.write("version: 1\nwebhooks:\n  ops: {url: \"%s\"%s}\nalerts:\n  - {id: agent.new, off: true}\n  - {id: violations.many, off: true}\n  - {id: delete.many, off: true}\n  - {id: refusals.many, off: true}\n%s" % (self.server.url, webhook, alerts))
    def fill(self, n=40):
        subprocess.run([FILL, self.state, str(n), "1"], check=True, stdout=subprocess.DEVNULL)
    def rein(self, *args, **kw):
        return subprocess.run([REIN, *args], env={**self.env, **kw.pop("env", {})}, cwd=self.top + "/work", text=True,
                              capture_output=True, timeout=60, **kw)
    def alerts(self, *args, **kw):
        r = self.rein("audit", "alerts", "--json", *args, **kw)
        return r, json.loads(r.stdout) if r.stdout.startswith("{") else {}
    def waiting(self):
        return json.loads(self.rein("audit", "alerts", "--list", "--json").stdout)
    def recorded(self):
        return [json.loads(l) for l in self.rein("audit", "log", "--type", "alert", "-n", "1000", "--json").stdout.splitlines()]

ONE = "  - {id: new, when: {type: request, agent: claude}, first: agent, to: [stderr, \"webhook:ops\"]}\n"
ALL = "  - {id: new, when: {type: request}, first: agent, to: [\"webhook:ops\"]}\n"

def signed_and_recorded():
    with World() as w:
        with open(w.top + "/secret", "w") as f: f.write("it is a secret\n")
        w.policy(ONE, ", secret_file: %s/secret" % w.top)
        w.fill()
        r, out = w.alerts()
        assert r.returncode == 0 and out["fired"] == 1 and out["delivered"] == 1, (r, out)
        assert "rein: alert new: seen for the first time (claude)" in r.stderr, r.stderr
        (path, head, body), = w.server.seen
        text = b"rein-webhook-v1\n" + head["Rein-Timestamp"].encode() + b"\n" + body
        assert head["Rein-Signature-256"] == "sha256=" + hmac.new(b"it is a secret", text, "sha256").hexdigest()
        pub = bytes.fromhex(json.loads(w.rein("audit", "verify", "--json").stdout)["key"])
        sig, key = head["Rein-Signature"].split("; ")
        assert key == "key=" + hashlib.sha256(pub).hexdigest()[:16]
        assert verify.ed25519(pub, text, bytes.fromhex(sig.removeprefix("ed25519=")))
        assert not verify.ed25519(pub, text + b" ", bytes.fromhex(sig.removeprefix("ed25519=")))
        alert = json.loads(body)
        assert alert["id"] == head["Rein-Id"] and alert["rule"] == "new" and alert["agent"] == "claude", alert
        assert abs(int(head["Rein-Timestamp"]) - time.time()) < 60
        ev, = w.recorded()
        assert ev["extra"]["alert"] == alert["id"] and ev["rule"] == "new", ev
        assert w.alerts()[1]["fired"] == 0 and len(w.server.seen) == 1      # once
        shutil.rmtree(w.state + "/audit/outbox"); os.unlink(w.state + "/audit/alerts.state")
        assert w.alerts()[1]["fired"] == 0 and len(w.server.seen) == 1      # the memory is only a cache
        os.unlink(w.state + "/audit/alerts.cursor"); os.unlink(w.state + "/audit/alerts.state")
        assert w.alerts()[1]["fired"] == 0 and len(w.server.seen) == 1      # what the log knows was fired is not again
        os.unlink(w.top + "/secret")
        w.policy(ONE.replace("claude", "codex"), ", secret_file: %s/secret" % w.top)
        os.unlink(w.state + "/audit/alerts.cursor")
        r, out = w.alerts()
        assert r.returncode != 0 and out["waiting"] == 1 and "secret" in out["why"], out # never half signed
        assert len(w.server.seen) == 1

def retried_with_pauses():
    with World() as w:
        w.policy(ONE); w.fill()
        w.server.script[:] = [500, "close", 503]
        began = time.time()
        r, out = w.alerts("--wait", "20s")
        assert r.returncode == 0 and out["delivered"] == 1 and not w.waiting(), (r, out)
        assert len(w.server.seen) == 4 and len({h["Rein-Id"] for _, h, _ in w.server.seen}) == 1, w.server.seen
        assert 4 < time.time() - began < 15, time.time() - began            # 1 + 2 + 4, a quarter more or less

def redirects_are_not_followed():
    with World() as w:
        other = serve()
        w.server.elsewhere = other.url
        w.server.script[:] = ["redirect"]
        w.policy(ONE); w.fill()
        r, out = w.alerts()
        assert r.returncode != 0 and out["waiting"] == 1 and "302" in out["why"] and not other.seen, out
        other.shutdown(); other.server_close()

def the_server_may_ask_for_a_pause():
    with World() as w:
        w.server.script[:] = [429]
        w.policy(ONE); w.fill()
        w.alerts()
        e, = w.waiting()
        assert e["attempts"] == 1 and 5 < e["next_ns"] / 1e9 - time.time() < 8, e
        r, out = w.alerts("--wait", "1s")                                    # not before its time
        assert out["waiting"] == 1 and len(w.server.seen) == 1

def a_hanging_server_is_left_and_a_crash_loses_nothing():
    with World() as w:
        w.server.script[:] = ["hang"] * 3
        w.policy(ONE); w.fill()
        p = subprocess.Popen([REIN, "audit", "alerts"], env=w.env, cwd=w.top, stderr=subprocess.DEVNULL)
        while not w.server.seen: time.sleep(0.02)
        p.send_signal(signal.SIGKILL); p.wait()                              # while the request is under way
        assert len(w.waiting()) == 1 and len(w.recorded()) == 1
        began = time.time()
        r, out = w.alerts()
        assert out["waiting"] == 1 and "imed out" in out["why"] and 8 < time.time() - began < 14, (out, time.time() - began)
        w.server.script.clear()
        r, out = w.alerts()
        assert out["delivered"] == 1 and len(w.recorded()) == 1 and not w.waiting(), out
        assert len({h["Rein-Id"] for _, h, _ in w.server.seen}) == 1

def one_that_is_down_is_asked_once():
    with World() as w:
        w.policy(ALL); w.fill()
        w.server.script[:] = [500] * 10
        r, out = w.alerts()
        assert out["fired"] == 4 and out["waiting"] == 4 and len(w.server.seen) == 1, (out, len(w.server.seen))

def no_more_than_so_many_a_minute():
    with World() as w:
        w.policy(ALL, ", per_minute: 2"); w.fill()
        time.sleep(max(0, time.time() % 60 - 50) and 61 - time.time() % 60)
        r, out = w.alerts()
        assert out["fired"] == 4 and out["delivered"] == 2 and out["waiting"] == 2, out
        r, out = w.alerts()                                                  # another process keeps to it, too
        assert out["delivered"] == 0 and len(w.server.seen) == 2, out

def commands_and_desktop():
    with World() as w:
        os.makedirs(w.top + "/bin")
        with open(w.top + "/bin/notify-send", "w") as f: f.write("#!/bin/sh\nprintf '%%s\\n' \"$@\" >%s/desktop\n" % w.top)
        os.chmod(w.top + "/bin/notify-send", 0o755)
        w.policy("  - {id: new, when: {type: request, agent: claude}, first: agent, to: [desktop], command: \"test -e %s/go && cat >%s/got\"}\n" % (w.top, w.top))
        w.fill()
        env = {"DISPLAY": ":7", "PATH": w.top + "/bin:" + w.env["PATH"]}
        r, out = w.alerts(env=env)
        assert r.returncode != 0 and out["delivered"] == 1 and out["waiting"] == 1, (r, out)
        assert "seen for the first time" in open(w.top + "/desktop").read()
        open(w.top + "/go", "w").close()
        r, out = w.alerts(env=env)
        assert r.returncode == 0 and out["delivered"] == 1 and json.load(open(w.top + "/got"))["rule"] == "new", out

def given_up_after_a_day_and_recorded():
    with World() as w:
        w.policy(ONE); w.fill()
        w.server.script[:] = [500] * 5
        w.alerts()
        entry, = [f for f in glob.glob(w.state + "/audit/outbox/*") if len(os.path.basename(f)) == 25]
        text = open(entry).read()
        created = text.split("created ")[1].split("\n")[0]
        open(entry, "w").write(text.replace(created, str(int(created) - 90000 * 10**9)))
        os.unlink(w.state + "/audit/outbox/pace")
        r, out = w.alerts()
        assert r.returncode != 0 and out["given_up"] == 1 and not w.waiting(), out
        assert [e for e in w.recorded() if e.get("result") == "undelivered" and e["extra"]["to"] == "webhook:ops"]

def a_project_nobody_trusts_calls_nobody():
    with World() as w:
        w.policy("  - {id: x, when: {type: override}, count: 1, within: 1s}\n"); w.fill()
        with open(w.top + "/work/.rein.yaml", "w") as f:
            f.write("version: 1\nalerts:\n  - {id: evil, when: {type: request}, first: agent, command: \"touch %s/evil\"}\n" % w.top)
        r, out = w.alerts()
        assert r.returncode == 0 and out["fired"] == 0 and not os.path.exists(w.top + "/evil"), out
        assert w.rein("policy", "trust").returncode == 0
        os.unlink(w.state + "/audit/alerts.cursor"); os.unlink(w.state + "/audit/alerts.state")
        assert w.alerts()[1]["fired"] == 4 and os.path.exists(w.top + "/evil")

def tls_is_checked():
    with World() as w:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                        w.top + "/key", "-out", w.top + "/crt", "-days", "2", "-subj", "/CN=127.0.0.1"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); context.load_cert_chain(w.top + "/crt", w.top + "/key")
        other = serve(context)
        plain, w.server = w.server, other
        w.policy(ONE); w.fill()
        r, out = w.alerts()
        assert r.returncode != 0 and out["waiting"] == 1 and "certificate" in out["why"] and not other.seen, out
        w.server = plain; other.shutdown(); other.server_close()

def heads_go_to_a_webhook():
    with World() as w:
        w.policy(ONE.replace("claude", "nobody")); w.fill()
        open(w.state + "/audit/config", "a").write("anchor-webhook=%s\n" % w.server.url)
        r, out = w.alerts()
        assert r.returncode == 0 and out["delivered"] == 1, (r, out)
        assert w.alerts()[1]["delivered"] == 0 and len(w.server.seen) == 1   # nothing new
        r = w.rein("audit", "anchor", "--webhook", w.server.url + "now")
        assert r.returncode == 0 and w.server.seen[-1][0] == "/now", r
        with open(w.top + "/heads", "wb") as f:
            for _, _, body in w.server.seen: f.write(body + b"\n")
        w.fill(5)
        r = w.rein("audit", "verify", "--json", "--anchor", w.top + "/heads")
        assert r.returncode == 0 and json.loads(r.stdout)["anchors"] == 2, r

def a_command_waits_for_nobody():
    with World() as w:
        w.server.script[:] = ["hang"]
        w.policy("  - {id: ran, when: {type: request}, first: program, to: [stderr, \"webhook:ops\"]}\n")
        began = time.time()
        r = w.rein("run", "--", "true")
        assert r.returncode == 0 and "rein: alert ran: seen for the first time (true)" in r.stderr, r
        assert time.time() - began < 5, "the command waited for the server"
        while not w.server.seen: time.sleep(0.02)                            # somebody else talks to it
        r = w.rein("run", "--json", "--", "true")
        assert r.returncode == 0 and "rein: alert" not in r.stderr           # JSON stays JSON
        w.server.release.set()
        while w.waiting(): time.sleep(0.05)
        assert len(w.server.seen) == 1 and len(w.recorded()) == 1
        with open(w.state + "/audit/outbox/lock") as f:                      # and then it goes
            import fcntl
            fcntl.flock(f, fcntl.LOCK_EX)

def test_button():
    with World() as w:
        w.policy(ONE)
        assert w.alerts("--test")[0].returncode != 0                         # no record yet
        w.fill()
        assert w.alerts()[1]["fired"] == 1
        r, out = w.alerts("--test")
        assert r.returncode == 0 and out["delivered"] == 1 and b"this is a test" in w.server.seen[-1][2], out

if __name__ == "__main__":
    REIN, FILL = map(os.path.abspath, sys.argv[1:3])
    tests = [signed_and_recorded, retried_with_pauses, redirects_are_not_followed, the_server_may_ask_for_a_pause,
             a_hanging_server_is_left_and_a_crash_loses_nothing, one_that_is_down_is_asked_once, no_more_than_so_many_a_minute,
             commands_and_desktop, given_up_after_a_day_and_recorded, a_project_nobody_trusts_calls_nobody, tls_is_checked,
             heads_go_to_a_webhook, a_command_waits_for_nobody, test_button]
    for t in [t for t in tests if len(sys.argv) < 4 or t.__name__ in sys.argv[3:]]:
        began = time.time(); t(); print("ok %s %.1f s" % (t.__name__, time.time() - began), flush=True)
