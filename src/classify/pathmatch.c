/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths against the patterns of knowledge/paths.yaml. A path may have globs and holes itself: then it must be
 * able to be what the pattern says, and enough of it be known to mean that. Most patterns are ruled out
 * before they are compared: they lie on shelves by their components, and a path only looks on its own.
 */
#include "classify/internal.h"

/* Bytes that are known of a name with globs or holes before it means one in particular. */
#define LEAST_SOLID 4

/* A component with globs or holes: does it begin with, and have, enough that is known? */
static bool stands_for_name(struct rein_str name)
{
	size_t solid = 0;

	for (size_t i = 0; i < name.n; i++)
		solid += (unsigned char)name.p[i] >= 5;
	return (unsigned char)name.p[0] >= 5 && solid >= LEAST_SOLID - (name.p[0] == '.');
}

/* name against a pattern with '*'; globs in the name match literals of the pattern. */
static bool name_match(struct rein_str name, const char *pat, size_t np)
{
	size_t p = 0, i = 0, star = (size_t)-1, mark = 0, solid = 0;

	if (np == 1 && pat[0] == '*') /* also what is not known */
		return name.n > 0;
	/* most differ at once */
	if (name.n && np && pat[0] != '*' && name.p[0] >= 5 && name.p[0] != pat[0] &&
	    !(name.p[0] >= 'A' && name.p[0] <= 'Z' && pat[0] == name.p[0] + 32))
		return false;
	for (size_t k = 0; k < name.n; k++)
		if (name.p[k] == GLOB_STAR || name.p[k] == GLOB_ONE || name.p[k] == HOLE)
			solid++;
	if (solid) {
		/* the name is a pattern itself: does it match the literal pat, and mean it? */
		if (name.n - solid < LEAST_SOLID - (size_t)(name.p[0] == '.') || name.p[0] < 5 ||
		    memchr(pat, '*', np))
			return false;
		return glob_fits(name, (struct rein_str){pat, np});
	}
	while (i < name.n) {
		if (p < np && pat[p] == '*') {
			star = p++;
			mark = i;
		} else if (p < np && (pat[p] == name.p[i] ||
				      (name.p[i] >= 'A' && name.p[i] <= 'Z' &&
				       pat[p] == name.p[i] + 32))) {
			p++;
			i++;
		} else if (star != (size_t)-1) {
			p = star + 1;
			i = ++mark;
		} else {
			return false;
		}
	}
	while (p < np && pat[p] == '*')
		p++;
	return p == np;
}

/* A pattern "a/b" or "a/b/" at a component boundary of path. */
static bool suffix_match(struct rein_str path, const char *pat, bool loose)
{
	size_t np = strlen(pat), pn = path.n, pp;
	bool dir = np && pat[np - 1] == '/';

	if (dir)
		np--;
	for (;;) {
		/* compare component by component from the right */
		size_t i = pn;
		bool ok = true;

		pp = np;
		while (ok && pp) {
			size_t pe = pp, ie = i;

			while (pp && pat[pp - 1] != '/')
				pp--;
			while (i && path.p[i - 1] != '/')
				i--;
			ok = ie > i && name_match((struct rein_str){path.p + i, ie - i}, pat + pp,
						  pe - pp);
			/* cat ~/.aws/… with a star: every file of the directory is meant */
			if (!ok && loose && pe == np && pp && pat[0] == '.')
				ok = ie - i == 1 && path.p[i] == GLOB_STAR;
			if (pp)
				pp--;
			if (i && pp)
				i--;
		}
		if (ok)
			return true;
		if (!dir)
			return false;
		/* a directory pattern may match further up */
		while (pn && path.p[pn - 1] != '/')
			pn--;
		if (!pn)
			return false;
		pn--;
	}
}

static bool abs_match(struct rein_str path, const char *pat, bool loose)
{
	size_t n = strlen(pat);
	size_t i = 0, j = 0;

	/* components one by one, '*' inside a component */
	if (n && pat[n - 1] == '/')
		n--;
	while (j < n) {
		size_t pe = j + 1, ie = i + 1;

		if (i >= path.n || path.p[i] != '/')
			return false;
		while (pe < n && pat[pe] != '/')
			pe++;
		while (ie < path.n && path.p[ie] != '/')
			ie++;
		/* /e?c/shadow: where the name says it, the directory may be a pattern */
		if (!name_match((struct rein_str){path.p + i + 1, ie - i - 1}, pat + j + 1,
				pe - j - 1) &&
		    !(loose && pe < n && ie > i + 1 &&
		      glob_fits((struct rein_str){path.p + i + 1, ie - i - 1},
				(struct rein_str){pat + j + 1, pe - j - 1})))
			return false;
		j = pe;
		i = ie;
	}
	return i == path.n || pat[strlen(pat) - 1] == '/';
}

/* A path with what is needed to rule patterns out quickly. */
struct probe {
	struct rein_str path, base;
	uint64_t parts;	 /* of the components that are known */
	uint64_t starts, ends; /* of those with globs or holes that could stand for a name in a pattern */
	bool literal;
};

static struct probe probe_of(struct rein_str path)
{
	struct probe p = {.path = path, .base = str_base(path), .literal = is_literal(path)};
	size_t i = 0;
	bool dotted = false;

	while (i < path.n) {
		size_t n = 0;
		bool glob = false;

		for (; i + n < path.n && path.p[i + n] != '/'; n++)
			glob |= path.p[i + n] == GLOB_STAR || path.p[i + n] == GLOB_ONE;
		if (is_literal((struct rein_str){path.p + i, n}))
			p.parts |= know_part_bit(path.p + i, n);
		else if (stands_for_name((struct rein_str){path.p + i, n})) {
			p.starts |= (unsigned char)path.p[i + 1] < 5 ? ~0ull : know_start_bit(path.p + i, n);
			p.ends |= (unsigned char)path.p[i + n - 1] < 5 ? ~0ull : know_end_bit(path.p + i, n);
		}
		/* the directory in /e?c/shadow, the name in ~/.aws/…: see abs_match() and suffix_match() */
		if (!p.literal && (i == 1 ? glob : n == 1 && glob && i + n == path.n && dotted))
			p.starts = p.ends = ~0ull;
		dotted = n > 2 && path.p[i] == '.';
		i += n + 1;
	}
	return p;
}

static bool know_match(const struct know_path *k, const struct probe *p)
{
	bool secret = k->cls == KPATH_SECRET; /* for the others a guess is as likely to be wrong */

	if ((k->parts & ~p->parts) && !((k->starts & p->starts) && (k->ends & p->ends)))
		return false;
	switch (k->kind) {
	case KPATH_ABS:
		return p->path.n > 1 && (p->path.p[1] == k->pattern[1] || p->path.p[1] < 5) &&
		       abs_match(p->path, k->pattern, secret);
	case KPATH_DIR:
		return suffix_match(p->path, k->pattern, false);
	case KPATH_SUFFIX:
		if (p->literal && k->pattern[k->len - 1] != '*' &&
		    (p->path.p[p->path.n - 1] | 32) != (k->pattern[k->len - 1] | 32))
			return false;
		return suffix_match(p->path, k->pattern, secret);
	case KPATH_NAME:
		if (p->literal && p->base.n != k->len)
			return false;
		break;
	default:
		if (p->literal && k->pattern[0] != '*' && p->base.n &&
		    (p->base.p[0] | 32) != (k->pattern[0] | 32))
			return false;
		if (p->literal && k->pattern[k->len - 1] != '*' && p->base.n &&
		    (p->base.p[p->base.n - 1] | 32) != (k->pattern[k->len - 1] | 32))
			return false;
	}
	return name_match(p->base, k->pattern, k->len);
}

/* The first that matches of each class: shelves are not in the order of the patterns. */
static void find_on_shelf(const struct know *k, unsigned shelf, const struct probe *p, unsigned want,
			  const struct know_path **ret)
{
	for (size_t i = k->shelves[shelf]; i < k->shelves[shelf + 1]; i++) {
		const struct know_path *path = &k->paths[k->shelved[i]];
		const struct know_path *had = ret[path->cls];

		if ((want >> path->cls & 1) && (!had || path < had) && know_match(path, p))
			ret[path->cls] = path;
	}
}

static void find_paths(const struct know *k, const struct probe *p, unsigned want,
		       const struct know_path **ret)
{
	uint64_t left = p->starts ? ~0ull : p->parts;

	if (!p->path.n)
		return; /* no path: an operand that is missing */
	find_on_shelf(k, KNOW_SHELVES - 1, p, want, ret);
	for (; left; left &= left - 1)
		find_on_shelf(k, (unsigned)__builtin_ctzll(left), p, want, ret);
}

static size_t memo_slot(struct rein_str path, unsigned want)
{
	size_t h = path.n * 31 + (want == ~0u);

	for (size_t i = path.n < 12 ? 0 : path.n - 12; i < path.n; i++)
		h = h * 31 + (unsigned char)path.p[i];
	return (h ^ h >> 7) % CX_PATHS;
}

void path_classes(struct ctx *cx, struct rein_str path, unsigned want,
			 const struct know_path *ret[KPATH__MAX])
{
	const struct know *extra = cx_extra(cx);
	const struct know_path *own[KPATH__MAX] = {0};
	struct path_memo *memo;
	struct probe p;

	memo = &cx->paths[memo_slot(path, want)];
	if (memo->want == want && rein_str_eq(memo->path, path)) {
		memcpy(ret, memo->classes, sizeof(own));
		return;
	}
	p = probe_of(path);
	memset(ret, 0, sizeof(own));
	/* it is held against many patterns, or against all: that is worth other commands */
	for (unsigned steps = p.starts == ~0ull ? 10 : p.starts ? 3 : 0; steps; steps--)
		if (!cx_step(cx))
			return;
	find_paths(&know_builtin, &p, want, ret);
	if (extra)
		find_paths(extra, &p, want, own);
	for (size_t i = 0; i < KPATH__MAX; i++)
		if (own[i])
			ret[i] = own[i];
	memo->path = path;
	memo->want = want;
	memcpy(memo->classes, ret, sizeof(own));
}
