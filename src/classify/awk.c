/* SPDX-License-Identifier: Apache-2.0 */
/* awk programs: pipes, redirections, system(). */
#include "classify/code.h"

struct awk {
	struct ctx *cx;
	struct rein_str s;
	struct range at;
	size_t i;
	char prev; /* kind of the last token: n name, s string, d number, p punctuation */
	struct rein_str last_str;
	bool printing;
	int parens;
};

static struct rein_str awk_string(struct awk *w)
{
	struct sbuf t = {.a = w->cx->a};
	bool stop = false;

	for (w->i++; w->i < w->s.n && w->s.p[w->i] != '"';) {
		if (w->s.p[w->i] == '\\')
			w->i += shell_ansi_escape(w->s.p + w->i, w->s.n - w->i, &t, &stop);
		else
			sbuf_char(&t, w->s.p[w->i++]);
	}
	w->i++;
	return sbuf_view(&t);
}

static void awk_space(struct awk *w)
{
	while (w->i < w->s.n && (w->s.p[w->i] == ' ' || w->s.p[w->i] == '\t'))
		w->i++;
}

static void awk_say(struct awk *w, enum rein_level level, const char *why)
{
	fact(w->cx, REIN_FACT_EXEC, level, REIN_REACH_CONTAINED, w->at, NULL, why);
}

static void awk_shell(struct awk *w, struct rein_str cmd, bool known, bool fed)
{
	struct io io = {.in = data_unknown(TAINT_INPUT), .piped = fed};

	if (known) {
		if (!fed || !(str_is(cmd, "sort") || str_starts(cmd, "sort ")))
			awk_say(w, REIN_LEVEL_RISKY, "awk code that runs a program");
		run_text(w->cx, cmd, w->at, &io);
	} else {
		awk_say(w, REIN_LEVEL_DANGEROUS, "awk code that runs a program that is not known");
	}
}

/* After '|': a command, or getline from the string before it. */
static void awk_pipe(struct awk *w)
{
	if (w->i < w->s.n && w->s.p[w->i] == '&')
		w->i++;
	awk_space(w);
	if (w->i + 7 <= w->s.n && !memcmp(w->s.p + w->i, "getline", 7)) {
		awk_shell(w, w->last_str, w->prev == 's', false);
		return;
	}
	if (w->i < w->s.n && w->s.p[w->i] == '"') {
		struct rein_str cmd = awk_string(w);
		bool more;

		awk_space(w);
		more = w->i < w->s.n && !strchr("};\n", w->s.p[w->i]);
		if (str_is(str_base(cmd), "sort") || str_starts(cmd, "sort "))
			more = false;
		awk_shell(w, cmd, !more, true);
		return;
	}
	awk_shell(w, STR(""), false, true);
}

static void awk_redirect(struct awk *w, bool append)
{
	struct field f = {.s = STR("\001"), .at = w->at};

	awk_space(w);
	if (w->i < w->s.n && w->s.p[w->i] == '"')
		f.s = awk_string(w);
	if (str_starts(f.s, "/inet"))
		awk_say(w, REIN_LEVEL_DANGEROUS, "awk code that opens a network connection");
	else if (cx_step(w->cx))
		effect_write(w->cx, &f, append);
	w->prev = 's';
}

static void awk_name(struct awk *w)
{
	size_t from = w->i;
	struct rein_str name;

	while (w->i < w->s.n && (code_name1(w->s.p[w->i]) || code_digit(w->s.p[w->i])))
		w->i++;
	name = (struct rein_str){w->s.p + from, w->i - from};
	if (str_is(name, "print") || str_is(name, "printf")) {
		w->printing = true;
		w->parens = 0;
	}
	if (str_is(name, "system")) {
		awk_space(w);
		if (w->i < w->s.n && w->s.p[w->i] == '(') {
			w->i++;
			awk_space(w);
			if (w->i < w->s.n && w->s.p[w->i] == '"') {
				struct rein_str cmd = awk_string(w);

				awk_space(w);
				awk_shell(w, cmd, w->i < w->s.n && w->s.p[w->i] == ')', false);
			} else {
				awk_shell(w, STR(""), false, false);
			}
		}
	} else if (str_is(name, "getline")) {
		awk_space(w);
		if (w->i < w->s.n && w->s.p[w->i] == '<') {
			struct field f = {.s = STR(""), .at = w->at};

			w->i++;
			awk_space(w);
			if (w->i < w->s.n && w->s.p[w->i] == '"')
				f.s = awk_string(w);
			if (f.s.n)
				effect_read(w->cx, &f);
		}
	} else if (str_is(name, "ENVIRON") && !(w->i < w->s.n && w->s.p[w->i] == '[')) {
		fact(w->cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, REIN_REACH_READONLY, w->at, NULL, "reads the whole environment");
	} else if (str_is(name, "ENVIRON") && w->i + 1 < w->s.n && w->s.p[w->i + 1] == '"') {
		struct rein_str var = str_from(w->s, w->i + 2);
		const char *end = var.n ? memchr(var.p, '"', var.n) : NULL;

		if (end && env_is_secret(w->cx, str_to(var, (size_t)(end - var.p))))
			fact(w->cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, REIN_REACH_READONLY, w->at, NULL,
			     "reads a credential from the environment");
	} else if (str_in(name, "extension load")) {
		awk_say(w, REIN_LEVEL_DANGEROUS, "awk code that loads an extension");
	}
	w->prev = str_in(name, "print printf return if while for in getline") ? 'p' : 'n';
}

void awk_scan(struct ctx *cx, struct rein_str text, struct range at)
{
	struct awk *w = arena_new(cx->a, struct awk);

	*w = (struct awk){.cx = cx, .s = text, .at = at, .prev = 'p'};
	while (w->i < w->s.n) {
		char c = w->s.p[w->i], d = w->i + 1 < w->s.n ? w->s.p[w->i + 1] : 0;

		if (c == ' ' || c == '\t' || c == '\r') {
			w->i++;
		} else if (c == '#') {
			const char *nl = memchr(w->s.p + w->i, '\n', w->s.n - w->i);

			w->i = nl ? (size_t)(nl - w->s.p) : w->s.n;
		} else if (c == '"') {
			w->last_str = awk_string(w);
			if (str_starts(w->last_str, "/inet"))
				awk_say(w, REIN_LEVEL_DANGEROUS,
					"awk code that opens a network connection");
			w->prev = 's';
		} else if (c == '/' && w->prev == 'p') {
			for (w->i++; w->i < w->s.n && w->s.p[w->i] != '/'; w->i++)
				if (w->s.p[w->i] == '\\')
					w->i++;
			w->i++;
			w->prev = 's';
		} else if (code_name1(c)) {
			awk_name(w);
		} else if (c == '@') {
			if (code_name1(d) && !str_starts(str_from(w->s, w->i + 1), "include") &&
			    !str_starts(str_from(w->s, w->i + 1), "namespace"))
				awk_say(w, REIN_LEVEL_DANGEROUS,
					"awk code that calls a function by a computed name");
			else
				awk_say(w, REIN_LEVEL_RISKY, "awk code that includes other code");
			w->i++;
		} else if (c == '|' && d == '|') {
			w->i += 2;
			w->prev = 'p';
		} else if (c == '|') {
			w->i++;
			awk_pipe(w);
			w->prev = 'n';
		} else if (c == '>' && w->printing && w->parens == 0) {
			w->i += d == '>' ? 2 : 1;
			awk_redirect(w, d == '>');
		} else {
			if (c == '(')
				w->parens++;
			if (c == ')')
				w->parens--;
			if (c == ';' || c == '\n' || c == '}' || c == '{')
				w->printing = false;
			w->prev = code_digit(c) ? 'd' : c == ')' || c == ']' || c == '$' ? 'n' : 'p';
			w->i++;
		}
	}
}
