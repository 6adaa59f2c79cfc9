#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""header-examples.py INCLUDE_DIR CC CXX HEADER...: the examples in the comments of public headers are compiled, and each header alone.

An example is what a comment has behind " *<TAB>". run() and refuse() are the caller's own. CXX may be empty.
"""
import re
import subprocess
import sys
import tempfile

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable"]
PRELUDE = """#include <stdio.h>
#include <rein/error.h>
#include <rein/classify.h>
#include <rein/policy.h>
#include <rein/txn.h>
void run(void);
void refuse(const char *why, const char *instead);
"""


def examples(text):
    for comment in re.findall(r"/\*.*?\*/", text, re.S):
        lines = [m.group(1) for m in re.finditer(r"^ \*\t(.*)$|^ \*$", comment, re.M)]
        code = "\n".join(x or "" for x in lines).strip()
        if code:
            yield code


def compiles(command, source, what):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
        f.write(source)
        f.flush()
        p = subprocess.run(command + ["-fsyntax-only", f.name], capture_output=True, text=True, check=False)
    if p.returncode:
        print("%s does not compile with %s:\n%s" % (what, command[0], p.stderr))
    return p.returncode == 0


include, cc, cxx, *headers = sys.argv[1:]
good, n = True, 0
c = cc.split() + ["-std=c11", "-I", include] + STRICT
cpp = cxx.split() + ["-std=c++11", "-x", "c++", "-I", include] + STRICT if cxx else None
for header in headers:
    with open(include + "/rein/" + header, encoding="utf-8") as f:
        found = list(examples(f.read()))
    if not found:
        print("%s has no example" % header)
        good = False
    for i, code in enumerate(found):
        good &= compiles(c, PRELUDE + "void example(void);\nvoid example(void)\n{\n" + code + "\n}\n", "example %d of %s" % (i + 1, header))
        n += 1
    alone = "#include <rein/%s>\n" % header
    good &= compiles(c, alone + "typedef int not_empty;\n", header)
    if cpp:
        good &= compiles(cpp, alone + "typedef int not_empty;\n", header)
print("%d examples" % n)
sys.exit(0 if good else 1)
