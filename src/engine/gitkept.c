/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See gitkept.h. A pack's index (gitformat-pack(5), version 2) is: magic, version, 256 counts of names up to each
 * first byte, the names in order. That is all that is read of it: whether the pack itself is sound is git's business.
 */
#include "engine/gitkept.h"

#include <endian.h>
#include <sys/stat.h>

#include "base/auto.h"

#define READ_MAX  ((size_t)64 << 20) /* of all new indexes together; 2 million objects */
#define PACKS_MAX 64		     /* new ones; git makes one or two */
#define HEAD_SIZE (8 + 256 * 4)
#define HASH_MAX  32

struct pack {
	const struct rein_change *change;
	size_t prefix; /* of its path: where the git directory is, up to "objects/" */
	unsigned hash; /* bytes of a name */
	uint32_t n;
	struct rein_buf index;
};

struct kept {
	const struct rein_content *content;
	const struct rein_changes *c;
	struct rein_change_fact *facts;
	struct pack packs[PACKS_MAX];
	const struct rein_change *refs[PACKS_MAX]; /* packed-refs that are new or changed */
	size_t npacks, nrefs;
};

static void kept_done(struct kept *k)
{
	for (size_t i = 0; i < k->npacks; i++)
		rein_buf_done(&k->packs[i].index);
}

static bool is_hex(const char *s, size_t n)
{
	return strspn(s, "0123456789abcdef") >= n;
}

/* Where in the path a component of this name begins, from there on; NULL: nowhere. */
static const char *component(const char *path, const char *from, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = from; (at = strstr(at, name)); at++)
		if ((at == path || at[-1] == '/') && (!at[n] || at[n] == '/'))
			return at;
	return NULL;
}

/* "PREFIX/objects/pack/pack-NAME.SUFFIX": where NAME begins, NULL if it is none. */
static const char *pack_name(const char *path, size_t *ret_prefix, size_t *ret_n)
{
	static const char dir[] = "objects/pack/pack-";
	const char *slash = strrchr(path, '/'), *at = slash && slash - path >= 12 ? slash - 12 : NULL;
	size_t n;

	if (!at || !rein_starts(at, dir) || (at > path && at[-1] != '/'))
		return NULL;
	*ret_prefix = (size_t)(at - path);
	at += strlen(dir);
	n = strspn(at, "0123456789abcdef");
	*ret_n = n;
	return at[n] == '.' && (n == 40 || n == 64) ? at : NULL;
}

/* "PREFIX/objects/XX/REST": the object's name in bytes, its length; 0 if it is none. */
static unsigned object_name(const char *path, size_t *ret_prefix, unsigned char oid[HASH_MAX])
{
	const char *slash = strrchr(path, '/'), *at = slash && slash - path >= 10 ? slash - 10 : NULL;
	size_t n = slash ? strlen(slash + 1) : 0;
	char hex[2 * HASH_MAX + 1];

	if (!at || !rein_starts(at, "objects/") || (at > path && at[-1] != '/') || (n != 38 && n != 62) ||
	    !is_hex(slash - 2, 2) || !is_hex(slash + 1, n))
		return 0;
	*ret_prefix = (size_t)(at - path);
	snprintf(hex, sizeof(hex), "%.2s%s", slash - 2, slash + 1);
	for (size_t i = 0; i < n / 2 + 1; i++) {
		const char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		oid[i] = (unsigned char)strtoul(two, NULL, 16);
	}
	return (unsigned)(n / 2 + 1);
}

static uint32_t number(const struct pack *p, size_t at)
{
	uint32_t v;

	memcpy(&v, p->index.p + at, sizeof(v));
	return be32toh(v);
}

static const unsigned char *name_at(const struct pack *p, uint32_t i)
{
	return (const unsigned char *)p->index.p + HEAD_SIZE + (size_t)i * p->hash;
}

/* False: nothing this reader knows. */
static bool read_index(const struct kept *k, const struct rein_change *x, bool after, size_t max, struct pack *p)
{
	struct rein_err ignored = {0};
	size_t n;

	if (!pack_name(x->path, &p->prefix, &n) || rein_content_read(k->content, x, after, max, &p->index, &ignored) < 0 ||
	    p->index.n >= max || p->index.n < HEAD_SIZE || memcmp(p->index.p, "\377tOc\0\0\0\2", 8) != 0)
		return false;
	p->change = x;
	p->hash = (unsigned)n / 2;
	p->n = number(p, HEAD_SIZE - 4);
	return (p->index.n - HEAD_SIZE) / (p->hash + 8) >= p->n;
}

static bool pack_has(const struct pack *p, const unsigned char *oid)
{
	uint32_t from = *oid ? number(p, 8 + 4 * (size_t)(*oid - 1)) : 0, to = number(p, 8 + 4 * (size_t)*oid);

	if (to > p->n)
		return false;
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		int order = memcmp(oid, name_at(p, middle), p->hash);

		if (!order)
			return true;
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return false;
}

static bool same_place(const struct pack *p, const struct rein_change *x, size_t prefix)
{
	return p->change->root == x->root && p->prefix == prefix && strncmp(p->change->path, x->path, prefix) == 0;
}

static bool any_has(const struct kept *k, const struct rein_change *x, size_t prefix, const unsigned char *oid,
		    unsigned hash)
{
	for (size_t i = 0; i < k->npacks; i++)
		if (k->packs[i].hash == hash && same_place(&k->packs[i], x, prefix) && pack_has(&k->packs[i], oid))
			return true;
	return false;
}

static bool is_index(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && rein_streq(path + n - 4, ".idx");
}

static void find_refs(struct kept *k)
{
	for (size_t i = 0; i < k->c->n && k->nrefs < PACKS_MAX; i++) {
		const struct rein_change *x = &k->c->v[i];
		const char *slash = strrchr(x->path, '/');

		if (!x->skipped && (x->kind == REIN_CHANGE_CREATED || x->kind == REIN_CHANGE_MODIFIED) &&
		    rein_streq(slash ? slash + 1 : x->path, "packed-refs"))
			k->refs[k->nrefs++] = x;
	}
}

static void find_packs(struct kept *k)
{
	size_t left = READ_MAX;

	for (size_t i = 0; i < k->c->n && k->npacks < PACKS_MAX; i++) {
		const struct rein_change *x = &k->c->v[i];
		struct pack *p = &k->packs[k->npacks];

		if (x->skipped || x->kind != REIN_CHANGE_CREATED || !is_index(x->path))
			continue;
		*p = (struct pack){.index = REIN_BUF(READ_MAX)};
		if (read_index(k, x, true, left, p)) {
			left -= p->index.n;
			k->npacks++;
		} else {
			rein_buf_done(&p->index);
		}
	}
}

/* Every object of the old pack is in new ones. */
static bool pack_is_kept(const struct kept *k, const struct rein_change *x)
{
	struct pack old = {.index = REIN_BUF(READ_MAX)};
	bool good = read_index(k, x, false, READ_MAX, &old);

	for (uint32_t i = 0; good && i < old.n; i++)
		good = any_has(k, x, old.prefix, name_at(&old, i), old.hash);
	rein_buf_done(&old.index);
	return good;
}

static bool is_deleted(const struct rein_change *x)
{
	return !x->skipped && x->kind == REIN_CHANGE_DELETED && S_ISREG(x->before.mode);
}

static bool has_stem(const struct rein_change *x, const struct rein_change *index)
{
	return x->root == index->root && strncmp(x->path, index->path, strlen(index->path) - strlen("idx")) == 0;
}

/* An index speaks for the files of its name: changes are in the order of their paths. */
static void mark_pack(const struct kept *k, size_t at)
{
	const struct rein_change *v = k->c->v, *index = &v[at];
	size_t first = at;

	while (first && has_stem(&v[first - 1], index))
		first--;
	for (size_t i = first; i < k->c->n && has_stem(&v[i], index); i++)
		if (is_deleted(&v[i]))
			k->facts[i].bits |= REIN_CHANGE_KEPT;
}

/* The new packed-refs beside the directory refs, as one text; empty: it did not change. */
static void read_packed(const struct kept *k, uint32_t root, const char *path, size_t prefix, struct rein_buf *b)
{
	struct rein_err ignored = {0};

	rein_buf_clear(b);
	for (size_t i = 0; i < k->nrefs; i++) {
		const struct rein_change *x = k->refs[i];

		if (x->root == root && strncmp(x->path, path, prefix) == 0 && rein_streq(x->path + prefix, "packed-refs") &&
		    rein_content_read(k->content, x, true, READ_MAX, b, &ignored) < 0)
			rein_buf_clear(b);
	}
}

/* References lie side by side: packed-refs is read again only where another directory begins. */
struct packed {
	const char *path;
	size_t prefix;
	uint32_t root;
	struct rein_buf text;
};

static bool ref_is_kept(const struct kept *k, const struct rein_change *x, struct packed *packed)
{
	const char *ref = component(x->path, x->path, "refs");
	size_t prefix = ref ? (size_t)(ref - x->path) : 0;
	auto_buf struct rein_buf old = REIN_BUF(4096);
	auto_free char *line = NULL;
	struct rein_err ignored = {0};
	size_t n;

	if (!ref || !k->nrefs)
		return false;
	if (!packed->path || packed->root != x->root || packed->prefix != prefix ||
	    strncmp(packed->path, x->path, prefix) != 0) {
		packed->path = x->path;
		packed->prefix = prefix;
		packed->root = x->root;
		read_packed(k, x->root, x->path, prefix, &packed->text);
	}
	if (!packed->text.n || rein_content_read(k->content, x, false, 2 * HASH_MAX + 1, &old, &ignored) < 0)
		return false;
	for (n = old.n; n && old.p[n - 1] == '\n';)
		n--;
	line = n ? rein_asprintf("\n%.*s %s\n", (int)n, old.p, ref) : NULL;
	return line && memmem(packed->text.p, packed->text.n, line, strlen(line));
}

/* What git writes down while it is at something, and removes when that is over. */
static bool is_note(const char *root, const char *path)
{
	static const char *const dirs[] = {"rebase-merge", "rebase-apply", "sequencer"};
	static const char *const files[] = {"AUTO_MERGE",	"MERGE_HEAD",  "MERGE_MODE", "MERGE_MSG", "MERGE_RR",
					    "CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD", "SQUASH_MSG"};
	const char *git = component(path, path, ".git"), *in = git ? git : path, *name = strrchr(in, '/');
	const char *bisect = strstr(in, "refs/bisect/");

	if (!git && !component(root, root, ".git"))
		return false;
	name = name ? name + 1 : in;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (component(path, in, dirs[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (rein_streq(name, files[i]))
			return true;
	return rein_starts(name, "BISECT_") || (bisect && (bisect == path || bisect[-1] == '/'));
}

int rein_gitkept_mark(const struct rein_content *content, const struct rein_changes *c,
		      struct rein_change_fact *facts, struct rein_err *err)
{
	struct packed packed = {.text = REIN_BUF(READ_MAX)};
	struct kept *k = rein_calloc(1, sizeof(*k));

	if (!k)
		return rein_err_nomem(err);
	*k = (struct kept){.content = content, .c = c, .facts = facts};
	find_packs(k);
	find_refs(k);
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];
		unsigned char oid[HASH_MAX];
		size_t prefix;
		unsigned hash;

		if (!is_deleted(x))
			continue;
		hash = object_name(x->path, &prefix, oid);
		if (hash ? any_has(k, x, prefix, oid, hash)
			 : ref_is_kept(k, x, &packed) || is_note(content->t->roots[x->root].real, x->path))
			facts[i].bits |= REIN_CHANGE_KEPT;
		else if (k->npacks && is_index(x->path) && pack_is_kept(k, x))
			mark_pack(k, i);
	}
	rein_buf_done(&packed.text);
	kept_done(k);
	rein_free(k);
	return 0;
}
