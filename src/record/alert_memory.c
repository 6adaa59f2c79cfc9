/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The alert engine's memory in a file, so that looking at the newest lines costs only those lines.
 * A cache: whatever is wrong with it, the log is read from its beginning instead.
 */
#include "record/alert_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/pack.h"
#include "record/sha256.h"
#include "sys/file.h"

#define MAGIC	 0x316c6172u
#define FILE_MAX (64u << 20)

static void put(struct rein_buf *b, const char *s)
{
	rein_pack_str(b, rein_str(s ? s : ""));
}

static void put_filter(struct rein_buf *b, const struct rein_filter *f)
{
	const char *const v[] = {f->agent, f->session, f->level, f->decision, f->result, f->type,
				 f->txn,   f->action,  f->user,	 f->rule,     f->path,	 f->text};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		put(b, v[i]);
}

/* Of all that decides when a rule fires; where an alert goes does not matter here. */
static int digest(const struct rein_alerts *a, uint8_t out[32], struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(16 << 20);

	for (size_t i = 0; i < a->nrule; i++) {
		const struct rein_alert_rule *r = &a->rule[i];

		put(&b, r->name);
		rein_buf_le32(&b, r->kind);
		rein_buf_le32(&b, r->field);
		put_filter(&b, &r->match);
		put_filter(&b, &r->then);
		rein_buf_le64(&b, r->count);
		rein_buf_le64(&b, r->window_ns);
		rein_buf_le64(&b, r->cooldown_ns);
	}
	if (b.failed)
		return rein_err_nomem(err);
	rein_sha256(b.p ? b.p : "", b.n, out);
	return 0;
}

static bool read_memory(struct rein_alerts *a, struct rein_unpack *u)
{
	uint64_t hash = rein_unpack_le64(u);
	struct rein_alert_memory *m;
	bool is_new;

	m = hash ? rein_alerts_memory(a, hash, &is_new) : NULL;
	if (!m || !is_new)
		return false;
	m->armed_ns = rein_unpack_le64(u);
	m->fired_ns = rein_unpack_le64(u);
	m->swallowed = rein_unpack_le64(u);
	m->used_ns = rein_unpack_le64(u);
	m->at = rein_unpack_le32(u);
	m->ntime = rein_unpack_le32(u);
	if (u->failed || m->ntime > REIN_ALERT_COUNT_MAX || (m->ntime && m->at >= m->ntime))
		return false;
	if (!m->ntime)
		return true;
	m->time = rein_calloc(m->ntime, sizeof(*m->time));
	for (unsigned i = 0; m->time && i < m->ntime; i++)
		m->time[i] = rein_unpack_le64(u);
	return m->time && !u->failed;
}

static void forget(struct rein_alerts *a)
{
	for (size_t i = 0; i < a->cap; i++)
		rein_free(a->m[i].time);
	rein_free(take_ptr(a->m));
	a->n = a->cap = 0;
}

int rein_alerts_restore(struct rein_alerts *a, int audit_fd, struct rein_alert_place *ret,
			struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(FILE_MAX);
	struct rein_alert_place at = {0};
	struct rein_err ignored = {0};
	struct rein_unpack u;
	uint8_t want[32];
	uint32_t n;

	*ret = at;
	if (digest(a, want, err) < 0)
		return -err->code;
	if (rein_file_read(audit_fd, "alerts.state", &b, &ignored) < 0 || b.n < 8)
		return 0;
	u = (struct rein_unpack){(const unsigned char *)b.p, b.n - 8};
	{
		struct rein_unpack sum = {(const unsigned char *)b.p + b.n - 8, 8};
		struct rein_str kept;

		if (rein_unpack_le64(&sum) != rein_checksum(b.p, b.n - 8) ||
		    rein_unpack_le32(&u) != MAGIC)
			return 0;
		kept = rein_unpack_str(&u);
		if (kept.n != 32 || memcmp(kept.p, want, 32) != 0)
			return 0;
	}
	at.line = rein_unpack_le64(&u);
	at.segment = rein_unpack_le64(&u);
	at.offset = rein_unpack_le64(&u);
	n = rein_unpack_le32(&u);
	for (uint32_t i = 0; i < n; i++)
		if (u.failed || !read_memory(a, &u)) {
			forget(a);
			return 0;
		}
	if (!u.failed)
		*ret = at;
	return 0;
}

/*
 * Over what is there, under the caller's lock: a rename would make ext4 write the file out at once
 * (auto_da_alloc), which costs five milliseconds at the end of every command. Torn, the checksum is
 * wrong and the log is read again.
 */
static int write_over(int audit_fd, const struct rein_buf *b, struct rein_err *err)
{
	auto_close int fd = openat(audit_fd, "alerts.state", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
				   0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || pwrite(fd, b->p, b->n, 0) != (ssize_t)b->n ||
	    ((size_t)st.st_size > b->n && ftruncate(fd, (off_t)b->n) < 0))
		return rein_err_errno(err, "remember what alerts were about");
	return 0;
}

int rein_alerts_save(const struct rein_alerts *a, int audit_fd, const struct rein_alert_place *at,
		     struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(FILE_MAX);
	uint8_t sum[32];

	if (digest(a, sum, err) < 0)
		return -err->code;
	rein_buf_le32(&b, MAGIC);
	rein_pack_str(&b, (struct rein_str){(const char *)sum, 32});
	rein_buf_le64(&b, at->line);
	rein_buf_le64(&b, at->segment);
	rein_buf_le64(&b, at->offset);
	rein_buf_le32(&b, (uint32_t)a->n);
	for (size_t i = 0; i < a->cap; i++) {
		const struct rein_alert_memory *m = &a->m[i];

		if (!m->hash)
			continue;
		rein_buf_le64(&b, m->hash);
		rein_buf_le64(&b, m->armed_ns);
		rein_buf_le64(&b, m->fired_ns);
		rein_buf_le64(&b, m->swallowed);
		rein_buf_le64(&b, m->used_ns);
		rein_buf_le32(&b, m->at);
		rein_buf_le32(&b, m->ntime);
		for (unsigned k = 0; k < m->ntime; k++)
			rein_buf_le64(&b, m->time[k]);
	}
	if (b.failed)
		return rein_err_nomem(err);
	rein_buf_le64(&b, rein_checksum(b.p, b.n));
	if (b.failed)
		return rein_err_nomem(err);
	return write_over(audit_fd, &b, err);
}
