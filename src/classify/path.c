/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a path lies and what is special about it. Paths are made absolute and normal first; holes
 * and globs are read in the worst way they allow: an unknown name below a directory may be
 * the directory itself.
 */
#include "classify/internal.h"

#define LONGEST 4096 /* path the kernel takes */

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
static struct rein_str effective(struct rein_str path)
{
	for (;;) {
		struct rein_str base = str_base(path);

		if (!base.n || !glob_only(base) || path.n < base.n + 1)
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
	eff = effective(r.path);
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
