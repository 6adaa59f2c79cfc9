#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets in command lines, environment, file names, contents and diffs of whole `rein` commands: none of them in any byte
of what Rein keeps about them. What a transaction must keep as it is (the files themselves and the list of their names) is the
exception, and gone after `rein gc`.   secrets.py REIN"""
import os, shutil, subprocess, sys, tempfile

rein = os.path.abspath(sys.argv[1])
top = tempfile.mkdtemp(prefix="rein-secrets-")
state, work = top + "/state", top + "/work"
os.makedirs(work); os.makedirs(top + "/home")
GITHUB = "ghp_" + "q7Rk2" * 7 + "z"
AWS = "AKIA" + "IOSFODNN7EXAMPLZ"
SECRETS = [GITHUB, AWS, "hunter2-of-the-env", "pa55w0rd-of-curl", "word-of-words", "sw0rdfish-in-url", "bearer0123456789abc"]
env = {**os.environ, "HOME": top + "/home", "REIN_STATE": state, "XDG_CONFIG_HOME": top + "/home", "MY_API_TOKEN": "hunter2-of-the-env",
       "GIT_CONFIG_GLOBAL": "/dev/null"}

def run(*a, ok=(0,)):
    r = subprocess.run([rein, *a], env=env, cwd=work, capture_output=True, text=True, timeout=60)
    assert ok is None or r.returncode in ok, (a, r)
    return r

def everything(where):
    for folder, dirs, files in os.walk(where):
        for name in files:
            path = os.path.join(folder, name)
            rel = os.path.relpath(path, state)
            yield rel, name.encode() + b"\0" + open(path, "rb").read()

def look(may):
    bad = [(rel, s) for rel, data in everything(state) for s in SECRETS if s.encode() in data and not may(rel)]
    assert not bad, "\n".join("%s holds %s" % b for b in bad)

def of_a_transaction(rel):                                # content and names: what an undo needs
    parts = rel.split("/")
    return parts[0] == "txn" and (len(parts) > 3 or parts[-1] in ("changes", "ops"))

try:
    run("run", "--env", "MY_API_TOKEN", "--", "sh", "-c",
        "echo %s >a; touch %s.txt; echo $MY_API_TOKEN; echo 'export AWS_ACCESS_KEY_ID=%s' >>b" % (GITHUB, GITHUB, AWS), ok=None)
    run("run", "--", "sh", "-c", "echo x >>new", "curl", "-u", "me:pa55w0rd-of-curl", "--password", "the word-of-words", "https://me:sw0rdfish-in-url@example.com",
        "-H", "Authorization: Bearer bearer0123456789abc", "--token=" + GITHUB, ok=None)
    run("run", "--hold", "--", "sh", "-c", "printf %s >c" % GITHUB, ok=None)
    run("diff", "--no-pager", ok=None); run("log", "--no-pager", ok=None); run("show", "--no-pager", ok=None)
    run("commit", ok=None); run("undo", ok=None); run("redo", ok=None); run("discard", ok=None)
    run("run", "--", "no-such-program-" + GITHUB, ok=None)                # refused or failed
    run("classify", "--", "echo", GITHUB, ok=None)
    run("audit", "log", "--no-pager"); run("audit", "similar", "echo", GITHUB); run("audit", "report", "-o", state + "/report.md")
    run("audit", "alerts", ok=None); run("audit", "export", "-o", state + "/export.jsonl"); run("metrics")
    look(of_a_transaction)
    log = run("audit", "log", "--json", "-n", "1000").stdout
    assert log.count("[redacted:github:") > 3 and log.count("[redacted:") > 8, log[:2000]
    marks = {m[:12] for m in log.split("[redacted:github:")[1:]}
    assert len(marks) == 1, marks                                        # equal secrets have equal marks
    run("gc", "--keep-age", "0s", "--keep", "0", ok=None)
    print("%d secrets in none of %d files" % (len(SECRETS), sum(1 for _ in everything(state))))
finally:
    subprocess.run(["chmod", "-R", "u+rwx", top]); shutil.rmtree(top)
