/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and closing a record, its settings, setting a damaged one aside. Opening is on the way
 * of every action: a handful of small files, no scan, no library start-up.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/internal.h"
#include "record/redact.h"
#include "sys/file.h"

/* A new directory is durable when the one that holds it is. */
static int sync_dir(const char *path, const char *up)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int upper = fd < 0 ? -1 : openat(fd, up, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return upper < 0 ? -1 : fsync(upper);
}

int rein_record_dir(const char *state_dir, bool create, struct rein_err *err)
{
	auto_free char *path = rein_asprintf("%s/%s", state_dir, REIN_RECORD_DIR);
	int fd;

	if (!path)
		return rein_err_nomem(err);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT && create) {
		if (mkdir(state_dir, 0700) < 0 && errno != EEXIST)
			return rein_err_errno(err, "create state directory '%s'", state_dir);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return rein_err_errno(err, "create the record's directory '%s'", path);
		if (sync_dir(path, "..") < 0 || sync_dir(path, "../..") < 0)
			return rein_err_errno(err, "sync '%s'", state_dir);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0 && errno == ENOENT)
		return rein_err_set(err, REIN_E_NOTFOUND, "there is no record in '%s' yet", path);
	if (fd < 0)
		return rein_err_errno(err, "open the record's directory '%s'", path);
	return fd;
}

static void read_small(int dirfd, const char *path, char *out, size_t cap)
{
	auto_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, cap - 1);

	out[n < 0 ? 0 : n] = '\0';
}

static bool set_copy(char *to, size_t cap, const char *v)
{
	return (size_t)snprintf(to, cap, "%s", v) < cap;
}

static bool setting(struct rein_record_config *c, const char *key, const char *v)
{
	if (rein_streq(key, "segment-size"))
		return rein_parse_size(v, &c->segment_bytes) && c->segment_bytes;
	if (rein_streq(key, "keep-age"))
		return rein_parse_duration(v, &c->keep_ns);
	if (rein_streq(key, "keep-size"))
		return rein_parse_size(v, &c->keep_bytes);
	if (rein_streq(key, "anchor-path"))
		return set_copy(c->anchor_path, sizeof(c->anchor_path), v);
	if (rein_streq(key, "anchor-webhook"))
		return set_copy(c->anchor_webhook, sizeof(c->anchor_webhook), v);
	if (rein_streq(key, "anchor-secret-file"))
		return set_copy(c->anchor_secret, sizeof(c->anchor_secret), v);
	if (rein_streq(key, "redact"))
		return c->nredact < REIN_REDACT_OWN && strchr(v, ' ') && v[0] != ' ' &&
		       set_copy(c->redact[c->nredact++], sizeof(c->redact[0]), v);
	if (rein_streq(key, "anchor-syslog")) {
		if (rein_streq(v, "no"))
			return true;
		return (rein_streq(v, "yes") || *v == '/') &&
		       set_copy(c->anchor_syslog, sizeof(c->anchor_syslog),
				*v == '/' ? v : REIN_SYSLOG_SOCKET);
	}
	return false;
}

int rein_record_config_read(int dirfd, struct rein_record_config *ret, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(65536);
	char *text, *save = NULL;

	*ret = (struct rein_record_config){.segment_bytes = REIN_SEGMENT_BYTES};
	if (faccessat(dirfd, "config", F_OK, 0) < 0 && errno == ENOENT)
		return 0;
	/* Settings that cannot be read could be patterns of secrets: go no further without them. */
	if (rein_file_read(dirfd, "config", &b, err) < 0)
		return rein_err_prefix(err, "the record's settings");
	if (b.n && memchr(b.p, '\0', b.n))
		return rein_err_set(err, REIN_E_INVALID, "a NUL byte in '%s/config'", REIN_RECORD_DIR);
	text = b.p;
	for (char *l = !b.n ? NULL : strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *eq = strchr(l, '=');

		if (*l == '#')
			continue;
		if (eq)
			*eq = '\0';
		if (!eq || !setting(ret, l, eq + 1))
			return rein_err_set(err, REIN_E_INVALID,
					    "record setting '%s' in '%s/config'", l,
					    REIN_RECORD_DIR);
	}
	return 0;
}

/* The name behind the uid, straight from the file: NSS modules would cost more than all the rest.
 */
static void user_name(char *out, size_t cap)
{
	char text[16384], want[24], *save = NULL;

	read_small(AT_FDCWD, "/etc/passwd", text, sizeof(text));
	snprintf(want, sizeof(want), "%u", (unsigned)getuid());
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *a = strchr(l, ':'), *b = a ? strchr(a + 1, ':') : NULL;
		size_t n = strlen(want);

		if (b && strncmp(b + 1, want, n) == 0 && b[1 + n] == ':') {
			snprintf(out, cap, "%.*s", (int)(a - l), l);
			return;
		}
	}
}

static int boot_id(uint8_t out[16], struct rein_err *err)
{
	char text[64], hex[33] = "";
	size_t n = 0;

	read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text));
	for (const char *p = text; *p && n < 32; p++)
		if (*p != '-')
			hex[n++] = *p;
	if (n != 32 || !rein_unhex(hex, 16, out))
		return rein_err_set(
			err, REIN_E_UNSUPPORTED,
			"cannot read /proc/sys/kernel/random/boot_id: is /proc mounted?");
	return 0;
}

static int open_files(struct rein_record *r, struct rein_err *err)
{
	int flags = O_CLOEXEC | O_NOFOLLOW | (r->read_only ? O_RDONLY : O_RDWR | O_CREAT);

	r->state_fd = openat(r->dirfd, "state", flags, 0600);
	r->head_fd = openat(r->dirfd, "head", flags, 0600);
	if (r->state_fd < 0 || r->head_fd < 0)
		return rein_err_errno(err, "open the record's state");
	return 0;
}

static int own_patterns(struct rein_record *r, struct rein_err *err)
{
	for (size_t i = 0; i < r->config.nredact; i++) {
		char *name = r->config.redact[i], *regex = strchr(name, ' ');

		*regex = '\0';
		if (rein_redactor_add_pattern(r->own_redact, name, regex + 1, err) < 0)
			return rein_err_prefix(err, "redact=%s in '%s/config'", name,
					       REIN_RECORD_DIR);
		*regex = ' ';
	}
	return 0;
}

/* What looks secret in our own environment is the agent's too. */
static int open_redactor(struct rein_record *r, struct rein_err *err)
{
	uint8_t key[32];

	if (r->redact || r->read_only)
		return 0;
	if (rein_key_redact(r->dirfd, true, key, err) < 0 ||
	    rein_redactor_new(key, &r->own_redact, err) < 0 ||
	    rein_redactor_add_env(r->own_redact, environ, err) < 0 || own_patterns(r, err) < 0)
		return -err->code;
	r->redact = r->own_redact;
	return 0;
}

int rein_record_open(const char *state_dir, const struct rein_record_options *opt,
		     struct rein_record **ret, struct rein_err *err)
{
	struct rein_record *r = rein_alloc(sizeof(*r));

	if (!r)
		return rein_err_nomem(err);
	r->dirfd = r->state_fd = r->head_fd = r->seg_fd = -1;
	if (opt) {
		r->read_only = opt->read_only;
		r->redact = opt->redact;
	}
	r->dirfd = rein_record_dir(state_dir, !r->read_only, err);
	if (r->dirfd < 0 || rein_record_config_read(r->dirfd, &r->config, err) < 0 ||
	    boot_id(r->boot, err) < 0 || open_files(r, err) < 0 || open_redactor(r, err) < 0)
		goto fail;
	if (opt && opt->segment_bytes)
		r->config.segment_bytes = opt->segment_bytes;
	if (gethostname(r->host, sizeof(r->host) - 1) < 0)
		r->host[0] = '\0';
	user_name(r->user, sizeof(r->user));
	*ret = r;
	return 0;
fail:
	rein_record_close(r);
	return -err->code;
}

void rein_record_redact(const struct rein_record *r, struct rein_str text, struct rein_buf *out)
{
	rein_redact(r->redact, text, false, out);
}

void rein_record_close(struct rein_record *r)
{
	if (!r)
		return;
	if (r->bell)
		munmap(r->bell, 4096);
	rein_closep_(&r->seg_fd);
	rein_closep_(&r->head_fd);
	rein_closep_(&r->state_fd);
	rein_closep_(&r->dirfd);
	rein_redactor_free(r->own_redact);
	rein_buf_done(&r->events.text);
	rein_free(r->events.leaf);
	rein_buf_done(&r->own.text);
	rein_free(r->own.leaf);
	explicit_bzero(&r->key, sizeof(r->key));
	rein_free(r);
}

int rein_record_redact_words(const struct rein_record *r, char *const *word, size_t n, char **ret,
			     struct rein_err *err)
{
	return rein_redact_words(r->redact, word, n, ret, err);
}
