#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The documentation against the program: what is written is so.
# shellcheck disable=SC2016
load helper

man_page() { cat "$REIN_SOURCE/docs/rein.1"; }

@test "man page: no complaint of mandoc" {
	need "mandoc is not installed" command -v mandoc
	run mandoc -Tlint -W warning "$REIN_SOURCE/docs/rein.1"
	eq lint "" "$output"
}

@test "man page: every verb and option of the program is there, and no other" {
	local verb text="" o
	for verb in $(rein help | sed -n 's/^  \([a-z]*\)  *.*/\1/p'); do
		man_page | grep -Eq "Cm ($verb|.*\| $verb)( |\$)" || die "the verb $verb is not in the man page"
		case $verb in version | help | metrics) continue ;; esac
		text+=$(rein "$verb" --help 2>&1 || true)$'\n'
	done
	for verb in $(rein audit help | sed -n 's/^  \([a-z-]*\)  *.*/\1/p'); do text+=$(rein audit "$verb" --help)$'\n'; done
	[ "$(grep -oE -- '--[a-z][a-z-]+' <<<"$text" | sort -u | wc -l)" -gt 35 ]
	for o in $(grep -oE -- '--[a-z][a-z-]+' <<<"$text" | sort -u); do
		man_page | grep -Eq "^\.It .*Fl -${o#--}( |\$)" || die "$o is not in the man page"
	done
	for o in $(grep -oE -- '^ +-[a-zA-Z],' <<<"$text" | tr -d ' ,' | sort -u); do
		man_page | grep -Eq "^\.It Fl ${o#-} , Fl -" || die "$o is not in the man page"
	done
	for o in $(man_page | grep -oE '^\.It .*Fl -[a-z][a-z-]*' | grep -oE 'Fl -[a-z-]+$' | cut -c5- | sort -u); do
		grep -qE -- "-$o([^a-z-]|\$)" <<<"$text" || die "-$o is in the man page only"
	done
	for verb in $(rein audit help | sed -n 's/^  \([a-z-]*\)  *.*/\1/p'); do
		[ "$verb" = help ] || man_page | grep -q "[ .]$verb[ ,)]*" || die "rein audit $verb is not in the man page"
	done
}

@test "man page: the exit statuses are those of the one table" {
	local table page
	table=$(sed -n 's/^X(REIN_E_[A-Z_]*, "[a-z_]*", [0-9]*, \([0-9]*\)).*/\1/p' "$REIN_SOURCE/include/rein/codes.def" | sort -u)
	page=$(man_page | sed -n '/^\.Sh EXIT STATUS/,/^\.Sh EXAMPLES/s/^\.It \([0-9]*\)$/\1/p' | sort -u)
	[ "$(wc -l <<<"$table")" -ge 8 ]
	eq statuses "$table" "$page"
}

@test "man page: the environment is what the program looks at" {
	local v
	for v in $(grep -rhoE 'getenv\("[A-Z_]+"\)' "$REIN_SOURCE/src" | grep -oE '[A-Z_]{3,}' | sort -u); do
		# what the system sets for every program, and what the tests set
		case $v in PWD | XDG_RUNTIME_DIR | *DISPLAY | LC_* | LANG | REIN_*_MODULE | REIN_TEST_*) continue ;; esac
		man_page | grep -q "Ev $v" || die "$v is not in the man page"
	done
}

@test "json.md: the error codes it points to exist, and the words for states, kinds and ends are the program's" {
	local w
	for w in running held committed undone discarded created modified deleted renamed attributes 'timed out' 'idle for too long' cancelled; do
		grep -q "\`$w\`" "$REIN_SOURCE/docs/json.md" || die "$w is not documented"
		grep -rqF "\"$w\"" "$REIN_SOURCE/src" || die "$w is documented and not in the program"
	done
}

@test "README: the tour prints what it shows" {
	cd "$T"
	python3 "$BATS_TEST_DIRNAME/tour.py" "$REIN_SOURCE/README.md"
}

@test "documents: every local link leads somewhere, nothing is left unsaid" {
	local f l
	cd "$REIN_SOURCE"
	for f in README.md ARCHITECTURE.md SECURITY.md docs/*.md; do
		for l in $(grep -oE '\]\([^)#]+' "$f" | cut -c3- | grep -v '://'); do
			[ -e "$(dirname "$f")/$l" ] || die "$f: $l does not exist"
		done
		! grep -nE 'TODO|FIXME|XXX' "$f"
	done
	grep -q 'Apache License' LICENSE
}

@test "README: the two commands exist" {
	grep -q '^run)' "$REIN_SOURCE/dev"
	grep -q '^check)' "$REIN_SOURCE/dev"
}
