#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# At a terminal: the question and its answers, programs that want a terminal, colours, the pager.
# shellcheck disable=SC2016,SC2030,SC2031
load helper

more_setup() { export TERM=xterm-256color; }
on_tty() { python3 "$BATS_TEST_DIRNAME/terminal.py" "$@"; }

@test "the question: c commits, d discards, k keeps, a wrong key is told what they mean" {
	run -0 on_tty "ommit=>c" -- rein run -- sh -c 'echo 1 >a'
	has "$output" Committed
	eq a 1 "$(cat a)"
	run -0 on_tty "ommit=>d" -- rein run -- sh -c 'echo 2 >b'
	has "$output" discarded
	[ ! -e b ]
	run -0 on_tty "ommit=>k" -- rein run -- sh -c 'echo 3 >c'
	has "$output" Held
	[ ! -e c ]
	eq one 1 "$(rein log --ids --state held | wc -l)"
	rein discard -q
	run -0 on_tty "later?=>n" "later?=>c" -- rein run -- sh -c 'echo 4 >d'
	has "$output" "discard: thrown away"
	eq d 4 "$(cat d)"
	# escape and end of file keep: nothing is lost, nothing is done
	run -0 on_tty 'ommit=>\x1b' -- rein run -- sh -c 'echo 5 >e'
	has "$output" Held
	[ ! -e e ]
}

@test "the question: what a terminal answers to a command is no key" {
	# as it is, and what a flush leaves of it; then a person
	local -r colour='\x1b]11;rgb:cccc/cccc/cccc\x07'
	run -0 on_tty "ommit=>$colour" "=>d" -- rein run -- sh -c 'echo 1 >a; printf "\033]11;?\007"'
	has "$output" discarded
	[ ! -e a ]
	run -0 on_tty "ommit=>cccc/cccc\\x07" "=>d" -- rein run -- sh -c 'echo 1 >a'
	has "$output" discarded
	[ ! -e a ]
	# many, one after the other, before the question and behind it
	run -0 on_tty "ommit=>$colour$colour" "=>$colour" "=>ccc$colour" "=>y$colour" "=>d" -- \
		rein run -- sh -c 'echo 1 >a'
	has "$output" discarded
	[ ! -e a ]
	# a script that types Enter behind its answer
	run -0 on_tty "ommit=>c\\n" -- rein run -- sh -c 'echo 1 >a'
	eq a 1 "$(cat a)"
}

@test "the question: a command does not say how it is shown" {
	local said
	run -0 on_tty "ommit=>d" -- rein run -- sh -c 'echo 1 >a; printf "\033[8m\033[5;5r\033[?1049h\033_rest"'
	said=${output#*_rest}
	has "$said" "created"
	said=${said%%created*}
	has "$said" $'\e\\' # the string that would swallow the rest ends
	has "$said" $'\e[?47l'
	hasnt "$said" 1049 # it would put the cursor where a program like vim found it
	has "${said#*$'\e[?47l'}" $'\e[0m'
	has "$said" $'\e[r'
	# who only prints leaves nothing to be put right, and a terminal that is none is left alone
	run -0 on_tty "ommit=>d" -- rein run -- sh -c 'echo 1 >a; echo text'
	hasnt "$output" $'\e[r'
	TERM=dumb run -0 on_tty "ommit=>d" -- rein run -- sh -c 'echo 1 >a; printf "\033[8m"'
	hasnt "$output" $'\e[r'
}

@test "the question shows what changed, and asks on failure too" {
	echo x >gone
	run -4 on_tty "ommit=>d" -- rein run -- sh -c 'echo 1 >made; rm gone; exit 4'
	has "$output" created
	has "$output" made
	has "$output" deleted
	has "$output" gone
	[ -e gone ] && [ ! -e made ]
	# before the question, not only after it
	has "${output%%ommit*}" "the command failed:"
	has "${output%%ommit*}" "exit 4"
	run -0 on_tty "ommit=>d" -- rein run -- sh -c 'echo 1 >made'
	hasnt "$output" "the command failed"
}

@test "the question: s chooses files; the rest is held" {
	run -0 on_tty "ommit=>s" "one=>y" "two=>n" -- rein run -- sh -c 'echo 1 >one; echo 2 >two'
	eq ls one "$(ls)"
	has "$output" "1 created"
	has "$output" "the rest is held as"
	rein commit -q
	eq ls $'one\ntwo' "$(ls)"
}

@test "the question: who chooses no file is asked again, and everything is still there" {
	run -0 on_tty "ommit=>s" "created a=>n" "created b=>n" "ommit=>c" -- rein run -- sh -c 'echo 1 >a; echo 2 >b'
	has "$output" "no change is chosen"
	has "$output" "Committed"
	eq a 1 "$(cat a)"
	eq b 2 "$(cat b)"
}

@test "the question: s asks about each by its own; only y takes, and escape takes none" {
	run -0 on_tty "ommit=>s" 'created a=>x' 'created a=>y' 'created b=>\x1b' "ommit=>k" -- rein run -- sh -c 'echo 1 >a; echo 2 >b'
	has "$output" "2 created"
	eq ls "" "$(ls)"
	rein discard -q
	# the same name in another tree
	mkdir "$T/w2"
	run -0 on_tty "ommit=>s" "created a=>y" "w2/a [y/n]=>n" -- rein run --approve --rw "$T/w2" -- sh -c "echo 1 >a; echo 2 >$T/w2/a"
	eq taken 1 "$(cat a)"
	[ ! -e "$T/w2/a" ]
	rein discard -q
	# a rename that is left out leaves the old name
	seq 1 100 >old
	run -0 on_tty "ommit=>s" "renamed new=>n" "created other=>y" -- rein run -- sh -c 'mv old new; echo 1 >other'
	eq ls $'a\nold\nother' "$(ls)"
	rein commit -q
	eq ls $'a\nnew\nother' "$(ls)"
}

# While the run has begun and not ended.
change_outside() {
	until [ -n "$(ls "$REIN_STATE/txn" 2>/dev/null)" ]; do sleep 0.05; done
	sleep 0.3
	echo out >one
}

@test "the question: s, and then it cannot be committed: what was not chosen is named, too" {
	local id rest
	echo 1 >one
	change_outside &
	run -123 on_tty "ommit=>s" "one [y/n]=>y" "two [y/n]=>n" -- rein run -- sh -c 'sleep 1; echo 2 >>one; echo 2 >two'
	wait
	has "$output" "one: modified here, changed outside"
	rest=$(rein log --ids --state held -n 1)
	has "$output" "the rest is held as $rest"
	id=$(rein log --ids --state held | tail -n 1)
	rein discard -q "$id"
	run -0 rein commit "$rest"
	eq all "out 2" "$(cat one two | xargs)"
}

@test "the question: s, then a conflict, then a part of it: what was not chosen is held once" {
	local id rest
	echo 1 >one
	change_outside &
	run -123 on_tty "ommit=>s" "one [y/n]=>y" "three [y/n]=>y" "two [y/n]=>n" -- \
		rein run -- sh -c 'sleep 1; echo 2 >>one; echo 2 >two; echo 3 >three'
	wait
	rest=$(rein log --ids --state held -n 1)
	id=$(rein log --ids --state held | tail -n 1)
	run -125 rein commit "$id" --only two
	run -0 rein commit "$id" --only three
	eq held 2 "$(rein log --ids --state held | wc -l)"
	for id in $(rein log --ids --state held); do [ "$id" = "$rest" ] || eq other one "$(rein diff --name-status "$id" | cut -f 2)"; done
	run -0 rein commit "$rest"
	eq all "out 2 3" "$(cat one two three | xargs)"
}

@test "no question when nothing changed, with --commit, --hold, -q, or when stdin is no terminal" {
	run -0 on_tty -- rein run -- true
	hasnt "$output" "iscard"
	run -0 on_tty -- rein run --commit -- sh -c 'echo 1 >a'
	hasnt "$output" "[d]"
	run -0 on_tty -- sh -c 'rein run -- sh -c "echo 1 >b" </dev/null'
	hasnt "$output" "[d]"
	eq ls $'a\nb' "$(ls)"
}

@test "a terminal inside: tty, its size, job control, raw keys; and not the real one" {
	run -0 on_tty -s 101x37 -- rein run --discard -- sh -c 'tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all'
	has "$output" "/dev/pts/"
	has "$output" "37 101"
	has "$output" all
	run -0 on_tty 'ready=>abc\n' -- rein run --discard -- sh -c 'echo ready; read -r x; echo "got $x"'
	has "$output" "got abc"
	# ^C reaches the command, not rein
	run on_tty 'ready=>\x03' -- rein run --discard -- sh -c 'trap "echo trapped; exit 5" INT; echo ready; while :; do sleep 0.05; done'
	has "$output" trapped
	eq status 5 "$status"
	run -0 on_tty '$ =>echo $-\n' '$ =>exit\n' -- env PS1='$ ' rein run --discard -- bash --norc -i
	has "$output" "m"
	hasnt "$output" "no job control"
}

@test "colours at a terminal only; NO_COLOR and TERM=dumb turn them off" {
	local esc=$'\e['
	run -0 on_tty -- rein run --commit -- sh -c 'echo 1 >a'
	has "$output" "$esc"
	run -0 on_tty -- env NO_COLOR=1 rein run --commit -- sh -c 'echo 2 >a'
	hasnt "$output" "$esc"
	run -0 on_tty -- env TERM=dumb rein run --commit -- sh -c 'echo 3 >a'
	hasnt "$output" "$esc"
	run -0 rein run --commit -- sh -c 'echo 4 >a'
	hasnt "$output" "$esc"
	run -0 on_tty -- env TERM=dumb REIN_PAGER="sed s/^/:/" rein show
	hasnt "$output" "$esc"
	run -0 on_tty -- rein --no-pager log || run -0 on_tty -- rein log --no-pager
	has "$output" "$esc"
	run -0 rein log
	hasnt "$output" "$esc"
}

@test "the pager: started at a terminal, not in a pipe, not with --no-pager; REIN_PAGER names it" {
	q sh -c 'echo 1 >a'
	export REIN_PAGER="sed s/^/PAGED:/"
	run -0 on_tty -- rein show
	has "$output" "PAGED:transaction"
	run -0 on_tty -- rein show --no-pager
	hasnt "$output" PAGED
	run -0 rein show
	hasnt "$output" PAGED
	run -0 on_tty -- env REIN_PAGER= rein show
	hasnt "$output" PAGED
}

@test "the pager: a file's bytes drive no terminal, in colour or without" {
	local with
	q sh -c 'printf "\033]0;title\007text\n" >a'
	for with in TERM=xterm TERM=dumb NO_COLOR=1; do
		run -0 on_tty -- env "$with" REIN_PAGER='sed s/^/:/' rein diff
		has "$output" '\x1b]0;title\x07text'
		hasnt "$output" $'\e]'
	done
	# a patch is the bytes themselves
	rein diff | grep -q $'^+\e]0;title\a'
}

@test "the pager: who leaves it early, looks twice or has none is told everything else all the same" {
	seq 100000 >many
	q touch b
	export REIN_PAGER="head -n 1"
	held sed -i s/1/2/ many >/dev/null
	run -0 on_tty -- rein diff
	has "$output" "modified many"
	hasnt "$output" "cannot be written"
	rein discard -q
	run -0 on_tty "later?=>v" "later?=>v" "later?=>c" -- rein run -- sh -c 'echo 1 >a'
	eq "looked at" 2 "$(grep -c "created a" <<<"$output")"
	has "$output" Committed
	hasnt "$output" "cannot be written"
	unset REIN_PAGER
	mkdir "$T/bin"
	ln -s "$(command -v sh)" "$(command -v cat)" "$REIN_BUILD/rein" "$T/bin"
	run -0 on_tty -- env PATH="$T/bin" rein show
	has "$output" "transaction"
}

@test "a signal at the question: the terminal is as it was, and nothing is lost" {
	local sig
	run -0 on_tty "later?=>\\x03" -- sh -c 'rein run -- sh -c "echo 1 >a"; echo is $?; stty -a'
	has "$output" Held
	has "$output" "is 0"
	has "$output" " icanon"
	has "$output" " echo "
	rein discard -q
	for sig in TERM HUP QUIT; do
		# the question is asked with single keys and ordinary output
		export sig
		run -0 on_tty -- sh -c '
			trap "" HUP
			(until stty -a </dev/tty | tr "\n" " " | grep -q " opost.* -icanon"; do sleep 0.05; done; kill -$sig "$(cat pid)") &
			env --default-signal sh -c "echo \$\$ >pid; exec rein run -- sh -c \"echo 1 >a\""; stty -a'
		has "$output" "for later?"
		has "$output" " icanon"
		has "$output" " echo "
		eq "$sig" held "$(state_of @)"
		eq "$sig" "nobody has answered" "$(rein show --json @ | field reason)"
		rein discard -q
	done
	# how it ended is known, and what a rule says of it
	run on_tty -- sh -c '
		(until stty -a </dev/tty | tr "\n" " " | grep -q " opost.* -icanon"; do sleep 0.05; done; kill "$(cat pid)") &
		env --default-signal sh -c "echo \$\$ >pid; exec rein run -- sh -c \"echo 1 >a; sleep 0.2; exit 7\""'
	eq exit 7 "$(rein show --json @ | field exit)"
	eq reason "the command failed" "$(rein show --json @ | field reason)"
	hasnt "$(rein show)" "took 0 ms"
}

# stopped: until the shell knows that its job is
stopped='stopped() { until jobs | grep -q Stopped; do sleep 0.05; done; }; set -m'

@test "a job begun in the background has the terminal's settings of when it comes to the front" {
	# a shell that edits its line has the terminal while the job begins; \r, the key, ends no line then
	run -0 on_tty "settings=>line\\r" -- bash -c "$stopped"'
		stty -icanon -echo -icrnl
		command rein run -- sh -c "read x; stty -a; echo got \$x" & stopped
		stty icanon echo icrnl; echo the settings; fg'
	has "$output" " icanon"
	has "$output" " icrnl"
	has "$output" "got line"
	# but what the command has chosen is its own
	run -0 on_tty "settings=>line\\n" -- bash -c "$stopped"'
		command rein run -- sh -c "trap \"\" TTOU; stty -icanon -echo; read x; stty -a; echo got \$x" & stopped
		echo the settings; fg'
	has "$output" " -icanon"
	has "$output" " -echo "
	has "$output" "got line"
}

@test "a job of several processes stops as a whole where it would read in the background, and goes on" {
	run -0 on_tty "stopped here=>line\\n" -- bash -c "$stopped"'
		(command rein run -- sh -c "read x; echo got \$x"; echo after it) & stopped
		echo stopped here; fg'
	has "$output" "got line"
	has "$output" "after it"
}

@test "a question in a command substitution of a shell, which ignores what would tell that it is asked" {
	run -0 on_tty "say=>line\\n" -- bash -c 'trap "" TTIN TTOU TSTP
		x=$(rein run -- sh -c "echo say >&2; read x; echo got \$x"); echo "[$x]"'
	has "$output" "[got line]"
	# the keyboard is still the other's where the command asks nothing
	run -0 on_tty "say=>line\\n" -- bash -c 'trap "" TTIN TTOU TSTP
		x=$(rein run -- sleep 0.5 | (echo say >&2; read x </dev/tty; echo got $x)); echo "[$x]"'
	has "$output" "[got line]"
	# and in the background it is told that there is nobody to ask, as without a box
	run -0 on_tty -- bash -c 'trap "" TTIN TTOU; set -m; (rein run -- cat; echo it was $?) & wait; stty -a'
	has "$output" "Input/output error"
	has "$output" "it was 1"
}

@test "stopped by its key and later by a signal: both stop it" {
	run -0 on_tty "in the box=>\\x1a" -- bash -c "$stopped"'
		command rein run -- sh -c "echo in the box; sleep 1.5; echo slept"; jobs
		bg >/dev/null; kill -TSTP %1; stopped; echo twice; fg'
	has "$output" twice
	has "$output" slept
}

@test "the interrupt key ends what stands around it as well, unless the command takes it" {
	local in
	for in in /dev/tty /dev/null; do
		export in
		run -130 on_tty "in 1=>\\x03" -- bash -c 'for i in 1 2; do rein run -- sh -c "echo in $i; sleep 9" <$in; done; echo survived'
		hasnt "$output" "in 2"
		hasnt "$output" survived
		has "$output" "killed by signal 2"
	done
	# a shell that reads from a person goes on with the next line, and not with the rest of this one
	run -0 on_tty "> =>for i in 1 2; do rein run -- sh -c \"echo at \$i; sleep 9\"; done; echo sur''vived\\n" "at 1=>\\x03" "> =>exit 0\\n" -- \
		env PS1='> ' bash --norc --noediting -i
	hasnt "$output" "at 2"
	hasnt "$output" survived
	# nobody else ends where it is the command's own
	run -0 on_tty "in it=>\\x03" -- bash -c 'rein run -- sh -c "trap \"exit 3\" INT; echo in it; sleep 9"; echo survived $?'
	has "$output" "survived 3"
	# nor where it was no key
	run -0 on_tty -- bash -c 'rein run -- sh -c "kill -INT \$\$"; echo survived $?'
	has "$output" "survived 130"
}

@test "lists fit the window" {
	q sh -c 'echo 1 >a; # a long command line that would not fit into eighty columns of a terminal, would it now, and on it goes'
	run -0 on_tty -s 70x24 -- env NO_COLOR=1 rein log --no-pager
	local l
	for l in "${lines[@]}"; do [ ${#l} -le 70 ] || die "${#l} columns: $l"; done
	run -0 on_tty -s 50x24 -- env NO_COLOR=1 rein log --no-pager
	for l in "${lines[@]}"; do [ ${#l} -le 50 ] || die "${#l} columns: $l"; done
	run -0 env COLUMNS=60 rein log # where no terminal tells
	for l in "${lines[@]}"; do [ ${#l} -le 60 ] || die "${#l} columns: $l"; done
	run -0 env COLUMNS=x rein log
	has "$output" "on it goes"
	# also behind a pager
	for l in {1..11}; do q sh -c "echo $l >a; # a long command line that would not fit into eighty columns of a terminal, would it now"; done
	run -0 on_tty -s 70x24 -- env NO_COLOR=1 REIN_PAGER='sed s/^/:/' rein log
	has "$output" :
	for l in "${lines[@]}"; do [ ${#l} -le 71 ] || die "${#l} columns: $l"; done
}

@test "help fits the window; where there is none it is as it is" {
	local l w v
	for w in 100 72 44; do
		for v in "help" "help run" "commit --help" "audit help" "audit log --help"; do
			# shellcheck disable=SC2086  # words
			run -0 on_tty -s "${w}x24" -- env NO_COLOR=1 rein $v
			for l in "${lines[@]}"; do
				l=${l%$'\r'}
				[ ${#l} -le "$w" ] || die "rein $v: ${#l} columns of $w: $l"
				[ "$l" = "${l%"${l##*[! ]}"}" ] || die "rein $v: blanks at the end: '$l'"
			done
			# no word is lost, and none broken
			# shellcheck disable=SC2086
			eq "rein $v" "$(rein $v | xargs -d '\n' echo | tr -s ' \r\n' ' ')" "$(tr -s ' \r\n' ' ' <<<"$output")"
		done
	done
	eq "not folded" "$(rein help run)" "$(COLUMNS=40 rein help run)"
	[ "$(rein help run | wc -L)" -gt 80 ]
}

@test "a terminal that takes nothing more keeps nobody from ending the box in time" {
	run -0 python3 - "$BASHPID" <<-'END'
	import os, pty, subprocess, sys, time
	mark = "stuck-" + sys.argv[1]
	pid, fd = pty.fork()
	if pid == 0:
	    os.execvp("rein", ["rein", "run", "-q", "--discard", "--timeout", "1s", "--", "yes", mark])
	def runs():
	    return subprocess.run(["pgrep", "-f", "^yes " + mark], stdout=subprocess.DEVNULL).returncode == 0
	def await_(what, seconds):
	    end = time.monotonic() + seconds
	    while not what():
	        assert time.monotonic() < end, what
	        time.sleep(0.05)
	await_(runs, 10)
	await_(lambda: not runs(), 10)  # nobody reads what it writes
	try:
	    while os.read(fd, 65536):
	        pass
	except OSError:
	    pass
	assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 124
	END
}
