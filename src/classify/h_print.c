/* SPDX-License-Identifier: Apache-2.0 */
/* echo, printf, cat: programs whose output is known. */
#include "classify/h_shell.h"

static void escapes(struct sbuf *out, struct rein_str s)
{
	bool stop = false;

	for (size_t i = 0; i < s.n && !stop;) {
		if (s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == 'c')
			return;
		if (s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == '0' && i + 2 < s.n) {
			/* echo -e and %b: \0nnn */
			unsigned v = 0;
			size_t k = i + 2;

			for (; k < s.n && k < i + 5 && s.p[k] >= '0' && s.p[k] <= '7'; k++)
				v = v * 8 + (unsigned)(s.p[k] - '0');
			if (v >= 5)
				sbuf_char(out, (char)v);
			i = k;
		} else if (s.p[i] == '\\') {
			i += shell_ansi_escape(s.p + i, s.n - i, out, &stop);
		} else {
			sbuf_char(out, s.p[i++]);
		}
	}
}

static struct data data_of(struct sbuf *b, uint16_t taint)
{
	struct data d = {.text = sbuf_view(b), .taint = taint};

	d.known = is_literal(d.text);
	return d;
}

struct data h_echo(struct ctx *cx, struct call *c)
{
	struct sbuf out = {.a = cx->a};
	bool newline = true, interpret = false;
	uint16_t taint = 0;
	size_t i = 1;

	for (; i < c->argc && c->argv[i].s.n > 1 && c->argv[i].s.p[0] == '-'; i++) {
		struct rein_str f = str_from(c->argv[i].s, 1);
		bool all = true;

		for (size_t k = 0; k < f.n; k++)
			all &= f.p[k] == 'n' || f.p[k] == 'e' || f.p[k] == 'E';
		if (!all)
			break;
		newline &= !memchr(f.p, 'n', f.n);
		interpret |= memchr(f.p, 'e', f.n) != NULL;
	}
	for (size_t first = i; i < c->argc; i++) {
		if (i > first)
			sbuf_char(&out, ' ');
		if (interpret)
			escapes(&out, c->argv[i].s);
		else
			sbuf_str(&out, c->argv[i].s);
		taint |= c->argv[i].taint;
	}
	if (newline)
		sbuf_char(&out, '\n');
	rummage_print(cx, taint, c->argv[0].at);
	return data_of(&out, taint);
}

static bool plain_number(struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n && s.n < 18 && (s.p[0] != '0' || s.n == 1);
}

/* What one % of printf prints. False: nothing it knows, it stops there. */
static bool directive(struct sbuf *out, char conversion, bool shaped, struct rein_str arg)
{
	if (!conversion || !strchr("sbdiuoxXcqaAeEfFgG(", conversion)) {
		sbuf_char(out, HOLE);
		return false;
	}
	if (shaped || !strchr("sbdiu", conversion)) /* cut, padded or rewritten */
		sbuf_char(out, HOLE);
	else if (conversion == 'b')
		escapes(out, arg);
	else if (conversion == 's' || plain_number(arg))
		sbuf_str(out, arg);
	else
		sbuf_char(out, HOLE);
	return true;
}

struct data h_printf(struct ctx *cx, struct call *c)
{
	struct sbuf out = {.a = cx->a};
	size_t i = 1, next;
	struct rein_str var = {0}, fmt;
	uint16_t taint = 0;
	bool used;
	struct data d;

	if (i + 1 < c->argc && str_is(c->argv[i].s, "-v")) {
		var = c->argv[i + 1].s;
		run_index(cx, var, c->argv[i + 1].at);
		i += 2;
	}
	if (i < c->argc && str_is(c->argv[i].s, "--"))
		i++;
	if (i >= c->argc)
		return h_empty();
	fmt = c->argv[i++].s;
	taint = c->argv[i - 1].taint;
	next = i;
	do {
		bool stop = false;

		used = false;
		for (size_t k = 0; k < fmt.n && !stop;) {
			if (fmt.p[k] == '\\') {
				k += shell_ansi_escape(fmt.p + k, fmt.n - k, &out, &stop);
			} else if (fmt.p[k] != '%') {
				sbuf_char(&out, fmt.p[k++]);
			} else if (k + 1 < fmt.n && fmt.p[k + 1] == '%') {
				sbuf_char(&out, '%');
				k += 2;
			} else {
				struct rein_str arg = STR("");
				size_t from = ++k;

				for (; k < fmt.n && strchr("-+ #0123456789.*'", fmt.p[k]); k++)
					next += fmt.p[k] == '*' && next < c->argc; /* a width is an argument, too */
				if (next < c->argc) {
					taint |= c->argv[next].taint;
					arg = c->argv[next++].s;
					used = true;
				}
				if (!directive(&out, k < fmt.n ? fmt.p[k] : 0, k > from, arg)) {
					next = c->argc; /* an error ends it */
					break;
				}
				k++;
			}
		}
	} while (used && next < c->argc && out.n < 65536);
	d = data_of(&out, taint);
	if (var.n) {
		var_set(cx, var, d.text, taint, false);
		return h_empty();
	}
	rummage_print(cx, taint, c->argv[0].at);
	return d;
}

struct data h_cat(struct ctx *cx, struct call *c)
{
	struct data d = {.known = true, .text = STR("")};

	call_base(cx, c);
	if (!c->ops.n) {
		d = c->io->in;
		return c->n_got && d.known ? data_unknown(d.taint) : d;
	}
	for (size_t i = 0; i < c->ops.n; i++) {
		struct field *f = &c->ops.v[i];

		if (str_is(f->s, "-") || str_is(f->s, "/dev/stdin")) {
			d = data_join(cx, d, c->io->in);
			continue;
		}
		effect_read(cx, f);
		d = data_join(cx, d, file_data(cx, f));
	}
	if (c->n_got && d.known)
		d.known = false;
	return d;
}
