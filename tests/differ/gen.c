/* SPDX-License-Identifier: Apache-2.0 */
/* See gen.h. */
#include "gen.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

enum kind { FILE_ = 1, DIR_ = 2, LINK_ = 4, FIFO_ = 8, SOCK_ = 16, ANY_ = 31 };

struct node {
	char *path;
	unsigned kind;
	bool second; /* another name of a file that has one already */
};

struct gen {
	const struct gen_options *o;
	struct lab_rng rng;
	struct ops *out;
	struct node *v;
	size_t n;
	const char *under; /* only paths below this directory; NULL: all, and the top itself */
};

static uint64_t below(struct gen *g, uint64_t n)
{
	return lab_below(&g->rng, n);
}

static bool chance(struct gen *g, unsigned percent)
{
	return lab_chance(&g->rng, percent);
}

/* ---- the rough picture ---- */

static void note(struct gen *g, const char *path, unsigned kind, bool second)
{
	struct node node = {lab_strdup(path), kind, second};

	lab_push(g->v, g->n, node);
}

static bool inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (path[n] == '/' || path[n] == '\0');
}

static void forget(struct gen *g, const char *path)
{
	char *gone = lab_strdup(path); /* it may be one of ours */
	size_t kept = 0;

	for (size_t i = 0; i < g->n; i++) {
		if (inside(g->v[i].path, gone))
			free(g->v[i].path);
		else
			g->v[kept++] = g->v[i];
	}
	/* lab_push grows at powers of two only: give it room as if it had grown to here */
	if (kept) {
		size_t cap = 1;

		while (cap < kept)
			cap *= 2;
		g->v = lab_resize(g->v, cap * sizeof(*g->v));
	}
	g->n = kept;
	free(gone);
}

static void moved(struct gen *g, const char *from, const char *to)
{
	char *src = lab_strdup(from), *dst = lab_strdup(to);

	if (strcmp(src, dst) && !inside(dst, src))
		forget(g, dst);
	for (size_t i = 0; i < g->n; i++) {
		char *old = g->v[i].path;

		if (!inside(old, src))
			continue;
		g->v[i].path = lab_format("%s%s", dst, old + strlen(src));
		free(old);
	}
	free(src);
	free(dst);
}

static bool usable(const struct gen *g, const struct node *node)
{
	if (g->under && (!inside(node->path, g->under) || !strcmp(node->path, g->under)))
		return false;
	return !(node->second && g->o->one_name_only);
}

/* An existing path of one of the kinds, as far as known; sometimes any, sometimes none. */
static char *pick(struct gen *g, unsigned kinds)
{
	size_t tries = 12;

	if (chance(g, 6))
		kinds = ANY_;
	while (g->n && tries--) {
		const struct node *node = &g->v[below(g, g->n)];

		if ((node->kind & kinds) && usable(g, node))
			return lab_strdup(node->path);
	}
	return g->under ? lab_format("%s/absent", g->under) : lab_strdup("absent");
}

/* ---- names ---- */

static const char *const odd_names[] = {
	"-rf",
	"--",
	"-",
	" ",
	"a b",
	"new\nline",
	"\n",
	"tab\there",
	"quote'\"",
	"back\\slash",
	"$(x)",
	"*",
	"?",
	"#c",
	"~",
	"...",
	"..x",
	".hidden",
	"%41",
	"caf\303\251",
	"\344\275\240\345\245\275",
	"\377\376",
	"bad\300\257utf",
	"\033[31mred",
	"\177",
	"\001\002",
	"a;b",
	"a|b",
	"a&b",
	"{x,y}",
	"trailing.",
	"CON",
	"x:y",
	".wh.file",
	".wh..opq",
	"@",
	"@~1",
	"user.overlay.x",
	"#0",
	"lost+found",
};

static char *long_name(struct gen *g)
{
	char *s = lab_alloc(256);

	for (size_t i = 0; i < 255; i++)
		s[i] = (char)('a' + below(g, 26));
	return s;
}

static char *random_bytes(struct gen *g)
{
	size_t n = 1 + below(g, 20);
	char *s = lab_alloc(n + 1);

	for (size_t i = 0; i < n; i++) {
		do
			s[i] = (char)(1 + below(g, 255));
		while (s[i] == '/');
	}
	if (s[0] == '.')
		s[0] = '_';
	return s;
}

static char *new_name(struct gen *g)
{
	uint64_t what = below(g, 100);

	if (what < 60)
		return lab_format("%c%lu", (char)('a' + below(g, 26)), below(g, 1000));
	if (what < 85)
		return lab_strdup(odd_names[below(g, lab_array_size(odd_names))]);
	if (what < 96)
		return random_bytes(g);
	return long_name(g);
}

static unsigned depth(const char *path)
{
	unsigned n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* A path where something new could come: in a known directory, now and then a taken one. */
static char *fresh(struct gen *g)
{
	char *dir = NULL, *name, *path;

	if (chance(g, 8))
		return pick(g, ANY_);
	for (int tries = 0; g->n && tries < 6; tries++) {
		const struct node *node = &g->v[below(g, g->n)];

		if (node->kind == DIR_ && depth(node->path) < 5 && usable(g, node)) {
			dir = node->path;
			break;
		}
	}
	if (!dir || (!g->under && chance(g, 15)))
		dir = (char *)g->under;
	name = new_name(g);
	path = dir ? lab_format("%s/%s", dir, name) : lab_strdup(name);
	free(name);
	return path;
}

/* ---- values ---- */

static int64_t size(struct gen *g)
{
	uint64_t what = below(g, 1000);

	if (what < 150)
		return 0;
	if (what < 550)
		return (int64_t)(1 + below(g, 100));
	if (what < 900)
		return (int64_t)below(g, 10000);
	if (what < 993)
		return (int64_t)below(g, 150000);
	return (int64_t)(1000000 + below(g, 2000000));
}

static int64_t seed(struct gen *g)
{
	return (int64_t)below(g, 1000000);
}

static int64_t file_mode(struct gen *g)
{
	static const int usual[] = {0644, 0644, 0600, 0755, 0664, 0444, 0555, 0400, 0666};
	static const int odd[] = {0000, 0200, 0111, 04755, 02755, 06711, 01644, 0040};

	if (chance(g, 85))
		return usual[below(g, lab_array_size(usual))];
	if (g->o->readable)
		return 0440;
	return odd[below(g, lab_array_size(odd))];
}

static int64_t dir_mode(struct gen *g)
{
	static const int usual[] = {0755, 0755, 0755, 0700, 0775, 02755, 02775, 01777, 0777};
	static const int odd[] = {0555, 0500, 0000, 0300, 0600, 0111, 03777};

	if (chance(g, 90))
		return usual[below(g, lab_array_size(usual))];
	if (g->o->readable)
		return 0555;
	return odd[below(g, lab_array_size(odd))];
}

static int64_t seconds(struct gen *g)
{
	if (chance(g, 5))
		return (int64_t)below(g, 2) ? -86400 * (int64_t)below(g, 9000) : 4200000000;
	return 600000000 + (int64_t)below(g, 900000000);
}

static int64_t owner(struct gen *g)
{
	static const int ids[] = {0, 0, 1, 1000, 65534, 12345, 3000000000u & 0x7fffffff};

	return ids[below(g, lab_array_size(ids))];
}

static const char *attr_name(struct gen *g)
{
	static const char *const names[] = {"user.a", "user.b", "user.mime_type",
					    "user.long.name.x"};

	return names[below(g, lab_array_size(names))];
}

static void attr(struct gen *g, const char *path)
{
	unsigned char value[200];
	size_t n = below(g, 10) ? below(g, 40) : below(g, sizeof(value));

	for (size_t i = 0; i < n; i++)
		value[i] = (unsigned char)below(g, 256);
	ops_add_value(g->out, "setx", path, attr_name(g), value, n);
}

static void le(unsigned char **p, uint32_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*(*p)++ = (unsigned char)(v >> (8 * i));
}

/* An access control list as the kernel's attribute holds it: version 2, entries of 8 bytes. */
static void acl(struct gen *g, const char *path, bool is_default, bool foreign)
{
	unsigned char value[4 + 5 * 8], *p = value;
	uint32_t perm = (uint32_t)below(g, 8), who = foreign ? 4711 : g->o->uid;
	const struct {
		uint32_t tag, perm, id;
	} e[] = {
		{0x01, g->o->readable || !strcmp(path, ".") ? 7 : 6 | (uint32_t)is_default,
		 ~0u},				    /* owner */
		{0x02, perm, who},		    /* a named user */
		{0x04, 5, ~0u},			    /* group */
		{0x10, (uint32_t)below(g, 8), ~0u}, /* mask */
		{0x20, (uint32_t)below(g, 8), ~0u}, /* others */
	};

	le(&p, 2, 4);
	for (size_t i = 0; i < lab_array_size(e); i++) {
		le(&p, e[i].tag, 2);
		le(&p, e[i].perm, 2);
		le(&p, e[i].id, 4);
	}
	ops_add_value(g->out, "setx", path,
		      is_default ? "system.posix_acl_default" : "system.posix_acl_access", value,
		      sizeof(value));
}

static void file_caps(struct gen *g, const char *path)
{
	unsigned char value[20], *p = value;

	le(&p, 0x02000001, 4); /* revision 2, effective */
	le(&p, 1u << CAP_NET_BIND_SERVICE, 4);
	le(&p, 0, 4);
	le(&p, 0, 4);
	le(&p, 0, 4);
	ops_add_value(g->out, "setx", path, "security.capability", value, sizeof(value));
}

static bool named(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, name, n) && (p[n] == ',' || p[n] == '\0'))
			return true;
	return false;
}

/* ---- the tree ---- */

static void tree_sparse(struct gen *g, const char *path)
{
	int64_t whole = (int64_t)(1 + below(g, 16)) << 20, at = (int64_t)below(g, (uint64_t)whole);

	ops_add(g->out, "sparse", path, whole, at, (int64_t)below(g, 9000), seed(g));
}

static void tree_file(struct gen *g)
{
	char *path = fresh(g);

	if (chance(g, 5))
		tree_sparse(g, path);
	else
		ops_add(g->out, "put", path, (int64_t)0644, size(g), seed(g));
	note(g, path, FILE_, false);
	free(path);
}

static void tree_special(struct gen *g)
{
	char *path = fresh(g), *to;
	uint64_t what = below(g, 10);

	if (what < 5) {
		to = chance(g, 50) ? pick(g, ANY_) : lab_strdup("../no/where");
		ops_add(g->out, "symlink", to, path);
		note(g, path, LINK_, false);
		free(to);
	} else {
		ops_add(g->out, what < 8 ? "mkfifo" : "mksock", path, (int64_t)0644);
		note(g, path, what < 8 ? FIFO_ : SOCK_, false);
	}
	free(path);
}

static void tree_links(struct gen *g)
{
	char *from = pick(g, FILE_);
	unsigned names = 1 + (unsigned)below(g, 3);

	while (names--) {
		char *to = fresh(g);

		ops_add(g->out, "link", from, to);
		note(g, to, FILE_, true);
		free(to);
	}
	free(from);
}

static void tree_meta(struct gen *g, const struct node *node)
{
	if (node->kind == LINK_) {
		if (g->o->root && chance(g, 20))
			ops_add(g->out, "chown", node->path, owner(g), owner(g));
		return;
	}
	if (node->kind & (FILE_ | DIR_) && chance(g, 25))
		attr(g, node->path);
	if (chance(g, 8))
		acl(g, node->path, false, chance(g, 50) && !named(g->o->without, "foreign-acl"));
	if (node->kind == DIR_ && chance(g, 10))
		acl(g, node->path, true, false);
	if (g->o->root && chance(g, 20))
		ops_add(g->out, "chown", node->path, owner(g), owner(g));
	if (g->o->root && node->kind == FILE_ && chance(g, 6))
		file_caps(g, node->path);
}

static void make_tree(struct gen *g)
{
	unsigned dirs = 3 + (unsigned)below(g, 8), files = 6 + (unsigned)below(g, 20),
		 specials = (unsigned)below(g, 7), links = (unsigned)below(g, 4);

	while (dirs--) {
		char *path = fresh(g);

		ops_add(g->out, "mkdir", path, (int64_t)0755);
		note(g, path, DIR_, false);
		free(path);
	}
	while (files--)
		tree_file(g);
	while (specials--)
		tree_special(g);
	while (links--)
		tree_links(g);
}

/* Modes last, and inner ones first, so that a closed directory does not stop the others. */
static void close_tree(struct gen *g)
{
	for (size_t i = 0; i < g->n; i++)
		tree_meta(g, &g->v[i]);
	for (size_t i = g->n; i-- > 0;) {
		const struct node *node = &g->v[i];

		if (node->kind == DIR_ && chance(g, 40))
			ops_add(g->out, "chmod", node->path, dir_mode(g));
		else if (node->kind & (FILE_ | FIFO_ | SOCK_) && chance(g, 40))
			ops_add(g->out, "chmod", node->path,
				file_mode(g) | (g->o->readable ? 0500 : 0));
	}
}

/* ---- the operations ---- */

static void op_put(struct gen *g)
{
	char *path = chance(g, 60) ? fresh(g) : pick(g, FILE_);

	ops_add(g->out, "put", path, file_mode(g), size(g), seed(g));
	note(g, path, FILE_, false);
	free(path);
}

static void op_creat(struct gen *g)
{
	char *path = fresh(g);

	ops_add(g->out, "creat", path, file_mode(g));
	note(g, path, FILE_, false);
	free(path);
}

static void op_append(struct gen *g)
{
	char *path = pick(g, FILE_ | LINK_);

	ops_add(g->out, "append", path, size(g) / 4, seed(g));
	free(path);
}

static void op_pwrite(struct gen *g)
{
	char *path = pick(g, FILE_ | LINK_);
	int64_t at = size(g);

	ops_add(g->out, chance(g, 30) ? "mmap" : "pwrite", path, at / 2, size(g) / 4, seed(g));
	free(path);
}

static void op_trunc(struct gen *g)
{
	char *path = pick(g, FILE_ | LINK_);

	ops_add(g->out, "trunc", path, chance(g, 15) ? (int64_t)5 << 20 : size(g));
	free(path);
}

static void op_punch(struct gen *g)
{
	char *path = pick(g, FILE_);

	ops_add(g->out, "punch", path, size(g) / 2, size(g) + 1);
	free(path);
}

static void op_sparse(struct gen *g)
{
	char *path = fresh(g);

	tree_sparse(g, path);
	note(g, path, FILE_, false);
	free(path);
}

static void op_unlink(struct gen *g)
{
	char *path = pick(g, ANY_ & ~DIR_);

	ops_add(g->out, "unlink", path);
	forget(g, path);
	free(path);
}

static void op_mkdir(struct gen *g)
{
	char *path = fresh(g);

	ops_add(g->out, "mkdir", path, dir_mode(g));
	note(g, path, DIR_, false);
	free(path);
}

static void op_rmdir(struct gen *g)
{
	char *path = pick(g, DIR_);

	ops_add(g->out, "rmdir", path);
	free(path);
}

static void op_rmrf(struct gen *g)
{
	char *path = pick(g, DIR_);

	ops_add(g->out, "rmrf", path);
	forget(g, path);
	free(path);
}

static void op_rename(struct gen *g)
{
	char *from = pick(g, chance(g, 50) ? DIR_ : ANY_), *to = NULL;
	uint64_t what = below(g, 10);

	if (what < 5)
		to = fresh(g);
	else if (what < 8)
		to = pick(g, ANY_);
	else
		to = pick(g, DIR_);
	what = below(g, 10);
	ops_add(g->out, what < 7 ? "rename" : what < 8 ? "noreplace" : "exchange", from, to);
	if (what < 7)
		moved(g, from, to);
	else if (what < 8 && !inside(to, from))
		moved(g, from, to);
	free(from);
	free(to);
}

static void op_openren(struct gen *g)
{
	char *from = pick(g, FILE_), *to = fresh(g);

	ops_add(g->out, "openren", from, to, size(g) / 8, seed(g));
	moved(g, from, to);
	free(from);
	free(to);
}

static void op_link(struct gen *g)
{
	char *from = pick(g, ANY_ & ~DIR_), *to = fresh(g);

	ops_add(g->out, "link", from, to);
	note(g, to, FILE_, false);
	free(from);
	free(to);
}

static void op_symlink(struct gen *g)
{
	char *to = chance(g, 50) ? pick(g, ANY_) : lab_strdup("some/where/else"), *path;

	if (chance(g, 50)) {
		path = fresh(g);
		ops_add(g->out, "symlink", to, path);
	} else {
		path = pick(g, LINK_);
		/* a link is replaced by way of a name at the top: not below one directory only */
		ops_add(g->out, g->under ? "symlink" : "resym", to, path);
	}
	note(g, path, LINK_, false);
	free(to);
	free(path);
}

static char *pick_or_top(struct gen *g, unsigned kinds)
{
	if (!g->under && chance(g, 6))
		return lab_strdup(".");
	return pick(g, kinds);
}

static void op_chmod(struct gen *g)
{
	char *path;

	if (chance(g, 40)) {
		path = pick_or_top(g, DIR_);
		/* the top stays usable: a closed one would make every later operation fail */
		ops_add(g->out, "chmod", path, strcmp(path, ".") ? dir_mode(g) : (int64_t)0750);
	} else {
		path = pick(g, ANY_ & ~DIR_);
		ops_add(g->out, "chmod", path, file_mode(g) | (g->o->readable ? 0500 : 0));
	}
	free(path);
}

static void op_chown(struct gen *g)
{
	char *path = pick_or_top(g, ANY_);

	if (g->o->chown)
		ops_add(g->out, "chown", path, owner(g), owner(g));
	else
		ops_add(g->out, "chown", path, (int64_t)g->o->uid, (int64_t)g->o->gid);
	free(path);
}

static void op_time(struct gen *g)
{
	char *path = pick_or_top(g, ANY_);

	if (chance(g, 20))
		ops_add(g->out, "touch", path);
	else
		ops_add(g->out, "utime", path, seconds(g), (int64_t)below(g, 1000000000));
	free(path);
}

static void op_attr(struct gen *g)
{
	char *path = pick_or_top(g, FILE_ | DIR_);
	uint64_t what = below(g, 10);

	if (what < 5)
		attr(g, path);
	else if (what < 8)
		ops_add(g->out, "rmx", path, attr_name(g));
	else if (what < 9) /* as root overlayfs takes the set-group-id bit away with it */
		ops_add(g->out, "rmx", path,
			g->o->root ? "system.posix_acl_default" : "system.posix_acl_access");
	else if (g->o->chown)
		file_caps(g, path);
	free(path);
}

static void op_acl(struct gen *g)
{
	char *path = pick_or_top(g, FILE_ | DIR_);

	/* an ordinary user's box knows no ids but his own */
	acl(g, path, chance(g, 30), g->o->root);
	free(path);
}

static void op_special(struct gen *g)
{
	char *path = fresh(g);
	bool fifo = chance(g, 60);

	ops_add(g->out, fifo ? "mkfifo" : "mksock", path, file_mode(g));
	note(g, path, fifo ? FIFO_ : SOCK_, false);
	free(path);
}

static void op_tmplink(struct gen *g)
{
	char *path = fresh(g);

	ops_add(g->out, "tmplink", path, file_mode(g), size(g), seed(g));
	note(g, path, FILE_, false);
	free(path);
}

static void op_copy(struct gen *g)
{
	char *from = pick(g, FILE_), *to = pick(g, FILE_);

	ops_add(g->out, "copy", from, to, size(g) / 4, size(g) / 4, size(g) + 1);
	free(from);
	free(to);
}

static void op_dir_to_file(struct gen *g)
{
	char *path = pick(g, DIR_);

	ops_add(g->out, "rmrf", path);
	ops_add(g->out, "put", path, file_mode(g), size(g), seed(g));
	forget(g, path);
	note(g, path, FILE_, false);
	free(path);
}

static void op_file_to_dir(struct gen *g)
{
	char *path = pick(g, ANY_ & ~DIR_), *sub = lab_format("%s/in", path);

	ops_add(g->out, "unlink", path);
	ops_add(g->out, "mkdir", path, dir_mode(g));
	ops_add(g->out, "put", sub, file_mode(g), size(g), seed(g));
	forget(g, path);
	note(g, path, DIR_, false);
	note(g, sub, FILE_, false);
	free(path);
	free(sub);
}

/* A directory deleted and made again must not show what it held before. */
static void op_remake(struct gen *g)
{
	char *path = pick(g, DIR_), *sub;

	ops_add(g->out, "rmrf", path);
	ops_add(g->out, "mkdir", path, dir_mode(g));
	forget(g, path);
	note(g, path, DIR_, false);
	if (chance(g, 60)) {
		sub = lab_format("%s/again", path);
		ops_add(g->out, "put", sub, file_mode(g), size(g), seed(g));
		note(g, sub, FILE_, false);
		free(sub);
	}
	free(path);
}

static const struct {
	unsigned weight;
	void (*make)(struct gen *g);
} makers[] = {
	{10, op_put},	 {3, op_creat},	  {8, op_append},  {8, op_pwrite},	{5, op_trunc},
	{3, op_punch},	 {2, op_sparse},  {7, op_unlink},  {6, op_mkdir},	{3, op_rmdir},
	{2, op_rmrf},	 {14, op_rename}, {2, op_openren}, {4, op_link},	{4, op_symlink},
	{8, op_chmod},	 {3, op_chown},	  {6, op_time},	   {6, op_attr},	{4, op_acl},
	{2, op_special}, {3, op_tmplink}, {4, op_copy},	   {2, op_dir_to_file}, {2, op_file_to_dir},
	{3, op_remake},
};

static void make_ops(struct gen *g, unsigned count)
{
	unsigned total = 0;

	for (size_t i = 0; i < lab_array_size(makers); i++)
		total += makers[i].weight;
	while (count--) {
		uint64_t at = below(g, total);
		size_t i = 0;

		while (at >= makers[i].weight)
			at -= makers[i++].weight;
		makers[i].make(g);
	}
	for (size_t i = 0; i < g->n; i++)
		if (usable(g, &g->v[i]) && chance(g, 20))
			ops_add(g->out, "utime", g->v[i].path, seconds(g),
				(int64_t)below(g, 1000000000));
	if (!g->under && chance(g, 20))
		ops_add(g->out, "utime", ".", seconds(g), (int64_t)below(g, 1000000000));
}

static void leave_out(const struct gen_options *o, struct ops *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->n; i++) {
		if (named(o->without, ops_name(&run->v[i]))) {
			free(run->v[i].s[0]);
			free(run->v[i].s[1]);
		} else {
			run->v[kept++] = run->v[i];
		}
	}
	run->n = kept;
}

static void gen_done(struct gen *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->v[i].path);
	free(g->v);
}

void gen_sequence(const struct gen_options *o, struct ops *setup, struct ops *run)
{
	struct gen g = {.o = o, .rng = {lab_mix(o->seed)}, .out = setup};

	make_tree(&g);
	close_tree(&g);
	g.out = run;
	make_ops(&g, o->nops);
	leave_out(o, setup);
	leave_out(o, run);
	gen_done(&g);
}

void gen_pair(const struct gen_options *o, bool apart, struct ops *setup, struct ops run[2])
{
	static const char *const sides[] = {"left", "right"};
	struct gen g = {.o = o, .rng = {lab_mix(o->seed) ^ 0x7061697273}, .out = setup};
	struct node *saved;
	size_t n;

	for (int i = 0; i < 2; i++) {
		ops_add(setup, "mkdir", sides[i], (int64_t)0755);
		g.under = sides[i];
		make_tree(&g);
	}
	g.under = NULL;
	close_tree(&g);
	n = g.n;
	saved = lab_alloc((n + 1) * sizeof(*saved));
	for (size_t i = 0; i < n; i++)
		saved[i] = (struct node){lab_strdup(g.v[i].path), g.v[i].kind, g.v[i].second};
	for (int i = 0; i < 2; i++) {
		g.out = &run[i];
		g.under = apart ? sides[i] : NULL;
		make_ops(&g, o->nops);
		leave_out(o, &run[i]);
		while (g.n)
			free(g.v[--g.n].path);
		for (size_t j = 0; j < n && i == 0; j++)
			note(&g, saved[j].path, saved[j].kind, saved[j].second);
	}
	leave_out(o, setup);
	for (size_t j = 0; j < n; j++)
		free(saved[j].path);
	free(saved);
	gen_done(&g);
}
