#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets the gate puts in: they reach the one host they are for and nothing else; the box, its files and what Rein keeps
never have them."""
import base64, os, subprocess, time

from lib import *

REAL = "ghx_Zq81LmN0pQr7sTuV2wXy9AbC-dEf"
FILED = "file.k3y-Aa11Bb22Cc33Dd44"
ENV["SOURCE_A"] = REAL
with open(T + "/home/secret.txt", "w") as f:
    f.write(FILED + "\n")
os.chmod(T + "/home/secret.txt", 0o644)
GET = ["curl", "-sS", "-m", "10"]
HOSTS = ["--allow-host", "site.test", "--allow-host", "other.test", "--allow-host", "pkg.test,inspect", "--allow-host", "selfsigned.test"]
ONE = HOSTS + ["--credential", "API=env:SOURCE_A,host=site.test"]


def sh(text):
    return ["sh", "-c", text]


def auth(r):
    return [x.split(" ", 1)[1] for x in r.seen if x.startswith("auth ")]


def clean(r):
    text = r.out + r.err + json.dumps(r.json)
    hidden = [REAL, FILED] + [base64.b64encode(b"-" * k + s.encode())[4:-4].decode() for s in (REAL, FILED) for k in range(3)]
    return not any(s in text for s in hidden)


def puts(name, options, command, wanted):
    r = box(options, sh(command))
    check(r.status == 0 and not r.why and wanted in auth(r) and clean(r), name, r)
    return r


def refused(name, options, command, why="credential"):
    """Refused; nobody has got the real one."""
    r = box(options, sh(command))
    check(why in {w for _, _, w in r.why} and not any(REAL in x or FILED in x for x in r.seen) and clean(r), name, r)
    return r


# where it belongs
r = puts("the host it is for gets it", ONE, 'curl -sS -H "Authorization: Bearer $API" https://site.test/say/body; echo "mine $API"', "Authorization Bearer " + REAL)
mine = r.out.split("mine ")[-1].strip()
check(r.net["hosts"][0]["credentials"] == 1 and "put into 1 requests" in subprocess.run(USER + [BUILD + "/rein", "audit", "log", "--type", "network", "--json"], cwd=T + "/work", env=ENV, capture_output=True, text=True).stdout,
      "that it did is told and recorded", r)
check("you said Bearer " + mine in r.out, "the answer says the placeholder again", r)
check(len(mine) == len(REAL) and mine != REAL and mine[3] == "_" and mine[-4] == "-" and mine[:3].islower(), "a placeholder looks like it", r)
r = box(ONE, sh("echo $API"))
check(r.out.strip() != mine, "each box has another", r)
r = puts("an answer's header does not tell", ONE, 'curl -sSi -H "Authorization: Bearer $API" https://site.test/say/header', "Authorization Bearer " + REAL)
check("Said: Bearer" in r.out.replace("X-", ""), "and is otherwise as it was", r)
puts("an answer in pieces does not tell", ONE, 'curl -sS -H "Authorization: $API" https://site.test/say/pieces', "Authorization " + REAL)
t = time.time()
r = puts("an answer that ends like the beginning of it", ONE, 'curl -sS -H "Authorization: $API" https://site.test/say/half https://site.test/say/half; echo', "Authorization " + REAL)
check(r.out.strip() == REAL[:-8] * 2 or REAL not in r.out and time.time() - t < 5, f"is not kept for long ({time.time() - t:.1f} s)", r)
puts("as a password", ONE, "curl -sS -u me:$API https://site.test/say/body", "Authorization Basic " + base64.b64encode(f"me:{REAL}".encode()).decode())
puts("as a user", ONE, "curl -sS -u $API: https://site.test/say/body", "Authorization Basic " + base64.b64encode(f"{REAL}:".encode()).decode())
puts("in every request of a connection", ONE, 'curl -sS -H "Authorization: a $API" https://site.test/1 https://site.test/2 -o /dev/null -o /dev/null', "Authorization a " + REAL)
puts("in another header", HOSTS + ["--credential", "API=env:SOURCE_A,host=site.test,header=X-Api-Key"], 'curl -sS -H "x-api-key: $API" https://site.test/say/body', "X-Api-Key " + REAL)
puts("in any header", HOSTS + ["--credential", "API=env:SOURCE_A,host=site.test,header=*"], 'curl -sS -H "X-Api-Key: $API" https://site.test/say/body', "X-Api-Key " + REAL)
puts("in a form", HOSTS + ["--credential", "API=env:SOURCE_A,host=site.test,format=Bearer {}"], 'curl -sS -H "Authorization: Bearer $API" https://site.test/say/body', "Authorization Bearer " + REAL)
puts("for several hosts", HOSTS + ["--credential", "API=env:SOURCE_A,host=site.test,host=pkg.test"], 'curl -sS -H "Authorization: $API" https://pkg.test/say/body', "Authorization " + REAL)
puts("in plain text, if that is said", HOSTS + ["--credential", "API=env:SOURCE_A,host=site.test:80,plain"], 'curl -sS -H "Authorization: $API" http://site.test/say/body', "Authorization " + REAL)
puts("from a file", HOSTS + ["--credential", f"API=file:{T}/home/secret.txt,host=site.test"], 'curl -sS -H "Authorization: $API" https://site.test/say/body', "Authorization " + FILED)
puts("under its own name", HOSTS + ["--credential", "SOURCE_A=env:SOURCE_A,host=site.test"], 'curl -sS -H "Authorization: $SOURCE_A" https://site.test/say/body', "Authorization " + REAL)
puts("python", ONE, "/usr/bin/python3 -c \"import os, urllib.request as u; print(u.urlopen(u.Request('https://site.test/say/body', headers={'Authorization': 'Bearer ' + os.environ['API']})).read())\"",
     "Authorization Bearer " + REAL)
with open(T + "/home/cred.yaml", "w") as f:
    f.write("version: 1\nnetwork: {allow: [site.test], credentials: ['API=env:SOURCE_A,host=site.test', 'OTHER=env:NOT_SET,host=not.allowed.test']}\n")
puts("by a policy", ["--policy", T + "/home/cred.yaml"], 'curl -sS -H "Authorization: $API" https://site.test/say/body', "Authorization " + REAL)

with open(T + "/home/cred.yaml", "w") as f:
    f.write("version: 1\nnetwork: {allow: [site.test], credentials: ['API=file:~/secret.txt,host=site.test']}\n")
puts("by a policy, from a file at home", ["--policy", T + "/home/cred.yaml"], 'curl -sS -H "Authorization: $API" https://site.test/say/body; cat $HOME/secret.txt; true', "Authorization " + FILED)
with open(T + "/home/bad.yaml", "w") as f:
    f.write("version: 1\nnetwork: {credentials: ['API=file:secret.txt,host=site.test']}\n")
r = box(["--policy", T + "/home/bad.yaml"], ["true"])
check(r.status != 0 and "bad.yaml:2" in r.err + json.dumps(r.json) and "absolute path" in r.err + json.dumps(r.json), "a policy's file has a whole path", r)

# where it does not
refused("another host that is looked into", ONE, 'curl -sS -H "Authorization: Bearer $API" https://pkg.test/')
refused("another host, in plain text", ONE, 'curl -sS -H "Authorization: Bearer $API" http://other.test/')
refused("the right host, in plain text", ONE, 'curl -sS -H "Authorization: Bearer $API" http://site.test/')
refused("the right host and port, in plain text", HOSTS + ["--credential", "API=env:SOURCE_A,host=site.test:80"], 'curl -sS -H "Authorization: Bearer $API" http://site.test/')
refused("its encoding, in plain text", ONE, "curl -sS -u x:$API http://other.test/")
r = box(ONE, sh('curl -sS -H "Authorization: Bearer $API" https://other.test/say/body; echo $API'))
check(r.status == 0 and auth(r) and REAL not in str(r.seen) and clean(r), "a host that is not looked into gets a placeholder, which is worth nothing", r)
refused("in the path", ONE, "curl -sS https://site.test/x/$API")
refused("in the query", ONE, 'curl -sS "https://site.test/x?key=$API"')
refused("in another header", ONE, 'curl -sS -H "X-Api-Key: $API" https://site.test/')
refused("in a cookie", ONE, 'curl -sS -b "k=$API" https://site.test/')
refused("in a header's name", ONE, 'curl -sS -H "X-$API: y" https://site.test/')
refused("in another form", HOSTS + ["--credential", "API=env:SOURCE_A,host=site.test,format=Bearer {}"], 'curl -sS -H "Authorization: Token $API" https://site.test/')
refused("encoded where the form is another", HOSTS + ["--credential", "API=env:SOURCE_A,host=site.test,format=Bearer {}"], "curl -sS -u x:$API https://site.test/")
refused("in the second header of two", ONE, 'curl -sS -H "Authorization: $API" -H "X-Again: $API" https://site.test/')
refused("in the second request", ONE, 'curl -sS https://site.test/1 -o /dev/null --next -sS -H "X-Y: $API" https://site.test/2')
r = box(ONE, sh('curl -sS -d "key=$API" https://site.test/x; curl -sS -H "Transfer-Encoding: chunked" -d "key=$API" https://site.test/x'))
check(r.status == 0 and REAL not in str(r.seen) and clean(r), "in a body it stays a placeholder", r)
refused("to a server that is not who it says", HOSTS + ["--credential", "API=env:SOURCE_A,host=selfsigned.test"], 'curl -sSk -H "Authorization: $API" https://selfsigned.test/', "certificate")
refused("by another name in the handshake", ONE, 'curl -sSk -H "Authorization: $API" --connect-to other.test:443:site.test:443 https://other.test/', "sni")
refused("for another host in the request", ONE, 'curl -sSk -H "Authorization: $API" -H "Host: other.test" https://site.test/', "host")
r = refused("as an agent", ONE + ["--agent", "kim"], 'curl -sS -H "Authorization: $API" http://other.test/')
check(any("other.test:80" in v["text"] and v["type"] == "network" for v in r.json["violations"]), "is a violation", r)

# what the box has
LOOK = "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; cat /proc/*/cmdline 2>/dev/null; cat /run/rein/*; grep -rasF -e \"$1\" -e \"$2\" \"$HOME\" . /run /tmp /dev/shm 2>/dev/null && echo FOU\"\"ND"
r = box(ONE + ["--credential", f"FILE=file:{T}/home/secret.txt,host=site.test"], ["sh", "-c", LOOK + "; cat $HOME/secret.txt; true", "sh", REAL[5:], FILED[5:]])
check(r.status == 0 and clean(r) and "FOUND" not in r.out and "SOURCE_A" not in r.out and "API=" in r.out and "FILE=" in r.out, "nothing of it is in the box: variables, processes, files", r)
found = subprocess.run(["grep", "-raF", "-e", REAL, "-e", FILED, T + "/home/state", T + "/work"], capture_output=True, text=True)
check(not found.stdout, "nothing of it is in what Rein keeps")

# what cannot be carried out
for name, options, text in (
        ("a variable that is not set", HOSTS + ["--credential", "A=env:NOT_SET,host=site.test"], "$NOT_SET is not set"),
        ("a file that is not there", HOSTS + ["--credential", f"A=file:{T}/nothing,host=site.test"], "nothing"),
        ("a host nobody allows", HOSTS + ["--credential", "A=env:SOURCE_A,host=elsewhere.test"], "--allow-host elsewhere.test:443"),
        ("a port nobody allows", HOSTS + ["--credential", "A=env:SOURCE_A,host=site.test:8443"], "site.test:8443"),
        ("no host", HOSTS + ["--credential", "A=env:SOURCE_A"], "host="),
        ("a pattern of hosts", ["--allow-host", "*.wild.test", "--credential", "A=env:SOURCE_A,host=*.wild.test"], "host="),
        ("no network", ["--credential", "A=env:SOURCE_A,host=site.test"], "no rule allows"),
        ("the host's network", ["--net", "host", "--credential", "A=env:SOURCE_A,host=site.test"], "no rule allows"),
        ("a host that nobody looks at", ["--allow-host", "site.test,raw", "--credential", "A=env:SOURCE_A,host=site.test"], "raw"),
        ("the same name twice", ONE + ["--credential", "API=env:SOURCE_A,host=site.test"], "twice"),
        ("shown all the same", ONE + ["--env", "SOURCE_A"], "--env SOURCE_A"),
        ("an odd option", HOSTS + ["--credential", "A=env:SOURCE_A,host=site.test,colour=red"], "colour"),
        ("a form without a place for it", HOSTS + ["--credential", "A=env:SOURCE_A,host=site.test,format=Bearer"], "format")):
    r = box(options, ["true"])
    check(r.status != 0 and text in r.err + json.dumps(r.json) and not r.seen and clean(r), name, r)
ENV["SHORT"] = "abc-123"
r = box(HOSTS + ["--credential", "A=env:SHORT,host=site.test"], ["true"])
check(r.status != 0 and "cannot be told" in r.err + json.dumps(r.json) and "abc-123" not in r.err + json.dumps(r.json), "one that is too short", r)
with open(T + "/work/.rein.yaml", "w") as f:
    f.write("version: 1\nnetwork: {credentials: ['API=env:SOURCE_A,host=site.test']}\n")
os.chmod(T + "/work/.rein.yaml", 0o644)
r = box(HOSTS, sh("echo ${API:-none}"))
check(r.out.strip() == "none", "a project cannot take one", r)
finish()
