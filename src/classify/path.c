/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a path lies and what is special about it. Paths are made absolute and normal first; holes
 * and globs are read in the worst way they allow: an unknown name below a directory may be
 * the directory itself.
 */
#include "classify/internal.h"

#define LONGEST 4096 /* path the kernel takes */

bool has_hole(struct rein_str s)
{
	return s.n && memchr(s.p, HOLE, s.n) != NULL;
}

bool is_literal(struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == HOLE || s.p[i] == GLOB_STAR || s.p[i] == GLOB_ONE)
			return false;
	return true;
}

bool str_in(struct rein_str s, const char *list)
{
	while (s.n && *list) {
		size_t i = 0;

		while (i < s.n && list[i] == s.p[i] && list[i] != ' ' && list[i])
			i++;
		if (i == s.n && (list[i] == ' ' || !list[i]))
			return true;
		for (list += i; *list && *list != ' '; list++)
			;
		list += *list == ' ';
	}
	return false;
}

bool str_has(struct rein_str s, const char *what)
{
	return s.n && memmem(s.p, s.n, what, strlen(what)) != NULL;
}

bool str_has_ci(struct rein_str s, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + n <= s.n; i++)
		if ((s.p[i] | 32) == (what[0] | 32) && !strncasecmp(s.p + i, what, n))
			return true;
	return false;
}

struct rein_str str_base(struct rein_str s)
{
	const char *slash = s.n ? memrchr(s.p, '/', s.n) : NULL;

	return slash ? str_from(s, (size_t)(slash - s.p) + 1) : s;
}

/* Append the components of s to out (which holds an absolute path without a final '/'). */
static void add_components(struct sbuf *out, struct rein_str s)
{
	size_t i = 0;

	while (i < s.n) {
		size_t n = 0;

		while (i < s.n && s.p[i] == '/')
			i++;
		while (i + n < s.n && s.p[i + n] != '/')
			n++;
		if (!n)
			break;
		if (n == 2 && s.p[i] == '.' && s.p[i + 1] == '.') {
			while (out->n && out->p[out->n - 1] != '/')
				out->n--;
			if (out->n)
				out->n--;
		} else if (!(n == 1 && s.p[i] == '.')) {
			sbuf_char(out, '/');
			sbuf_add(out, s.p + i, n);
		}
		i += n;
	}
}

static struct rein_str strip_prefix(struct rein_str s, const char *prefix)
{
	size_t n = strlen(prefix);

	if (str_starts(s, prefix) && (s.n == n || s.p[n] == '/'))
		return s.n == n ? STR("/") : str_from(s, n);
	return s;
}

struct rein_str path_resolve(struct ctx *cx, struct rein_str s)
{
	struct sbuf out = {.a = cx->a};
	struct rein_str r;

	if (str_starts(s, "file://"))
		s = str_from(s, 7);
	if (!s.n || s.p[0] == HOLE)
		return s;
	if (s.n > LONGEST)
		return STR("\001");
	if (s.p[0] != '/') {
		if (cx->cwd_unknown) {
			sbuf_char(&out, HOLE);
			add_components(&out, s);
			return sbuf_view(&out);
		}
		add_components(&out, cx->cwd);
	}
	add_components(&out, s);
	if (!out.n)
		return STR("/");
	r = sbuf_view(&out);
	r = strip_prefix(r, "/proc/self/root");
	r = strip_prefix(r, "/proc/1/root");
	r = strip_prefix(r, "/proc/thread-self/root");
	if (str_starts(r, "/private/") && (str_starts(r, "/private/tmp") ||
					   str_starts(r, "/private/var") ||
					   str_starts(r, "/private/etc")))
		r = str_from(r, 8);
	return r;
}

static bool within(struct rein_str path, struct rein_str dir)
{
	if (dir.n == 1)
		return true;
	return path.n >= dir.n && !memcmp(path.p, dir.p, dir.n) &&
	       (path.n == dir.n || path.p[dir.n] == '/');
}

static bool within_c(struct rein_str path, const char *dir)
{
	return within(path, (struct rein_str){dir, strlen(dir)});
}

#define LEAST_SOLID 4 /* bytes that are known of a name with globs or holes before it means one in particular */

/* A component with globs or holes: does it begin with, and have, enough that is known? */
static bool stands_for_name(struct rein_str name)
{
	size_t solid = 0;

	for (size_t i = 0; i < name.n; i++)
		solid += (unsigned char)name.p[i] >= 5;
	return (unsigned char)name.p[0] >= 5 && solid >= LEAST_SOLID - (name.p[0] == '.');
}

/* The name is a pattern itself: can it be the literal pat? */
static bool glob_fits(struct rein_str name, const char *pat, size_t np)
{
	size_t star = (size_t)-1, mark = 0, n = 0, q = 0;

	while (q < np) {
		if (n < name.n && (name.p[n] == GLOB_ONE || name.p[n] == pat[q])) {
			n++;
			q++;
		} else if (n < name.n && (name.p[n] == GLOB_STAR || name.p[n] == HOLE)) {
			star = n++;
			mark = q;
		} else if (star != (size_t)-1) {
			n = star + 1;
			q = ++mark;
		} else {
			return false;
		}
	}
	while (n < name.n && (name.p[n] == GLOB_STAR || name.p[n] == HOLE))
		n++;
	return n == name.n;
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
		if (name.n - solid < LEAST_SOLID - (size_t)(name.p[0] == '.') || name.p[0] < 5 || memchr(pat, '*', np))
			return false;
		return glob_fits(name, pat, np);
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
		      glob_fits((struct rein_str){path.p + i + 1, ie - i - 1}, pat + j + 1, pe - j - 1)))
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

/* The first pattern of each wanted class that matches; a user's own come first. */
static void path_classes(struct ctx *cx, struct rein_str path, unsigned want,
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

static unsigned depth_of(struct rein_str path)
{
	unsigned n = 0;

	for (size_t i = 0; i < path.n; i++)
		n += path.p[i] == '/' && i + 1 < path.n;
	return n;
}

static bool glob_only(struct rein_str s)
{
	bool any = false;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == GLOB_STAR || s.p[i] == GLOB_ONE || s.p[i] == HOLE)
			any = true;
		else if (s.p[i] != '.')
			return false;
	}
	return any;
}

/* A star below dir means all of dir; an unknown name below it may be dir itself. */
static struct rein_str effective(struct rein_str path, bool number)
{
	for (;;) {
		struct rein_str base = str_base(path);

		if (!base.n || !glob_only(base) || (number && has_hole(base)) ||
		    path.n < base.n + 1)
			return path;
		path.n -= base.n + 1;
		if (!path.n)
			return STR("/");
	}
}

static bool in_home(struct ctx *cx, struct rein_str p, bool *root)
{
	struct rein_str rest;

	*root = false;
	if (within(p, cx->home)) {
		*root = p.n == cx->home.n;
		return true;
	}
	if (within(cx->home, p) && p.n > 1) { /* /home itself */
		*root = true;
		return true;
	}
	if (within_c(p, "/root")) {
		*root = p.n == 5;
		return true;
	}
	if (within_c(p, "/home") || within_c(p, "/Users")) {
		size_t top = within_c(p, "/home") ? 5 : 6;

		rest = str_from(p, top + 1);
		*root = !rest.n || !memchr(rest.p, '/', rest.n);
		return true;
	}
	return false;
}

static bool in_tmp(struct rein_str p, bool *root)
{
	static const char *const dirs[] = {"/tmp", "/var/tmp", "/dev/shm", "/var/folders"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (within_c(p, dirs[i])) {
			*root = p.n == strlen(dirs[i]);
			return true;
		}
	return false;
}

static bool in_system(const struct know_path *const *cls, struct rein_str p, bool *root)
{
	*root = false;
	if (p.n == 1) {
		*root = true;
		return true;
	}
	/* a glob directly under / can be any of them */
	if (depth_of(p) == 1 && !is_literal(p)) {
		*root = true;
		return true;
	}
	if (!cls[KPATH_SYSTEM])
		return false;
	*root = depth_of(p) <= 1 ||
		(depth_of(p) == 2 && (within_c(p, "/usr") || within_c(p, "/var") ||
				      within_c(p, "/Library")));
	return true;
}

static enum place dev_place(struct rein_str p)
{
	static const char *const harmless =
		"null tty stdin stdout stderr zero full random urandom ptmx fd console";
	struct rein_str rest;

	if (p.n == 4)
		return PLACE_SYSTEM_ROOT;
	rest = str_from(p, 5);
	if (str_in(rest, harmless) || str_starts(rest, "fd/") || str_starts(rest, "pts/") ||
	    str_starts(rest, "tty"))
		return PLACE_NULL;
	if (str_starts(rest, "tcp/") || str_starts(rest, "udp/"))
		return PLACE_NET;
	if (str_starts(rest, "shm/"))
		return PLACE_TMP;
	return PLACE_DEVICE;
}

static enum place place_of(struct ctx *cx, const struct know_path *const *cls, struct rein_str p)
{
	bool root = false;

	if (!p.n || p.p[0] == HOLE)
		return PLACE_UNKNOWN;
	if (within_c(p, "/dev") && !within_c(p, "/dev/shm"))
		return dev_place(p);
	if (!cx->remote && within(p, cx->workspace)) {
		if (p.n == cx->workspace.n)
			return PLACE_WORKSPACE_ROOT;
		if (cls[KPATH_PRECIOUS])
			return PLACE_PRECIOUS;
		if (cls[KPATH_REGEN])
			return PLACE_REGEN;
		return PLACE_WORKSPACE;
	}
	if (!cx->remote && cx->workspace.n > 1 && within(cx->workspace, p))
		return p.n == 1 ? PLACE_SYSTEM_ROOT : PLACE_HOME_ROOT; /* holds the workspace */
	if (in_tmp(p, &root))
		return root ? PLACE_TMP_ROOT : PLACE_TMP;
	if (within_c(p, "/proc/self/fd") || within_c(p, "/proc/thread-self/fd"))
		return PLACE_NULL;
	if (within_c(p, "/proc") || within_c(p, "/sys"))
		return p.n == 5 || p.n == 4 ? PLACE_SYSTEM_ROOT : PLACE_PROC;
	if (in_home(cx, p, &root))
		return root ? PLACE_HOME_ROOT : PLACE_HOME;
	if (in_system(cls, p, &root))
		return root ? PLACE_SYSTEM_ROOT : PLACE_SYSTEM;
	return PLACE_OTHER;
}

struct spot path_spot(struct ctx *cx, struct rein_str s)
{
	const struct know_path *cls[KPATH__MAX];
	struct spot r = {0};
	struct rein_str eff;

	if (s.n == 1 && s.p[0] == '-') {
		r.place = PLACE_DATA;
		return r;
	}
	if (s.n > LONGEST) {
		r.place = PLACE_UNKNOWN;
		r.path = STR("\001");
		r.holes = true;
		return r;
	}
	r.path = path_resolve(cx, s);
	r.holes = has_hole(r.path);
	r.globs = !is_literal(r.path) && !r.holes;
	eff = effective(r.path, false);
	path_classes(cx, r.path, ~0u, cls);
	if (!cls[KPATH_NOTSECRET] || !is_literal(r.path)) /* .env* is more than .env.example */
		r.secret = cls[KPATH_SECRET];
	r.persist = cls[KPATH_PERSIST];
	r.agent = cls[KPATH_AGENT];
	r.ci = cls[KPATH_CI];
	r.log = cls[KPATH_LOG] != NULL;
	if (eff.n != r.path.n)
		path_classes(cx, eff,
			     1u << KPATH_SYSTEM | 1u << KPATH_PRECIOUS | 1u << KPATH_REGEN, cls);
	r.place = place_of(cx, cls, eff);
	return r;
}

/* ------------------------------------------------------------ files the script itself made */

struct vfile *vfile_find(struct ctx *cx, struct rein_str path)
{
	struct rein_str p = path_resolve(cx, path);

	for (struct vfile *f = cx->files; f; f = f->next)
		if (rein_str_eq(f->path, p))
			return f;
	return NULL;
}

void vfile_put(struct ctx *cx, struct rein_str path, struct data d, bool append)
{
	struct vfile *f = vfile_find(cx, path);
	unsigned n = 0;

	if (f && (append || cx->cond)) {
		f->data = append ? data_join(cx, f->data, d) : (d.known && !f->data.known ? f->data : d);
		f->data.taint |= d.taint;
		return;
	}
	if (!f) {
		for (f = cx->files; f; f = f->next)
			n++;
		if (n > 64)
			return;
		f = arena_new(cx->a, struct vfile);
		f->path = path_resolve(cx, path);
		f->next = cx->files;
		cx->files = f;
	}
	f->data = d;
}

static bool fd_of(struct rein_str p, unsigned *fd)
{
	static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		struct rein_str n = str_from(p, strlen(dirs[i]));

		if (!str_starts(p, dirs[i]) || !n.n || n.n > 4)
			continue;
		*fd = 0;
		for (size_t k = 0; k < n.n; k++) {
			if (n.p[k] < '0' || n.p[k] > '9')
				return false;
			*fd = *fd * 10 + (unsigned)(n.p[k] - '0');
		}
		return *fd < CX_FDS;
	}
	return false;
}

struct data file_data(struct ctx *cx, const struct field *f)
{
	struct spot s = path_spot(cx, f->s);
	struct vfile *v = vfile_find(cx, f->s);
	struct data d = data_unknown(TAINT_FILE);
	unsigned fd;

	if (v)
		return v->data;
	if (fd_of(s.path, &fd) && cx->fd_open[fd])
		return cx->fds[fd];
	if (str_is(s.path, "/dev/null"))
		return data_known(STR(""));
	if (s.place == PLACE_NET)
		d.taint |= TAINT_NET;
	if (s.secret)
		d.taint |= TAINT_SECRET;
	if (is_far(&s))
		d.taint |= TAINT_FAR;
	return d;
}

/* Somebody's own files, or the system's. What the kernel tells of itself is nobody's. */
bool is_far(const struct spot *s)
{
	return s->place == PLACE_HOME || s->place == PLACE_HOME_ROOT || s->place == PLACE_OTHER ||
	       s->place == PLACE_SYSTEM || s->place == PLACE_SYSTEM_ROOT;
}

unsigned names_taint(struct ctx *cx, const struct field *starts, size_t n)
{
	if (!n && path_spot(cx, STR(".")).place != PLACE_WORKSPACE_ROOT &&
	    path_spot(cx, STR(".")).place != PLACE_WORKSPACE)
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct spot s = path_spot(cx, starts[i].s);

		if (s.holes || (s.place != PLACE_WORKSPACE && s.place != PLACE_WORKSPACE_ROOT &&
				s.place != PLACE_REGEN))
			return 0;
	}
	return TAINT_NAMES;
}

bool names_own(struct ctx *cx, const struct field *f)
{
	return (f->taint | TAINT_INPUT) == (TAINT_NAMES | TAINT_INPUT) && f->s.n == 1 &&
	       f->s.p[0] == HOLE && names_taint(cx, NULL, 0);
}
