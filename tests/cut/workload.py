# SPDX-License-Identifier: Apache-2.0
"""The work that the power cut interrupts: a tree and a list of commits, undos and redos on it.

Every commit leads to a tree no other commit leads to (the driver checks it), so that a tree found
after a cut says which one it is. Together they cover what a commit can do: files and directories
created, changed, deleted, renamed, replaced by another kind, files with several links (updated in
place), changes of metadata alone, and many of them in one commit.
"""
import os

# A commit is a name and what the shell does; $n is the number of the step.
COMMITS = [
    ("create a file", 'echo "new $n" > new.$n'),
    ("append to a file", 'echo "line $n" >> notes'),
    ("change ten files", 'for i in 0 1 2 3 4 5 6 7 8 9; do echo "$n $i" >> many/f$i; done'),
    ("delete a file", 'rm many/f3; echo $n > many/f3.gone'),
    ("rename a file", 'mv many/f4 many/renamed.$n'),
    ("rename over a file", 'mv many/f5 many/f6'),
    ("make a directory tree", 'mkdir -p made.$n/x/y; echo $n > made.$n/x/y/z; ln -s x made.$n/l'),
    ("rename a directory", 'mv old-dir old-dir.$n; mv old-dir.$n old-dir-moved'),
    ("change below a renamed directory", 'echo $n >> old-dir-moved/deep/er/file'),
    ("rename it back, changed", 'echo $n > old-dir-moved/added; mv old-dir-moved old-dir'),
    ("delete a tree", 'rm -r doomed; echo $n > doomed.note'),
    ("directory becomes file", 'rm -r was-dir; echo "file now $n" > was-dir'),
    ("file becomes directory", 'rm was-file; mkdir was-file; echo $n > was-file/inner'),
    ("empty and refill a directory", 'rm -r refill; mkdir refill; echo $n > refill/fresh'),
    ("write to a file with three links", 'echo "linked $n" >> link-a'),
    ("write through another of its names", 'echo "linked again $n" >> sub/link-c'),
    ("truncate a file with links", 'echo "short $n" > link-b'),
    ("links and others at once",
     'echo $n >> link-a; echo $n >> notes; rm -f many/f7; echo $n > many/f7; mkdir mixed.$n'),
    ("one more link", 'ln link-a link-d; echo $n > link.note'),
    ("mode only", 'chmod 06$((n % 8))0 many/f8; chmod 07$((n % 8))0 sub'),
    ("time only", 'touch -d @$((1000000000 + n)) notes'),
    ("attribute only", 'python3 -c "import os; os.setxattr(\'notes\', \'user.note\', b\'$n\')"'),
    ("symbolic link elsewhere", 'ln -sfn many/f9 pointer; touch pointer.$n'),
    ("middle of a big file", 'echo "middle $n" | dd of=big bs=4096 seek=7 conv=notrunc 2>&1'),
    ("big file anew", 'seq $n 40000 > big.new; mv big.new big'),
    ("fifo and empty directory", 'mkfifo pipe.$n; mkdir empty.$n; rmdir empty'),
    ("sixty files", 'mkdir sixty.$n; for i in $(seq 60); do echo "$n $i" > sixty.$n/$i; done'),
    ("sixty files changed, half deleted",
     'cd sixty.*; for i in $(seq 1 2 60); do echo "changed $n" > $i; done;'
     ' for i in $(seq 2 2 60); do rm $i; done'),
    ("everything at once",
     'echo $n >> notes; rm many/f0; mv many/f1 many/f1.moved; chmod 0600 many/f2;'
     ' mv old-dir old-dir2; echo $n >> link-a; mkdir -p all.$n/a/b; echo $n > all.$n/a/b/c;'
     ' rm -r sixty.*; ln -s nowhere all.$n/dangling; touch -d "2002-03-04 05:06:07" sub'),
    ("names that need care", 'echo $n > " space"; echo $n > "$(printf "new\\nline")"; : > ./-n'),
]

# What follows the commit of that position: after the commit itself, undo and redo in turn.
AFTERWARDS = [(), ("undo",), (), ("undo", "redo"), ("undo",), ("undo", "redo", "undo")]


def steps():
    """Yield (verb, name, script) of the whole workload. An undone commit is done again, so that
    the next one finds the tree it was written for."""
    for position, (name, script) in enumerate(COMMITS):
        followers = AFTERWARDS[position % len(AFTERWARDS)]
        yield "commit", name, script
        for verb in followers:
            yield verb, name, None
        if followers and followers[-1] == "undo":
            yield "commit", name + ", once more", script


def _write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def populate(root):
    """The tree before the first step."""
    for i in range(10):
        _write(f"{root}/many/f{i}", f"file {i}\n" * (1, 0, 7, 300, 512, 2000)[i % 6])
    for name in ("deep/er/file", "deep/other", "top"):
        _write(f"{root}/old-dir/{name}", f"{name}\n" * 40)
    for name in ("a", "b/c", "b/d"):
        _write(f"{root}/doomed/{name}", f"doomed {name}\n")
    _write(f"{root}/was-dir/inside", "inside\n")
    _write(f"{root}/was-file", "a file\n")
    for i in range(5):
        _write(f"{root}/refill/{i}", f"refill {i}\n")
    _write(f"{root}/notes", "notes\n")
    _write(f"{root}/big", "0123456789abcdef" * 10000)
    _write(f"{root}/link-a", "three names\n" * 500)
    os.makedirs(f"{root}/sub", exist_ok=True)
    os.makedirs(f"{root}/empty", exist_ok=True)
    os.link(f"{root}/link-a", f"{root}/link-b")
    os.link(f"{root}/link-a", f"{root}/sub/link-c")
    os.symlink("many/f8", f"{root}/pointer")
    os.setxattr(f"{root}/many/f9", "user.kept", b"yes")
    os.chmod(f"{root}/many/f2", 0o755)
