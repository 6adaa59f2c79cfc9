#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The judge in `rein run`: what is refused, asked, held and rolled back, by its words and by what it did;
# and that each of it is on the record. The scripts' texts say nothing; their effects do.

# shellcheck disable=SC2016  # for the inner shell
load helper

# The judge's own rein: no approval is slipped in.
j() { command rein run "$@"; }

more_setup() {
	git init -q .
	for i in $(seq 40); do echo "$i" >"file$i"; done
	mkdir -p build .github/workflows && echo 'on: push' >.github/workflows/ci.yml && touch build/x
	git add . && git commit -qm start
}

unchanged() { eq status "" "$(git status --porcelain)"; }
# last EVENT FIELD: of the newest event of this type
last() { command rein audit log --json -t "$1" -n 1 | head -1 | field "$2"; }

@test "a box without a network may talk to itself; with somebody's socket, or the host's network, it is asked" {
	post='curl -sf -X POST -d a=b localhost:1/x'
	run j -- sh -c "$post"
	eq status 7 "$status" # nobody listens, and nobody was asked
	has "$output" "risky, contained: allowed"
	run -121 j --net host -- sh -c "$post"
	run -121 j --allow-socket "$PWD/s" -- sh -c "$post"
	run -121 j -- sh -c 'curl -sf -X POST -d a=b http://localhost.invalid/x'
}

@test "so may the client of a database, to one that is certainly the box's own" {
	change='CREATE TABLE t (a int)'
	for own in '-h localhost' '-h /tmp/pg' 'postgresql://127.0.0.1/x'; do
		run j -- sh -c "psql $own -c '$change'"
		eq "status of $own" 2 "$status" # nobody listens, and nobody was asked
		has "$output" "risky, contained: allowed"
	done
	run -121 j -- sh -c "psql -c '$change'"
	run -121 j -- sh -c "psql -h db.invalid -c '$change'"
	run -121 j -- sh -c "psql -h /run/postgresql -c '$change'"
	run -121 j -- sh -c "psql -h $W -c '$change'" # there may be somebody else's
	run -121 j --net host -- sh -c "psql -h localhost -c '$change'"
	run -121 j --net restricted --allow-host db.invalid -- sh -c "psql -h localhost -c '$change'"
	run -121 j --allow-socket "$PWD/s" -- sh -c "psql -h localhost -c '$change'"
	theirs=$(mktemp -d /tmp/rein-judge.XXXXXX) # a socket of theirs would be found there
	run j --ro "$theirs" -- sh -c "psql -h $theirs -c '$change'"
	rmdir "$theirs"
	eq status 121 "$status"
	run -121 j -- sh -c "curl -sf --unix-socket $HOME/s -X POST -d a=b localhost/x"
	run j -- sh -c "curl -sf --unix-socket /tmp/s -X POST -d a=b localhost/x"
	eq status 7 "$status"
}

@test "a safe command runs and commits, its level and decision in the one line and on the record" {
	run --separate-stderr j -- sh -c 'echo 1 >new'
	eq status 0 "$status"
	has "$stderr" "(safe)"
	eq new 1 "$(cat new)"
	eq level safe "$(last decision level)"
	eq decision allow "$(last decision decision)"
	eq commit ok "$(last commit result)"
	command rein audit verify >/dev/null
}

@test "denied by its words: nothing runs, status 120, rule and what to do instead" {
	run j -- sh -c 'touch ran; dd if=/dev/zero of=/dev/sda'
	eq status 120 "$status"
	has "$output" "refused: "
	has "$output" "rule: disk.device (built-in)"
	has "$output" "instead: "
	[ ! -e ran ]
	eq decision deny "$(last decision decision)"
	eq "no start" "" "$(command rein audit log --json -t run.start)"
}

@test "asked: without a person it does not run, status 121; --approve runs it and is recorded" {
	cat >p.yaml <<-E
		version: 1
		rules:
		  - id: my.touch
		    match: {program: touch}
		    decide: ask
		    message: touching is a matter for people
		    approvers: [nobody-here, $(id -un)]
		    instead: look, do not touch
	E
	run j -p p.yaml -- touch ran
	eq status 121 "$status"
	has "$output" "touching is a matter for people"
	has "$output" "approval: 1 of nobody-here, $(id -un)"
	has "$output" "instead: look, do not touch"
	hasnt "$output" "needs a network"
	[ ! -e ran ]
	run j -- zsh -c 'echo *(N)'
	eq status 121 "$status"
	has "$output" "nothing ran: could not be understood in full: unexpected '('"
	# who is to leave the machine may need more than that
	run j -- git push
	eq status 121 "$status"
	has "$output" "if it needs a network, too: the box has none, --allow-host NAME"
	run j --net open -- git push
	eq status 121 "$status"
	hasnt "$output" "needs a network"
	run j -p p.yaml --json -- touch ran
	eq status 121 "$status"
	eq code approval_required "$(printf '%s\n' "$output" | tail -1 | field error.code)"
	run j -p p.yaml --approve -q -- touch ran
	eq status 0 "$status"
	[ -e ran ]
	eq approval approve "$(last approval decision)"
}

@test "asked at a terminal: yes runs it, no refuses it; what is held afterwards is asked there, too" {
	export TERM=xterm-256color
	on_tty() { python3 "$BATS_TEST_DIRNAME/terminal.py" "$@"; }
	printf 'version: 1\nrules:\n  - id: my.touch\n    match: {program: touch}\n    decide: ask\n    message: touching\n' >"$HOME/p.yaml"
	run on_tty "run it=>n" -- "$REIN_BUILD/rein" run -p "$HOME/p.yaml" -- touch ran
	eq no 120 "$status"
	has "$output" "my.touch"
	[ ! -e ran ]
	eq answer deny "$(last approval decision)"
	run on_tty "run it=>y" "ommit=>c" -- "$REIN_BUILD/rein" run -p "$HOME/p.yaml" -- touch ran
	eq yes 0 "$status"
	[ -e ran ]
	eq answer approve "$(last approval decision)"
	run on_tty "ommit=>k" -- "$REIN_BUILD/rein" run -- sh -c 'rm -rf ./*'
	has "$output" "to be reviewed"
	eq kept 121 "$status"
	[ -e file1 ]
	run on_tty "ommit=>c" -- "$REIN_BUILD/rein" run -- sh -c 'rm -rf ./*'
	eq committed 0 "$status"
	[ ! -e file1 ]
	eq answer effects "$(last approval detail)"
}

@test "held by its words: it runs, nothing lands, status 121; the commit is the approval" {
	run j --commit -- sh -c 'rm -rf ./*'
	eq status 121 "$status"
	has "$output" "to be reviewed"
	unchanged
	eq approvals "" "$(command rein audit log --json -t approval)"
	command rein commit -q
	[ ! -e file1 ]
	eq approval approve "$(last approval decision)"
	command rein undo -q
	unchanged
	eq undo ok "$(last undo result)"
}

@test "effects: a script that deletes half the tree is held" {
	echo 'import glob, os
for f in glob.glob("file*")[::2]: os.unlink(f)' >clean.py
	git add clean.py && git commit -qm py
	run j -- python3 clean.py
	eq status 121 "$status"
	has "$output" "20 files deleted"
	has "$output" "effects.delete-share"
	unchanged
	eq effects hold "$(last effects decision)"
}

@test "effects: a make target that writes a hook, one that changes CI, one that writes a secret are held" {
	printf 'hook:\n\t@mkdir -p .git/hooks; printf "#!/bin/sh\\nid\\n" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit\nci:\n\t@echo "# more" >>.github/workflows/ci.yml\nsecret:\n\t@printf "key = AKIA%%s\\n" IOSFODNN7EXAMPLQ >conf.ini\nfine:\n\t@echo ok >build/ok\n' >Makefile
	git add Makefile && git commit -qm make
	run j -- make hook
	eq hook 121 "$status"
	has "$output" "effects.git-hooks"
	[ ! -e .git/hooks/pre-commit ]
	run j -- make ci
	eq ci 121 "$status"
	has "$output" "effects.ci"
	run j -- make secret
	eq secret 121 "$status"
	has "$output" "effects.secret"
	hasnt "$output" IOSFODNN7
	run j -- make fine
	eq fine 0 "$status"
	[ -e build/ok ]
}

# The text that is judged names a file, a target or a script and says nothing of what it does.
@test "effects: python files, make targets and npm scripts that delete, write hooks, secrets or CI are held, each with its reason" {
	local tool what rule
	need "node is installed" command -v node
	cat >do.py <<-'E'
		import glob, os, sys
		def delete():
		    for f in sorted(glob.glob("file*"))[::2]: os.unlink(f)
		def hook():
		    os.makedirs(".git/hooks", exist_ok=True)
		    open(".git/hooks/post-merge", "w").write("#!/bin/sh\nid\n")
		    os.chmod(".git/hooks/post-merge", 0o755)
		def secret():
		    open("conf.ini", "w").write("key = AKIA" + "IOSFODNN7EXAMPLQ\n")
		def ci():
		    open(".github/workflows/ci.yml", "a").write("# more\n")
		globals()[sys.argv[1]]()
	E
	cat >do.js <<-'E'
		const fs = require("fs");
		({
		  delete() { fs.readdirSync(".").filter(f => f.startsWith("file")).slice(0, 20).forEach(f => fs.unlinkSync(f)); },
		  hook() { fs.mkdirSync(".git/hooks", {recursive: true}); fs.writeFileSync(".git/hooks/post-merge", "#!/bin/sh\nid\n", {mode: 0o755}); },
		  secret() { fs.writeFileSync("conf.ini", "key = AKIA" + "IOSFODNN7EXAMPLQ\n"); },
		  ci() { fs.appendFileSync(".github/workflows/ci.yml", "# more\n"); },
		})[process.argv[2]]();
	E
	cat >Makefile <<-'E'
		.PHONY: delete hook secret ci
		delete: ; @ls | grep ^file | head -20 | xargs rm
		hook: ; @mkdir -p .git/hooks; printf '#!/bin/sh\nid\n' >.git/hooks/post-merge; chmod +x .git/hooks/post-merge
		secret: ; @printf 'key = AKIA%s\n' IOSFODNN7EXAMPLQ >conf.ini
		ci: ; @echo '# more' >>.github/workflows/ci.yml
	E
	echo '{"name": "x", "version": "1.0.0", "scripts": {"delete": "node do.js delete", "hook": "node do.js hook", "secret": "node do.js secret", "ci": "node do.js ci"}}' >package.json
	git add . && git commit -qm tools
	for what in delete:effects.delete-share hook:effects.git-hooks secret:effects.secret ci:effects.ci; do
		rule=${what#*:} what=${what%:*}
		for tool in "python3 do.py" make npm "node do.js"; do
			case $tool in
			npm) command -v npm >/dev/null || continue; tool="npm run --silent" ;;
			esac
			# shellcheck disable=SC2086  # words
			run j -- $tool $what
			eq "$tool $what" 121 "$status"
			has "$output" "$rule"
			hasnt "$output" IOSFODNN7
			eq "$tool $what: effects" hold "$(last effects decision)"
			eq "$tool $what: rule" "$rule" "$(last effects rule)"
			unchanged
			[ ! -e .git/hooks/post-merge ] && [ ! -e conf.ini ]
		done
	done
}

@test "effects: an old secret that stays where it was is no news" {
	printf 'key = AKIA%s\n' IOSFODNN7EXAMPLQ >conf.ini
	git add conf.ini && git commit -qm key
	run j -q -- sh -c 'echo more >>conf.ini'
	eq status 0 "$status"
	has "$(cat conf.ini)" more
}

@test "effects: an npm script's untracked victims are counted as such" {
	need "node is installed" command -v node
	mkdir data && for i in $(seq 12); do echo x >"data/$i"; done
	echo 'data' >.gitignore && git add .gitignore && git commit -qm ignore
	echo 'require("fs").rmSync("data", {recursive: true})' >drop.js
	run j -- node drop.js
	eq status 121 "$status"
	has "$output" "12"
	[ -e data/1 ]
}

@test "effects: ordinary git is nobody's business; a configuration that names programs is held, however it is written" {
	j -q -- sh -c 'git init -q sub && cd sub && echo x >f && git add f && git commit -qm one && git clone -q . ../clone'
	[ -d sub/.git/hooks ] && [ -f clone/.git/config ]
	j -q -- sh -c 'git remote add o ../sub && git checkout -qb x && git branch -q --set-upstream-to=main && git config user.name me'
	has "$(cat .git/config)" "[branch \"x\"]"
	local line
	for line in 'core.fsmonitor /tmp/x' 'core.hooksPath x' 'core.sshCommand x' 'alias.st !id' 'filter.f.clean x' 'credential.helper !x' \
		'include.path ../x' 'diff.external x' 'core.pager x' 'merge.m.driver x' 'gpg.program x'; do
		# shellcheck disable=SC2086
		run j -- python3 -c 'import subprocess, sys; subprocess.run(["git", "config"] + sys.argv[1].split(" ", 1))' "$line"
		eq "$line" 121 "$status"
		has "$output" effects.git-config
		command rein discard -q
	done
	run j -- python3 -c 'open(".git/config", "a").write("[cOrE] FSmonitor = x\n")'
	eq "one line" 121 "$status"
	run j -- python3 -c 'open("sub/.git/config", "a").write("[user \\\n]\n[alias]\n\tx = !id\n")'
	eq continued 121 "$status"
	run j -- sh -c 'mv .git/config c; ln -s ../c .git/config'
	eq link 121 "$status"
}

@test "effects: a tracked file that was hidden is not told to be gone without a person's yes" {
	mkdir -p certs secrets deep/repo
	echo K=1 >.env; echo k >certs/test.pem; echo s >secrets/one; echo a >a
	git add .env certs secrets a && git commit -qm hidden
	(cd deep/repo && git init -q . && echo k >x.key && echo b >b && git add -A && git commit -qm first)
	tracked() { git ls-tree -r --name-only HEAD -- .env certs secrets | xargs; }
	local version
	for version in 2 3 4; do
		git update-index --index-version $version
		run -121 j -- sh -c 'echo more >>a; git commit -qam all'
		has "$output" effects.git-forgotten
		has "$output" "--ro PATH"
		command rein discard -q
		run -0 j -- sh -c "echo $version >>a; git status --short >&2; git add a; git commit -qm one"
		eq tracked ".env certs/test.pem secrets/one" "$(tracked)"
	done
	# a repository inside
	run -121 j -- sh -c 'cd deep/repo && echo c >>b && git commit -qam all'
	command rein discard -q
	# what was shown is gone because somebody wanted it, and what nobody tracks is nobody's loss
	run -0 j --ro .env --ro certs/test.pem --ro secrets -- git rm -q --cached .env
	git commit -qm gone
	run -0 j --ro certs/test.pem --ro secrets -- sh -c 'echo e >>a; git commit -qam all'
	eq tracked "certs/test.pem secrets/one" "$(tracked)"
	# a directory that is hidden; and a person may mean it
	run -121 j --ro certs/test.pem -- git rm -q --cached -r secrets
	run -0 command rein commit
	git commit -qm gone
	eq tracked certs/test.pem "$(tracked)"
	[ -e secrets/one ] && [ -e .env ]
}

@test "effects: what git packs again or has done with is not lost; what no pack has is" {
	local i
	git tag start && git checkout -qb topic
	for i in 1 2 3; do echo "t$i" >file1 && git commit -qam "t$i"; done
	git checkout -q main && echo m >file1 && git commit -qam m
	for i in $(seq 15); do git branch "b$i" && git tag "t$i"; done
	j -q -- git bisect start main start && j -q -- git bisect reset
	run -1 j -q --on-failure commit -- git rebase main topic
	[ -d .git/rebase-merge ]
	run -0 j -- git rebase --abort
	[ ! -d .git/rebase-merge ]
	run -0 j -- git gc -q
	[ "$(git count-objects | cut -d' ' -f1)" -lt 5 ] || die "$(git count-objects)" # what the rebase left
	[ ! -e .git/refs/heads/b1 ]
	# several packs into one: all of their files go
	for i in 1 2 3 4; do echo "p$i" >file1 && git commit -qam "p$i" && git repack -q; done
	run -0 j -- git repack -adq
	eq packs "packs: 1" "$(git count-objects -v | grep packs:)"
	git fsck --strict
	# from a linked work tree, whose repository is another tree of the same transaction
	git worktree add -q ../linked -b linked
	(cd ../linked && for i in $(seq 12); do echo "l$i" >"l$i"; done && git add . && git commit -qm l && run -0 j -- git gc -q)
	[ "$(git count-objects | cut -d' ' -f1)" -lt 5 ] || die "$(git count-objects)"

	for i in $(seq 12); do echo "n$i" >"n$i"; done
	git add . && git commit -qm n
	echo 'import glob, os, subprocess
old = [f for f in glob.glob(".git/objects/??/*")]
subprocess.run("echo new | git hash-object -w --stdin | git pack-objects -q .git/objects/pack/pack", shell=True)
for f in old: os.unlink(f)' >lose.py
	run -121 j -- python3 lose.py
	has "$output" "in no version control"
	command rein discard -q
	echo 'import os
for i in range(1, 16): open(".git/refs/tags/t%d" % i, "w").write("%040d\n" % i)' >tags.py
	j -q -- python3 tags.py
	echo 'import os
open(".git/packed-refs", "a").write("".join("%040d refs/tags/t%d\n" % (i + 1, i) for i in range(1, 16)))
for i in range(1, 16): os.unlink(".git/refs/tags/t%d" % i)' >refs.py
	run -121 j -- python3 refs.py
	has "$output" "15 files deleted"
}

@test "effects: whatever git reads as configuration is read as such: bare, apart, linked, included, moved in" {
	held_for_programs() { # NAME COMMAND
		run j -- sh -c "$2"
		eq "$1" 121 "$status"
		has "$output" effects.git-config
		command rein discard -q
	}
	git init -q --bare store && git init -q --separate-git-dir=apart there
	held_for_programs bare 'git -C store config core.fsmonitor x'
	held_for_programs apart 'git -C there config core.pager x'
	held_for_programs new 'git init -q --bare fresh && git -C fresh config alias.x !id'
	run j -q -- sh -c 'git -C store config user.name me; mkdir plain; printf "[core]\n\tpager = x\n" >plain/config'
	eq ordinary 0 "$status"
	# it was nobody's, and becomes git's
	held_for_programs completed 'mkdir plain/objects plain/refs; echo ref: refs/heads/main >plain/HEAD'
	# from elsewhere
	mv .git/config kept && printf '[core]\n\tfsmonitor = x\n' >other
	held_for_programs moved 'mv other .git/config'
	mv kept .git/config
	# what is included
	git config include.path ../shared && printf '[user]\n\tname = a\n' >shared
	run j -q -- sh -c 'echo "[color]" >>shared'
	eq included 0 "$status"
	held_for_programs included 'printf "[alias]\n\tx = !id\n" >>shared'
	# a linked work tree writes to the repository it belongs to
	git worktree add -q ../linked
	cd ../linked
	held_for_programs linked 'git config core.sshCommand x'
	git config extensions.worktreeConfig true
	held_for_programs worktree 'git config --worktree core.sshCommand x'
	# what git looks for elsewhere; a new work tree of the repository is nobody's business
	cd "$W"
	git config --unset include.path
	mkdir -p away/objects away/refs && printf '[core]\n\tfsmonitor = x\n' >away/config
	held_for_programs commondir 'echo ../away >.git/commondir'
	held_for_programs commondir 'ln -s ../shared .git/commondir'
	run j -q -- git worktree add -q second
	eq second 0 "$status"
	held_for_programs second 'echo ../../../away >.git/worktrees/second/commondir'
	mkdir half && echo ../away >half/commondir
	held_for_programs half 'echo ref: refs/heads/main >half/HEAD'
}

@test "effects: a hook is one wherever its repository lies: bare, apart, a submodule's, one that becomes a repository" {
	held_for_hook() { # NAME COMMAND
		run j -- sh -c "$2"
		eq "$1" 121 "$status"
		has "$output" effects.git-config
		command rein discard -q
	}
	git init -q --bare store && git init -q --separate-git-dir=apart there
	git init -q "$T/other" && git -C "$T/other" commit -q --allow-empty -m one
	git submodule --quiet add "$T/other" sub
	find store/hooks -type f ! -name update.sample -delete
	mkdir -p plain/hooks mine && echo id >plain/hooks/post-receive && echo id | tee mine/update other >/dev/null
	held_for_hook bare 'cp other store/hooks/post-receive'
	held_for_hook moved 'mv store/hooks/update.sample store/hooks/update'
	held_for_hook apart 'ln -s "$PWD/other" apart/hooks/post-commit'
	held_for_hook directory 'rm -r store/hooks; ln -s ../mine store/hooks'
	held_for_hook whole 'rm -r store/hooks; mv mine store/hooks'
	held_for_hook new 'git init -q --bare fresh && cp other fresh/hooks/update'
	held_for_hook completed 'mkdir plain/objects plain/refs; echo ref: refs/heads/main >plain/HEAD'
	printf 'hook:\n\t@cp other .git/modules/sub/hooks/pre-commit\n' >Makefile
	held_for_hook submodule 'make -s hook'
	# where the configuration says that they are
	mkdir -p tools/real && git config core.hooksPath tools/hooks/
	held_for_hook coming 'mkdir tools/hooks && cp other tools/hooks/pre-commit'
	git config core.hooksPath tools/hooks && mkdir tools/hooks
	held_for_hook named 'cp other tools/hooks/pre-commit'
	held_for_hook link 'rmdir tools/hooks; ln -s ../mine tools/hooks'
	rmdir tools/hooks && ln -s real tools/hooks
	held_for_hook behind 'cp other tools/real/pre-commit'
	git config core.hooksPath "$PWD/tools/real"
	held_for_hook absolute 'cp other tools/real/pre-commit'
	git config --unset core.hooksPath && printf '[core]\n\thooksPath = "tools/real"\n' >more && git config include.path ../more
	held_for_hook included 'cp other tools/real/pre-commit'
	git config --unset include.path
	# nobody's, and samples
	run j -q -- sh -c 'git init -q --bare fresh; mkdir src; mkdir src/hooks; echo 1 >src/hooks/use.js; echo "#" >>store/hooks/update.sample'
	eq ordinary 0 "$status"
}

@test "effects: a git configuration is read as git reads it" {
	local text base='[core]\n\tbare = false\n[user]\n\tname = !id\n[credential]\n\thelper = store \\\n--file x\n'
	printf '%s\n' 'import shutil' 'shutil.copyfile("new", ".git/config")' >put.py
	# brackets in comments and quotes, several heads in a line, a mark at the beginning, a line that was there under
	# another head, the rest of a value, keys that are seldom seen
	for text in "$base"'[core] fsmonitor = x # ]' "$base"'[core] fsmonitor = "x]"' "$base"'[branch "a]"] helper = x' \
		"$base"'[core] [alias] x = !id' "$base"'[core][alias]\n\tx = !id' '\xef\xbb\xbf[core] fsmonitor = x' \
		"${base/\[user\]/[alias]}" "${base/--file x/; id}" "$base"'[interactive] diffFilter = x' \
		"$base"'[protocol "ext"] allow = always' "$base"'[gc] recentObjectsHook = x'; do
		printf '%b' "$base" >.git/config
		printf '%b\n' "$text" >new
		run j -- python3 put.py
		eq "$text" 121 "$status"
		has "$output" effects.git-config
		command rein discard -q
	done
	printf '%b' "$base"'[branch "x]"]\n\tremote = o ; ]\n' >new
	run j -q -- python3 put.py
	eq ordinary 0 "$status"
}

@test "effects that are denied are rolled back, status 122" {
	printf 'version: 1\neffects:\n  - id: no.docs\n    match: {path: ["docs/**"]}\n    decide: deny\n    message: documentation is written by people\n' >p.yaml
	run j -p p.yaml -- sh -c 'mkdir docs; echo x >docs/a'
	eq status 122 "$status"
	has "$output" "documentation is written by people"
	[ ! -e docs ]
	eq rollback rolled_back "$(last rollback result)"
}

@test "validate: must succeed in the box before a commit" {
	printf 'version: 1\nvalidate: ["test ! -e bad", "grep -q 1 file1"]\n' >p.yaml
	run j -p p.yaml -q -- sh -c 'echo good >good'
	eq status 0 "$status"
	[ -e good ]
	run j -p p.yaml -- sh -c 'echo bad >bad'
	eq status 121 "$status"
	has "$output" "must succeed before a commit"
	[ ! -e bad ]
	run j -p p.yaml -- sh -c 'echo 2 >file1'
	eq status 121 "$status"
	eq file1 1 "$(cat file1)"
}

@test "-q: what went as asked needs no words, and all else has them" {
	printf 'version: 1\nvalidate: ["test ! -e bad"]\n' >"$T/v.yaml"
	printf 'version: 1\neffects:\n  - id: no.docs\n    match: {path: ["docs/**"]}\n    decide: deny\n    message: no\n' >"$T/d.yaml"
	local a
	for a in --commit --hold --discard "--on-failure hold" "--on-failure discard"; do
		# shellcheck disable=SC2086
		run -3 j -q -y $a -- sh -c 'echo 1 >as_asked; exit 3'
		eq "$a" "" "$output"
	done
	run -3 j -q -- sh -c 'exit 3'
	eq "no transaction" "" "$output"
	run -3 j -q -- sh -c 'echo 1 >half; exit 3'
	has "$output" "Held"
	run -121 j -q -- git clean -fdx
	has "$output" "Held"
	has "$output" "rein commit"
	run -121 j -q -p "$T/v.yaml" -- sh -c 'echo 1 >bad'
	has "$output" "must succeed before a commit"
	run -122 j -q -p "$T/d.yaml" -- sh -c 'mkdir docs; echo 1 >docs/x'
	has "$output" "rolled back"
	run -124 j -q --timeout 200ms -- sleep 20
	has "$output" "timed out"
	command rein run -q -- sleep 20 3>&- >"$T/out" 2>&1 &
	until_true 10 sh -c 'rein ps --json | grep -q sleep'
	command rein kill --reason because "$(command rein ps --json | field boxes.0.id)"
	wait $! || true
	has "$(cat "$T/out")" because
}

@test "validate: a check that cannot be run holds what was done" {
	printf 'version: 1\nvalidate: ["true"]\n' >p.yaml
	mkdir "$T/bin"
	cp "$REIN_BUILD/rein" "$REIN_BUILD/rein-box" "$T/bin"
	"$T/bin/rein" run -p p.yaml --commit -- sh -c 'echo 1 >new; sleep 1' 3>&- >"$T/out" 2>&1 &
	local pid=$! ended=0
	until_true 10 eval '[ "$(rein ps --json)" != "{\"boxes\":[]}" ]'
	mv "$T/bin/rein-box" "$T/bin/away"
	wait $pid || ended=$?
	eq status 121 "$ended"
	has "$(cat "$T/out")" "cannot be run"
	eq state held "$(state_of "$(newest)")"
	[ ! -e new ]
}

@test "validate: standard input and output are the command's alone" {
	printf 'version: 1\nvalidate: ["cat; echo checked"]\n' >p.yaml
	run --separate-stderr j -p p.yaml -- sh -c 'read -r x; echo "$x" >file1; echo data' < <(printf 'one\ntwo\n')
	eq status 0 "$status"
	eq data data "$output"
	has "$stderr" checked
	hasnt "$stderr" two
	j -q -p p.yaml -- sh -c 'echo 3 >file1' 2>&-
	eq file1 3 "$(cat file1)"
}

@test "validate: also before what a failed command did is committed" {
	printf 'version: 1\nvalidate: ["test ! -e bad"]\n' >p.yaml
	printf 'version: 1\non_failure: commit\n' >q.yaml
	local how
	for how in '-p q.yaml' --on-failure=commit --commit; do
		# shellcheck disable=SC2086
		run j -p p.yaml $how -- sh -c 'touch bad; exit 3'
		has "$output" "must succeed before a commit"
		[ ! -e bad ]
		# shellcheck disable=SC2086
		run j -p p.yaml $how -- sh -c 'touch good; exit 3'
		eq "$how" 3 "$status"
		[ -e good ]
		rm good
	done
}

@test "validate: what an untrusted project wants to be run is judged like any command" {
	local text
	# asked, denied, held: none of them runs, and the changes wait
	mkdir -p "$HOME/.config/rein"
	printf 'version: 1\nrules:\n  - {id: no.seq, match: {program: seq}, decide: deny, message: no counting here}\n' >"$HOME/.config/rein/policy.yaml"
	for text in 'touch ran; git push origin main' 'touch ran; seq 3' 'touch ran; rm -rf ../*'; do
		printf 'version: 1\nvalidate: ["%s"]\n' "$text" >.rein.yaml
		run j -- sh -c 'echo 2 >file1'
		eq "$text" 121 "$status"
		has "$output" "the project wants"
		eq "$text" 1 "$(cat file1)"
		hasnt "$(command rein diff --name-status)" ran
		command rein discard -q
	done
	printf 'version: 1\nvalidate: [seq 3]\n' >.rein.yaml
	run j -- sh -c 'echo 2 >file1'
	has "$output" "no counting here"
	eq recorded hold "$(last effects decision)"
	command rein discard -q
	# trusted, or harmless, it is run
	command rein policy trust
	run j -q -- sh -c 'echo 2 >file1'
	eq trusted 0 "$status"
	printf 'version: 1\nvalidate: [grep -q 3 file1]\n' >.rein.yaml
	run j -q -- sh -c 'echo 3 >file1'
	eq harmless 0 "$status"
	eq file1 3 "$(cat file1)"
}

@test "validate: what the checks themselves write is judged, too" {
	printf 'version: 1\nvalidate: ["mkdir -p .git/hooks; echo true >.git/hooks/pre-commit"]\n' >p.yaml
	run j -p p.yaml -- touch new
	eq status 121 "$status"
	has "$output" effects.git-hooks
	[ ! -e new ]
	[ ! -e .git/hooks/pre-commit ]
}

@test "validate: the transaction is its command's, and whom its checks tried to reach is told" {
	printf 'version: 1\nvalidate: ["for i in 1 2 3 4 5 6 7 8 9; do getent hosts n$i.example.org; done; true", "ls file1"]\n' >p.yaml
	run --separate-stderr j -p p.yaml --json --watch --net restricted --allow-host ok.example.org --commit -- \
		sh -c 'echo 2 >file1; getent hosts first.example.org; ls build; true'
	eq status 0 "$status"
	eq names 10 "$(tail -n 1 <<<"$stderr" | python3 -c '
import json, sys
print(len({x["name"] for x in json.loads(sys.stdin.read())["network"]["refusals"]}))')"
	eq executed 3 "$(tail -n 1 <<<"$stderr" | field execs.total)"
	eq kept 3 "$(command rein show --json | field execs.total)"
}

@test "advisory: decided and recorded, not enforced" {
	printf 'version: 1\nmode: advisory\n' >p.yaml
	run j -p p.yaml -q -- sh -c 'rm -f file1 file2 file3 file4 file5 file6 file7 file8 file9 file1? file2?'
	eq status 0 "$status"
	[ ! -e file1 ]
	eq effects hold "$(last effects decision)"
}

@test "a broken policy denies everything and says where it is broken" {
	printf 'version: 1\nrules:\n  - id: x\n    decide: perhaps\n' >.rein.yaml
	run j -- touch ran
	eq status 120 "$status"
	has "$output" ".rein.yaml:4"
	[ ! -e ran ]
}

@test "policy settings: hidden names, read-only and scratch paths, on_failure, time" {
	mkdir -p vendor work deep/er && echo v >vendor/v && echo s >deep/er/my.token
	printf 'version: 1\nworkspace:\n  hidden: ["*.token"]\n  readonly: [vendor/**]\n  scratch: [work]\non_failure: discard\n' >p.yaml
	run j -p p.yaml --discard -q -- sh -c 'cat deep/er/my.token; echo x >vendor/v; echo y >work/y; cat work/y'
	has "$output" "my.token: No such file"
	has "$output" "vendor/v: Read-only file system"
	has "$output" y
	[ ! -e work/y ]
	run j -p p.yaml -- sh -c 'echo x >new; exit 3'
	eq status 3 "$status"
	has "$output" discarded
	printf 'version: 1\nlimits: {time: 200ms}\n' >p.yaml
	run j -p p.yaml -q -- sleep 20
	eq status 124 "$status"
	printf 'version: 1\nworkspace: {readonly: ["a/**/b"]}\n' >p.yaml
	run j -p p.yaml -q -- true
	eq status 125 "$status"
	has "$output" "workspace.readonly"
}

@test "no record, no action: when the record cannot be written nothing runs" {
	j -q -- true
	chmod -R a-w "$REIN_STATE/audit" 2>/dev/null || true
	if is_root; then
		rm -rf "$REIN_STATE/audit" && ln -s /proc/self/nothing "$REIN_STATE/audit"
	fi
	run j -q -- touch ran
	eq status 125 "$status"
	has "$output" "no record, no action"
	[ ! -e ran ]
}

@test "agent, session and task are on the record and can be ruled by" {
	printf 'version: 1\nrules:\n  - id: no.bot\n    match: {agent: bot, level: ">= safe"}\n    decide: deny\n    message: not you\n' >p.yaml
	run j -p p.yaml --agent bot -- true
	eq status 120 "$status"
	REIN_AGENT=other REIN_TASK=t-1 j -p p.yaml -q --session s.1 -- true
	eq agent other "$(last run.start agent)"
	eq session s.1 "$(last run.start session)"
	eq task t-1 "$(last run.start task)"
	run j --agent 'two words' -- true
	eq status 125 "$status"
}

@test "secrets of the command line and of the environment are in no byte of the state" {
	MY_API_KEY=hunter2-hunter2-hunter2 j --hold -q -- sh -c 'echo x >f # ghp_abcdefghijklmnopqrstuvwxyz0123456789 hunter2-hunter2-hunter2'
	command rein log >/dev/null
	run grep -rlE 'ghp_abcdefghij|hunter2-hunter2' "$REIN_STATE"
	eq "found in" "" "$output"
	# nor what the files of other programs keep
	j --hold -q -- sh -c 'echo y >f' -- 'machine h login ada password kept-netrc' db:5432:app:ada:kept-pgpass \
		"printf 'machine h\\nlogin ada\\npassword kept-printf\\n'" $'machine h\n\tlogin ada\n\tpassword kept-lines\n' '//r.example/:_auth=YWRhOmtlcHQtYXV0aA=='
	command rein log >/dev/null
	run grep -rlE 'kept-|YWRhOmtlcHQtYXV0a' "$REIN_STATE"
	eq "found in" "" "$output"
}

@test "files that became something else are as lost as those that were removed" {
	local i how
	git init -q
	for i in {1..12}; do echo "$i" >"f$i"; done
	for how in 'rm "$f"; mkdir "$f"' 'ln -sf /x "$f"' 'rm "$f"; mkfifo "$f"'; do
		echo "for f in f*; do $how; done" >s.sh
		run -121 j -- sh ./s.sh
		has "$output" "12 files deleted"
		command rein discard -q
	done
}

@test "alerts of the policy look at what just happened" {
	printf 'version: 1\nalerts:\n  - id: my.refusals\n    when: {type: decision, decision: deny}\n    count: 2\n    within: 1h\n    to: [stderr]\n' >"$HOME/p.yaml"
	command rein policy check "$HOME/p.yaml"
	run j -p "$HOME/p.yaml" -- dd if=/dev/zero of=/dev/sda
	hasnt "$output" "alert"
	run j -p "$HOME/p.yaml" -- dd if=/dev/zero of=/dev/sda
	has "$output" "alert my.refusals"
}

@test "alerts that somebody did not live to look for are found by who comes a minute later" {
	local cursor=$REIN_STATE/audit/alerts.cursor
	printf 'version: 1\nalerts:\n  - id: my.refusals\n    when: {type: decision, decision: deny}\n    count: 2\n    within: 1h\n    to: [stderr]\n' >"$HOME/p.yaml"
	run j -- dd if=/dev/zero of=/dev/sda
	run j -- dd if=/dev/zero of=/dev/sda
	echo 0 >"$cursor"
	run j -p "$HOME/p.yaml" -- true
	hasnt "$output" alert
	touch -d '2 minutes ago' "$cursor"
	run j -p "$HOME/p.yaml" -- true
	has "$output" "alert my.refusals"
}

@test "the same refusal three times: the agent is told to stop trying" {
	local i
	for i in 1 2; do
		run j --agent bot -- dd if=/dev/zero of=/dev/sda
		hasnt "$output" "stop trying"
	done
	run j --agent bot -- dd if=/dev/zero of=/dev/sda
	eq status 120 "$status"
	has "$output" "stop trying"
	run j --agent bot --json -- dd if=/dev/zero of=/dev/sda
	eq times 4 "$(printf '%s\n' "$output" | tail -1 | field refused_times)"
	run j --agent other -- dd if=/dev/zero of=/dev/sda
	hasnt "$output" "stop trying"
}

@test "a kind of socket that is refused is on the record, with what was wanted" {
	run j --approve -q -- python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'
	eq result refused "$(last network result)"
	eq peer raw "$(last network effects.peers.0)"
}

@test "knowledge of the user's own is used by classify, policy explain and run; none of the project's is" {
	mkdir -p "$HOME/.config/rein/knowledge.d" knowledge.d .config/rein/knowledge.d .rein/knowledge.d bin
	printf '#!/bin/sh\ntouch ran\n' >bin/frobnicate && chmod +x bin/frobnicate
	for d in . .config/rein .rein; do printf 'programs:\n  rm: safe\n  frobnicate: safe\n' >$d/knowledge.d/x.yaml; done
	eq unknown risky "$(command rein classify --json frobnicate | field level)"
	eq "rm of a project's" destructive "$(command rein classify --json 'rm -rf ~' | field level)"
	cat >"$HOME/.config/rein/knowledge.d/own.yaml" <<-E
		programs:
		  frobnicate: {level: dangerous, reach: irreversible, why: wakes the customers}
		environment:
		  exec: [FROB_HOOK]
		verbs:
		  delete: frobble
	E
	eq known dangerous "$(command rein classify --json frobnicate | field level)"
	eq environment dangerous "$(command rein classify --json 'FROB_HOOK=x ls' | field level)"
	eq verb destructive "$(command rein classify --json 'newctl things frobble x' | field level)"
	has "$(command rein policy explain frobnicate)" "wakes the customers"
	PATH=$W/bin:$PATH run j -- frobnicate
	eq status 121 "$status"
	has "$output" "wakes the customers"
	[ ! -e ran ]
	eq decision ask "$(last decision decision)"
}

@test "a knowledge file that is not understood: nothing is judged and nothing runs, the message says where" {
	local d=$HOME/.config/rein/knowledge.d bad
	mkdir -p "$d"
	for bad in 'programs:\n  frob: {levle: safe}\n' 'programs: [\n' 'programs:\n  frob: nearly-safe\n' '\377\376' \
		'paths:\n  secret: [""]\n' 'paths:\n  secret: [{}]\n' 'environment:\n  exec: [[]]\n' 'verbs:\n  delete: [x]\n'; do
		# shellcheck disable=SC2059  # it is the format
		printf "$bad" >"$d/own.yaml"
		run j -- touch ran
		[ "$status" -ne 0 ]
		[ ! -e ran ]
		[[ $output == *own.yaml:[0-9]*:[0-9]* ]] || die "no place in: $output"
		run command rein classify 'ls'
		[ "$status" -ne 0 ]
		has "$output" "own.yaml:"
		run command rein policy explain 'ls'
		[ "$status" -ne 0 ]
		has "$output" "own.yaml:"
	done
	printf 'programs:\n  frob: safe\n' >"$d/own.yaml"
	cp "$d/own.yaml" "$d/twice.yaml"
	run j -- touch ran
	[ "$status" -ne 0 ]
	has "$output" "twice.yaml"
	rm "$d/twice.yaml" "$d/own.yaml"
	mkdir "$d/own.yaml"
	run j -- touch ran
	[ "$status" -ne 0 ]
	has "$output" "not an ordinary file"
	[ ! -e ran ]
	rmdir "$d/own.yaml"
	j -q -- touch ran
	[ -e ran ]
}

# A policy that denies git push, and what pushes to where it leaves a trace: nothing but the judge is in its way.
no_push() {
	git init -q --bare "$T/away.git"
	git remote add o "$T/away.git"
	cat >"$T/p.yaml" <<-E
		version: 1
		rules:
		  - {id: no.push, match: {program: git, subcommand: push}, decide: deny}
	E
}
pushed() { [ -n "$(git -C "$T/away.git" for-each-ref)" ]; }
# denied OPTION... -- COMMAND...
denied() {
	run j --policy "$T/p.yaml" --rw "$T/away.git" "$@"
	eq status 120 "$status"
	has "$output" "rule: no.push"
	if pushed; then die "it was pushed: $*"; fi
}

@test "a variable is judged by what the box will have in it: --env, --env-file, and not what rein has" {
	no_push
	export CMD=status
	denied -e CMD=push -- sh -c 'git $CMD o HEAD'
	echo CMD=push >cmd.env
	denied --env-file cmd.env -- sh -c 'git $CMD o HEAD'
	# read once: what was judged is what it gets
	denied --env-file <(echo CMD=push) -- sh -c 'git $CMD o HEAD'
	run j --env-file <(echo CMD=once) -q -- sh -c 'echo $CMD >got'
	eq got once "$(cat got)"
	unset CMD
	denied -e CMD= -- sh -c '${CMD-echo} git push o HEAD'
	export CMD=push
	run j --policy "$T/p.yaml" -e CMD=status -q -- sh -c 'git $CMD'
	eq status 0 "$status"
}

@test "a variable that is held back is not set: what stands beside it is judged without it" {
	no_push
	export SSH_AUTH_SOCK=/run/agent
	denied -- sh -c '${SSH_AUTH_SOCK:+echo} git push o HEAD'
	denied -- sh -c '$SSH_AUTH_SOCK git push o HEAD'
	# nor is one that nobody ever set
	denied -- sh -c '$NOBODY_SET_THIS git push o HEAD'
}

@test "where it is, is what the shell says, whatever the environment says" {
	run j -- sh -c 'cd /etc && rm -rf "$PWD"/x'
	has "$output" "destructive"
}

@test "a credential is one by its name, whether rein has it or not, and its value is in no reason" {
	for way in "MY_TOKEN=/etc/abcdef" MY_TOKEN; do
		MY_TOKEN=/etc/abcdef j -q -e "$way" -- sh -c 'echo $MY_TOKEN' >/dev/null
		eq level risky "$(last decision level)"
	done
	unset MY_TOKEN
	j -q -- sh -c 'echo $MY_TOKEN' >/dev/null
	eq level risky "$(last decision level)"
	run j -e MY_TOKEN=/etc/abcdef -- sh -c 'rm -rf $MY_TOKEN'
	hasnt "$output" abcdef
	hasnt "$(command rein audit log --json)" abcdef
}

@test "what may be under a rule is refused by what it does, not in the words of the rule" {
	for c in 'rm -rf /' 'find / -delete'; do
		run j -- sh -c "$c"
		eq status 121 "$status"
		has "$output" "deletes a system directory (/)"
		hasnt "$output" "overwrites a disk"
		hasnt "$output" "instead: "
	done
	run command rein classify 'echo $MY_TOKEN'
	has "$output" "prints a credential"
	hasnt "$output" "()"
	hasnt "$output" "rein.own-files"
}
