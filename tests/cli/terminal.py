#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal.py [-s COLSxROWS] "EXPECT=>SEND" ... -- COMMAND...: run a command on a terminal of its own.

Waits for each EXPECT in the output, then types SEND (\\n and \\xNN are understood). Prints all that was shown on
stdout and ends with the command's status; 99 if something expected did not come within ten seconds.
"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

args = sys.argv[1:]
size = (80, 24)
if args[0] == "-s":
    size = tuple(int(x) for x in args[1].split("x"))
    args = args[2:]
cut = args.index("--")
steps = [a.split("=>", 1) for a in args[:cut]]
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    os.execvp(args[cut + 1], args[cut + 1:])
seen = b""
start = 0
end = time.monotonic() + 10
ok = True
typed = b""
again = 0
while True:
    if steps:
        at = seen.find(steps[0][0].encode(), start)
        if at >= 0:
            start = at + len(steps[0][0].encode())
            typed = steps[0][1].encode().decode("unicode_escape").encode("latin-1")
            time.sleep(0.03)  # as a person: after the question stands there
            os.write(fd, typed)
            steps.pop(0)
            end = time.monotonic() + 10
            again = 2
            continue
    ready, _, _ = select.select([fd], [], [], 1 if again else max(0, end - time.monotonic()))
    if not ready and again:  # nothing came of it: a question may drop what was typed too early
        again -= 1
        os.write(fd, typed)
        continue
    if not ready:
        ok = False
        os.kill(pid, 9)
        break
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    seen += data
    again = 0
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n"))
sys.stdout.flush()
if not ok or steps:
    sys.stderr.write("expected but not seen: %r\n" % (steps[0][0] if steps else "the end"))
    sys.exit(99)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
