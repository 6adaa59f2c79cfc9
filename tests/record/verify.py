#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Independent verifier of Rein's record, from docs/formats.md alone: no library, no Rein code."""
import functools, hashlib, json, os, re, sys
P = 2**255 - 19; L = 2**252 + 27742317777372353535851937790883648493; D = -121665 * pow(121666, P - 2, P) % P
def point(y, sign):                                  # x from y on -x2 + y2 = 1 + d x2 y2
    u = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(u, (P + 3) // 8, P)
    if (x * x - u) % P: x = x * pow(2, (P - 1) // 4, P) % P
    return (P - x if x % 2 != sign else x), y
def add(a, b):                                       # affine: slow and short
    k = D * a[0] * b[0] * a[1] * b[1] % P
    return ((a[0] * b[1] + a[1] * b[0]) * pow(1 + k, P - 2, P) % P,
            (a[1] * b[1] + a[0] * b[0]) * pow(1 - k, P - 2, P) % P)
def mul(n, a):
    if n == 0: return (0, 1)
    half = mul(n // 2, a); twice = add(half, half)
    return add(twice, a) if n & 1 else twice
def unpack(b): return point(int.from_bytes(b, "little") & (2**255 - 1), b[31] >> 7)
def ed25519(pub, msg, sig):
    s = int.from_bytes(sig[32:], "little"); base = point(4 * pow(5, P - 2, P) % P, 0)
    k = int.from_bytes(hashlib.sha512(sig[:32] + pub + msg).digest(), "little") % L
    return s < L and mul(s, base) == add(unpack(sig[:32]), mul(k, unpack(pub)))
sha = lambda b: hashlib.sha256(b).digest()
def push(peaks, h, n):                               # peaks: largest subtree first
    while n & 1: h = sha(b"\1" + peaks.pop() + h); n >>= 1
    peaks.append(h)
def root(peaks):
    return functools.reduce(lambda h, p: sha(b"\1" + p + h), peaks[-2::-1], peaks[-1]) if peaks else sha(b"")
def verify(d, every=False):
    seg = sorted(f for f in os.listdir(d) if re.fullmatch(r"\d{8}\.log", f))
    n, peaks, pub, told, pruned, first, events, at_head, number = 0, [], None, 0, 0, None, 0, {}, None
    for f in seg:
        lines = open(os.path.join(d, f), "rb").read().split(b"\n")
        assert lines.pop() == b"" and lines and number in (None, int(f[:8]) - 1), f"{f}: torn or out of order"
        number, at = int(f[:8]), 0
        for i, line in enumerate(lines):
            e = json.loads(line); t = e["type"]
            assert (t == "start") == (i == 0), f"{f}:{i + 1}: start line"
            if t == "start" and first is None:
                first = n = e["n"]; peaks = [bytes.fromhex(p) for p in e["peaks"]]; pub = e["pub"]
            if t in ("head", "start", "rotate"):
                assert e["n"] == n and e["root"] == root(peaks).hex(), f"{f}:{i + 1}: tree differs"
                assert t != "start" or (e["pub"] == pub and e["segment"] == number), f"{f}: start"
                key = bytes.fromhex(pub); at_head[n] = b'%s\n{"segment":%d,"offset":%d}' % (line, number, at + len(line) + 1)
                assert sha(key).hex()[:16] == e["key"] and re.search(rb',"sig":"[0-9a-f]{128}"\}$', line), f"{f}: head"
                last = (key, b"rein-head-v1\n" + line[:line.rindex(b',"sig":"')], bytes.fromhex(e["sig"]))
                assert (t == "head" and not every) or ed25519(*last), f"{f}:{i + 1}: signature"
                pub, pruned = e["pub"] if t == "rotate" else pub, told
            elif t == "prune": told = max(told, int(e["extra"]["first_line_kept"]))
            events += t not in ("head", "start", "rotate")
            push(peaks, sha(b"\0" + line), n); n += 1; at += len(line) + 1
        assert ed25519(*last), f"{f}: signature of its last head"
    assert first <= pruned or first == 0, "the beginning is missing"
    head = open(os.path.join(d, "head"), "rb").read()
    assert at_head[json.loads(head.split(b"\n")[0])["n"]].ljust(511) + b"\n" == head, "the published head is not in the log"
    return {"lines": n, "events": events, "root": root(peaks).hex(), "key": pub}
if __name__ == "__main__":
    try: print(json.dumps(verify(sys.argv[1], "--all" in sys.argv)))
    except (AssertionError, KeyError, ValueError, IndexError, TypeError, OSError) as e: sys.exit(f"not whole: {e}")
