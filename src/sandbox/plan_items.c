/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which mounts, in which order. A mount is planned after the one its mount point lies in; what lies
 * inside something hidden or private is left out, because it is not there. Decides nothing about what
 * may be seen: that came with the specification.
 */
#include "sandbox/plan_items.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "sandbox/net/start.h"
#include "sys/file.h"

void rein_planitems_done_(struct rein_planitems *l)
{
	for (size_t i = 0; i < l->nowned; i++)
		rein_free(l->owned[i]);
	rein_free(l->owned);
	rein_free(l->v);
}

int rein_planitems_add_(struct rein_planitems *l, struct rein_planitem item, struct rein_err *err)
{
	if (strlen(item.target) > REIN_PLAN_PATHLEN)
		return rein_err_set(err, REIN_E_LIMIT, "path is too long: '%.80s...'", item.target);
	if (rein_grow(l->v, l->n, l->cap) < 0)
		return rein_err_nomem(err);
	l->v[l->n++] = item;
	return 0;
}

bool rein_planitems_has_(const struct rein_planitems *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (rein_streq(l->v[i].target, path))
			return true;
	return false;
}

/* Replace *s by a copy that lives as long as the list. */
int rein_planitems_own_(struct rein_planitems *l, char **s, struct rein_err *err)
{
	char *copy = rein_strdup(*s);

	if (!copy || rein_grow(l->owned, l->nowned, l->owned_cap) < 0) {
		rein_free(copy);
		return rein_err_nomem(err);
	}
	*s = l->owned[l->nowned++] = copy;
	return 0;
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

static int add_roots(struct rein_planitems *l, const struct rein_box_spec *spec, struct rein_err *err)
{
	for (size_t i = 0; i < spec->nroots; i++) {
		const struct rein_root *r = &spec->roots[i];
		const struct rein_planitem itself = {
			.kind = REIN_MOUNT_BIND, .flags = REIN_MOUNT_RDONLY, .target = r->real, .source = r->real};
		const struct rein_planitem copied = {.kind = REIN_MOUNT_OVERLAY,
						     .flags = i ? 0 : layer_flags(spec),
						     .target = r->real,
						     .source = r->real,
						     .upper = r->upper,
						     .work = r->work,
						     .mask = r->mask};

		if (rein_planitems_add_(l, r->upper ? copied : itself, err) < 0)
			return -err->code;
	}
	return 0;
}

/* With the host's network goes the host's /sys: without what is mounted in it and for root only. */
static int add_sys(struct rein_planitems *l, struct rein_err *err)
{
	static const char *const kept_from[] = {
		"/sys/firmware",       "/sys/fs/bpf",	     "/sys/fs/cgroup", "/sys/fs/pstore",
		"/sys/kernel/debug",   "/sys/kernel/config", "/sys/kernel/security",
		"/sys/kernel/tracing",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kept_from); i++)
		if (!rein_planitems_has_(l, kept_from[i]) && is_real_dir(kept_from[i]) &&
		    rein_planitems_add_(l,
					(struct rein_planitem){.kind = REIN_MOUNT_HIDE_DIR,
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
static int add_builtin(struct rein_planitems *l, const struct rein_box_spec *spec, uint32_t flags,
		       struct rein_err *err)
{
	static const struct rein_planitem fixed[] = {
		{.kind = REIN_MOUNT_PROC, .target = "/proc"},
		{.kind = REIN_MOUNT_DEV, .target = "/dev"},
		{.kind = REIN_MOUNT_PRIVATE, .target = "/tmp", .source = "tmp"},
		{.kind = REIN_MOUNT_PRIVATE, .target = "/run", .source = "run"},
		{.kind = REIN_MOUNT_PRIVATE, .target = "/var/tmp", .source = "vartmp"},
		{.kind = REIN_MOUNT_PRIVATE, .target = "/var/run", .source = "varrun"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (rein_planitems_has_(l, fixed[i].target) || !is_real_dir(fixed[i].target))
			continue;
		if (rein_planitems_add_(l, fixed[i], err) < 0)
			return -err->code;
	}
	if (flags & REIN_PLAN_NETNS && !rein_planitems_has_(l, "/sys") && is_real_dir("/sys") &&
	    rein_planitems_add_(l, (struct rein_planitem){.kind = REIN_MOUNT_SYS, .target = "/sys"}, err) < 0)
		return -err->code;
	if (!(flags & REIN_PLAN_NETNS) && add_sys(l, err) < 0)
		return -err->code;
	for (char **e = spec->envp; e && *e; e++) {
		const char *dir = *e + sizeof("XDG_RUNTIME_DIR=") - 1;

		if (!rein_starts(*e, "XDG_RUNTIME_DIR=/") || rein_path_within(dir, "/run") ||
		    rein_streq(dir, "/") || rein_planitems_has_(l, dir) || !is_real_dir(dir))
			continue;
		if (rein_planitems_add_(
			    l, (struct rein_planitem){.kind = REIN_MOUNT_PRIVATE, .target = dir, .source = "runtime"},
			    err) < 0)
			return -err->code;
	}
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

/* A small file of the box's own over one of the host's. */
static int add_text(struct rein_planitems *l, const char *path, const char *text, struct rein_err *err)
{
	char *target = (char *)(uintptr_t)path, *source = (char *)(uintptr_t)text;

	if (rein_planitems_has_(l, path))
		return 0;
	if (rein_planitems_own_(l, &target, err) < 0 || rein_planitems_own_(l, &source, err) < 0)
		return -err->code;
	return rein_planitems_add_(l,
				   (struct rein_planitem){.kind = REIN_MOUNT_TEXT,
							  .flags = REIN_MOUNT_OPTIONAL | REIN_MOUNT_FILE,
							  .target = target,
							  .source = source},
				   err);
}

/*
 * Behind a gate names come from the gate alone: its own settings lie over the host's, whose search
 * list would ask for names nobody meant, and whose fixed addresses lead nowhere from here.
 */
static int add_names(struct rein_planitems *l, struct rein_err *err)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{"/etc/resolv.conf", "# the gate answers\nnameserver 127.0.0.1\n"},
		{"/etc/hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_free char *found = link_end(files[i].path), *normal = found ? realpath(found, NULL) : NULL;
		auto_free char *text = i ? rein_asprintf("%s%s\n", files[i].text, l->hostname)
					 : rein_strdup(files[i].text);

		if (!found || !text)
			return rein_err_nomem(err);
		if (add_text(l, normal ? normal : found, text, err) < 0)
			return -err->code;
	}
	return 0;
}

/* Is there a line for it already? hosts(5): an address, then names; '#' begins a comment. */
static bool knows_host(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *end = line + strcspn(line, "#\n"), *p = line;
		bool address = true;

		for (;; address = false) {
			size_t n;

			p += strspn(p, " \t\r");
			if (p >= end)
				break;
			n = strcspn(p, " \t\r#\n");
			if (!address && n == len && strncasecmp(p, name, n) == 0)
				return true;
			p += n;
		}
	}
	return false;
}

/* May the command change it? Then what it finds there is what it will have changed. */
static bool is_its_own(const struct rein_box_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->nroots; i++)
		if (rein_path_within(path, spec->roots[i].real))
			return true;
	for (size_t i = 0; i < spec->npaths; i++)
		if (spec->paths[i].access == REIN_PATH_SCRATCH && rein_path_within(path, spec->paths[i].path))
			return true;
	return false;
}

#define HOSTS_MAX 65536 /* lists of blocked names are longer: those are not copied for each start */

/*
 * The box has a host name of its own, and programs ask for its address (java, hostname -i): the host's file with one
 * more line. Where there is none, or none of a reasonable size, it is as it is; and where the command may change it, so
 * that nothing may lie over it, the box has the name that is in every such file.
 */
static int add_host_name(struct rein_planitems *l, const struct rein_box_spec *spec, struct rein_err *err)
{
	auto_buf struct rein_buf text = REIN_BUF(HOSTS_MAX + 256);
	auto_free char *path = realpath("/etc/hosts", NULL);
	struct rein_err ignored = {0};
	struct stat st;

	if (!path || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > HOSTS_MAX ||
	    rein_file_read(AT_FDCWD, path, &text, &ignored) < 0)
		return 0;
	if (text.n && knows_host(text.p, l->hostname))
		return 0;
	if (is_its_own(spec, path)) {
		if (text.n && knows_host(text.p, "localhost"))
			l->hostname = "localhost";
		return 0;
	}
	rein_buf_printf(&text, "%s127.0.1.1 %s\n", text.n && text.p[text.n - 1] != '\n' ? "\n" : "", l->hostname);
	/* what is no text is nobody's list of hosts */
	return text.failed || strlen(text.p) != text.n ? 0 : add_text(l, path, text.p, err);
}

/* TLS is looked into: the certificates the box is to trust, its own among them. */
static int add_bundle(struct rein_planitems *l, const struct rein_plan_setup *setup, struct rein_err *err)
{
	char *text = (char *)(uintptr_t)setup->bundle;

	if (!text)
		return 0;
	if (!is_real_dir("/run"))
		return rein_err_set(err, REIN_E_UNSUPPORTED, "looking into TLS needs /run, for " REIN_GATE_BUNDLE);
	if (rein_planitems_own_(l, &text, err) < 0)
		return -err->code;
	return rein_planitems_add_(l,
				   (struct rein_planitem){.kind = REIN_MOUNT_TEXT,
							  .flags = REIN_MOUNT_FILE,
							  .target = REIN_GATE_BUNDLE,
							  .source = text},
				   err);
}

/* Local sockets of the host that were named; all others are hidden or out of sight. */
static int add_named_sockets(struct rein_planitems *l, const struct rein_box_spec *spec, struct rein_err *err)
{
	for (size_t i = 0; spec->sockets && spec->sockets[i]; i++) {
		const char *name = spec->sockets[i], *source = spec->socket_sources[i];
		struct stat st;

		if (lstat(source, &st) < 0 || !S_ISSOCK(st.st_mode))
			return rein_err_set(err, REIN_E_INVALID, "'%s' is not a local socket", name);
		if (rein_planitems_add_(
			    l,
			    (struct rein_planitem){.kind = REIN_MOUNT_BIND,
						   .flags = REIN_MOUNT_FILE | REIN_MOUNT_RDONLY | REIN_MOUNT_SINGLE,
						   .target = name,
						   .source = source},
			    err) < 0)
			return -err->code;
	}
	return 0;
}

/* Is it a tree that is copied on write? What is mounted there then is our overlay. */
static bool is_tree(const struct rein_box_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->nroots; i++)
		if (rein_streq(spec->roots[i].real, path))
			return true;
	return false;
}

static int add_paths(struct rein_planitems *l, const struct rein_box_spec *spec, struct rein_err *err)
{
	for (size_t i = 0; i < spec->npaths; i++) {
		const struct rein_path_rule *r = &spec->paths[i];
		struct rein_planitem item = {.target = r->path, .flags = r->is_dir ? 0 : REIN_MOUNT_FILE};

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
			/*
			 * A mount of its own is not part of the tree around it: take it along. Not what is
			 * below one of our overlays: that has no mask.
			 */
			item.kind = is_mount(r->path) && !is_tree(spec, r->path) ? REIN_MOUNT_BIND : REIN_MOUNT_FREEZE;
			item.source = r->path;
			item.flags |= REIN_MOUNT_RDONLY;
			break;
		case REIN_PATH_EMPTY:
			item.kind = REIN_MOUNT_PRIVATE;
			item.source = "home";
			break;
		default:
			item.kind = r->is_dir ? REIN_MOUNT_HIDE_DIR : REIN_MOUNT_HIDE_FILE;
			item.flags |= REIN_MOUNT_OPTIONAL;
		}
		if (rein_planitems_add_(l, item, err) < 0)
			return -err->code;
	}
	return 0;
}

/*
 * Root sees no error when an overlay covers a tree with mounts in it: they are simply gone. So all
 * of the host's mounts are candidates, and those that end up inside an overlay are put back read-only.
 */
static int add_mounted(struct rein_planitems *l, const struct rein_mounts *mounts, struct rein_err *err)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const char *point = mounts->v[i].point;

		if (*point != '/' || rein_streq(point, "/") || rein_planitems_has_(l, point))
			continue;
		if (rein_planitems_add_(l,
					(struct rein_planitem){.kind = REIN_MOUNT_BIND,
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

/* Does it lie in something of the host's that is mounted into a private directory? */
static bool brought_back(const struct rein_planitems *l, const char *path)
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
static int add_sockets(struct rein_planitems *l, struct rein_err *err)
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
		    rein_planitems_has_(l, path) || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
			continue;
		rc = rein_planitems_own_(l, &path, err);
		if (rc == 0)
			rc = rein_planitems_add_(
				l,
				(struct rein_planitem){.kind = REIN_MOUNT_HIDE_FILE,
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
	const struct rein_planitem *a = va, *b = vb;
	const unsigned char *s = (const unsigned char *)a->target;
	const unsigned char *t = (const unsigned char *)b->target;

	for (; *s && *s == *t; s++, t++)
		;
	if (*s == *t)
		return (int)a->kind - (int)b->kind;
	return (*s == '/' ? 1 : *s ? *s + 1 : 0) - (*t == '/' ? 1 : *t ? *t + 1 : 0);
}

/* gpg uses no socket in a directory that others may look into */
static bool lies_closed(const char *path)
{
	auto_free char *dir = rein_strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	struct stat st;

	if (!slash || slash == dir)
		return false;
	*slash = 0;
	return stat(dir, &st) == 0 && !(st.st_mode & 077);
}

/* Decide about one item when it is known what it lies in (NULL: in the host's own tree). */
static int settle(struct rein_planitem *it, const struct rein_planitem *in, bool pivot, struct rein_err *err)
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
		it->flags |= REIN_MOUNT_MAKE | (lies_closed(it->target) ? REIN_MOUNT_CLOSED : 0);
	return 0;
}

/* Sort, find for each what it lies in, drop and adjust. ancestors is a stack of indices. */
static int arrange(struct rein_planitems *l, bool pivot, struct rein_err *err)
{
	auto_free size_t *ancestors = rein_calloc(l->n + 1, sizeof(*ancestors));
	size_t depth = 0;

	if (!ancestors)
		return rein_err_nomem(err);
	qsort(l->v, l->n, sizeof(*l->v), by_path);
	for (size_t i = 0; i < l->n; i++) {
		struct rein_planitem *it = &l->v[i];

		while (depth && !rein_path_within(it->target, l->v[ancestors[depth - 1]].target))
			depth--;
		if (settle(it, depth ? &l->v[ancestors[depth - 1]] : NULL, pivot, err) < 0)
			return -err->code;
		if (!it->dropped)
			ancestors[depth++] = i;
	}
	return 0;
}

int rein_planitems_find_(struct rein_planitems *l, const struct rein_box_spec *spec,
			 const struct rein_plan_setup *setup, const struct rein_mounts *mounts,
			 struct rein_err *err)
{
	l->hostname = spec->hostname ? spec->hostname : "box";
	if (add_roots(l, spec, err) < 0 || add_paths(l, spec, err) < 0 || add_named_sockets(l, spec, err) < 0 ||
	    (setup->flags & REIN_PLAN_GATE ? add_names(l, err) < 0 || add_bundle(l, setup, err) < 0
					   : add_host_name(l, spec, err) < 0) ||
	    add_builtin(l, spec, setup->flags, err) < 0)
		return -err->code;
	if (rein_planitems_add_aliases_(l, mounts, spec, err) < 0)
		return -err->code;
	if (!(setup->flags & REIN_PLAN_USERNS) && add_mounted(l, mounts, err) < 0)
		return -err->code;
	if (add_sockets(l, err) < 0)
		return -err->code;
	return arrange(l, setup->flags & REIN_PLAN_PIVOT, err);
}
