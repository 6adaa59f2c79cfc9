/* SPDX-License-Identifier: Apache-2.0 */
/* See gitindex.h. The format is gitformat-index(5), versions 2 to 4, with either kind of object name. */
#include "engine/gitindex.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/sha256.h"
#include "sys/file.h"

#define INDEX_MAX ((size_t)64 << 20) /* a larger one takes longer to read than people wait for a commit */
#define STAT_BYTES 40		     /* of an entry, before the object's name; the mode lies in them */
#define MODE_AT 24

struct reader {
	const unsigned char *p;
	size_t n, at;
	bool failed;
	rein_gitindex_fn *fn; /* is told each name, or NULL */
	void *arg;
	struct rein_buf *name;
};

static const unsigned char *take(struct reader *r, size_t n)
{
	const unsigned char *p = r->p + r->at;

	if (r->failed || n > r->n - r->at) {
		r->failed = true;
		return NULL;
	}
	r->at += n;
	return p;
}

static uint32_t number(struct reader *r)
{
	const unsigned char *p = take(r, 4);

	return p ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3] : 0;
}

/* Who only wants the names has nothing to be digested: that takes longer than all the rest. */
static void say(struct rein_sha256 *h, const void *p, size_t n)
{
	if (h)
		rein_sha256_add(h, p, n);
}

/* How much of the name before is cut: seven bits a byte, of which each but the last counts for one more. */
static size_t read_cut(struct reader *r)
{
	const unsigned char *b;
	size_t cut = 0;

	while ((b = take(r, 1)) && *b & 0x80)
		cut = (cut + (*b & 0x7f) + 1) << 7;
	return b ? cut + *b : 0;
}

/* The rest of a name, and whoever wants to know it is told the whole. */
static void tell_name(struct reader *r, size_t kept, const unsigned char *rest, size_t n)
{
	if (kept > r->name->n || r->failed) {
		r->failed = true;
		return;
	}
	r->name->n = kept;
	rein_buf_add(r->name, rest, n);
	rein_buf_char(r->name, '\0');
	r->failed = r->name->failed || !r->fn(r->arg, r->name->p);
	r->name->n--;
}

/* The name and its end; version 4 tells before it how much of the one before is cut. */
static void read_name(struct reader *r, uint32_t version, size_t start, struct rein_sha256 *h)
{
	const size_t from = r->at, cut = version == 4 ? read_cut(r) : r->name->n;
	const unsigned char *rest = r->p + r->at, *end;

	end = r->failed ? NULL : memchr(rest, '\0', r->n - r->at);
	if (!end) {
		r->failed = true;
		return;
	}
	if (r->fn)
		tell_name(r, cut <= r->name->n ? r->name->n - cut : SIZE_MAX, rest, (size_t)(end - rest));
	r->at = (size_t)(end - r->p) + 1;
	say(h, r->p + from, r->at - from);
	/* filled up to a multiple of eight, of which the end is the first byte */
	if (version < 4)
		take(r, (8 - (r->at - start) % 8) % 8);
}

static void read_entry(struct reader *r, uint32_t version, size_t id_bytes, struct rein_sha256 *h)
{
	const size_t start = r->at;
	const unsigned char *known = take(r, STAT_BYTES), *rest = take(r, id_bytes + 2), *more;

	if (r->failed)
		return;
	say(h, known + MODE_AT, 4);
	say(h, rest, id_bytes + 2);
	if (version >= 3 && rest[id_bytes] & 0x40 && (more = take(r, 2)))
		say(h, more, 2);
	read_name(r, version, start, h);
}

static bool is_cache(const unsigned char name[4])
{
	static const char *const caches[] = {"TREE", "UNTR", "FSMN", "EOIE", "IEOT"};

	for (size_t i = 0; i < ARRAY_SIZE(caches); i++)
		if (memcmp(name, caches[i], 4) == 0)
			return true;
	return false;
}

static bool walk(struct reader *r, size_t id_bytes, struct rein_sha256 *h)
{
	const unsigned char *magic = take(r, 4);
	const uint32_t version = number(r), count = number(r);

	if (r->failed || memcmp(magic, "DIRC", 4) != 0 || version < 2 || version > 4)
		return false;
	say(h, r->p, r->at);
	for (uint32_t i = 0; i < count && !r->failed; i++)
		read_entry(r, version, id_bytes, h);
	while (!r->failed && r->n - r->at > id_bytes) { /* what remains then is a checksum */
		const unsigned char *name = take(r, 4), *body;
		const uint32_t size = number(r);

		body = take(r, size);
		if (!body || is_cache(name))
			continue;
		say(h, name, 4);
		say(h, body, size);
	}
	return !r->failed && r->n - r->at == id_bytes;
}

static bool read_index(struct rein_str in, size_t id_bytes, rein_gitindex_fn *fn, void *arg, struct rein_sha256 *h)
{
	auto_buf struct rein_buf name = REIN_BUF(INDEX_MAX);
	struct reader r = {.p = (const unsigned char *)in.p, .n = in.n, .fn = fn, .arg = arg, .name = &name};

	return walk(&r, id_bytes, h);
}

static bool digest(struct rein_str in, size_t id_bytes, uint8_t ret[REIN_GITINDEX_DIGEST])
{
	struct rein_sha256 h;

	rein_sha256_init(&h);
	if (!read_index(in, id_bytes, NULL, NULL, &h))
		return false;
	rein_sha256_end(&h, ret);
	return true;
}

bool rein_gitindex_digest(struct rein_str in, uint8_t ret[REIN_GITINDEX_DIGEST])
{
	return digest(in, 20, ret) || digest(in, 32, ret);
}

bool rein_gitindex_names(struct rein_str in, rein_gitindex_fn *fn, void *arg)
{
	/* which kind it is first: of the other one nothing is told */
	const size_t id_bytes = read_index(in, 20, NULL, NULL, NULL) ? 20 : 32;

	return read_index(in, id_bytes, fn, arg, NULL);
}

static bool is_index(const struct rein_change *x)
{
	const char *slash = strrchr(x->path, '/');

	return !x->skipped && rein_streq(slash ? slash + 1 : x->path, "index");
}

static bool digest_at(int dir, const char *path, uint8_t ret[REIN_GITINDEX_DIGEST])
{
	auto_buf struct rein_buf b = REIN_BUF(INDEX_MAX);
	struct rein_err ignored = {0};
	struct rein_fp fp;

	return rein_fp_at(dir, path, &fp, &ignored) == 0 && S_ISREG(fp.mode) && fp.size <= INDEX_MAX &&
	       rein_file_read(dir, path, &b, &ignored) == 0 && !b.failed &&
	       rein_gitindex_digest((struct rein_str){b.p, b.n}, ret);
}

static void keep_one(const struct rein_tx *t, const char *dir, const struct rein_change *x, const char *side, size_t i)
{
	auto_close int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint8_t said[REIN_GITINDEX_DIGEST];
	struct rein_err ignored = {0};
	char name[48];

	snprintf(name, sizeof(name), "index/%s-%zu", side, i);
	if (at >= 0 && digest_at(at, x->path, said) && (mkdirat(t->dirfd, "index", 0700) == 0 || errno == EEXIST))
		rein_file_replace(t->dirfd, name, (struct rein_str){(char *)said, sizeof(said)}, REIN_SYNC_NONE, &ignored);
}

void rein_gitindex_keep(const struct rein_tx *t, const struct rein_changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];

		if (!is_index(x))
			continue;
		if (x->kind != REIN_CHANGE_CREATED)
			keep_one(t, t->roots[x->root].real, x, "before", i);
		if (x->kind != REIN_CHANGE_DELETED)
			keep_one(t, t->roots[x->root].upper, x, "after", i);
	}
}

bool rein_gitindex_says_so(const struct rein_tx *t, const struct rein_changes *c, size_t i)
{
	const struct rein_change *x = &c->v[i];
	auto_close int real = -1;
	auto_buf struct rein_buf kept = REIN_BUF(REIN_GITINDEX_DIGEST);
	uint8_t now[REIN_GITINDEX_DIGEST], base[REIN_GITINDEX_DIGEST];
	struct rein_err ignored = {0};
	char name[48];

	if (!is_index(x))
		return false;
	real = open(t->roots[x->root].real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (real < 0 || !digest_at(real, x->path, now))
		return false;
	if (t->state == REIN_TX_HELD) {
		snprintf(name, sizeof(name), "base/%zu", i);
		return digest_at(t->dirfd, name, base) && memcmp(base, now, sizeof(now)) == 0;
	}
	if (t->state != REIN_TX_COMMITTED && t->state != REIN_TX_UNDONE)
		return false;
	snprintf(name, sizeof(name), "index/%s-%zu", t->state == REIN_TX_COMMITTED ? "after" : "before", i);
	return rein_file_read(t->dirfd, name, &kept, &ignored) == 0 && kept.n == sizeof(now) &&
	       memcmp(kept.p, now, sizeof(now)) == 0;
}
