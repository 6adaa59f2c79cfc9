#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rein's verification and the independent one agree on random logs, whole and damaged.
agree.py REIN RECORD_FILL [ROUNDS]"""
import os, random, shutil, subprocess, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import verify

def ours(rein, state):
    """The quick verification and the one of everything must agree on whether a log is whole."""
    quick, every = [subprocess.run([rein, "audit", "verify", "--json", *more], env={**os.environ, "REIN_STATE": state},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0 for more in ([], ["--all"])]
    assert quick == every, f"quick says {quick}, everything says {every}"
    return quick

def theirs(state):
    try:
        verify.verify(os.path.join(state, "audit"))
        return True
    except (AssertionError, KeyError, ValueError, IndexError, TypeError, OSError):
        return False

def damage(rng, audit):
    files = sorted(f for f in os.listdir(audit) if f.endswith(".log")) + ["head"]
    path = os.path.join(audit, rng.choice(files))
    data = bytearray(open(path, "rb").read())
    lines = data.split(b"\n")
    how = rng.randrange(5)
    if how == 0:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(7)
    elif how == 1:
        del data[rng.randrange(len(data)):]
    elif how == 2 and len(lines) > 2:
        del lines[rng.randrange(len(lines) - 1)]
        data = b"\n".join(lines)
    elif how == 3 and len(lines) > 3:
        i = rng.randrange(len(lines) - 2)
        lines[i], lines[i + 1] = lines[i + 1], lines[i]
        data = b"\n".join(lines)
    else:
        os.unlink(path)
        return
    open(path, "wb").write(data)

def main(rein, fill, rounds=4):
    rng = random.Random(4)
    for n in range(rounds):
        top = tempfile.mkdtemp(prefix="rein-agree-")
        try:
            state = os.path.join(top, "s")
            os.makedirs(os.path.join(state, "audit"), 0o700)
            with open(os.path.join(state, "audit", "config"), "w") as f:
                f.write("segment-size=%d\n" % rng.choice([4096, 9000, 100000]))
            env = {**os.environ, "REIN_STATE": state}
            for part in range(rng.randrange(1, 4)):
                subprocess.run([fill, state, str(rng.randrange(1, 30)), "3"], check=True,
                               stdout=subprocess.DEVNULL)
                if rng.random() < 0.5:
                    subprocess.run([rein, "audit", "rotate-key"], env=env, check=True)
            if rng.random() < 0.4:
                subprocess.run([rein, "audit", "prune", "--keep-size", "6K"], env=env, check=True,
                               stdout=subprocess.DEVNULL)
            assert ours(rein, state) and theirs(state), f"round {n}: a whole log was refused"
            for k in range(6):
                copy = os.path.join(top, f"c{k}")
                shutil.copytree(state, copy)
                damage(rng, os.path.join(copy, "audit"))
                a, b = ours(rein, copy), theirs(copy)
                assert a == b, f"round {n}.{k}: ours {a}, theirs {b}"
                assert not a, f"round {n}.{k}: damage unseen"
        finally:
            shutil.rmtree(top)
    print(f"{rounds} logs, {rounds * 6} damaged copies: both agree")

main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 4)
