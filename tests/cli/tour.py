#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tour.py README.md [--update]: run the commands of README's tour and compare what they print with what it shows.

Ids and times differ from run to run and are made equal first. --update writes the real output into the file.
The tour runs in one shell in the current directory, without a terminal.
"""
import re
import subprocess
import sys

path = sys.argv[1]
text = open(path, encoding="utf-8").read()
block = re.search(r"<!-- tour -->\n```console\n(.*?)```", text, re.S)
if not block:
    sys.exit("no tour in %s" % path)
commands = [l[2:] for l in block.group(1).split("\n") if l.startswith("$ ")]
script = "".join("printf '%%s\\n' %s\n%s\n" % ("'$ " + c.replace("'", "'\\''") + "'", c) for c in commands)
real = subprocess.run(["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                      check=False).stdout.decode()


def plain(s):
    ids = {}
    for i in re.findall(r"(?:Held|Committed|held as) ([0-9a-z]{4,8})\b", s):
        ids.setdefault(i, "ID%d" % len(ids))
    for i, name in ids.items():
        s = re.sub(r"\b%s\b" % i, name, s)
    return re.sub(r"\bin [0-9.]+ (ms|s)\b", "in TIME", re.sub(r"\b[0-9]+ s ago", "AGO", s))


if "--update" in sys.argv:
    open(path, "w", encoding="utf-8").write(text[:block.start(1)] + real + text[block.end(1):])
    sys.exit(0)
if plain(real) != plain(block.group(1)):
    import difflib
    sys.stderr.writelines(l + "\n" for l in difflib.unified_diff(
        plain(block.group(1)).split("\n"), plain(real).split("\n"), "README", "real", lineterm=""))
    sys.exit(1)
