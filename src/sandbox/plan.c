/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the specification to the plan: which mounts, in which order. A mount is planned after the one
 * its mount point lies in; what lies inside something hidden or private is left out, because it is
 * not there. Decides nothing about what may be seen: that came with the specification.
 */
#include "sandbox/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/buf.h"
#include "sandbox/mounts.h"
#include "sandbox/net/netlink.h"
#include "sandbox/net/start.h"

/* A mount that may enter the plan. Strings belong to others. */
struct item {
	uint32_t kind, flags;
	const char *target, *source, *upper, *work, *mask;
	bool found;   /* it is merely mounted there on the host */
	bool dropped; /* lies in something that is not there */
};

struct items {
	struct item *v;
	size_t n, cap;
	char **owned;
	size_t nowned, owned_cap;
};

static void items_done(struct items *l)
{
	for (size_t i = 0; i < l->nowned; i++)
		rein_free(l->owned[i]);
	rein_free(l->owned);
	rein_free(l->v);
}

static int add(struct items *l, struct item item, struct rein_err *err)
{
	if (strlen(item.target) > REIN_PLAN_PATHLEN)
		return rein_err_set(err, REIN_E_LIMIT, "path is too long: '%.80s...'", item.target);
	if (rein_grow(l->v, l->n, l->cap) < 0)
		return rein_err_nomem(err);
	l->v[l->n++] = item;
	return 0;
}

static bool has(const struct items *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (rein_streq(l->v[i].target, path))
			return true;
	return false;
}

static bool is_mount(const char *path)
{
	struct statx sx;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, 0, &sx) == 0 &&
	       sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static bool is_real_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Of the first root's overlay. */
static uint32_t layer_flags(const struct rein_box_spec *spec)
{
	if (!spec->layer)
		return 0;
	return REIN_MOUNT_LENT | (*spec->layer >= 0 ? REIN_MOUNT_GIVEN : 0u);
}

static int add_roots(struct items *l, const struct rein_box_spec *spec, struct rein_err *err)
{
	for (size_t i = 0; i < spec->nroots; i++) {
		const struct rein_root *r = &spec->roots[i];
		const struct item itself = {
			.kind = REIN_MOUNT_BIND, .flags = REIN_MOUNT_RDONLY, .target = r->real, .source = r->real};
		const struct item copied = {.kind = REIN_MOUNT_OVERLAY,
					    .flags = i ? 0 : layer_flags(spec),
					    .target = r->real,
					    .source = r->real,
					    .upper = r->upper,
					    .work = r->work,
					    .mask = r->mask};

		if (add(l, r->upper ? copied : itself, err) < 0)
			return -err->code;
	}
	return 0;
}

/* With the host's network goes the host's /sys: without what is mounted in it and for root only. */
static int add_sys(struct items *l, struct rein_err *err)
{
	static const char *const kept_from[] = {
		"/sys/firmware",       "/sys/fs/bpf",	     "/sys/fs/cgroup", "/sys/fs/pstore",
		"/sys/kernel/debug",   "/sys/kernel/config", "/sys/kernel/security",
		"/sys/kernel/tracing",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kept_from); i++)
		if (!has(l, kept_from[i]) && is_real_dir(kept_from[i]) &&
		    add(l,
			(struct item){.kind = REIN_MOUNT_HIDE_DIR,
				      .flags = REIN_MOUNT_OPTIONAL,
				      .target = kept_from[i]},
			err) < 0)
			return -err->code;
	return 0;
}

/*
 * Places where every process may leave something, or where services of the host listen on sockets:
 * the box gets its own. XDG_RUNTIME_DIR usually lies in /run.
 */
static int add_builtin(struct items *l, const struct rein_box_spec *spec, uint32_t flags,
		       struct rein_err *err)
{
	static const struct item fixed[] = {
		{.kind = REIN_MOUNT_PROC, .target = "/proc"},
		{.kind = REIN_MOUNT_DEV, .target = "/dev"},
		{.kind = REIN_MOUNT_PRIVATE, .target = "/tmp", .source = "tmp"},
		{.kind = REIN_MOUNT_PRIVATE, .target = "/run", .source = "run"},
		{.kind = REIN_MOUNT_PRIVATE, .target = "/var/tmp", .source = "vartmp"},
		{.kind = REIN_MOUNT_PRIVATE, .target = "/var/run", .source = "varrun"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (has(l, fixed[i].target) || !is_real_dir(fixed[i].target))
			continue;
		if (add(l, fixed[i], err) < 0)
			return -err->code;
	}
	if (flags & REIN_PLAN_NETNS && !has(l, "/sys") && is_real_dir("/sys") &&
	    add(l, (struct item){.kind = REIN_MOUNT_SYS, .target = "/sys"}, err) < 0)
		return -err->code;
	if (!(flags & REIN_PLAN_NETNS) && add_sys(l, err) < 0)
		return -err->code;
	for (char **e = spec->envp; e && *e; e++) {
		const char *dir = *e + sizeof("XDG_RUNTIME_DIR=") - 1;

		if (!rein_starts(*e, "XDG_RUNTIME_DIR=/") || rein_path_within(dir, "/run") ||
		    rein_streq(dir, "/") || has(l, dir) || !is_real_dir(dir))
			continue;
		if (add(l,
			(struct item){.kind = REIN_MOUNT_PRIVATE, .target = dir, .source = "runtime"},
			err) < 0)
			return -err->code;
	}
	return 0;
}

/* Replace *s by a copy that lives as long as the list. */
static int own(struct items *l, char **s, struct rein_err *err)
{
	char *copy = rein_strdup(*s);

	if (!copy || rein_grow(l->owned, l->nowned, l->owned_cap) < 0) {
		rein_free(copy);
		return rein_err_nomem(err);
	}
	*s = l->owned[l->nowned++] = copy;
	return 0;
}

/* The file a path leads to at last, though it need not be there. */
static char *link_end(const char *path)
{
	char *at = rein_strdup(path);

	for (int hops = 0; at && hops < 8; hops++) {
		char to[PATH_MAX];
		ssize_t n = readlink(at, to, sizeof(to) - 1);
		char *slash = strrchr(at, '/'), *next;

		if (n <= 0)
			return at;
		to[n] = 0;
		next = to[0] == '/' ? rein_strdup(to)
				    : rein_asprintf("%.*s/%s", (int)(slash - at), at, to);
		rein_free(at);
		at = next;
	}
	return at;
}

/*
 * Behind a gate names come from the gate alone: its own settings lie over the host's, whose search
 * list would ask for names nobody meant, and whose fixed addresses lead nowhere from here.
 */
static int add_names(struct items *l, const struct rein_box_spec *spec, struct rein_err *err)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{"/etc/resolv.conf", "# the gate answers\nnameserver 127.0.0.1\n"},
		{"/etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_free char *found = link_end(files[i].path), *normal = found ? realpath(found, NULL) : NULL;
		char *text = i ? rein_asprintf("%s%s\n", files[i].text, spec->hostname ? spec->hostname : "box")
			       : rein_strdup(files[i].text);
		char *path = normal ? normal : found, *source = text;
		int rc = !path || !text ? rein_err_nomem(err) : own(l, &path, err);

		rc = rc < 0 ? rc : own(l, &source, err);
		rein_free(text);
		if (rc == 0 && !has(l, path))
			rc = add(l,
				 (struct item){.kind = REIN_MOUNT_TEXT,
					       .flags = REIN_MOUNT_OPTIONAL | REIN_MOUNT_FILE,
					       .target = path,
					       .source = source},
				 err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* TLS is looked into: the certificates the box is to trust, its own among them. */
static int add_bundle(struct items *l, const struct rein_plan_setup *setup, struct rein_err *err)
{
	char *text = (char *)(uintptr_t)setup->bundle;

	if (!text)
		return 0;
	if (!is_real_dir("/run"))
		return rein_err_set(err, REIN_E_UNSUPPORTED, "looking into TLS needs /run, for " REIN_GATE_BUNDLE);
	if (own(l, &text, err) < 0)
		return -err->code;
	return add(l,
		   (struct item){.kind = REIN_MOUNT_TEXT, .flags = REIN_MOUNT_FILE, .target = REIN_GATE_BUNDLE,
				 .source = text},
		   err);
}

/* Local sockets of the host that were named; all others are hidden or out of sight. */
static int add_named_sockets(struct items *l, const struct rein_box_spec *spec, struct rein_err *err)
{
	for (char *const *s = spec->sockets; s && *s; s++) {
		struct stat st;

		if (stat(*s, &st) < 0 || !S_ISSOCK(st.st_mode))
			return rein_err_set(err, REIN_E_INVALID, "'%s' is not a local socket", *s);
		if (add(l,
			(struct item){.kind = REIN_MOUNT_BIND,
				      .flags = REIN_MOUNT_FILE | REIN_MOUNT_RDONLY | REIN_MOUNT_SINGLE,
				      .target = *s,
				      .source = *s},
			err) < 0)
			return -err->code;
	}
	return 0;
}

static int add_paths(struct items *l, const struct rein_box_spec *spec, struct rein_err *err)
{
	for (size_t i = 0; i < spec->npaths; i++) {
		const struct rein_path_rule *r = &spec->paths[i];
		struct item item = {.target = r->path, .flags = r->is_dir ? 0 : REIN_MOUNT_FILE};

		switch (r->access) {
		case REIN_PATH_SCRATCH:
			item.kind = REIN_MOUNT_BIND;
			item.source = r->source;
			break;
		case REIN_PATH_CANARY:
			item.kind = REIN_MOUNT_BIND;
			item.source = r->source;
			item.flags |= REIN_MOUNT_RDONLY | REIN_MOUNT_OPTIONAL;
			break;
		case REIN_PATH_RO:
			/* A mount of its own is not part of the tree around it: take it along. */
			item.kind = is_mount(r->path) ? REIN_MOUNT_BIND : REIN_MOUNT_FREEZE;
			item.source = r->path;
			item.flags |= REIN_MOUNT_RDONLY;
			break;
		default:
			item.kind = r->is_dir ? REIN_MOUNT_HIDE_DIR : REIN_MOUNT_HIDE_FILE;
			item.flags |= REIN_MOUNT_OPTIONAL;
		}
		if (add(l, item, err) < 0)
			return -err->code;
	}
	return 0;
}

/*
 * Root sees no error when an overlay covers a tree with mounts in it: they are simply gone. So all
 * of the host's mounts are candidates, and those that end up inside an overlay are put back read-only.
 */
static int add_mounted(struct items *l, const struct rein_mounts *mounts, struct rein_err *err)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const char *point = mounts->v[i].point;

		if (*point != '/' || rein_streq(point, "/") || has(l, point))
			continue;
		if (add(l,
			(struct item){.kind = REIN_MOUNT_BIND,
				      .flags = REIN_MOUNT_RDONLY | REIN_MOUNT_SINGLE |
					       REIN_MOUNT_OPTIONAL,
				      .target = point,
				      .source = point,
				      .found = true},
			err) < 0)
			return -err->code;
	}
	return 0;
}

/* What follows dir in path: "" or "/...". path lies within dir. */
static const char *below(const char *path, const char *dir)
{
	return rein_streq(dir, "/") ? path : path + strlen(dir);
}

/* "/a" and "/b" to "/a/b"; "/" and "/b" to "/b", "/a" and "" or "/" to "/a". Owned by the list. */
static int join(struct items *l, const char *dir, const char *rest, char **ret, struct rein_err *err)
{
	char *path = rein_asprintf("%s%s", rein_streq(dir, "/") ? "" : dir,
				   rein_streq(rest, "/") ? "" : rest);
	int rc;

	if (!path)
		return rein_err_nomem(err);
	*ret = *path ? path : (char *)(uintptr_t) "/";
	rc = own(l, ret, err);
	rein_free(path);
	return rc;
}

static const struct rein_mount *mount_of(const struct rein_mounts *mounts, const char *path)
{
	const struct rein_mount *best = NULL;

	for (size_t i = 0; i < mounts->n; i++) {
		const struct rein_mount *m = &mounts->v[i];

		if (rein_path_within(path, m->point) &&
		    (!best || strlen(m->point) >= strlen(best->point)))
			best = m;
	}
	return best;
}

static bool same_file(const char *a, const char *b, bool *is_dir)
{
	struct stat x, y;

	if (lstat(a, &x) < 0 || lstat(b, &y) < 0 || x.st_dev != y.st_dev || x.st_ino != y.st_ino)
		return false;
	*is_dir = S_ISDIR(x.st_mode);
	return true;
}

static bool in_root(const struct rein_box_spec *spec, const char *path)
{
	for (size_t i = 0; spec && i < spec->nroots; i++)
		if (rein_path_within(path, spec->roots[i].real))
			return true;
	return false;
}

/*
 * The same part of a file system may be mounted at several places. What is hidden here, or below here
 * by a mask, is covered there too. Names count only if they lead to the same file: something else may
 * be mounted over them. If masked is given, its roots have masks of their own and stay.
 */
static int add_aliases(struct items *l, const struct rein_mounts *mounts, const char *path,
		       const struct rein_box_spec *masked, struct rein_err *err)
{
	const struct rein_mount *home = mount_of(mounts, path);
	char *inner, *here, *there;

	if (!home || rein_mounts_kind(home->fstype) == REIN_FS_PSEUDO)
		return 0;
	if (join(l, home->root, below(path, home->point), &inner, err) < 0)
		return -err->code;
	for (size_t i = 0; i < mounts->n; i++) {
		const struct rein_mount *m = &mounts->v[i];
		bool inside = rein_path_within(m->root, inner), is_dir;

		if (m == home || m->major != home->major || m->minor != home->minor ||
		    (!inside && !rein_path_within(inner, m->root)))
			continue;
		if (join(l, m->point, inside ? "" : below(inner, m->root), &there, err) < 0 ||
		    join(l, path, inside ? below(m->root, inner) : "", &here, err) < 0)
			return -err->code;
		if (has(l, there) || rein_streq(here, there) || in_root(masked, there) ||
		    !same_file(here, there, &is_dir))
			continue;
		if (add(l,
			(struct item){.kind = is_dir ? REIN_MOUNT_HIDE_DIR : REIN_MOUNT_HIDE_FILE,
				      .flags = REIN_MOUNT_OPTIONAL,
				      .target = there},
			err) < 0)
			return -err->code;
	}
	return 0;
}

static int add_all_aliases(struct items *l, const struct rein_mounts *mounts,
			   const struct rein_box_spec *spec, struct rein_err *err)
{
	for (size_t i = 0; i < spec->nroots; i++)
		if (spec->roots[i].mask && add_aliases(l, mounts, spec->roots[i].real, spec, err) < 0)
			return -err->code;
	for (size_t i = 0; i < spec->npaths; i++)
		if (spec->paths[i].access == REIN_PATH_HIDE &&
		    add_aliases(l, mounts, spec->paths[i].path, NULL, err) < 0)
			return -err->code;
	return 0;
}

/* Does it lie in something of the host's that is mounted into a private directory? */
static bool brought_back(const struct items *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].kind != REIN_MOUNT_PRIVATE && l->v[i].kind != REIN_MOUNT_OVERLAY &&
		    rein_path_within(path, l->v[i].target))
			return true;
	return false;
}

/*
 * A socket can be connected to on a read-only mount, and who listens there may do what the box may
 * not. Those in /run and /tmp are gone with them; the kernel names the rest. (In an overlay they are
 * only names: the file there is not the one that is bound.)
 */
static int add_sockets(struct items *l, struct rein_err *err)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;

	if (!f)
		return 0; /* a kernel without local sockets */
	while (rc == 0 && (n = getline(&line, &cap, f)) > 0) {
		char *path = strstr(line, " /");
		struct stat st;

		if (!path)
			continue;
		path++;
		line[n - (line[n - 1] == '\n')] = 0;
		if (((rein_path_within(path, "/run") || rein_path_within(path, "/tmp")) &&
		     !brought_back(l, path)) ||
		    has(l, path) || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
			continue;
		rc = own(l, &path, err);
		if (rc == 0)
			rc = add(l,
				 (struct item){.kind = REIN_MOUNT_HIDE_FILE,
					       .flags = REIN_MOUNT_OPTIONAL | REIN_MOUNT_FILE,
					       .target = path,
					       .found = true},
				 err);
	}
	free(line);
	fclose(f);
	return rc;
}

/* A directory before what is in it, and the whole of it before its neighbours: '/' sorts first. */
static int by_path(const void *va, const void *vb)
{
	const struct item *a = va, *b = vb;
	const unsigned char *s = (const unsigned char *)a->target;
	const unsigned char *t = (const unsigned char *)b->target;

	for (; *s && *s == *t; s++, t++)
		;
	if (*s == *t)
		return (int)a->kind - (int)b->kind;
	return (*s == '/' ? 1 : *s ? *s + 1 : 0) - (*t == '/' ? 1 : *t ? *t + 1 : 0);
}

/* Decide about one item when it is known what it lies in (NULL: in the host's own tree). */
static int settle(struct item *it, const struct item *in, bool pivot, struct rein_err *err)
{
	bool covered = in && (in->kind == REIN_MOUNT_HIDE_DIR || in->kind == REIN_MOUNT_HIDE_FILE ||
			      in->kind == REIN_MOUNT_PROC || in->kind == REIN_MOUNT_SYS);
	bool private = in && (in->kind == REIN_MOUNT_PRIVATE || in->kind == REIN_MOUNT_DEV);

	if (covered && it->kind == REIN_MOUNT_OVERLAY)
		return rein_err_set(err, REIN_E_INVALID,
				    "'%s' cannot be copy-on-write: it lies in '%s', which the box does "
				    "not see; leave that visible, or work elsewhere",
				    it->target, in->target);
	if (covered) {
		it->dropped = true;
		return 0;
	}
	switch (it->kind) {
	case REIN_MOUNT_HIDE_DIR:
	case REIN_MOUNT_HIDE_FILE:
		it->dropped = private || (it->found && in && in->kind == REIN_MOUNT_OVERLAY);
		break;
	case REIN_MOUNT_FREEZE:
		if (private)
			it->kind = REIN_MOUNT_BIND;
		else if (!in)
			it->dropped = true; /* all of it is read-only */
		break;
	case REIN_MOUNT_BIND:
		if (it->found)
			it->dropped = !in ? !pivot
					  : in->kind != REIN_MOUNT_OVERLAY &&
						    !(in->found && !in->dropped);
		break;
	default:
		break;
	}
	if (private && !it->dropped && !rein_streq(it->target, in->target))
		it->flags |= REIN_MOUNT_MAKE;
	return 0;
}

/* Sort, find for each what it lies in, drop and adjust. ancestors is a stack of indices. */
static int arrange(struct items *l, bool pivot, struct rein_err *err)
{
	auto_free size_t *ancestors = rein_calloc(l->n + 1, sizeof(*ancestors));
	size_t depth = 0;

	if (!ancestors)
		return rein_err_nomem(err);
	qsort(l->v, l->n, sizeof(*l->v), by_path);
	for (size_t i = 0; i < l->n; i++) {
		struct item *it = &l->v[i];

		while (depth && !rein_path_within(it->target, l->v[ancestors[depth - 1]].target))
			depth--;
		if (settle(it, depth ? &l->v[ancestors[depth - 1]] : NULL, pivot, err) < 0)
			return -err->code;
		if (!it->dropped)
			ancestors[depth++] = i;
	}
	return 0;
}

/* Append a string, return its offset. */
static uint32_t put(struct rein_buf *b, const char *s)
{
	uint32_t at = (uint32_t)b->n;

	if (!s)
		return 0;
	rein_buf_add(b, s, strlen(s) + 1);
	return at;
}

static void put_words(struct rein_buf *b, uint32_t at, char **words)
{
	for (uint64_t i = 0; words[i]; i++) {
		uint64_t offset = put(b, words[i]);

		if (b->failed)
			return;
		memcpy(b->p + at + i * sizeof(offset), &offset, sizeof(offset));
	}
}

/* Room for n bytes of zeroes, aligned to 8; returns the offset. */
static uint32_t reserve(struct rein_buf *b, size_t n)
{
	static const char zero[4096];
	uint32_t at;

	rein_buf_add(b, zero, (8 - b->n % 8) % 8);
	at = (uint32_t)b->n;
	for (; n; n -= n < sizeof(zero) ? n : sizeof(zero))
		rein_buf_add(b, zero, n < sizeof(zero) ? n : sizeof(zero));
	return at;
}

static uint32_t count(char **words)
{
	uint32_t n = 0;

	while (words && words[n])
		n++;
	return n;
}

static const char *search_path(char **envp)
{
	for (; envp && *envp; envp++)
		if (rein_starts(*envp, "PATH="))
			return *envp + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

static void put_mounts(struct rein_buf *b, const struct items *l, uint32_t at, uint32_t *n)
{
	for (size_t i = 0; i < l->n && !b->failed; i++) {
		const struct item *it = &l->v[i];
		struct rein_plan_mount m = {.kind = it->kind, .flags = it->flags};

		if (it->dropped)
			continue;
		m.target = put(b, it->target);
		m.source = put(b, it->source);
		m.upper = put(b, it->upper);
		m.work = put(b, it->work);
		m.mask = put(b, it->mask);
		if (!b->failed)
			memcpy(b->p + at + (*n)++ * sizeof(m), &m, sizeof(m));
	}
}

/* What gives the box's network namespace its routes and rules, in this order. */
static const struct {
	enum rein_netlink_set set;
	uint32_t socket, flags;
} batches[] = {
	{REIN_NETLINK_ROUTE4, REIN_SOCKET_ROUTE, 0},
	{REIN_NETLINK_ROUTE6, REIN_SOCKET_ROUTE, REIN_BATCH_OPTIONAL},
	{REIN_NETLINK_LARGE, REIN_SOCKET_ROUTE, REIN_BATCH_OPTIONAL},
	{REIN_NETLINK_RULES, REIN_SOCKET_RULES, 0},
	{REIN_NETLINK_LOG_BIND, REIN_SOCKET_LOG, REIN_BATCH_OPTIONAL},
	{REIN_NETLINK_QUEUE_BIND, REIN_SOCKET_QUEUE, REIN_BATCH_OPTIONAL},
	/* The older target first: asking for an expression the kernel lacks costs 15 ms. */
	{REIN_NETLINK_HOLD_COMPAT, REIN_SOCKET_RULES, REIN_BATCH_OPTIONAL | REIN_BATCH_HOLD},
	{REIN_NETLINK_HOLD, REIN_SOCKET_RULES, REIN_BATCH_OPTIONAL | REIN_BATCH_HOLD},
};

static void put_batch(struct rein_buf *b, uint32_t at, uint32_t i)
{
	struct rein_plan_batch x = {.socket = batches[i].socket, .flags = batches[i].flags};

	x.at = reserve(b, 0);
	x.answers = rein_netlink_put(b, batches[i].set);
	x.size = (uint32_t)b->n - x.at;
	if (!b->failed)
		memcpy(b->p + at + i * sizeof(x), &x, sizeof(x));
}

static int lay_out(const struct items *l, const struct rein_box_spec *spec,
		   const struct rein_plan_setup *setup, struct rein_buf *b, struct rein_err *err)
{
	static char *no_words[] = {NULL};
	char **envp = spec->envp ? spec->envp : no_words;
	struct rein_plan p = {
		.magic = REIN_PLAN_MAGIC,
		.flags = setup->flags,
		.uid = setup->uid,
		.gid = setup->gid,
		.tty_mask = setup->tty_mask,
		.sample_ms = setup->sample_ms,
		.caps = spec->caps,
		.nrlimits = setup->nrlimits,
		.window = setup->window,
		.nargv = count(spec->argv),
		.nenvp = count(envp),
		.nfilter = setup->nfilter,
	};

	memcpy(p.rlimits, setup->rlimits, sizeof(p.rlimits));
	memcpy(p.termios, setup->termios, sizeof(p.termios));
	reserve(b, sizeof(p));
	p.mounts = reserve(b, l->n * sizeof(struct rein_plan_mount));
	p.nbatches = setup->flags & REIN_PLAN_GATE ? ARRAY_SIZE(batches) : 0;
	p.batches = reserve(b, p.nbatches * sizeof(struct rein_plan_batch));
	p.argv = reserve(b, (p.nargv + 1) * sizeof(uint64_t));
	p.envp = reserve(b, (p.nenvp + 1) * sizeof(uint64_t));
	p.filter = reserve(b, 0);
	rein_buf_add(b, setup->filter, setup->nfilter * sizeof(*setup->filter));
	for (uint32_t i = 0; i < p.nbatches; i++)
		put_batch(b, p.batches, i);
	put_mounts(b, l, p.mounts, &p.nmounts);
	put_words(b, p.argv, spec->argv);
	put_words(b, p.envp, envp);
	p.cwd = put(b, spec->cwd);
	p.search = put(b, search_path(envp));
	p.hostname = put(b, spec->hostname ? spec->hostname : "box");
	p.size = (uint32_t)b->n;
	if (b->failed)
		return rein_err_set(err, REIN_E_LIMIT,
				    "out of memory, or the command line, environment and paths are "
				    "together over %u MiB", REIN_PLAN_MAX >> 20);
	memcpy(b->p, &p, sizeof(p));
	if (!rein_plan_valid(b->p, b->n))
		return rein_err_set(err, REIN_E_LIMIT,
				    "the box is too large: at most %u mounts, %u of them copied or "
				    "copy-on-write, and absolute paths below %u bytes",
				    REIN_PLAN_MOUNTS, REIN_PLAN_KEPT, REIN_PLAN_PATHLEN);
	return 0;
}

int rein_plan_build(const struct rein_box_spec *spec, const struct rein_plan_setup *setup,
		    struct rein_plan **ret, struct rein_err *err)
{
	__attribute__((cleanup(items_done))) struct items l = {0};
	__attribute__((cleanup(rein_mounts_done))) struct rein_mounts read = {0};
	const struct rein_mounts *mounts = spec->mounts ? spec->mounts : &read;
	auto_buf struct rein_buf b = REIN_BUF(REIN_PLAN_MAX - 1);
	bool pivot = setup->flags & REIN_PLAN_PIVOT;

	if (!spec->argv || !spec->argv[0] || !spec->cwd)
		return rein_err_set(err, REIN_E_USAGE, "no command to run");
	if (add_roots(&l, spec, err) < 0 || add_paths(&l, spec, err) < 0 ||
	    add_named_sockets(&l, spec, err) < 0 ||
	    (setup->flags & REIN_PLAN_GATE && (add_names(&l, spec, err) < 0 || add_bundle(&l, setup, err) < 0)) ||
	    add_builtin(&l, spec, setup->flags, err) < 0)
		return -err->code;
	if ((!spec->mounts && rein_mounts_read(NULL, &read, err) < 0) || add_all_aliases(&l, mounts, spec, err) < 0)
		return -err->code;
	if (!(setup->flags & REIN_PLAN_USERNS) && add_mounted(&l, mounts, err) < 0)
		return -err->code;
	if (add_sockets(&l, err) < 0)
		return -err->code;
	if (arrange(&l, pivot, err) < 0 || lay_out(&l, spec, setup, &b, err) < 0)
		return -err->code;
	*ret = (struct rein_plan *)rein_buf_take(&b);
	return 0;
}

int rein_plan_build_guest(char **argv, char **envp, const char *cwd, const struct rein_plan_setup *setup,
			  struct rein_plan **ret, struct rein_err *err)
{
	/* a plan has a filter; this one is never installed, and if it were nothing would run */
	static const struct sock_filter nothing = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS};
	const struct rein_box_spec spec = {.argv = argv, .envp = envp, .cwd = cwd};
	const struct items none = {0};
	struct rein_plan_setup guest = {.tty_mask = setup->tty_mask, .window = setup->window,
					.filter = &nothing, .nfilter = 1};
	auto_buf struct rein_buf b = REIN_BUF(REIN_PLAN_MAX - 1);

	memcpy(guest.termios, setup->termios, sizeof(guest.termios));
	if (!argv || !argv[0] || !cwd)
		return rein_err_set(err, REIN_E_USAGE, "no command to run");
	if (lay_out(&none, &spec, &guest, &b, err) < 0)
		return -err->code;
	*ret = (struct rein_plan *)rein_buf_take(&b);
	return 0;
}
