#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A policy's network section: what it opens and shuts, for whom, and what a command line makes of it."""
import os

from lib import *

GET = ["curl", "-sS", "-m", "10"]


def policy(text, name="policy.yaml"):
    path = f"{T}/home/{name}"
    with open(path, "w") as f:
        f.write("version: 1\n" + text)
    os.chmod(path, 0o644)
    return ["--policy", path]


def project(text=None):
    path = T + "/work/.rein.yaml"
    if text is None:
        os.path.exists(path) and os.unlink(path)
        return
    with open(path, "w") as f:
        f.write("version: 1\n" + text)
    os.chmod(path, 0o644)


def own(text=None):
    path = T + "/home/.config/rein/policy.yaml"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if text is None:
        os.unlink(path)
        return
    with open(path, "w") as f:
        f.write("version: 1\n" + text)


def get(options, url):
    return box(options, GET + [url])


def opens(name, options, url, mode="restricted"):
    r = get(options, url)
    check(r.status == 0 and "GET /" in r.out and not r.why and r.net.get("mode") == mode, name, r)
    return r


def shuts(name, options, url, why):
    r = get(options, url)
    check(r.status != 0 and "GET /" not in r.out and why in {w for _, _, w in r.why} and not any(x.startswith("http") for x in r.seen), name, r)
    return r


def refuses(name, options, text):
    r = get(options, "http://site.test/")
    check(r.status not in (0, 6) and text in r.err + json.dumps(r.json) and not r.seen, name, r)


SITE = policy("network: {mode: restricted, allow: [site.test, 'db.test:8080']}\n", "site.yaml")
opens("a policy's host is reached", SITE, "http://site.test/")
opens("over TLS, too", SITE, "https://site.test/")
shuts("others are not", SITE, "http://other.test/", "no_rule")
opens("hosts alone mean restricted", policy("network: {allow: [site.test]}\n"), "http://site.test/")
r = get(policy("environment: development\n"), "http://site.test/")
check(r.status == 6 and r.net["mode"] == "none" and not r.seen, "without the section there is no network", r)
opens("an open network", policy("network: {mode: open}\n"), "http://other.test/", "open")
OPEN = policy("network: {mode: open, deny: [other.test, 93.184.10.6]}\n", "open.yaml")
opens("open, but for what is denied", OPEN, "http://site.test/", "open")
shuts("what is denied is refused", OPEN, "http://other.test/", "denied")
shuts("a name that leads to a denied address", OPEN, "http://budget.test/", "address")
shuts("a denied host by its number, named in the request", OPEN + ["--allow-host", "x.test", "--net", "open"],
      "http://93.184.10.6/", "denied")
r = box(OPEN, GET + ["--connect-to", "other.test:80:93.184.10.2:80", "http://other.test/"])
check(r.status == 0 and "denied" in {w for _, _, w in r.why} and "GET /" not in r.out and not any(x.startswith("http") for x in r.seen),
      "a denied name asked of an address", r)
r = box(OPEN, GET + ["-k", "--connect-to", "other.test:443:93.184.10.2:443", "https://other.test/"])
check(r.status != 0 and "denied" in {w for _, _, w in r.why} and not any(x.startswith("http") for x in r.seen),
      "a denied name in the handshake with an address", r)
shuts("deny stands above --allow-host", OPEN + ["--allow-host", "other.test"], "http://other.test/", "denied")
refuses("deny cannot be kept with the host's network", OPEN + ["--net", "host"], "network.deny")
PORTS = policy("network: {allow: [site.test, 'other.test:80'], ports: ['443', '8000-8100']}\n", "ports.yaml")
opens("ports are for hosts that name none", PORTS, "http://site.test:8080/")
opens("a host's own port stands above them", PORTS, "http://other.test/")
shuts("other ports are shut", PORTS, "http://site.test/", "port")
shuts("an open network has the ports that are named", policy("network: {mode: open, ports: ['443']}\n"), "http://site.test/", "port")
opens("and these", policy("network: {mode: open, ports: ['443']}\n"), "https://site.test/", "open")

# the command line stands above, as for paths and limits
r = get(SITE + ["--net", "none"], "http://site.test/")
check(r.status == 6 and r.net["mode"] == "none" and not r.seen, "--net none takes it away", r)
opens("--allow-host adds", SITE + ["--allow-host", "other.test"], "http://other.test/")
opens("and leaves the policy's", SITE + ["--allow-host", "other.test"], "http://site.test/")

# volumes
UP = policy("network: {allow: [budget.test], max: 50K}\n", "max.yaml")
r = box(UP, ["sh", "-c", "curl -sS http://budget.test/bytes/1000000 -o /dev/null || echo cut"])
check("cut" in r.out and "budget" in {w for _, _, w in r.why} and r.net["received_bytes"] + r.net["sent_bytes"] <= 51200, "a policy's volume is kept", r)
r = box(UP + ["--net-max", "2M"], ["sh", "-c", "curl -sS http://budget.test/bytes/1000000 | wc -c"])
check("1000000" in r.out and not r.why, "the command line's volume stands above", r)
r = box(policy("network: {allow: [budget.test], up: 20K}\n") + ["--net-up", "1M"], ["sh", "-c", "head -c 100000 /dev/zero | curl -sS --data-binary @- http://budget.test/ || echo cut"])
check("of budget.test body" in r.out and not r.why, "also above what is sent, of a file that the command line names", r)
SEND = ["sh", "-c", "head -c 100000 /dev/zero | curl -sS -m 5 --data-binary @- http://budget.test/ || echo cut"]
for name, text, options in [
    ("sent", "network: {allow: [budget.test], up: 20K}\n", ["--net-up", "1M"]),
    ("sent in a time", "network: {allow: [budget.test], up: 20K}\n", ["--net-up", "20K/1s"]),
    ("in both directions", "network: {allow: [budget.test], max: 20K}\n", ["--net-max", "1M"]),
    ("let out by a limit", "network: {allow: [budget.test]}\nlimits: {egress: 20K}\n", ["--net-up", "1M"]),
]:
    own(text)
    r = box(options, SEND)
    check("of budget.test body" not in r.out and "budget" in {w for _, _, w in r.why}, "the command line cannot lift what may be " + name, r)
own("network: {allow: [budget.test], up: 1M}\n")
r = box(["--net-up", "20K"], SEND)
check("of budget.test body" not in r.out and "budget" in {w for _, _, w in r.why}, "but lower it", r)
own("network: {allow: [budget.test], rate: 10K}\n")
r = box(["--net-rate", "100M"], [x.replace("-m 5", "-m 2") for x in SEND])
check("of budget.test body" not in r.out, "nor make it faster", r)
for text, word in [("up: 1M", "network.up"), ("max: 1M", "network.max"), ("rate: 1M", "network.rate")]:
    own("network: {%s}\n" % text)
    refuses("no gate, no %s: refused" % word, ["--net", "host"], word)
own()
r = box(policy("network: {allow: [budget.test]}\nlimits: {egress: 20K}\n"), ["sh", "-c", "head -c 100000 /dev/zero | curl -sS --data-binary @- http://budget.test/ || echo cut"])
check("of budget.test body" not in r.out and "budget" in {w for _, _, w in r.why}, "a limit of what goes out is kept", r)
for name, text, more in (("beside a larger volume", "network: {allow: [budget.test], up: 1G}\nlimits: {egress: 20K}\n", []),
                         ("beside a volume in a time", "network: {allow: [budget.test], up: 1G/1h}\nlimits: {egress: 20K}\n", []),
                         ("of a profile that is chosen", "network: {allow: [budget.test]}\nlimits: {profiles: {small: {egress: 20K}}}\n", ["--profile", "small"])):
    r = box(policy(text) + more, ["sh", "-c", "head -c 100000 /dev/zero | curl -sS --data-binary @- http://budget.test/ || echo cut"])
    check("of budget.test body" not in r.out and "budget" in {w for _, _, w in r.why}, "such a limit is kept " + name, r)
refuses("such a limit where no gate could keep it", policy("limits: {egress: 20K}\n") + ["--net", "host"], "limits.egress")
refuses("a profile's limit where no gate could keep it", ["--profile", "agent", "--net", "host"], "limits.egress")

# a project's file only tightens
project("network: {mode: open, allow: [other.test], ports: ['*'], max: 1G, rate: 100M}\n")
r = get([], "http://other.test/")
# the world may only now have read what was cut above
check(r.status == 6 and r.net["mode"] == "none" and not any("other.test" in x or "93.184.10.2" in x for x in r.seen),
      "a project cannot open the network", r)
shuts("a project cannot add hosts", SITE, "http://other.test/", "no_rule")
project("network: {deny: [site.test]}\n")
shuts("a project can deny", SITE, "http://site.test/", "denied")
project("network: {max: 50K}\n")
r = box(policy("network: {allow: [budget.test]}\n", "user.yaml"), ["sh", "-c", "curl -sS http://budget.test/bytes/1000000 -o /dev/null || echo cut"])
check("cut" in r.out, "a project can lower the volume", r)
project("limits: {egress: 100G}\n")
r = box(policy("network: {allow: [budget.test], up: 20K/1h}\n", "user.yaml"), ["sh", "-c", "head -c 100000 /dev/zero | curl -sS --data-binary @- http://budget.test/ || echo cut"])
check("of budget.test body" not in r.out and "budget" in {w for _, _, w in r.why}, "a project's limit does not lift a volume in a time", r)
project("network: {mode: none}\n")
own("network: {mode: restricted, allow: [site.test]}\n")
r = get([], "http://site.test/")
check(r.status == 6 and r.net["mode"] == "none", "a project can shut the user's network", r)
project()
opens("the user's own policy", [], "http://site.test/")
own()

# what cannot be carried out is refused
refuses("a host that is none", policy("network:\n  mode: restricted\n  allow:\n  - site.test\n  - not a host\n"), "policy.yaml:6:5: network.allow: host rule 'not a host'")
refuses("a denied host that is none", policy("network: {deny: 'a..b'}\n"), "policy.yaml:2:17: network.deny")
refuses("a credential that is none", policy("network: {credentials: [TOKEN]}\n"), "policy.yaml:2:25: network.credentials")
refuses("a port that is none", policy("network: {allow: [site.test], ports: [many]}\n"), "network.ports")
refuses("a volume that is none", policy("network: {up: lots}\n"), "network.up")
finish()
