/* SPDX-License-Identifier: Apache-2.0 */
/* sed programs: e, w, r, and s///ew. */
#include "classify/code.h"

struct sed {
	struct ctx *cx;
	struct rein_str s;
	struct range at;
	size_t i;
};

static char sed_cur(const struct sed *e)
{
	return e->i < e->s.n ? e->s.p[e->i] : '\0';
}

static void sed_delimited(struct sed *e, char delim)
{
	bool set = false;

	while (e->i < e->s.n && (e->s.p[e->i] != delim || set)) {
		char c = e->s.p[e->i];

		if (c == '\\') {
			e->i++;
		} else if (c == '\n') {
			break;
		} else if (c == '[' && !set) {
			size_t left = e->i + 2 < e->s.n ? e->s.n - e->i - 2 : 0;
			const char *close = memchr(e->s.p + e->i + 2, ']', left < 256 ? left : 256);

			set = close != NULL && !memchr(e->s.p + e->i, '\n',
						       (size_t)(close - (e->s.p + e->i)));
			if (set && e->i + 1 < e->s.n && e->s.p[e->i + 1] == '^')
				e->i++;
			if (set && e->i + 1 < e->s.n && e->s.p[e->i + 1] == ']')
				e->i++;
			/* [[:space:]] */
			if (set && e->i + 2 < e->s.n && e->s.p[e->i + 1] == '[' &&
			    e->s.p[e->i + 2] == ':') {
				const char *cls = memmem(e->s.p + e->i + 3, e->s.n - e->i - 3, ":]", 2);

				if (cls)
					e->i = (size_t)(cls - e->s.p) + 1;
			}
		} else if (c == ']' && set) {
			set = false;
		}
		e->i++;
	}
	e->i++;
}

/* The replacement of s and the tables of y know no brackets. */
static void sed_plain(struct sed *e, char delim)
{
	while (e->i < e->s.n && e->s.p[e->i] != delim) {
		if (e->s.p[e->i] == '\\')
			e->i++;
		e->i++;
	}
	e->i++;
}

static bool sed_address(struct sed *e)
{
	char c = sed_cur(e);

	if (code_digit(c) || c == HOLE) {
		while (code_digit(sed_cur(e)) || sed_cur(e) == HOLE)
			e->i++;
		if (sed_cur(e) == '~') {
			e->i++;
			while (code_digit(sed_cur(e)))
				e->i++;
		}
		return true;
	}
	if (c == '$') {
		e->i++;
		return true;
	}
	if (c == '/') {
		e->i++;
		sed_delimited(e, '/');
	} else if (c == '\\' && e->i + 1 < e->s.n) {
		char d = e->s.p[e->i + 1];

		e->i += 2;
		sed_delimited(e, d);
	} else if (c == '+' || c == '~') {
		e->i++;
		while (code_digit(sed_cur(e)))
			e->i++;
		return true;
	} else {
		return false;
	}
	while (sed_cur(e) == 'I' || sed_cur(e) == 'M')
		e->i++;
	return true;
}

static struct rein_str sed_line(struct sed *e)
{
	const char *nl = e->i < e->s.n ? memchr(e->s.p + e->i, '\n', e->s.n - e->i) : NULL;
	size_t from = e->i < e->s.n ? e->i : e->s.n;

	e->i = nl ? (size_t)(nl - e->s.p) : e->s.n;
	while (from < e->i && e->s.p[from] == ' ')
		from++;
	return (struct rein_str){e->s.p + from, e->i - from};
}

static void sed_exec(struct sed *e, struct rein_str cmd)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	fact(e->cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, e->at,
	     show(e->cx, cmd), "sed code that executes a command");
	if (cmd.n)
		run_text(e->cx, cmd, e->at, &io);
}

static void sed_file(struct sed *e, bool write)
{
	struct field f = {.s = sed_line(e), .at = e->at};

	if (!cx_step(e->cx))
		return;
	if (write)
		effect_write(e->cx, &f, false);
	else
		effect_read(e->cx, &f);
}

static void sed_subst(struct sed *e)
{
	char delim = sed_cur(e);

	e->i++;
	sed_delimited(e, delim);
	sed_plain(e, delim);
	for (;; e->i++) {
		char c = sed_cur(e);

		if (c == 'e') {
			sed_exec(e, STR(""));
		} else if (c == 'w') {
			e->i++;
			sed_file(e, true);
			return;
		} else if (!c || !strchr("gpiImM0123456789\001", c)) {
			return;
		}
	}
}

static bool sed_command(struct sed *e)
{
	char c = sed_cur(e);

	e->i++;
	switch (c) {
	case '{':
	case '}':
	case '=':
	case 'd':
	case 'D':
	case 'g':
	case 'G':
	case 'h':
	case 'H':
	case 'n':
	case 'N':
	case 'p':
	case 'P':
	case 'x':
	case 'F':
	case 'z':
		return true;
	case 'a':
	case 'i':
	case 'c':
		for (;;) {
			struct rein_str line = sed_line(e);

			if (!line.n || line.p[line.n - 1] != '\\' || e->i >= e->s.n)
				return true;
			e->i++;
		}
	case ':':
	case 'b':
	case 't':
	case 'T':
		while (e->i < e->s.n && !strchr(";\n}", e->s.p[e->i]))
			e->i++;
		return true;
	case 'r':
	case 'R':
		sed_file(e, false);
		return true;
	case 'w':
	case 'W':
		sed_file(e, true);
		return true;
	case 's':
		sed_subst(e);
		return true;
	case 'y': {
		char delim = sed_cur(e);

		e->i++;
		sed_plain(e, delim);
		sed_plain(e, delim);
		return true;
	}
	case 'q':
	case 'Q':
	case 'l':
	case 'L':
		while (sed_cur(e) == ' ' || code_digit(sed_cur(e)))
			e->i++;
		return true;
	case 'v':
	case '#':
		sed_line(e);
		return true;
	case 'e':
		sed_exec(e, sed_line(e));
		return true;
	default:
		return false;
	}
}

void sed_scan(struct ctx *cx, struct rein_str text, struct range at)
{
	struct sed e = {.cx = cx, .s = text, .at = at};

	while (e.i < e.s.n) {
		while (sed_cur(&e) && strchr(" \t\n;", sed_cur(&e)))
			e.i++;
		if (e.i >= e.s.n)
			return;
		if (sed_address(&e)) {
			while (sed_cur(&e) == ' ')
				e.i++;
			if (sed_cur(&e) == ',') {
				e.i++;
				while (sed_cur(&e) == ' ')
					e.i++;
				sed_address(&e);
			}
		}
		while (sed_cur(&e) == ' ' || sed_cur(&e) == '!')
			e.i++;
		if (e.i >= e.s.n)
			return;
		if (sed_cur(&e) == HOLE) {
			e.i++;
			continue;
		}
		if (!sed_command(&e)) {
			fact(cx, REIN_FACT_UNKNOWN, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, at,
			     NULL, "sed code that is not understood");
			return;
		}
	}
}
