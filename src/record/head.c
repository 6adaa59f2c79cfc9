/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys, heads and their one canonical spelling. A head is parsed by reading its members in order
 * and then written again: if the bytes differ, it is not a head.
 */
#include "record/head.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "record/event.h"

void rein_hex(const uint8_t *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[p[i] >> 4];
		out[2 * i + 1] = digits[p[i] & 15];
	}
	out[2 * n] = '\0';
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool rein_unhex(const char *s, size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i++) {
		int a = nibble(s[2 * i]), b = a < 0 ? -1 : nibble(s[2 * i + 1]);

		if (b < 0)
			return false;
		out[i] = (uint8_t)(a << 4 | b);
	}
	return true;
}

void rein_key_id(const uint8_t pub[32], uint8_t id[REIN_KEY_ID])
{
	uint8_t h[32];

	rein_sha256(pub, 32, h);
	memcpy(id, h, REIN_KEY_ID);
}

int rein_random(uint8_t *p, size_t n, struct rein_err *err)
{
	return getrandom(p, n, 0) == (ssize_t)n ? 0 : rein_err_errno(err, "read random bytes");
}

int rein_secret_write(int dirfd, const char *name, const uint8_t *p, size_t n,
			struct rein_err *err)
{
	char tmp[64], hex[129];
	auto_close int fd = -1;
	int rc = 0;

	if (n > 64)
		return rein_err_set(err, REIN_E_LIMIT, "secret of %zu bytes", n);
	snprintf(tmp, sizeof(tmp), "%s.%d.tmp", name, (int)getpid());
	fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return rein_err_errno(err, "create key file '%s'", tmp);
	rein_hex(p, n, hex);
	hex[2 * n] = '\n';
	if (write(fd, hex, 2 * n + 1) != (ssize_t)(2 * n + 1) || fsync(fd) < 0)
		rc = rein_err_errno(err, "write key file '%s'", tmp);
	else if (linkat(dirfd, tmp, dirfd, name, 0) < 0)
		rc = rein_err_errno(err, "keep key file '%s'", name);
	unlinkat(dirfd, tmp, 0);
	explicit_bzero(hex, sizeof(hex));
	if (rc == 0 && fsync(dirfd) < 0)
		rc = rein_err_errno(err, "sync the record's directory");
	return rc;
}

/* 0 read, 1 there is no such file. */
static int secret_read(int dirfd, const char *name, uint8_t *p, size_t n, struct rein_err *err)
{
	char hex[130];
	struct stat st;
	auto_close int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got;

	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0 || fstat(fd, &st) < 0)
		return rein_err_errno(err, "open key file '%s'", name);
	if (st.st_mode & 077)
		return rein_err_set(err, REIN_E_DENIED,
				    "key file '%s' can be read by others: chmod 600 it, then rotate "
				    "the key with: rein audit rotate-key", name);
	got = read(fd, hex, sizeof(hex));
	if (got != (ssize_t)(2 * n + 1) || hex[2 * n] != '\n' || !rein_unhex(hex, n, p))
		return rein_err_set(err, REIN_E_INVALID, "key file '%s' is damaged", name);
	explicit_bzero(hex, sizeof(hex));
	return 0;
}

int rein_key_load(int dirfd, const char *name, struct rein_key *ret, struct rein_err *err)
{
	int rc = secret_read(dirfd, name, ret->sk, 64, err);

	if (rc > 0)
		return rein_err_set(err, REIN_E_NOTFOUND, "the record's signing key '%s' is missing",
				    name);
	if (rc < 0)
		return rc;
	rein_key_id(rein_key_pub(ret), ret->id);
	ret->loaded = true;
	return 0;
}

int rein_key_redact(int dirfd, bool create, uint8_t ret[32], struct rein_err *err)
{
	int rc = secret_read(dirfd, "redact.key", ret, 32, err);

	if (rc <= 0)
		return rc;
	if (!create)
		return rein_err_set(err, REIN_E_NOTFOUND, "the record has no redaction key");
	if (rein_random(ret, 32, err) < 0)
		return -err->code;
	rc = rein_secret_write(dirfd, "redact.key", ret, 32, err);
	if (rc < 0 && err->sys == EEXIST)
		rc = secret_read(dirfd, "redact.key", ret, 32, err);
	return rc;
}

static const char *const names[] = {
	[REIN_HEAD_HEAD] = "head", [REIN_HEAD_START] = "start", [REIN_HEAD_ROTATE] = "rotate"};

void rein_hex_member(struct rein_buf *b, const char *key, const uint8_t *p, size_t n)
{
	char hex[129];

	rein_hex(p, n, hex);
	rein_buf_printf(b, ",\"%s\":\"%s\"", key, hex);
}

void rein_head_body(const struct rein_head *h, struct rein_buf *b)
{
	char time[REIN_EVENT_TIME_LEN + 1], hex[65];

	rein_event_time(h->time_ns, time);
	rein_buf_printf(b, "{\"v\":1,\"type\":\"%s\",\"time\":\"%s\",\"n\":%llu", names[h->type],
			time, (unsigned long long)h->n);
	rein_hex_member(b, "root", h->root.b, 32);
	if (h->type == REIN_HEAD_START) {
		rein_buf_printf(b, ",\"segment\":%llu,\"peaks\":[", (unsigned long long)h->segment);
		for (unsigned i = 0; i < rein_merkle_npeaks(h->n); i++) {
			rein_hex(h->peaks.peak[i].b, 32, hex);
			rein_buf_printf(b, "%s\"%s\"", i ? "," : "", hex);
		}
		rein_buf_char(b, ']');
	}
	if (h->type != REIN_HEAD_HEAD)
		rein_hex_member(b, "pub", h->pub, 32);
	rein_hex_member(b, "key", h->key, REIN_KEY_ID);
}

struct scan {
	const char *p, *end;
};

static bool lit(struct scan *s, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n) != 0)
		return false;
	s->p += n;
	return true;
}

static bool number(struct scan *s, uint64_t *ret)
{
	uint64_t v = 0;
	const char *from = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9' && v < UINT64_MAX / 10 - 1)
		v = v * 10 + (uint64_t)(*s->p++ - '0');
	*ret = v;
	return s->p > from;
}

static bool hex(struct scan *s, const char *before, uint8_t *out, size_t n)
{
	if (!lit(s, before) || (size_t)(s->end - s->p) < 2 * n || !rein_unhex(s->p, n, out))
		return false;
	s->p += 2 * n;
	return true;
}

static bool scan_start(struct scan *s, struct rein_head *h)
{
	if (!lit(s, "\",\"segment\":") || !number(s, &h->segment) || !lit(s, ",\"peaks\":["))
		return false;
	h->peaks.n = h->n;
	if (h->n >> REIN_MERKLE_PEAKS)
		return false;
	for (unsigned i = 0; i < rein_merkle_npeaks(h->n); i++)
		if (!hex(s, i ? "\",\"" : "\"", h->peaks.peak[i].b, 32))
			return false;
	return (h->n == 0 || lit(s, "\"")) && hex(s, "],\"pub\":\"", h->pub, 32);
}

static bool scan_head(struct scan *s, struct rein_head *h)
{
	struct rein_str time;

	if (!lit(s, "\",\"time\":\"") || s->end - s->p < REIN_EVENT_TIME_LEN)
		return false;
	time = (struct rein_str){s->p, REIN_EVENT_TIME_LEN};
	s->p += REIN_EVENT_TIME_LEN;
	if (!rein_event_time_parse(time, &h->time_ns) || !lit(s, "\",\"n\":") ||
	    !number(s, &h->n) || !hex(s, ",\"root\":\"", h->root.b, 32))
		return false;
	if (h->type == REIN_HEAD_START && !scan_start(s, h))
		return false;
	if (h->type == REIN_HEAD_ROTATE && !hex(s, "\",\"pub\":\"", h->pub, 32))
		return false;
	return hex(s, "\",\"key\":\"", h->key, REIN_KEY_ID) &&
	       hex(s, "\",\"sig\":\"", h->sig, 64) && lit(s, "\"}") && s->p == s->end;
}

int rein_head_parse(struct rein_str line, struct rein_head *ret, struct rein_err *err)
{
	static const char before[] = "{\"v\":1,\"type\":\"";
	struct scan s = {line.p, line.p + line.n};
	auto_buf struct rein_buf back = REIN_BUF(8192);

	ret->type = REIN_HEAD_NONE;
	if (!lit(&s, before))
		return 0;
	for (int i = REIN_HEAD_HEAD; i <= REIN_HEAD_ROTATE; i++) {
		size_t n = strlen(names[i]);

		if ((size_t)(s.end - s.p) > n && memcmp(s.p, names[i], n) == 0 && s.p[n] == '"') {
			ret->type = (enum rein_head_type)i;
			s.p += n;
			break;
		}
	}
	if (ret->type == REIN_HEAD_NONE)
		return 0;
	if (!scan_head(&s, ret))
		return rein_err_set(err, REIN_E_INVALID, "malformed tree head");
	rein_head_body(ret, &back); /* 007 for 7 and the like */
	if (back.failed || back.n > line.n || memcmp(back.p, line.p, back.n) != 0)
		return rein_err_set(err, REIN_E_INVALID, "tree head is not in canonical form");
	return 0;
}
