# SPDX-License-Identifier: Apache-2.0
"""What a tree is: everything a person could miss after a crash, and nothing that may differ.

A snapshot maps each path to its kind, mode, owner, size, modification time, content, extended
attributes, link target and the set of names it shares an inode with. Inode numbers and change
times are left out: the same state may be reached through other inodes.
"""
import hashlib
import os
import stat


def _content(path, st):
    if stat.S_ISREG(st.st_mode):
        with open(path, "rb") as file:
            return hashlib.blake2b(file.read(), digest_size=16).hexdigest()
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(path)
    return None


def _xattrs(path):
    return tuple((name, os.getxattr(path, name, follow_symlinks=False))
                 for name in sorted(os.listxattr(path, follow_symlinks=False)))


def snapshot(root):
    """Return {path: facts} of everything below root, root itself under the empty path."""
    tree, links = {}, {}
    todo = [b""]
    root = os.fsencode(root)
    while todo:
        name = todo.pop()
        path = os.path.join(root, name) if name else root
        st = os.lstat(path)
        is_dir = stat.S_ISDIR(st.st_mode)
        facts = {
            "mode": oct(st.st_mode), "owner": (st.st_uid, st.st_gid),
            "mtime": st.st_mtime_ns, "xattrs": _xattrs(path),
            "size": None if is_dir else st.st_size, "content": _content(path, st),
        }
        tree[name] = facts
        if is_dir:
            todo += (os.path.join(name, entry) for entry in os.listdir(path))
        elif st.st_nlink > 1:
            links.setdefault((st.st_dev, st.st_ino), []).append(name)
    for names in links.values():
        for name in names:
            tree[name]["links"] = tuple(sorted(names))
    return tree


def difference(want, got, limit=6):
    """Say in words how two snapshots differ, at most `limit` paths."""
    words = []
    for name in sorted(want.keys() | got.keys()):
        shown = os.fsdecode(name) or "."
        if name not in got:
            words.append(f"{shown}: missing")
        elif name not in want:
            words.append(f"{shown}: should not be there")
        elif want[name] != got[name]:
            keys = [k for k in want[name].keys() | got[name].keys()
                    if want[name].get(k) != got[name].get(k)]
            words.append(f"{shown}: " + ", ".join(
                f"{k} {want[name].get(k)!r} became {got[name].get(k)!r}" for k in sorted(keys)))
    more = len(words) - limit
    return words[:limit] + ([f"and {more} more"] if more > 0 else [])
