/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/txn/ID/meta: what a transaction is, one "key<TAB>value" a line, values with \\ \n \t
 * escaped. Replaced as a whole, so it is always one version or the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/tree.h"
#include "txn/internal.h"

#define META_MAX (4u << 20) /* a command line can be 2 MiB */

static const char *const state_names[] = {
	[REIN_TX_RUNNING] = "running",	  [REIN_TX_HELD] = "held",
	[REIN_TX_COMMITTED] = "committed", [REIN_TX_UNDONE] = "undone",
	[REIN_TX_DISCARDED] = "discarded",
};

const char *rein_tx_state_name(int state)
{
	if (state < REIN_TX_RUNNING || state > REIN_TX_DISCARDED)
		return "unknown";
	return state_names[state];
}

void rein_root_done(struct rein_root *r)
{
	rein_free(r->real);
	rein_free(r->store);
	rein_free(r->upper);
	rein_free(r->work);
	rein_free(r->mask);
}

void rein_tx_done(struct rein_tx *t)
{
	for (size_t i = 0; i < t->argc; i++)
		rein_free(t->argv[i]);
	rein_free(t->argv);
	for (size_t i = 0; i < t->nroots; i++)
		rein_root_done(&t->roots[i]);
	rein_free(t->roots);
	rein_free(t->begin_ns);
	rein_free(t->workspace);
	rein_free(t->cwd);
	rein_free(t->action);
	rein_free(t->agent);
	rein_free(t->reason);
	rein_reviews_done(&t->reviews);
	if (t->dirfd > 0)
		close(t->dirfd);
	*t = (struct rein_tx){.dirfd = -1};
}

static void put(struct rein_buf *b, const char *key, const char *value)
{
	rein_buf_cstr(b, key);
	rein_buf_char(b, '\t');
	for (; *value; value++) {
		if (*value == '\\')
			rein_buf_cstr(b, "\\\\");
		else if (*value == '\n')
			rein_buf_cstr(b, "\\n");
		else if (*value == '\t')
			rein_buf_cstr(b, "\\t");
		else
			rein_buf_char(b, *value);
	}
	rein_buf_char(b, '\n');
}

static void put_num(struct rein_buf *b, const char *key, uint64_t v)
{
	rein_buf_printf(b, "%s\t%llu\n", key, (unsigned long long)v);
}

static int format(const struct rein_tx *t, struct rein_buf *b, struct rein_err *err)
{
	put(b, "rein-txn", "1");
	put(b, "id", t->id);
	put(b, "state", rein_tx_state_name(t->state));
	put_num(b, "created", t->created_ns);
	put_num(b, "ended", t->ended_ns);
	put_num(b, "decided", t->decided_ns);
	put_num(b, "status", (uint64_t)t->status);
	put_num(b, "end", (uint64_t)t->end);
	put(b, "workspace", t->workspace ? t->workspace : "");
	put(b, "cwd", t->cwd ? t->cwd : "");
	if (t->action)
		put(b, "action", t->action);
	if (t->agent)
		put(b, "agent", t->agent);
	put_num(b, "level", (uint64_t)t->level);
	put_num(b, "reach", (uint64_t)t->reach);
	if (t->reason)
		put(b, "reason", t->reason);
	for (size_t i = 0; i < t->reviews.n; i++) {
		const struct rein_review *r = &t->reviews.v[i];

		put_num(b, "review", r->minimum);
		put_num(b, "review.until", r->until_ns);
		for (size_t k = 0; k < r->by.n; k++)
			put(b, "review.by", r->by.v[k]);
	}
	for (size_t i = 0; i < t->argc; i++)
		put(b, "arg", t->argv[i]);
	for (size_t i = 0; i < t->nroots; i++) {
		put(b, "root", t->roots[i].real);
		put(b, "store", t->roots[i].store);
		put(b, "upper", t->roots[i].upper);
		put(b, "work", t->roots[i].work);
		if (t->roots[i].mask)
			put(b, "mask", t->roots[i].mask);
		put_num(b, "staged", t->roots[i].staged);
		put_num(b, "begin", (uint64_t)t->begin_ns[i]);
	}
	put_num(b, "sum.created", t->sum.created);
	put_num(b, "sum.modified", t->sum.modified);
	put_num(b, "sum.deleted", t->sum.deleted);
	put_num(b, "sum.renamed", t->sum.renamed);
	put_num(b, "sum.meta", t->sum.meta);
	put_num(b, "sum.new", t->sum.bytes_new);
	put_num(b, "sum.old", t->sum.bytes_old);
	if (b->failed)
		return rein_err_set(err, REIN_E_LIMIT, "the transaction's description is too large");
	return 0;
}

int rein_tx_save(const struct rein_state *s, const struct rein_tx *t, bool sync,
		  struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(META_MAX);

	(void)s;
	if (format(t, &b, err) < 0)
		return -err->code;
	return rein_file_replace(t->dirfd, "meta", (struct rein_str){b.p, b.n},
				 sync ? REIN_SYNC_ORDERED : REIN_SYNC_NONE, err);
}

static int add_arg(struct rein_tx *t, char *value)
{
	char **v = rein_realloc(t->argv, t->argc + 1, sizeof(*v));

	if (!v)
		return -1;
	t->argv = v;
	v[t->argc++] = value;
	return 0;
}

static int add_root(struct rein_tx *t, char *real)
{
	struct rein_root *r = rein_realloc(t->roots, t->nroots + 1, sizeof(*r));
	int64_t *b;

	if (!r)
		return -1;
	t->roots = r;
	b = rein_realloc(t->begin_ns, t->nroots + 1, sizeof(*b));
	if (!b)
		return -1;
	t->begin_ns = b;
	r[t->nroots] = (struct rein_root){.real = real};
	b[t->nroots++] = 0;
	return 0;
}

static char *unescape(char *v)
{
	char *out = v, *in = v;

	for (; *in; in++) {
		if (*in == '\\' && in[1]) {
			in++;
			*out++ = (char)(*in == 'n' ? '\n' : *in == 't' ? '\t' : *in);
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return v;
}

/* 1: the key was taken over with its string; 0: look elsewhere; -1: malformed. */
static int take_string(struct rein_tx *t, const char *key, char *copy)
{
	struct rein_root *r = t->nroots ? &t->roots[t->nroots - 1] : NULL;
	char **to = NULL;

	if (rein_streq(key, "workspace"))
		to = &t->workspace;
	else if (rein_streq(key, "cwd"))
		to = &t->cwd;
	else if (rein_streq(key, "action"))
		to = &t->action;
	else if (rein_streq(key, "agent"))
		to = &t->agent;
	else if (rein_streq(key, "reason"))
		to = &t->reason;
	else if (r && rein_streq(key, "store"))
		to = &r->store;
	else if (r && rein_streq(key, "upper"))
		to = &r->upper;
	else if (r && rein_streq(key, "work"))
		to = &r->work;
	else if (r && rein_streq(key, "mask"))
		to = &r->mask;
	else if (rein_streq(key, "arg"))
		return add_arg(t, copy) < 0 ? -1 : 1;
	else if (rein_streq(key, "root"))
		return *copy == '/' && add_root(t, copy) == 0 ? 1 : -1;
	else
		return 0;
	if (*to)
		return -1;
	*to = copy;
	return 1;
}

static int take_number(struct rein_tx *t, const char *key, uint64_t v)
{
	const struct {
		const char *key;
		uint64_t *to;
	} numbers[] = {
		{"created", &t->created_ns},	   {"ended", &t->ended_ns},
		{"decided", &t->decided_ns},	   {"sum.created", &t->sum.created},
		{"sum.modified", &t->sum.modified}, {"sum.deleted", &t->sum.deleted},
		{"sum.renamed", &t->sum.renamed},   {"sum.meta", &t->sum.meta},
		{"sum.new", &t->sum.bytes_new},	   {"sum.old", &t->sum.bytes_old},
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (rein_streq(key, numbers[i].key)) {
			*numbers[i].to = v;
			return 0;
		}
	}
	if (rein_streq(key, "status"))
		t->status = (int)v;
	else if (rein_streq(key, "end"))
		t->end = (int)v;
	else if (rein_streq(key, "level"))
		t->level = (int)(v & 0xff);
	else if (rein_streq(key, "reach"))
		t->reach = (int)(v & 0xff);
	else if (rein_streq(key, "staged") && t->nroots)
		t->roots[t->nroots - 1].staged = v != 0;
	else if (rein_streq(key, "begin") && t->nroots)
		t->begin_ns[t->nroots - 1] = (int64_t)v;
	return 0; /* unknown keys come from newer versions */
}

/* What cannot be read of a review is not left out: it would let pass what waits for it. */
static int take_review(struct rein_tx *t, const char *key, const char *value)
{
	struct rein_review *r = t->reviews.n ? &t->reviews.v[t->reviews.n - 1] : NULL;
	uint64_t v = 0;

	if (rein_streq(key, "review")) {
		r = rein_reviews_add(&t->reviews);
		if (!r || !rein_parse_u64(value, UINT_MAX, &v))
			return -1;
		r->minimum = (unsigned)v;
		return 0;
	}
	if (r && rein_streq(key, "review.until"))
		return rein_parse_u64(value, UINT64_MAX, &r->until_ns) ? 0 : -1;
	if (r && rein_streq(key, "review.by"))
		return rein_strlist_add(&r->by, value);
	return -1;
}

static int take_line(struct rein_tx *t, const char *key, const char *value)
{
	char *copy = unescape((char *)value);
	uint64_t v;
	char *own;
	int rc;

	if (rein_streq(key, "rein-txn"))
		return rein_streq(copy, "1") ? 0 : -1;
	if (rein_streq(key, "id")) {
		snprintf(t->id, sizeof(t->id), "%s", copy);
		return 0;
	}
	if (rein_streq(key, "state")) {
		for (int i = REIN_TX_RUNNING; i <= REIN_TX_DISCARDED; i++)
			if (rein_streq(copy, state_names[i]))
				t->state = i;
		return t->state ? 0 : -1;
	}
	if (rein_starts(key, "review"))
		return take_review(t, key, copy);
	own = rein_strdup(copy);
	if (!own)
		return -1;
	rc = take_string(t, key, own);
	if (rc != 1)
		rein_free(own);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return rein_parse_u64(copy, UINT64_MAX, &v) ? take_number(t, key, v) : 0;
}

static int parse(struct rein_tx *t, char *text)
{
	while (*text) {
		char *end = strchr(text, '\n');
		char *tab;

		if (!end)
			return -1;
		*end = '\0';
		tab = strchr(text, '\t');
		if (!tab)
			return -1;
		*tab = '\0';
		if (take_line(t, text, tab + 1) < 0)
			return -1;
		text = end + 1;
	}
	for (size_t i = 0; i < t->nroots; i++)
		if (!t->roots[i].store || !t->roots[i].upper || !t->roots[i].work)
			return -1;
	return t->state && t->id[0] ? 0 : -1;
}

int rein_tx_load(const struct rein_state *s, const char *id, struct rein_tx *ret,
		  struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(META_MAX);
	struct rein_tx t = {.dirfd = -1};

	if (strchr(id, '/') || id[0] == '.' || !*id)
		return rein_err_set(err, REIN_E_NOTFOUND, "no transaction '%s'", id);
	t.dirfd = openat(s->txn_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t.dirfd < 0)
		return rein_err_set(err, REIN_E_NOTFOUND, "no transaction '%s' (see: rein log)", id);
	if (rein_file_read(t.dirfd, "meta", &b, err) < 0) {
		rein_tx_done(&t);
		return -err->code;
	}
	if (!b.p || strlen(b.p) != b.n || parse(&t, b.p) < 0) {
		rein_tx_done(&t);
		return rein_err_set(err, REIN_E_INVALID, "the description of transaction '%s' is damaged",
				    id);
	}
	*ret = t;
	return 0;
}

bool rein_tx_alive(const struct rein_state *s, const char *id)
{
	auto_close int fd = openat(s->txn_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

int rein_tx_still(const struct rein_state *s, const struct rein_tx *t, struct rein_err *err)
{
	auto_(rein_tx_done) struct rein_tx now = {.dirfd = -1};

	if (rein_tx_load(s, t->id, &now, err) < 0)
		return -err->code;
	if (now.state != t->state || now.created_ns != t->created_ns)
		return rein_err_set(err, REIN_E_STATE, "transaction %s is already %s", t->id,
				    rein_tx_state_name(now.state));
	return 0;
}

int rein_tx_claim(const struct rein_state *s, const char *id, struct rein_tx *ret, int *ret_lock,
		  struct rein_err *err)
{
	auto_close int fd = openat(s->txn_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
		;
	/* only now: whoever had it may have decided about it */
	if (rein_tx_load(s, id, ret, err) < 0)
		return -err->code;
	*ret_lock = take_fd(&fd);
	return 0;
}

void rein_tx_list_done(struct rein_tx_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		rein_tx_done(&l->v[i]);
	rein_free(l->v);
	*l = (struct rein_tx_list){0};
}

static int newest_first(const void *a, const void *b)
{
	const struct rein_tx *x = a, *y = b;

	if (x->created_ns != y->created_ns)
		return x->created_ns > y->created_ns ? -1 : 1;
	return strcmp(x->id, y->id);
}

int rein_tx_list(const struct rein_state *s, struct rein_tx_list *ret, struct rein_err *err)
{
	auto_(rein_names_done) struct rein_names names = {0};
	struct rein_tx_list l = {0};

	if (rein_names_read(s->txn_fd, "", &names, err) < 0)
		return -err->code;
	for (size_t i = 0; i < names.n; i++) {
		struct rein_tx t;
		struct rein_err skip = {0};

		/* one that is being made or removed has no description */
		if (rein_tx_load(s, names.v[i], &t, &skip) < 0)
			continue;
		rein_closep_(&t.dirfd);
		t.dirfd = -1;
		if (rein_grow(l.v, l.n, l.cap) < 0) {
			rein_tx_done(&t);
			rein_tx_list_done(&l);
			return rein_err_nomem(err);
		}
		l.v[l.n++] = t;
	}
	if (l.n)
		qsort(l.v, l.n, sizeof(l.v[0]), newest_first);
	*ret = l;
	return 0;
}

int rein_tx_changes(const struct rein_tx *t, struct rein_changes *ret, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 30);

	if (t->state == REIN_TX_RUNNING && faccessat(t->dirfd, "changes", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return rein_err_set(err, REIN_E_STATE, "transaction %s is running: its changes are known when it ends",
				    t->id);
	if (rein_file_read(t->dirfd, "changes", &b, err) < 0 ||
	    rein_changes_parse((struct rein_str){b.p, b.n}, ret, err) < 0)
		return rein_err_prefix(err, "transaction %s", t->id);
	for (size_t i = 0; i < ret->n; i++) {
		if (ret->v[i].root < t->nroots)
			continue;
		rein_changes_done(ret);
		return rein_err_set(err, REIN_E_INVALID, "transaction %s: a change has no root", t->id);
	}
	return 0;
}

int rein_tx_save_changes(const struct rein_tx *t, const struct rein_changes *c, bool sync,
			 struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 30);

	rein_changes_format(c, &b);
	if (b.failed)
		return rein_err_set(err, REIN_E_LIMIT, "too many changes for one transaction");
	return rein_file_replace(t->dirfd, "changes", (struct rein_str){b.p, b.n},
				 sync ? REIN_SYNC_ORDERED : REIN_SYNC_NONE, err);
}

int rein_tx_stage(const struct rein_tx *t, const struct rein_changes *c, struct rein_err *err)
{
	auto_buf struct rein_buf meta = REIN_BUF(META_MAX);
	auto_buf struct rein_buf changes = REIN_BUF(1u << 30);

	rein_changes_format(c, &changes);
	if (changes.failed)
		return rein_err_set(err, REIN_E_LIMIT, "too many changes for one transaction");
	if (format(t, &meta, err) < 0 ||
	    rein_file_stage(t->dirfd, "changes", (struct rein_str){changes.p, changes.n}, err) < 0)
		return -err->code;
	return rein_file_stage(t->dirfd, "meta", (struct rein_str){meta.p, meta.n}, err);
}

int rein_tx_publish(const struct rein_tx *t, struct rein_err *err)
{
	if (rein_file_publish(t->dirfd, "changes", err) < 0)
		return -err->code;
	return rein_file_publish(t->dirfd, "meta", err);
}
