#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal.py BUILD root|user|crun|runc: programs that need a terminal, driven through one; the last two as root by
an OCI runtime. Prints TAP."""
import fcntl, os, re, select, shutil, signal, struct, subprocess, sys, tempfile, termios, time

BUILD, WHO = os.path.realpath(sys.argv[1]), sys.argv[2]
ME = os.getuid()
RUNTIME = WHO if WHO in ("crun", "runc") else None
if WHO != "user" and ME != 0:
    print("1..0 # SKIP needs root")
    sys.exit(0)
if RUNTIME and not shutil.which(RUNTIME, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"):
    print("1..0 # SKIP %s is not installed" % RUNTIME)
    sys.exit(0)
UID = ME if ME or WHO != "user" else 65534
BASE = tempfile.mkdtemp(prefix="rein-terminal.", dir="/srv" if ME == 0 else os.environ["HOME"])
REIN = os.path.join(BASE, "rein")
WS = os.path.join(BASE, "ws")
PATIENCE = 20  # seconds: the machine may be busy, a right answer comes long before
count = failed = 0


class Session:
    """A command on a terminal of its own, as its controlling one."""

    def __init__(self, *argv, rows=24, cols=80):
        self.master, slave = os.openpty()
        self.text = b""
        self.resize(rows, cols)
        self.before = termios.tcgetattr(slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.closerange(3, 256)
            os.chdir(WS)
            if UID != ME:
                os.setgroups([])
                os.setgid(UID)
                os.setuid(UID)
            env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": BASE + "/home", "TERM": "xterm", "LC_ALL": "C.UTF-8",
                   "REIN_STATE": BASE + "/state", "PS1": "prompt> ", "REIN": REIN, "HISTFILE": ""}
            os.execvpe(argv[0], argv, env)
        self.slave = slave  # kept: the modes can be looked at after the end

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            try:
                self.text += os.read(self.master, 65536)
            except OSError:
                pass
        return bool(ready)

    def expect(self, pattern):
        """Wait for the pattern; everything up to its end is consumed and returned."""
        end = time.monotonic() + PATIENCE
        while True:
            found = re.search(pattern, self.text)
            if found:
                got, self.text = self.text[: found.end()], self.text[found.end():]
                return got
            if time.monotonic() > end:
                raise AssertionError("no %r in %r" % (pattern, self.text[-600:]))
            self.read(0.1)

    def send(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def say(self, line, pattern):
        self.send(line + "\n")
        return self.expect(pattern)

    def wait(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                while self.read(0.5):  # whatever is on its way
                    pass
                return os.waitstatus_to_exitcode(status)
            self.read(0.05)
        raise AssertionError("does not end; last words %r" % self.text[-600:])

    def modes_kept(self):
        assert termios.tcgetattr(self.slave) == self.before, "terminal modes differ after the run"

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)
        os.close(self.slave)


def rein(*argv, **more):
    return Session(REIN, "run", "--approve", "--discard", "-q", "--", *argv, **more)


def write(name, text):
    path = os.path.join(WS, name)
    with open(path, "w") as f:
        f.write(text)
    os.chown(path, UID, UID) if ME == 0 else None


def content(name):
    with open(os.path.join(WS, name)) as f:
        return f.read()


def equal(got, want, what):
    assert got == want, "%s is %r, not %r" % (what, got, want)


# ---- the tests ----


def is_a_terminal():
    s = rein("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && tty && cat /dev/tty")
    s.expect(rb"/dev/pts/\d+")
    s.say("hello", rb"hello\r\nhello\r\n")
    s.send(b"\x04")
    equal(s.wait(), 0, "status")
    s.modes_kept()


def exit_status():
    s = rein("sh", "-c", "exit 7")
    equal(s.wait(), 7, "status")


def interrupt():
    s = rein("sh", "-c", "echo ready; exec sleep 100")
    s.expect(rb"ready")
    s.send(b"\x03")
    assert s.wait() in (130, -2), "interrupted, status"
    s.modes_kept()


def quit_key():
    s = rein("sh", "-c", "ulimit -c 0; echo ready; exec sleep 100")
    s.expect(rb"ready")
    s.send(b"\x1c")
    assert s.wait() in (131, -3), "quit, status"


def trapped_interrupt():
    s = rein("bash", "-c", "trap 'echo caught' INT; echo ready; sleep 0.5 & wait $!; wait; echo on; exit 3")
    s.expect(rb"ready")
    s.send(b"\x03")
    s.expect(rb"caught")
    s.expect(rb"on")
    equal(s.wait(), 3, "status")


def job_control():
    s = rein("bash", "--norc", "--noprofile", "-i")
    s.expect(rb"prompt> ")
    s.say("echo $((6*7))", rb"[\r\n]42\r")
    s.say("sleep 100", rb"sleep 100")
    time.sleep(0.5)
    s.send(b"\x1a")
    s.expect(rb"Stopped")
    s.say("jobs", rb"\[1\]\+\s+Stopped\s+sleep 100")
    s.say("bg; echo status=$?", rb"status=0")
    s.say("fg", rb"sleep 100")
    time.sleep(0.5)
    s.send(b"\x03")
    s.say("echo after=$?", rb"after=130")
    s.say("true | sleep 0 | cat; echo pipe=$?", rb"pipe=0")
    s.say("exit 5", rb"exit")
    equal(s.wait(), 5, "status")
    s.modes_kept()


def stopped_and_continued():
    """^Z at the shell that started rein."""
    s = Session("bash", "--norc", "--noprofile", "-i")
    s.expect(rb"prompt> ")
    s.say("$REIN run --discard -q -- sh -c 'echo rea''dy; sleep 4; echo do''ne'", rb"ready")
    time.sleep(1.5)  # a shell between vfork and exec cannot be stopped, in no terminal
    s.send(b"\x1a")
    s.expect(rb"Stopped")
    s.say("echo outer=$((1+1))", rb"outer=2\r\n[^$]*prompt> ")
    s.say("fg", rb"done\r\n")
    s.expect(rb"prompt> ")  # what is typed before goes to the box
    s.say("echo status=$?", rb"status=0\r\n[^$]*prompt> ")
    s.say("$REIN run --discard -q -- cat", rb"cat\r\n")
    time.sleep(0.5)
    s.send(b"\x03")
    s.expect(rb"prompt> ")
    s.say("echo status=$?", rb"status=130")
    s.say("stty -a", rb"(?<!-)icanon[^$]*(?<!-)echo ")
    s.send("exit\n")
    s.wait()


def stands_still_meanwhile():
    """Whatever a command left running stands still while rein is stopped, and its time does."""
    s = Session("bash", "--norc", "--noprofile", "-i")
    s.expect(rb"prompt> ")
    s.say("$REIN run --approve --discard -q --timeout 4s -- sh -c 'while :; do echo x >>x; sleep 0.05; done & sleep 1; "
          "kill -STOP $$; echo go''es on; sleep 20'", rb"Stopped")
    s.say("n() { cat $REIN_STATE/txn/*/r0/upper/x | wc -l; }; a=$(n); sleep 5; b=$(n); echo $((a > 5)) $((b - a)) mo''re",
          rb"1 0 more")
    s.say("fg; echo sta''tus=$?", rb"goes on\r\n")
    s.expect(rb"status=124")
    s.send("exit\n")
    s.wait()


# A shell that looks the moment its job has stopped. The box's first process, whose word is waited for, has little time.
LOOKING_SHELL = """import glob, os, signal, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
def size():
    return os.path.getsize(max(glob.glob(os.environ["REIN_STATE"] + "/txn/*/r0/upper/x"), key=os.path.getmtime))
late = 0
for _ in range(4):
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(os.environ["REIN"], ["rein", "run", "--approve", "--discard", "-q", "--timeout", "20s", "--", "sh", "-c",
                 "for i in 1 2 3 4; do while :; do echo x; done >x & done; sleep 0.6; kill -STOP $$; sleep 20"])
    time.sleep(0.4)
    for child in open("/proc/%d/task/%d/children" % (job, job)).read().split():
        os.setpriority(os.PRIO_PROCESS, int(child), 19)
    assert os.WIFSTOPPED(os.waitpid(job, os.WUNTRACED)[1])
    before = size()
    time.sleep(0.3)
    late += size() > before
    os.killpg(job, signal.SIGCONT)
    os.killpg(job, signal.SIGTERM)
    os.waitpid(job, 0)
print("late:", late)
"""


def stops_when_it_says_so():
    """When the shell has the terminal again nobody in the box writes any more, however many are in the middle of it."""
    s = Session("python3", "-c", LOOKING_SHELL)
    s.expect(rb"late: 0\r\n")
    s.wait()


RESTLESS = """import ctypes, os, signal, time
libc = ctypes.CDLL(None)
signal.signal(signal.SIGCONT, lambda *_: None)
event = (ctypes.c_int * 16)(0, 0, signal.SIGCONT)
for i in range(1, 300):
    timer = ctypes.c_void_p()
    assert libc.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)) == 0
    assert libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 1 + i // 20, i % 20 * 50000000), None) == 0
os.kill(os.getpid(), signal.SIGSTOP)
while True:
    print("x", flush=True)
    time.sleep(0.01)
"""


def guarded_meanwhile():
    """Who has itself continued by the kernel while rein is stopped does not run on where nobody keeps its limits."""
    with open(WS + "/restless.py", "w") as f:
        f.write(RESTLESS)
    s = Session("bash", "--norc", "--noprofile", "-i")
    s.expect(rb"prompt> ")
    s.say("$REIN run --approve --discard -- python3 restless.py >out", rb"Stopped")
    s.say("sleep 6; a=$(wc -l <out); sleep 2; b=$(wc -l <out); echo =$((b - a)) mo''re", rb"=0 more")
    s.say("fg; echo sta''tus=$?", rb"did not stand still while rein was stopped")
    s.expect(rb"status=119")
    s.say("$REIN ps", rb"no box is running")
    s.send("exit\n")
    s.wait()
    os.unlink(WS + "/restless.py")


def nobody_to_continue_it():
    """A script of a session without job control: nobody could continue rein, so a command that stops itself goes on."""
    s = Session("sh", "-c", "$REIN run --approve --discard -q --timeout 10s -- sh -c 'kill -STOP $$; echo go''es on'; echo sta''tus=$?")
    s.expect(rb"goes on\r\n")
    s.expect(rb"status=0")
    s.wait()


def from_the_background():
    """^Z, bg, fg: a shell sends no signal to a job that runs; and a stop that was nobody's at the terminal."""
    s = Session("bash", "--norc", "--noprofile", "-i")
    s.expect(rb"prompt> ")
    s.say("$REIN run --discard -q -- sh -c 'echo rea''dy; read -r x; echo go''t-$x'", rb"ready")
    time.sleep(1)
    s.send(b"\x1a")
    s.expect(rb"Stopped")
    s.say("bg; echo in=ba''ck", rb"in=back[^$]*prompt> ")
    s.say("fg", rb"run --discard")
    time.sleep(0.5)
    s.say("", rb"got-[^$]*prompt> ")
    s.say("$REIN run --discard -q -- sh -c 'echo rea''dy; read -r x; echo go''t-$x' & sleep 2; kill -STOP $!; fg", rb"run --discard")
    time.sleep(0.5)
    s.say("abc", rb"got-abc[^$]*prompt> ")
    s.send("exit\n")
    s.wait()


def window_size():
    s = rein("python3", "-c", "import os, signal, sys\n"
             "def size(*_): os.write(1, (str(os.get_terminal_size()) + '\\n').encode())\n"
             "signal.signal(signal.SIGWINCH, size); size(); print('ready', flush=True)\n"
             "while True: signal.pause()", rows=31, cols=97)
    s.expect(rb"columns=97, lines=31[^r]*ready")
    s.resize(40, 120)
    s.expect(rb"columns=120, lines=40")
    s.resize(12, 34)
    s.expect(rb"columns=34, lines=12")
    s.send(b"\x03")
    s.wait()


def no_echo():
    s = rein("bash", "-c", "stty -echo; echo ready; read -r x; stty echo; echo got-${#x}")
    s.expect(rb"ready\r\n")
    s.send("hunter2\n")
    got = s.expect(rb"got-7")
    assert b"hunter2" not in got, "a password was echoed"
    equal(s.wait(), 0, "status")


def raw_bytes():
    s = rein("sh", "-c", "stty raw -echo; echo ready; dd bs=1 count=6 2>/dev/null | od -An -tx1; stty sane")
    s.expect(rb"ready")
    s.send(b"\x03\x1a\x04\x00\xff\r")
    s.expect(rb"03 1a 04 00 ff 0d")
    equal(s.wait(), 0, "status")
    s.modes_kept()


def much_output():
    s = rein("seq", "60000")
    equal(s.wait(), 0, "status")
    got, want = s.text.split(), [b"%d" % i for i in range(1, 60001)]
    first = next((i for i in range(min(len(got), 60000)) if got[i] != want[i]), min(len(got), 60000))
    assert got == want, "%d lines, the first wrong one is %d: %r" % (len(got), first + 1, got[first:first + 3])


def end_of_input():
    s = rein("wc", "-l")
    s.send("a\nb\n")
    time.sleep(0.2)
    s.send(b"\x04")
    s.expect(rb"\n2\r")
    equal(s.wait(), 0, "status")


def typed_ahead():
    """All of it is there before rein has the terminal: lines, a line without an end, and the end of input."""
    s = Session("sh", "-c", "sleep 0.5; exec $REIN run --approve --discard -q -- wc -c")
    s.send("a\nbc\x04\x04")
    s.expect(rb"bc4\r")
    equal(s.wait(), 0, "status")
    s.modes_kept()


def only_input():
    s = Session("sh", "-c", "$REIN run --discard -q -- sh -c 'test -t 0; a=$?; test -t 1; echo in=$a out=$?' | cat; echo end")
    s.expect(rb"in=0 out=1")
    equal(s.wait(), 0, "status")
    s.modes_kept()


def only_output():
    s = Session("sh", "-c", "echo piped | $REIN run --discard -q -- sh -c 'read x; test -t 0; a=$?; test -t 1; echo $x in=$a out=$?'")
    s.expect(rb"piped in=1 out=0")
    equal(s.wait(), 0, "status")
    s.modes_kept()


def vim_edit():
    write("letter", "first line\n")
    s = Session(REIN, "run", "--approve", "--commit", "-q", "--", "vim", "-u", "NONE", "-i", "NONE", "letter")
    s.expect(rb"first line")
    s.send("osecond line\x1b:wq\r")
    equal(s.wait(), 0, "status")
    equal(content("letter"), "first line\nsecond line\n", "the file")
    s.modes_kept()


def less_pages():
    write("long", "".join("line %d\n" % i for i in range(1, 500)))
    s = rein("less", "-S", "long", rows=10)
    s.expect(rb"line 9")
    s.send("G")
    s.expect(rb"line 499")
    s.send("?^line 77\r")
    s.expect(rb"line 77")
    s.send("q")
    equal(s.wait(), 0, "status")
    s.modes_kept()


def top_runs():
    s = rein("top", "-d", "0.3")
    s.expect(rb"COMMAND")
    s.expect(rb"top")
    s.send("q")
    equal(s.wait(), 0, "status")
    s.modes_kept()


def htop_runs():
    s = rein("htop", "-d", "3")
    s.expect(rb"F10|Quit")
    s.send("q")
    equal(s.wait(), 0, "status")
    s.modes_kept()


def script_runs():
    """A program that makes a terminal of its own."""
    s = rein("script", "-qec", "tty; stty size", "/dev/null", rows=20, cols=50)
    s.expect(rb"/dev/pts/\d+\r\n20 50")
    equal(s.wait(), 0, "status")


def question():
    """At a terminal, without an option, Rein asks."""
    write("asked", "old\n")
    s = Session(REIN, "run", "--", "sh", "-c", "echo new >asked")
    s.expect(rb"iscard")
    s.send("d\n")
    s.wait()
    equal(content("asked"), "old\n", "the file")
    s.modes_kept()


def killed_command():
    s = rein("sh", "-c", "stty raw -echo; echo ready; kill -9 $$")
    s.expect(rb"ready")
    equal(s.wait(), 137, "status")
    s.modes_kept()


def hang_up():
    s = rein("sh", "-c", "(setsid sleep 4321 &); echo ready; sleep 4321; sleep 4321")
    s.expect(rb"ready")
    os.close(s.slave)
    os.close(s.master)
    end = time.monotonic() + PATIENCE
    while subprocess.run(["pgrep", "-f", "^sleep 4321"], stdout=subprocess.DEVNULL).returncode == 0:
        assert time.monotonic() < end, "processes live on after the terminal is gone"
        time.sleep(0.1)
    os.waitpid(s.pid, 0)
    s.pid, (s.master, s.slave) = 0, os.openpty()


TESTS = [
    ("the command has a terminal", is_a_terminal, []),
    ("exit status", exit_status, []),
    ("^C", interrupt, []),
    ("^\\", quit_key, []),
    ("^C that is caught", trapped_interrupt, []),
    ("an interactive shell with job control", job_control, []),
    ("^Z and fg at the shell outside", stopped_and_continued, []),
    ("^Z, bg and fg at the shell outside", from_the_background, []),
    ("a box stands still while rein is stopped", stands_still_meanwhile, []),
    ("nobody writes any more when the shell is back", stops_when_it_says_so, []),
    ("a box that cannot be held is guarded while rein is stopped", guarded_meanwhile, []),
    ("a stop that nobody could end", nobody_to_continue_it, []),
    ("window size", window_size, []),
    ("no echo of passwords", no_echo, []),
    ("raw bytes", raw_bytes, []),
    ("much output", much_output, []),
    ("end of input", end_of_input, []),
    ("typed ahead", typed_ahead, []),
    ("only input is a terminal", only_input, []),
    ("only output is a terminal", only_output, []),
    ("vim", vim_edit, ["vim"]),
    ("less", less_pages, ["less"]),
    ("top", top_runs, ["top"]),
    ("htop", htop_runs, ["htop"]),
    ("script", script_runs, ["script"]),
    ("the question at the end", question, []),
    ("a command killed in raw mode", killed_command, []),
    ("the terminal hangs up", hang_up, []),
]


def run(name, test, needs):
    global count, failed
    count += 1
    absent = [p for p in needs if not shutil.which(p)]
    if absent:
        print("ok %d - %s %s # SKIP not installed: %s" % (count, WHO, name, " ".join(absent)))
        return
    sessions = []
    start = Session.__init__

    def noted(self, *a, **k):
        sessions.append(self)
        start(self, *a, **k)

    Session.__init__ = noted
    try:
        test()
        print("ok %d - %s %s" % (count, WHO, name))
    except (AssertionError, OSError) as e:
        failed = 1
        print("not ok %d - %s %s" % (count, WHO, name))
        print("# " + str(e).replace("\n", "\n# "))
    finally:
        Session.__init__ = start
        for s in sessions:
            s.close()
    sys.stdout.flush()


def main():
    # whoever runs the tests in the background has these ignored, and so would everything started here
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.chmod(BASE, 0o755)
    for d in (WS, BASE + "/home", BASE + "/state"):
        os.mkdir(d)
        os.chown(d, UID, UID) if ME == 0 else None
    for p in ("rein", "rein-box"):
        shutil.copy(os.path.join(BUILD, p), BASE)
    if RUNTIME:
        with open(REIN, "w") as f:
            f.write('#!/bin/sh\ncase $1 in run) shift; exec %s/rein run --backend oci:%s "$@";; esac\nexec %s/rein "$@"\n' % (BUILD, RUNTIME, BUILD))
        os.chmod(REIN, 0o755)
    try:
        for t in TESTS:
            if t[0] == "htop" and not shutil.which("htop"):
                continue  # nice to have
            if len(sys.argv) < 4 or sys.argv[3] in t[0]:
                run(*t)
    finally:
        shutil.rmtree(BASE, ignore_errors=True)
    print("1..%d" % count)
    sys.exit(failed)


main()
