/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outbox. An entry is a small text:
 *
 *	rein-outbox-1
 *	to webhook:ops
 *	created 1700000000000000000
 *	attempts 2
 *	next 1700000004000000000
 *	why the server answers 503
 *	(an empty line, then the body)
 *
 * Its name is the alert's id and a hash of the destination, so that an alert queued twice after a
 * crash is one entry.
 */
#include "record/outbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/file.h"

#define MAGIC	  "rein-outbox-1\n"
#define ENTRY_MAX 131072

int rein_outbox_dir(int audit_fd, bool create, int *ret_fd, struct rein_err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(audit_fd, "outbox", flags);

	if (fd < 0 && errno == ENOENT && !create)
		return 0;
	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(audit_fd, "outbox", 0700) < 0 && errno != EEXIST)
			return rein_err_errno(err, "create the outbox");
		if (fsync(audit_fd) < 0)
			return rein_err_errno(err, "sync the outbox");
		fd = openat(audit_fd, "outbox", flags);
	}
	if (fd < 0)
		return rein_err_errno(err, "open the outbox");
	*ret_fd = fd;
	return 1;
}

static bool is_entry(const char *name)
{
	return strlen(name) == 25 && name[16] == '.' && strspn(name, "0123456789abcdef") == 16 &&
	       strspn(name + 17, "0123456789abcdef") == 8;
}

static int names(int fd, struct rein_outbox *o, struct rein_err *err)
{
	int dup_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = dup_fd < 0 ? NULL : fdopendir(dup_fd);

	if (!d) {
		rein_err_errno(err, "read the outbox");
		rein_closep_(&dup_fd);
		return -err->code;
	}
	for (struct dirent *e; (e = readdir(d));) {
		if (!is_entry(e->d_name))
			continue;
		if (rein_grow(o->v, o->n, o->cap) < 0)
			return rein_err_nomem(err);
		o->v[o->n] = (struct rein_outbox_entry){0};
		snprintf(o->v[o->n++].file, sizeof(o->v->file), "%s", e->d_name);
	}
	return 0;
}

static void format(const struct rein_outbox_entry *e, struct rein_buf *b)
{
	rein_buf_cstr(b, MAGIC);
	rein_buf_printf(b, "to %s\ncreated %llu\nattempts %llu\nnext %llu\nwhy ", e->to,
			(unsigned long long)e->created_ns, (unsigned long long)e->attempts,
			(unsigned long long)e->next_ns);
	rein_buf_escaped(b, rein_str(e->why));
	rein_buf_cstr(b, "\n\n");
	rein_buf_str(b, e->body);
}

/* The rest of a line that begins with name and a space; *at moves behind it. */
static char *member(char **at, const char *name)
{
	size_t n = strlen(name);
	char *v = *at + n + 1, *nl;

	if (strncmp(*at, name, n) != 0 || (*at)[n] != ' ')
		return NULL;
	nl = strchr(v, '\n');
	if (!nl)
		return NULL;
	*nl = '\0';
	*at = nl + 1;
	return v;
}

static bool parse(struct rein_outbox_entry *e, size_t n)
{
	char *at = e->text, *to, *why;

	if (!rein_starts(at, MAGIC))
		return false;
	at += sizeof(MAGIC) - 1;
	to = member(&at, "to");
	if (!to || strlen(to) >= sizeof(e->to))
		return false;
	snprintf(e->to, sizeof(e->to), "%s", to);
	for (size_t i = 0; i < 3; i++) {
		static const char *const name[] = {"created", "attempts", "next"};
		uint64_t *to_u64[] = {&e->created_ns, &e->attempts, &e->next_ns};
		char *v = member(&at, name[i]);

		if (!v || !rein_parse_u64(v, UINT64_MAX, to_u64[i]))
			return false;
	}
	why = member(&at, "why");
	if (!why || *at != '\n')
		return false;
	snprintf(e->why, sizeof(e->why), "%s", why);
	snprintf(e->id, sizeof(e->id), "%.16s", e->file);
	e->body = (struct rein_str){at + 1, n - (size_t)(at + 1 - e->text)};
	return true;
}

static int by_age(const void *a, const void *b)
{
	const struct rein_outbox_entry *x = a, *y = b;

	if (x->created_ns != y->created_ns)
		return x->created_ns < y->created_ns ? -1 : 1;
	return strcmp(x->file, y->file);
}

int rein_outbox_read(int audit_fd, struct rein_outbox *ret, struct rein_err *err)
{
	auto_close int fd = -1;
	size_t kept = 0;
	int rc = rein_outbox_dir(audit_fd, false, &fd, err);

	*ret = (struct rein_outbox){0};
	if (rc <= 0)
		return rc;
	if (names(fd, ret, err) < 0) {
		rein_outbox_done(ret);
		return -err->code;
	}
	for (size_t i = 0; i < ret->n; i++) {
		struct rein_outbox_entry e = ret->v[i];
		struct rein_buf b = REIN_BUF(ENTRY_MAX);
		struct rein_err ignored = {0};
		size_t n;

		/* Gone meanwhile, or not ours to understand. */
		if (rein_file_read(fd, e.file, &b, &ignored) < 0 || !b.n) {
			rein_buf_done(&b);
			continue;
		}
		n = b.n;
		e.text = rein_buf_take(&b);
		if (!e.text || !parse(&e, n)) {
			rein_free(e.text);
			continue;
		}
		ret->v[kept++] = e;
	}
	ret->n = kept;
	if (kept)
		qsort(ret->v, kept, sizeof(ret->v[0]), by_age);
	return 0;
}

void rein_outbox_done(struct rein_outbox *o)
{
	for (size_t i = 0; i < o->n; i++)
		rein_free(o->v[i].text);
	rein_free(take_ptr(o->v));
	*o = (struct rein_outbox){0};
}

static int write_entry(int fd, const struct rein_outbox_entry *e, enum rein_sync sync,
		       struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(ENTRY_MAX);

	format(e, &b);
	if (b.failed)
		return rein_err_set(err, REIN_E_LIMIT, "an alert of more than %d bytes", ENTRY_MAX);
	return rein_file_replace(fd, e->file, (struct rein_str){b.p, b.n}, sync, err);
}

int rein_outbox_put(int audit_fd, const char *id, const char *to, uint64_t now_ns,
		    struct rein_str body, struct rein_err *err)
{
	struct rein_outbox_entry e = {.created_ns = now_ns, .next_ns = now_ns, .body = body};
	struct rein_outbox o = {0};
	auto_close int fd = -1;
	uint32_t h = 2166136261u;
	int rc = rein_outbox_dir(audit_fd, true, &fd, err);

	if (rc < 0)
		return rc;
	for (const char *s = to; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	if (snprintf(e.to, sizeof(e.to), "%s", to) >= (int)sizeof(e.to))
		return rein_err_set(err, REIN_E_LIMIT, "the destination '%s' has too long a name",
				    to);
	snprintf(e.file, sizeof(e.file), "%.16s.%08x", id, h);
	rc = names(fd, &o, err);
	if (rc == 0 && o.n >= REIN_OUTBOX_MAX && faccessat(fd, e.file, F_OK, 0) < 0)
		rc = rein_err_set(err, REIN_E_LIMIT,
				  "%zu alerts wait already and reach nobody. See: rein "
				  "audit alerts --list",
				  o.n);
	rein_outbox_done(&o);
	return rc < 0 ? rc : write_entry(fd, &e, REIN_SYNC_DURABLE, err);
}

int rein_outbox_again(int audit_fd, const struct rein_outbox_entry *e, struct rein_err *err)
{
	auto_close int fd = -1;
	int rc = rein_outbox_dir(audit_fd, true, &fd, err);

	return rc < 0 ? rc : write_entry(fd, e, REIN_SYNC_ORDERED, err);
}

int rein_outbox_remove(int audit_fd, const struct rein_outbox_entry *e, struct rein_err *err)
{
	auto_close int fd = -1;
	int rc = rein_outbox_dir(audit_fd, true, &fd, err);

	if (rc < 0)
		return rc;
	if (unlinkat(fd, e->file, 0) < 0 && errno != ENOENT)
		return rein_err_errno(err, "remove '%s' from the outbox", e->file);
	return 0;
}
