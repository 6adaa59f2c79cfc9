# SPDX-License-Identifier: Apache-2.0
"""Loop devices, mounts, the log of cutdisk, and disks as a power cut would leave them."""
import bisect
import ctypes
import errno
import fcntl
import mmap
import os
import signal
import struct
import subprocess
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
BLOCK = 4096        # what a disk writes whole: nothing smaller is ever torn

_LOOP_CTL_GET_FREE = 0x4C82
_LOOP_CONFIGURE = 0x4C0A
_LO_FLAGS_AUTOCLEAR = 4
_BLKFLSBUF = 0x1261
_MNT_DETACH = 2
_MS_NOATIME, _MS_REC, _MS_PRIVATE = 0x400, 0x4000, 0x40000
_CLONE_NEWNS = 0x20000
_PR_SET_PDEATHSIG = 1


def _check(result, what):
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def private_namespace():
    """A mount namespace of our own: nothing mounted from here on outlives this process."""
    _check(LIBC.unshare(_CLONE_NEWNS), "unshare")
    _check(LIBC.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "make / private")


def mount(kind, device, where, options=None):
    os.makedirs(where, exist_ok=True)
    _check(LIBC.mount(device.encode(), where.encode(), kind.encode(), _MS_NOATIME,
                      options and options.encode()), f"mount {device}")


def umount(where, lazy=False):
    _check(LIBC.umount2(where.encode(), _MNT_DETACH if lazy else 0), f"umount {where}")


def syncfs(fd):
    LIBC.syncfs(fd)


def die_with_parent():
    LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Loop:
    """A loop device on a file, gone by itself with the last descriptor."""

    def __init__(self, path):
        backing = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._attach(backing, path)
        finally:
            os.close(backing)

    def _attach(self, backing, path):
        control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
        info = struct.pack("<5Q4I64s64s32s2Q", 0, 0, 0, 0, 0, 0, 0, 0, _LO_FLAGS_AUTOCLEAR,
                           os.fsencode(path)[-63:], b"", b"", 0, 0)
        config = struct.pack("<II", backing, BLOCK) + info + bytes(64)
        try:
            for _ in range(50):     # another program may take the free one first
                self.device = f"/dev/loop{fcntl.ioctl(control, _LOOP_CTL_GET_FREE)}"
                self.fd = os.open(self.device, os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.ioctl(self.fd, _LOOP_CONFIGURE, config)
                    return
                except OSError as error:
                    os.close(self.fd)
                    if error.errno != errno.EBUSY:
                        raise
                    time.sleep(0.01)
            raise OSError(errno.EBUSY, "no loop device is free")
        finally:
            os.close(control)

    def forget(self):
        """Drop what the kernel remembers of the device: its file was changed underneath."""
        fcntl.ioctl(self.fd, _BLKFLSBUF)

    def close(self):
        os.close(self.fd)


class Recorder:
    """cutdisk running on images, with a loop device on each."""

    def __init__(self, program, directory, images):
        self.directory = os.path.join(directory, "recorder")
        self.log = os.path.join(directory, "log")
        os.makedirs(self.directory, exist_ok=True)
        self.process = subprocess.Popen([program, self.directory, self.log, *images],
                                        preexec_fn=die_with_parent)
        while not os.path.exists(self.directory + "/mark"):
            if self.process.poll() is not None:
                raise OSError(f"cutdisk ended with status {self.process.returncode}")
            time.sleep(0.01)
        self.loops = [Loop(f"{self.directory}/disk{i}") for i in range(len(images))]
        self.mark_fd = os.open(self.directory + "/mark", os.O_WRONLY | os.O_CLOEXEC)

    def mark(self, number):
        os.write(self.mark_fd, b"%d" % number)

    def stop(self):
        """Detach everything; return the events."""
        os.close(self.mark_fd)
        for loop in self.loops:
            loop.close()
        if self.process.poll() is not None:
            raise OSError(f"cutdisk ended with status {self.process.returncode}")
        deadline = time.monotonic() + 10
        while True:     # the loop devices let go of their files a moment after the last close
            try:
                umount(self.directory)
                break
            except OSError:
                if time.monotonic() > deadline:
                    umount(self.directory, lazy=True)
                    break
                time.sleep(0.02)
        # It lived until all was written. What the end of the mount makes of its last read is libfuse's affair
        # (8 was seen once).
        self.process.wait(timeout=20)
        return read_log(self.log)


WRITE, FLUSH, MARK = 1, 2, 3


def read_log(path):
    """Return the events as tuples (kind, disk, offset, data)."""
    events, at = [], 0
    with open(path, "rb") as file:
        data = file.read()
    while at < len(data):
        kind, disk, offset, length = struct.unpack_from("<IIQQ", data, at)
        at += 24
        events.append((kind, disk, offset, data[at:at + length]))
        at += length
    return events


class Replay:
    """Disks put into the state of a power cut, one cut after another.

    Cuts must come in rising order: what is certain (written before the last flush of its disk)
    is kept in memory and only ever grows. Only blocks that differ are written to the device.
    """

    def __init__(self, directory, bases, events):
        self.events = events
        self.certain, self.maps, self.loops = [], [], []
        self.applied = 0
        self.pending = [[] for _ in bases]      # writes since the last flush of each disk
        for i, base in enumerate(bases):
            path = os.path.join(directory, f"replay{i}.img")
            with open(path, "wb") as file:
                file.write(base)
            with open(path, "r+b") as file:
                self.maps.append(mmap.mmap(file.fileno(), 0))
            self.certain.append(bytearray(base))
            self.loops.append(Loop(path))
        marks = [(i, int(e[3])) for i, e in enumerate(events) if e[0] == MARK]
        self._mark_at = [i for i, _ in marks]
        self._mark_value = [value for _, value in marks]

    def acknowledged(self, cut):
        """The last mark before the cut, 0 if there was none."""
        found = bisect.bisect_left(self._mark_at, cut)
        return self._mark_value[found - 1] if found else 0

    def _advance(self, cut):
        assert cut >= self.applied
        for kind, disk, offset, data in self.events[self.applied:cut]:
            if kind == WRITE:
                self.pending[disk].append((offset, data))
            elif kind == FLUSH:
                for start, content in self.pending[disk]:
                    self.certain[disk][start:start + len(content)] = content
                self.pending[disk] = []
        self.applied = cut

    def cut(self, cut, rng):
        """Cut the power after `cut` events. Of what was not flushed each write survives with a
        chance chosen for this cut, and one in four of the survivors only in part of its blocks."""
        self._advance(cut)
        chance = rng.choice((0.0, 0.0, 0.1, 0.5, 0.9, 1.0))
        lost = 0
        for disk, image in enumerate(self.certain):
            saved = []
            for offset, data in self.pending[disk]:
                for start in range(0, len(data), BLOCK) if rng.random() < 0.25 else (None,):
                    piece = data if start is None else data[start:start + BLOCK]
                    if rng.random() >= chance:
                        lost += 1
                        continue
                    at = offset + (start or 0)
                    saved.append((at, bytes(image[at:at + len(piece)])))
                    image[at:at + len(piece)] = piece
            self._load(disk)
            for at, old in reversed(saved):
                image[at:at + len(old)] = old
        return lost

    def _load(self, disk):
        """Bring the device to `certain`: compare in place, write only blocks that differ."""
        image, target = self.certain[disk], self.maps[disk]
        here, there = (ctypes.addressof(ctypes.c_char.from_buffer(m)) for m in (image, target))
        self.loops[disk].forget()
        for at in range(0, len(image), 64 * BLOCK):
            if LIBC.memcmp(here + at, there + at, 64 * BLOCK) == 0:
                continue
            for block in range(at, at + 64 * BLOCK, BLOCK):
                target[block:block + BLOCK] = bytes(image[block:block + BLOCK])
        self.loops[disk].forget()

    def close(self):
        for loop in self.loops:
            loop.close()
