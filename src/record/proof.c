/* SPDX-License-Identifier: Apache-2.0 */
/* Making proofs from the log and checking them from their text alone. */
#include "record/proof.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "record/internal.h"
#include "record/jread.h"

struct gathered {
	struct rein_merkle before;
	bool begun;
	struct rein_hash *leaf;
	size_t n, cap;
	const char *id; /* looked for */
	uint64_t wanted; /* line number, or UINT64_MAX while looking for the id */
	char *line;	 /* text of the wanted line */
	char *head;	 /* text of the last head */
	uint64_t head_n;
	uint8_t pub[32], head_pub[32];
};

static bool is_id(const struct rein_line *l, const char *id)
{
	struct rein_event_read r;
	struct rein_err ignored = {0};
	bool same;

	if (!memmem(l->text.p, l->text.n, id, strlen(id)) ||
	    rein_event_parse(l->text, &r, &ignored) < 0)
		return false;
	same = rein_str_eq(r.ev.id, rein_str(id));
	rein_event_read_done(&r);
	return same;
}

static int on_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct gathered *g = arg;
	struct rein_head h;

	if (rein_head_parse(l->text, &h, err) < 0)
		return -err->code;
	if (!g->begun && h.type == REIN_HEAD_START) {
		g->before = h.peaks;
		memcpy(g->pub, h.pub, 32);
		g->begun = true;
	}
	if (h.type == REIN_HEAD_HEAD || h.type == REIN_HEAD_ROTATE) {
		rein_free(g->head);
		g->head = rein_strndup(l->text.p, l->text.n);
		g->head_n = h.n;
		memcpy(g->head_pub, g->pub, 32);
		if (!g->head)
			return rein_err_nomem(err);
	}
	if (h.type == REIN_HEAD_ROTATE)
		memcpy(g->pub, h.pub, 32);
	if (g->id && g->wanted == UINT64_MAX && h.type == REIN_HEAD_NONE && is_id(l, g->id))
		g->wanted = l->index;
	if (l->index == g->wanted && !g->line) {
		g->line = rein_strndup(l->text.p, l->text.n);
		if (!g->line)
			return rein_err_nomem(err);
	}
	if (rein_grow(g->leaf, g->n, g->cap) < 0)
		return rein_err_nomem(err);
	rein_merkle_leaf(l->text.p, l->text.n, &g->leaf[g->n++]);
	return 0;
}

static void write_hashes(struct rein_json *j, const struct rein_proof *p)
{
	char hex[65];

	rein_json_key(j, "path");
	rein_json_open(j, '[');
	for (unsigned i = 0; i < p->n; i++) {
		rein_hex(p->h[i].b, 32, hex);
		rein_json_cstr(j, hex);
	}
	rein_json_close(j, ']');
}

static void write_key(struct rein_json *j, const char *name, const uint8_t *p)
{
	char hex[65];

	rein_hex(p, 32, hex);
	rein_json_kstr(j, name, hex);
}

static int inclusion(struct gathered *g, struct rein_buf *b, struct rein_err *err)
{
	struct rein_leaves l = {.before = g->before, .leaf = g->leaf, .nleaves = g->n};
	struct rein_json j = {.b = b};
	struct rein_proof p;

	if (!g->line)
		return rein_err_set(err, REIN_E_NOTFOUND, "the record has no such line");
	if (!g->head || g->wanted >= g->head_n)
		return rein_err_set(err, REIN_E_STATE, "no signed head covers this line yet");
	if (!rein_merkle_inclusion(&l, g->wanted, g->head_n, &p))
		return rein_err_set(err, REIN_E_NOTFOUND, "this line was pruned");
	rein_json_open(&j, '{');
	rein_json_kstr(&j, "proof", "rein-inclusion-v1");
	rein_json_ku64(&j, "line", g->wanted);
	rein_json_kstr(&j, "text", g->line);
	write_hashes(&j, &p);
	rein_json_kstr(&j, "head", g->head);
	write_key(&j, "pub", g->head_pub);
	rein_json_close(&j, '}');
	rein_buf_char(b, '\n');
	return 0;
}

/* Root of the first n lines, from what was gathered. */
static bool root_at(const struct gathered *g, uint64_t n, struct rein_hash *ret)
{
	struct rein_merkle m = g->before;

	if (n < m.n || n > m.n + g->n)
		return false;
	for (uint64_t i = 0; m.n < n; i++)
		rein_merkle_push(&m, &g->leaf[i]);
	rein_merkle_root(&m, ret);
	return true;
}

static int consistency(struct gathered *g, uint64_t old, uint64_t now, struct rein_buf *b,
		       struct rein_err *err)
{
	struct rein_leaves l = {.before = g->before, .leaf = g->leaf, .nleaves = g->n};
	struct rein_json j = {.b = b};
	struct rein_hash a, z;
	struct rein_proof p;

	if (!rein_merkle_consistency(&l, old, now, &p) || !root_at(g, old, &a) ||
	    !root_at(g, now, &z))
		return rein_err_set(err, REIN_E_NOTFOUND,
				    "the record does not have these sizes (any more)");
	rein_json_open(&j, '{');
	rein_json_kstr(&j, "proof", "rein-consistency-v1");
	rein_json_ku64(&j, "old", old);
	write_key(&j, "old_root", a.b);
	rein_json_ku64(&j, "new", now);
	write_key(&j, "new_root", z.b);
	write_hashes(&j, &p);
	rein_json_close(&j, '}');
	rein_buf_char(b, '\n');
	return 0;
}

int rein_proof_write(const char *state_dir, const char *what, const char *then, struct rein_buf *b,
		     struct rein_err *err)
{
	struct gathered g = {.wanted = UINT64_MAX};
	auto_close int fd = rein_record_dir(state_dir, false, err);
	uint64_t old = 0, now = 0;
	int rc;

	if (fd < 0)
		return -err->code;
	if (then) {
		if (!rein_parse_u64(what, UINT64_MAX / 2, &old) ||
		    !rein_parse_u64(then, UINT64_MAX / 2, &now))
			return rein_err_set(err, REIN_E_USAGE, "sizes are numbers of lines");
	} else if (!rein_parse_u64(what, UINT64_MAX / 2, &g.wanted)) {
		g.wanted = UINT64_MAX;
		g.id = what;
	}
	rc = rein_record_each(fd, 0, on_line, &g, err);
	if (rc == 0)
		rc = then ? consistency(&g, old, now, b, err) : inclusion(&g, b, err);
	rein_free(g.leaf);
	rein_free(g.line);
	rein_free(g.head);
	return rc;
}

/* --- checking ------------------------------------------------------------------------------- */

#define NODES 256

struct proof_text {
	struct rein_jnode node[NODES];
	struct rein_buf arena;
};

static bool text_of(struct proof_text *t, const char *key, struct rein_str *ret)
{
	unsigned i = rein_jread_member(t->node, 0, key);

	return i && rein_jread_text(&t->node[i], &t->arena, ret);
}

static bool hash_of(struct proof_text *t, const char *key, uint8_t out[32])
{
	struct rein_str s;

	return text_of(t, key, &s) && s.n == 64 && rein_unhex(s.p, 32, out);
}

static bool number_of(struct proof_text *t, const char *key, uint64_t *ret)
{
	unsigned i = rein_jread_member(t->node, 0, key);

	return i && rein_jread_u64(&t->node[i], ret);
}

static bool path_of(struct proof_text *t, struct rein_proof *p)
{
	unsigned i = rein_jread_member(t->node, 0, "path");

	p->n = 0;
	if (!i || t->node[i].type != REIN_J_ARRAY)
		return false;
	for (i = t->node[i].child; i; i = t->node[i].next) {
		if (p->n == ARRAY_SIZE(p->h) || t->node[i].type != REIN_J_STRING ||
		    t->node[i].raw.n != 64 || !rein_unhex(t->node[i].raw.p, 32, p->h[p->n++].b))
			return false;
	}
	return true;
}

static bool check_inclusion(struct proof_text *t, const uint8_t *pinned)
{
	struct rein_str line, head;
	struct rein_err ignored = {0};
	struct rein_hash leaf;
	struct rein_head h;
	struct rein_proof p;
	uint64_t index;
	uint8_t pub[32];

	if (!text_of(t, "text", &line) || !text_of(t, "head", &head) ||
	    !number_of(t, "line", &index) || !hash_of(t, "pub", pub) || !path_of(t, &p) ||
	    (pinned && memcmp(pinned, pub, 32) != 0) || rein_head_parse(head, &h, &ignored) < 0 ||
	    h.type == REIN_HEAD_NONE || !rein_head_signed_by(head, &h, pub))
		return false;
	rein_merkle_leaf(line.p, line.n, &leaf);
	return rein_merkle_check_inclusion(&leaf, index, h.n, &p, &h.root);
}

static bool check_consistency(struct proof_text *t)
{
	struct rein_hash a, z;
	struct rein_proof p;
	uint64_t old, now;

	return number_of(t, "old", &old) && number_of(t, "new", &now) &&
	       hash_of(t, "old_root", a.b) && hash_of(t, "new_root", z.b) && path_of(t, &p) &&
	       rein_merkle_check_consistency(old, &a, now, &z, &p);
}

int rein_proof_check(struct rein_str text, const uint8_t *pinned, struct rein_err *err)
{
	auto_free struct proof_text *t = rein_alloc(sizeof(*t));
	auto_free char *mem = rein_alloc(text.n + 1);
	struct rein_str kind;
	bool good = false;

	if (!t || !mem)
		return rein_err_nomem(err);
	t->arena = (struct rein_buf){.p = mem, .cap = text.n + 1, .max = text.n};
	if (rein_jread(text, t->node, NODES, err) < 0)
		return -err->code;
	if (!text_of(t, "proof", &kind))
		return rein_err_set(err, REIN_E_INVALID, "not a proof");
	if (rein_str_eq(kind, STR("rein-inclusion-v1")))
		good = check_inclusion(t, pinned);
	else if (rein_str_eq(kind, STR("rein-consistency-v1")))
		good = check_consistency(t);
	return good ? 0 : rein_err_set(err, REIN_E_INVALID, "the proof does NOT hold");
}

int rein_proof_check_file(const char *path, const uint8_t *pinned, struct rein_err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	char chunk[4096];
	ssize_t n;

	if (fd < 0)
		return rein_err_errno(err, "open '%s'", path);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		rein_buf_add(&b, chunk, (size_t)n);
	if (n < 0 || b.failed)
		return rein_err_errno(err, "read '%s'", path);
	return rein_proof_check((struct rein_str){b.p ? b.p : "", b.n}, pinned, err);
}
