/* SPDX-License-Identifier: Apache-2.0 */
/* Brace expansion: the words {a,b} and {1..9} stand for. */
#include "classify/parse.h"
#include "classify/value.h"

#define MAX_COMMAS   128

struct part *val_part_copy(struct ctx *cx, const struct part *p, struct rein_str text)
{
	struct part *q = arena_new(cx->a, struct part);

	*q = *p;
	q->next = NULL;
	if (p->kind == PART_LIT)
		q->text = text;
	return q;
}

struct place_in { /* a byte of an unquoted literal part */
	const struct part *part;
	size_t i;
};

struct plist {
	struct part *first, **end;
};

static void plist_add(struct plist *l, struct part *p)
{
	*l->end = p;
	l->end = &p->next;
}

/* Everything from a (included) to b (not included). */
static void copy_span(struct ctx *cx, struct plist *out, struct place_in a, struct place_in b)
{
	for (const struct part *p = a.part; p && cx_work(cx, 25); p = p->next) {
		size_t from = p == a.part ? a.i : 0;
		bool last = p == b.part;

		if (p->kind == PART_LIT) {
			size_t to = last ? b.i : p->text.n;

			if (to > from)
				plist_add(out, val_part_copy(cx, p, (struct rein_str){p->text.p + from,
										 to - from}));
		} else if (!last) {
			plist_add(out, val_part_copy(cx, p, p->text));
		}
		if (last)
			return;
	}
}

struct brace {
	struct place_in open, close;
	struct place_in commas[MAX_COMMAS];
	size_t n_commas;
};

/* The first complete { , } at or after start, at its outermost level. */
static bool find_brace(struct ctx *cx, const struct part *start, struct brace *br)
{

	for (const struct part *p = start; p; p = p->next) {
		if (p->kind != PART_LIT)
			continue;
		for (size_t i = 0; i < p->text.n; i++) {
			int depth = 0;
			bool dots = false, closed = false;

			if (p->text.p[i] != '{' || (i + 1 < p->text.n && p->text.p[i + 1] == '}'))
				continue;
			br->open = (struct place_in){p, i};
			br->n_commas = 0;
			for (const struct part *q = p; q && !closed; q = q->next) {
				/* nested empty braces would cost their square */
				if (!cx_work(cx, 2 + 3 * (q->text.n - (q == p ? i : 0))))
					return false;
				if (q->kind != PART_LIT)
					continue;
				for (size_t j = q == p ? i : 0; j < q->text.n && !closed; j++) {
					char c = q->text.p[j];

					if (c == '{') {
						depth++;
					} else if (c == ',' && depth == 1) {
						if (br->n_commas == MAX_COMMAS)
							return false;
						br->commas[br->n_commas++] = (struct place_in){q, j};
					} else if (c == '.' && depth == 1 && j + 1 < q->text.n &&
						   q->text.p[j + 1] == '.') {
						dots = true;
					} else if (c == '}' && depth > 1) {
						depth--;
					} else if (c == '}' && (br->n_commas || dots)) {
						br->close = (struct place_in){q, j};
						closed = true;
					} /* else a bracket like any other letter: {a},b} is a} and b */
				}
			}
			if (closed && (br->n_commas || br->close.part == p))
				return true;
		}
	}
	return false;
}

static struct place_in after(struct place_in at)
{
	return (struct place_in){at.part, at.i + 1};
}

static void with_middle(struct ctx *cx, const struct part *parts, const struct brace *br,
			struct place_in from, struct place_in to, struct rein_str text,
			struct range at, struct fields *out, unsigned *budget)
{
	struct plist l = {0};
	struct place_in none = {NULL, 0};

	if (!*budget) {
		cx_incomplete(cx, at, "braces expand to too many words");
		return;
	}
	--*budget;
	l.end = &l.first;
	if (!(br->open.part == parts && br->open.i == 0))
		copy_span(cx, &l, (struct place_in){parts, 0}, br->open);
	if (from.part)
		copy_span(cx, &l, from, to);
	if (text.n) {
		struct part *p = arena_new(cx->a, struct part);

		p->kind = PART_LIT;
		p->at = at;
		p->text = text;
		plist_add(&l, p);
	}
	copy_span(cx, &l, after(br->close), none);
	val_expand_braces(cx, l.first, at, out, budget);
}

/* {1..5} {a..e} {1..9..2} */
static bool sequence(struct ctx *cx, const struct part *parts, const struct brace *br,
		     struct range at, struct fields *out, unsigned *budget)
{
	struct rein_str s = {br->open.part->text.p + br->open.i + 1,
			     br->close.i - br->open.i - 1};
	const char *dots = memmem(s.p, s.n, "..", 2);
	struct rein_str a, b, c = STR("1");
	long x, y, step;
	bool letters;

	if (!dots)
		return false;
	a = str_to(s, (size_t)(dots - s.p));
	b = str_from(s, a.n + 2);
	dots = memmem(b.p, b.n, "..", 2);
	if (dots) {
		c = str_from(b, (size_t)(dots - b.p) + 2);
		b = str_to(b, (size_t)(dots - b.p));
	}
	if (!val_number(c, &step))
		return false;
	step = step < 0 ? -step : step ? step : 1;
	letters = a.n == 1 && b.n == 1 && !(a.p[0] >= '0' && a.p[0] <= '9');
	if (letters) {
		x = (unsigned char)a.p[0];
		y = (unsigned char)b.p[0];
	} else if (!val_number(a, &x) || !val_number(b, &y)) {
		return false;
	}
	for (long v = x; x <= y ? v <= y : v >= y; v += x <= y ? step : -step) {
		char text[24];
		struct place_in none = {NULL, 0};
		int width = (a.n > 1 && a.p[0] == '0') || (b.n > 1 && b.p[0] == '0')
				    ? (int)(a.n > b.n ? a.n : b.n)
				    : 0;

		if (letters)
			snprintf(text, sizeof(text), "%c", (char)v);
		else
			snprintf(text, sizeof(text), "%0*ld", width, v);
		with_middle(cx, parts, br, none, none,
			    (struct rein_str){arena_dup(cx->a, text, strlen(text)), strlen(text)},
			    at, out, budget);
		if (!*budget)
			break;
	}
	return true;
}

/* {a,$x}y is ay and $xy to bash, which takes text for text: the name of a variable may go on behind the braces. */
static bool name_grows(const struct part *parts, struct place_in close)
{
	char c = close.i + 1 < close.part->text.n ? close.part->text.p[close.i + 1] : 0;

	if (!is_name((unsigned char)c))
		return false;
	for (; parts; parts = parts->next)
		if (parts->kind == PART_PARAM)
			return true;
	return false;
}

void val_expand_braces(struct ctx *cx, const struct part *parts, struct range at,
			  struct fields *out, unsigned *budget)
{
	struct word w = {.first = (struct part *)parts, .at = at};
	struct brace *br;
	struct place_in from;

	if (!parts || !cx_step(cx))
		return;
	br = arena_new(cx->a, struct brace);
	if (!find_brace(cx, parts, br)) {
		val_expand_plain(cx, &w, out);
		return;
	}
	if (!br->n_commas) {
		if (!sequence(cx, parts, br, at, out, budget))
			val_expand_plain(cx, &w, out);
		return;
	}
	if (name_grows(parts, br->close))
		cx_incomplete(cx, at, "braces that make another name of a variable");
	from = after(br->open);
	for (size_t i = 0; i <= br->n_commas; i++) {
		struct place_in to = i < br->n_commas ? br->commas[i] : br->close;

		with_middle(cx, parts, br, from, to, (struct rein_str){"", 0}, at, out, budget);
		from = after(to);
	}
}
