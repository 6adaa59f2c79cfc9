# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# The programs: about_X says what it needs and what of its output no two runs have in common (except, a
# pattern of paths; hashes=no if contents differ), setup_X makes the tree, do_X is run in both worlds.
programs=(git git_clone_linked git_worktree make npm pip hardlinks hardlinks_joined archive rsync vim vim_linked sqlite python node java postgres bwrap patch compiler)

about_git() { needs=(git); except='/index$|/logs/|ORIG_HEAD|FETCH_HEAD|/objects/pack/|/objects/info|/COMMIT_EDITMSG|/info/refs|gc.pid|packed-refs'; }
setup_git() {
	git init -q -b main src && cd src
	for i in 1 2 3 4 5 6; do mkdir -p d$((i % 3)); seq 1 $((i * 40)) >d$((i % 3))/f$i; git add .; git commit -qm "c$i"; done
	git checkout -qb topic HEAD~3; echo topic >topic; git add .; git commit -qm topic; git checkout -q main
	cd .. && git init -q -b main lib && cd lib && echo lib >lib.c && git add . && git commit -qm lib
}
do_git() {
	git clone -q --no-hardlinks src clone && cd clone
	git fetch -q origin topic:topic && git checkout -q topic && git rebase -q main
	echo wip >>d1/f1; git stash -q; git stash pop -q; git commit -qam wip
	git mv d2 moved && git commit -qm "directory moved"
	git -c protocol.file.allow=always submodule --quiet add "file://${PWD%/clone}/lib" vendor/lib 2>/dev/null && git commit -qm submodule
	git tag v1; git gc -q --prune=now; git fsck --strict 2>&1
	git reset -q --hard HEAD~1; git clean -qfdx; git checkout -q main; git merge -q topic 2>&1
	git log --all --format='%H %s'; git status --porcelain
}

# Objects linked, not copied. Without root the kernel gives the new name another inode number, which git does
# not accept: there --no-hardlinks is needed, or a source outside the workspace.
about_git_clone_linked() { needs=(git); only=root except='/index$|/logs/'; }
setup_git_clone_linked() { setup_git; }
do_git_clone_linked() { git clone -q src clone && git -C clone fsck --strict 2>&1 && git -C clone log --format='%H %s'; }

# The git directory lies outside the workspace: Rein must make it writable too.
about_git_worktree() { needs=(git); except='/index$|/logs/|ORIG_HEAD|/COMMIT_EDITMSG'; }
setup_git_worktree() {
	git init -q -b main repo && cd repo && seq 100 >a && git add . && git commit -qm a
	git worktree add -q ../linked -b linked
}
do_git_worktree() {
	cd linked && echo more >>a && git commit -qam more && git worktree add -q ../third -b third && cd ../third && echo 3 >3 && git add . &&
		git commit -qm 3 && git log --format='%H %s' && git -C ../repo worktree remove ../third && git -C ../repo branch -D third | cat
}

about_make() { needs=(make gcc ar); }
setup_make() {
	mkdir src include
	for i in $(seq 40); do printf '#include "all.h"\nint f%d(int x) { return x * %d + (int)sizeof(struct s); }\n' "$i" "$i" >src/f$i.c; done
	{ echo 'struct s { int a; };'; for i in $(seq 40); do echo "int f$i(int);"; done; } >include/all.h
	{ echo '#include <stdio.h>'; echo '#include "all.h"'; echo 'int main(void) { int s = 0;'; for i in $(seq 40); do echo "s += f$i(s);"; done; echo 'printf("%d\n", s); return 0; }'; } >src/main.c
	cat >Makefile <<-'M'
		.RECIPEPREFIX := >
		OBJ := $(patsubst src/%.c,out/%.o,$(wildcard src/*.c))
		prog: out/libf.a
		>$(CC) -o $@ out/main.o $<
		out/libf.a: $(OBJ)
		>$(AR) rcD $@ $(filter-out out/main.o,$(OBJ))
		out/%.o: src/%.c | out
		>$(CC) -g -O1 -Iinclude -MMD -c -o $@ $<
		out:
		>mkdir -p out
		clean:
		>rm -rf out prog
	M
}
do_make() { make -sj4 && ./prog && make -s clean && make -sj4 prog && touch src/f1.c && make -sj2 && ./prog; }

about_npm() { needs=(npm node) optional=1; except='/\.cache|\.package-lock.json$'; }
setup_npm() {
	mkdir dep dep/lib app
	echo '{"name":"dep","version":"1.0.0","main":"lib/index.js","bin":{"depbin":"lib/bin.js"}}' >dep/package.json
	echo 'module.exports = () => "dep works";' >dep/lib/index.js
	printf '#!/usr/bin/env node\nconsole.log("bin works")\n' >dep/lib/bin.js
	echo '{"name":"app","version":"1.0.0","private":true,"scripts":{"t":"node t.js"}}' >app/package.json
	echo 'console.log(require("dep")())' >app/t.js
	(cd dep && npm pack --silent >/dev/null)
}
do_npm() {
	cd app && npm install --silent --offline --no-audit --no-fund ../dep/dep-1.0.0.tgz >/dev/null && npm run -s t && node_modules/.bin/depbin
	mv node_modules nm.old && npm ci --silent --offline --no-audit --no-fund >/dev/null && rm -rf nm.old && npm run -s t
	mv node_modules x && mv x node_modules && npm ls --depth=0 2>&1 | tail -n +2
	npm uninstall --silent --offline --no-audit --no-fund dep >/dev/null && ls -A node_modules 2>/dev/null | cat
}

about_pip() { needs=(/usr/bin/pip3 python3); except='\.pyc|__pycache__'; }
setup_pip() {
	mkdir -p pkg/rein_sample && echo 'def hello(): return "pip works"' >pkg/rein_sample/__init__.py
	/usr/bin/python3 - <<-'P'
		import zipfile
		info = 'rein_sample-1.0.dist-info/'
		with zipfile.ZipFile('rein_sample-1.0-py3-none-any.whl', 'w') as z:
		    z.writestr('rein_sample/__init__.py', open('pkg/rein_sample/__init__.py').read())
		    for i in range(50): z.writestr(f'rein_sample/m{i}.py', f'x = {i}\n')
		    z.writestr(info + 'METADATA', 'Metadata-Version: 2.1\nName: rein-sample\nVersion: 1.0\n')
		    z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
		    z.writestr(info + 'entry_points.txt', '[console_scripts]\nsample = rein_sample:hello\n')
		    z.writestr(info + 'RECORD', '')
	P
}
do_pip() {
	/usr/bin/pip3 -q --disable-pip-version-check install --no-index --no-compile --no-cache-dir --target site ./rein_sample-1.0-py3-none-any.whl 2>&1
	PYTHONPATH=site /usr/bin/python3 -c 'import rein_sample; print(rein_sample.hello())'
	/usr/bin/pip3 -q --disable-pip-version-check install --upgrade --no-index --no-compile --no-cache-dir --target site ./rein_sample-1.0-py3-none-any.whl 2>&1
	ls site
}

# What a Rust build does: everything is linked twice, and directories are renamed when finished.
about_hardlinks() { needs=(); }
setup_hardlinks() {
	mkdir -p target/debug/deps target/debug/incremental/old
	for i in $(seq 60); do seq "$i" >target/debug/deps/lib$i.rlib; ln target/debug/deps/lib$i.rlib target/debug/lib$i.rlib; done
	for i in $(seq 30); do echo "$i" >target/debug/incremental/old/$i.o; done
}
do_hardlinks() {
	for i in $(seq 1 2 60); do seq $((i + 1000)) >target/debug/deps/new && mv target/debug/deps/new target/debug/deps/lib$i.rlib && ln -f target/debug/deps/lib$i.rlib target/debug/lib$i.rlib; done
	mkdir target/debug/incremental/s-working; ln target/debug/incremental/old/* target/debug/incremental/s-working/
	mv target/debug/incremental/s-working target/debug/incremental/s-final; rm -r target/debug/incremental/old
	mkdir target/release; ln target/debug/lib*.rlib target/release/; mv target/debug/deps target/debug/deps2
	cat target/release/* | sha256sum
}

# Old names that stay joined while one of them is written to: only where the kernel keeps an index, as root.
about_hardlinks_joined() { needs=(); only=root; }
setup_hardlinks_joined() { seq 100 >a; ln a b; mkdir d; ln a d/c; }
do_hardlinks_joined() { echo appended >>a; tail -n1 b d/c; sed -i 1d b; cat a b d/c | sha256sum; truncate -s 7 d/c; cat a; }

about_archive() { needs=(tar gzip truncate); }
setup_archive() {
	mkdir -p tree/a/b; seq 1000 >tree/a/1; ln tree/a/1 tree/a/b/1; ln -s ../a/1 tree/l; mkfifo tree/p; truncate -s 5M tree/sparse; echo end >>tree/sparse
	chmod 4755 tree/a/1; chmod 1777 tree/a/b; touch -d 2001-02-03 tree/a tree/a/1
	tar cf tree.tar --sparse --sort=name tree
}
do_archive() {
	mkdir out && tar xpf tree.tar -C out && tar cf again.tar --sparse --sort=name -C out tree && cmp tree.tar again.tar && echo alike
	tar xpf tree.tar --overwrite && rm -r tree && tar xpf tree.tar && gzip -n tree.tar && gunzip -k tree.tar.gz && du out/tree/sparse | cut -f1; find . -type f -links +1 | wc -l
}

about_rsync() { needs=(rsync truncate); }
setup_rsync() {
	mkdir -p from/x/y to/x/old; seq 2000 >from/x/1; ln from/x/1 from/x/y/1; truncate -s 3M from/s; echo e >>from/s; seq 1999 >to/x/1; echo gone >to/x/old/gone
	touch -d 2010-01-01 from/x from/x/1; ln -s x/1 from/link
}
do_rsync() {
	rsync -aHS --delete from/ to/ && rsync -aHSn --delete --itemize-changes from/ to/ && rsync -a --inplace --no-whole-file from/x/1 to/x/y/1 &&
		rsync -aH --link-dest="$PWD/from" from/ third/ && rsync -aHn --itemize-changes from/ third/ && find to third -type f -links +1 | sort && stat -c %Y to/x
}

about_vim() { needs=(vim); }
setup_vim() { seq 200 >text; ln -s text sym; chmod 640 text; }
do_vim() {
	vim -es -u NONE -i NONE -c '%s/9/nine/g' -c 'normal Gofinal' -c wq text
	vim -es -u NONE -i NONE --cmd 'set backup writebackup backupcopy=yes' -c '1d' -c wq sym; tail -n1 text; ls -A
	vim -es -u NONE -i NONE -c 'normal inew' -c 'w! other' -c q; cat other
}

# Without root a file with several old names gets another inode number when it is first written to, and vim minds.
about_vim_linked() { needs=(vim); only=root; }
setup_vim_linked() { seq 200 >text; ln text link; }
do_vim_linked() { vim -es -u NONE -i NONE -c '1d' -c wq text; head -n1 link; }

about_sqlite() { needs=(sqlite3); hashes=no; except='-(wal|shm|journal)$'; }
do_sqlite() {
	sqlite3 db 'pragma journal_mode=wal; create table t(a integer primary key, b text); begin; insert into t(b) select hex(x) from (with recursive c(x) as (values(1) union all select x+1 from c limit 5000) select x from c); commit; select count(*), sum(length(b)) from t;'
	sqlite3 db 'pragma journal_mode=delete; delete from t where a % 2; vacuum; pragma integrity_check; select count(*) from t;'
	sqlite3 db .dump | sha256sum
}

about_python() { needs=(python3); except='__pycache__'; }
do_python() {
	python3 - <<-'P'
		import os, mmap, tempfile, subprocess, multiprocessing, socket, threading, shutil
		os.makedirs('a/b'); open('a/b/f', 'w').write('x' * 100000)
		with open('a/b/f', 'r+b') as f:
		    m = mmap.mmap(f.fileno(), 0); m[0:5] = b'mmap!'; m.flush(); m.close()
		os.rename('a', 'c'); shutil.copytree('c', 'd'); os.link('c/b/f', 'e'); os.replace('e', 'd/b/f')
		print(sorted(os.listdir('.')), os.stat('c/b/f').st_nlink, tempfile.gettempdir() != '')
		with multiprocessing.Pool(2) as p: print(p.map(abs, [-1, -2]))
		s = socket.create_server(('127.0.0.1', 0))
		t = threading.Thread(target=lambda: s.accept()[0].sendall(b'hi')); t.start()
		print(socket.create_connection(s.getsockname()).recv(2)); t.join()
		u = socket.socket(socket.AF_UNIX); u.bind('sock'); u.close(); print(subprocess.check_output(['id', '-u']) != b'')
	P
	python3 -m compileall -q -f c >/dev/null; python3 -c 'import ssl, sqlite3, ctypes, decimal; print("imports")'
}

about_node() { needs=(node); }
do_node() {
	node -e '
	const fs = require("fs"), cp = require("child_process"), {Worker} = require("worker_threads");
	fs.mkdirSync("a/b", {recursive: true}); fs.writeFileSync("a/b/c", "x".repeat(1 << 20)); fs.renameSync("a", "z");
	fs.cpSync("z", "y", {recursive: true}); fs.symlinkSync("y", "link"); console.log(fs.readdirSync(".").join());
	console.log(cp.execFileSync("echo", ["child"]).toString().trim());
	const s = require("net").createServer(c => c.end("net")).listen(0, "127.0.0.1", () =>
	  require("net").connect(s.address().port, "127.0.0.1").on("data", d => { console.log(String(d)); s.close(); }));
	fs.promises.appendFile("y/b/c", "end").then(() => console.log("async"));
	new Worker("require(`worker_threads`).parentPort.postMessage(`worker`)", {eval: true}).on("message", m => fs.writeFileSync("worker", m));' | sort
}

about_java() { needs=(java javac) optional=1; }
setup_java() {
	cat >Hello.java <<-'J'
		import java.nio.file.*; import java.util.stream.*;
		public class Hello { public static void main(String[] a) throws Exception {
		  Files.createDirectories(Path.of("out/x")); Files.writeString(Path.of("out/x/f"), "java");
		  Files.move(Path.of("out"), Path.of("moved"));
		  System.out.println(IntStream.range(0, 100000).parallel().mapToLong(i -> i).sum() + " " + Files.readString(Path.of("moved/x/f")));
		  Thread t = new Thread(() -> System.out.println("thread")); t.start(); t.join(); } }
	J
}
do_java() { javac -J-Xmx256m Hello.java && java -Xmx256m -Xshare:auto Hello; }

# Not as root: PostgreSQL itself refuses that.
about_postgres() { needs=(/usr/lib/postgresql/15/bin/initdb); only=user hashes=no; except='/(pg_wal|base|global|pg_stat|pg_xact|pg_log|pg_logical)|log$|postmaster'; }
do_postgres() {
	local bin=/usr/lib/postgresql/15/bin
	"$bin/initdb" -D data -U tester -A trust --no-sync >/dev/null 2>log
	mkdir -p s; "$bin/pg_ctl" -D data -l log -w -o "-k $PWD/s -c listen_addresses= -c fsync=on" start >/dev/null
	"$bin/psql" -qAtX -h "$PWD/s" -U tester -d postgres -c 'create table t as select g, md5(g::text) from generate_series(1,5000) g; create index on t(md5);' \
		-c 'select count(*), min(md5) from t' -c 'vacuum analyze t' -c 'checkpoint'
	"$bin/pg_dump" -h "$PWD/s" -U tester postgres | grep -v '^--\|restrict' | sha256sum
	"$bin/pg_ctl" -D data -w -m fast stop >/dev/null
	"$bin/pg_ctl" -D data -l log -w -o "-k $PWD/s -c listen_addresses=" start >/dev/null
	"$bin/psql" -qAtX -h "$PWD/s" -U tester -d postgres -c 'select count(*) from t'; "$bin/pg_ctl" -D data -w -m immediate stop >/dev/null
	"$bin/pg_controldata" data | grep state
}

# Not as root: bwrap then makes no user namespace, and the box has no rights for the others.
about_bwrap() { needs=(bwrap); only=user options=(--nested); }
do_bwrap() {
	bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind "$PWD" "$PWD" --unshare-pid --unshare-ipc --unshare-uts --hostname inner --die-with-parent \
		sh -c 'echo made >inside; hostname; ls /tmp | wc -l; touch /usr/x 2>/dev/null || echo read-only'
	bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin --unshare-net --dev /dev true && echo plain
}

about_patch() { needs=(diff patch sed awk find xargs dd); }
setup_patch() { seq 300 >a; sed 's/7/seven/' a >b; diff -u a b >p || true; cp a t; mkdir -p x/y; for i in $(seq 20); do echo $i >x/y/$i; done; }
do_patch() {
	patch -s t <p && cmp t b && sed -i 's/1/one/' t && awk '{print $0 "."}' t >t2 && mv t2 t; cp -r x z && find z -name '1*' -delete
	dd if=/dev/zero of=hole bs=1 count=1 seek=1M status=none; dd if=t of=hole conv=notrunc status=none; cp --reflink=auto --sparse=always hole hole2; cmp hole hole2
	install -m 755 -D t deep/er/t; mv -T x w; cp -al w v; chmod -R g-w v; find . -type f | sort | xargs sha256sum | sha256sum; split -n 3 t part.; sort -o a a; truncate -s 10 b; mkfifo p1; ln -sfn w lnk; ln -sfn v lnk
}

about_compiler() { needs=(gcc ld strip); }
do_compiler() {
	printf '#include <iostream>\n#include <thread>\nint main() { std::thread t([]{ std::cout << "c++\\n"; }); t.join(); }\n' >a.cc && if command -v g++ >/dev/null; then g++ -O1 -pthread -o a a.cc && ./a; fi
	printf 'int x(void) { return 3; }\n' >l.c && gcc -shared -fPIC -o libl.so l.c && printf '#include <stdio.h>\nint x(void); int main(void) { printf("%%d\\n", x()); }\n' >m.c && gcc -flto -o m m.c -L. -ll -Wl,-rpath,"$PWD" && ./m && strip m && ./m
	rm -f a.cc; gcc -static -o s m.c l.c && ./s
}
