/* SPDX-License-Identifier: Apache-2.0 */
/* $((…)) as far as it can be told: an unknown operand makes an unknown number. */
#include "classify/value.h"

struct arith;
static long arith_sum(struct arith *a);

/* Arithmetic: + - * / % and parentheses over numbers and known variables. */
struct arith {
	struct ctx *cx;
	struct rein_str s;
	size_t i;
	bool unknown;
	unsigned depth;
};

static void arith_space(struct arith *a)
{
	while (a->i < a->s.n && strchr(" \t\n", a->s.p[a->i]))
		a->i++;
}

static long arith_atom(struct arith *a)
{
	long v = 0;
	char c;

	arith_space(a);
	if (a->i >= a->s.n || ++a->depth > 64) {
		a->unknown = true;
		return 0;
	}
	c = a->s.p[a->i];
	if (c == '-' || c == '+') {
		a->i++;
		v = arith_atom(a);
		v = c == '-' ? -v : v;
	} else if (c == '(') {
		a->i++;
		v = arith_sum(a);
		arith_space(a);
		if (a->i < a->s.n && a->s.p[a->i] == ')')
			a->i++;
		else
			a->unknown = true;
	} else if (c >= '1' && c <= '9') {
		for (; a->i < a->s.n && a->s.p[a->i] >= '0' && a->s.p[a->i] <= '9'; a->i++) {
			if (v > 100000000L)
				a->unknown = true;
			else
				v = v * 10 + (a->s.p[a->i] - '0');
		}
	} else if (c == '0' && (a->i + 1 >= a->s.n ||
				!strchr("0123456789xX", a->s.p[a->i + 1]))) {
		a->i++;
	} else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') {
		size_t from = a->i;
		struct pval pv;
		struct arith sub = {.cx = a->cx, .depth = a->depth};

		while (a->i < a->s.n && (a->s.p[a->i] == '_' ||
					 (a->s.p[a->i] >= '0' && a->s.p[a->i] <= '9') ||
					 (a->s.p[a->i] >= 'a' && a->s.p[a->i] <= 'z') ||
					 (a->s.p[a->i] >= 'A' && a->s.p[a->i] <= 'Z')))
			a->i++;
		pv = val_param_value(a->cx, (struct rein_str){a->s.p + from, a->i - from});
		if (pv.unknown || has_hole(pv.s)) {
			a->unknown = true;
		} else if (pv.s.n) {
			run_index(a->cx, pv.s, a->cx->at);
			sub.s = pv.s;
			v = arith_sum(&sub);
			a->unknown |= sub.unknown || sub.i != sub.s.n;
		}
	} else {
		a->unknown = true;
	}
	a->depth--;
	return v;
}

static long arith_product(struct arith *a)
{
	long v = arith_atom(a), w;

	for (;;) {
		char c;

		arith_space(a);
		c = a->i < a->s.n ? a->s.p[a->i] : 0;
		if ((c != '*' && c != '/' && c != '%') || a->unknown ||
		    (a->i + 1 < a->s.n && strchr("*=", a->s.p[a->i + 1])))
			return v;
		a->i++;
		w = arith_atom(a);
		if (c == '*' ? (v > 1000000000L || w > 1000000000L || v < -1000000000L ||
				w < -1000000000L)
			     : w == 0) {
			a->unknown = true;
			return 0;
		}
		v = c == '*' ? v * w : c == '/' ? v / w : v % w;
	}
}

static long arith_sum(struct arith *a)
{
	long v = arith_product(a);

	for (;;) {
		char c;

		arith_space(a);
		c = a->i < a->s.n ? a->s.p[a->i] : 0;
		if ((c != '+' && c != '-') || a->unknown ||
		    (a->i + 1 < a->s.n && strchr("+-=", a->s.p[a->i + 1])))
			return v;
		a->i++;
		v = c == '+' ? v + arith_product(a) : v - arith_product(a);
	}
}

void val_put_arith(struct builder *b, const struct part *p, bool quoted)
{
	struct word w = {.first = p->sub, .at = p->at};
	struct field f = expand_one(b->cx, &w);
	struct arith a = {.cx = b->cx, .s = f.s};
	char num[32];
	long v;

	v = arith_sum(&a);
	arith_space(&a);
	if (a.unknown || a.i != a.s.n || has_hole(f.s)) {
		val_put_value(b, STR("\001"), TAINT_NUMBER, true);
		if (!quoted)
			b->quoted = false;
		/* a[$(cmd)] inside arithmetic runs when the index is evaluated */
		return;
	}
	snprintf(num, sizeof(num), "%ld", v);
	val_put_value(b, (struct rein_str){arena_dup(b->cx->a, num, strlen(num)), strlen(num)}, 0,
		  quoted);
}
