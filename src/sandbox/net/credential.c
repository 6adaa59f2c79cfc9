/* SPDX-License-Identifier: Apache-2.0 */
/* See credential.h. */
#include "sandbox/net/credential.h"

#include <strings.h>
#include <sys/random.h>

#include "base/auto.h"
#include "sandbox/net/rule.h"

/* --- from text --- */

static bool is_variable(const char *s, size_t n)
{
	if (!n || (s[0] >= '0' && s[0] <= '9'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
		      (s[i] >= '0' && s[i] <= '9') || s[i] == '_'))
			return false;
	return true;
}

static bool copy(char *to, size_t max, const char *from, size_t n)
{
	if (!n || n >= max)
		return false;
	memcpy(to, from, n);
	to[n] = 0;
	return true;
}

/* "HOST[:PORT]": one name, one port. */
static bool parse_place(const char *s, size_t n, struct rein_net_credential *c)
{
	const char *colon = memchr(s, ':', n);
	size_t name = colon ? (size_t)(colon - s) : n;
	char port[8] = "443";
	struct rein_net_place *p = &c->places[c->nplaces];
	uint16_t last;

	if (c->nplaces == REIN_CREDENTIAL_PLACES || !rein_name_normal(s, name, p->host))
		return false;
	if (colon && !copy(port, sizeof(port), colon + 1, n - name - 1))
		return false;
	if (!rein_ports_parse(port, &p->port, &last) || p->port != last)
		return false;
	c->nplaces++;
	return true;
}

/* They say where a request goes and where it ends: a secret of digits must not become a length. */
static bool is_framing(const char *name, size_t n)
{
	static const char *const names[] = {"host",
					    "content-length",
					    "transfer-encoding",
					    "connection",
					    "upgrade",
					    "trailer",
					    "te",
					    "expect",
					    "keep-alive",
					    "proxy-connection"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == n && strncasecmp(names[i], name, n) == 0)
			return true;
	return false;
}

static bool parse_header(const char *s, size_t n, struct rein_net_credential *c)
{
	if (is_framing(s, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_variable(s + i, 1) && s[i] != '-' && !(s[i] >= '0' && s[i] <= '9') &&
		    !(s[i] == '*' && n == 1))
			return false;
	return copy(c->header, sizeof(c->header), s, n);
}

/* Once "{}", and what a header may hold; quotes around it are a shell's that came too far. */
static bool parse_format(const char *s, size_t n, struct rein_net_credential *c)
{
	const char *hole;

	if (n > 2 && s[0] == '"' && s[n - 1] == '"')
		s++, n -= 2;
	for (size_t i = 0; i < n; i++)
		if (s[i] < ' ' || s[i] >= 0x7f)
			return false;
	if (!copy(c->format, sizeof(c->format), s, n))
		return false;
	hole = strstr(c->format, "{}");
	return hole && !strstr(hole + 2, "{}");
}

static bool parse_option(const char *s, size_t n, struct rein_net_credential *c)
{
	if (n > 5 && memcmp(s, "host=", 5) == 0)
		return parse_place(s + 5, n - 5, c);
	if (n > 7 && memcmp(s, "header=", 7) == 0)
		return parse_header(s + 7, n - 7, c);
	if (n > 7 && memcmp(s, "format=", 7) == 0)
		return parse_format(s + 7, n - 7, c);
	c->plain = true;
	return n == 5 && memcmp(s, "plain", 5) == 0;
}

static bool parse_source(const char *s, size_t n, struct rein_credential_from *from)
{
	static const struct {
		const char *word;
		enum rein_credential_source kind;
	} kinds[] = {{"env:", REIN_CREDENTIAL_ENV}, {"file:", REIN_CREDENTIAL_FILE}};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t k = strlen(kinds[i].word);

		if (n <= k || memcmp(s, kinds[i].word, k) != 0)
			continue;
		from->kind = kinds[i].kind;
		return copy(from->name, sizeof(from->name), s + k, n - k) &&
		       (from->kind == REIN_CREDENTIAL_FILE || is_variable(s + k, n - k));
	}
	return false;
}

int rein_credential_parse(const char *text, struct rein_net_credential *ret,
			  struct rein_credential_from *from, struct rein_err *err)
{
	struct rein_net_credential *c = ret;
	const char *equal = strchr(text, '='), *s;

	*c = (struct rein_net_credential){.header = "Authorization"};
	*from = (struct rein_credential_from){0};
	if (!equal || !is_variable(text, (size_t)(equal - text)) ||
	    !copy(c->name, sizeof(c->name), text, (size_t)(equal - text)))
		return rein_err_set(err, REIN_E_USAGE,
				    "credential '%.60s': wanted NAME=env:VARIABLE,host=HOST or "
				    "NAME=file:PATH,host=HOST",
				    text);
	s = equal + 1;
	if (!parse_source(s, strcspn(s, ","), from))
		return rein_err_set(err, REIN_E_USAGE,
				    "credential %s: '%.*s' is no env:VARIABLE or file:PATH",
				    c->name, (int)strcspn(s, ","), s);
	for (s += strcspn(s, ","); *s; s += strcspn(s, ",")) {
		size_t n = strcspn(++s, ",");

		if (!parse_option(s, n, c))
			return rein_err_set(err, REIN_E_USAGE,
					    "credential %s: '%.*s' is no option; there are "
					    "host=NAME[:PORT] (up to %d), "
					    "header=NAME, format='Bearer {}', plain",
					    c->name, (int)n, s, REIN_CREDENTIAL_PLACES);
	}
	if (!c->nplaces)
		return rein_err_set(err, REIN_E_USAGE,
				    "credential %s: say which host may have it: host=NAME",
				    c->name);
	return 0;
}

/* --- the secret --- */

static bool is_alnum(char c)
{
	return c != '_' && (is_variable(&c, 1) || (c >= '0' && c <= '9'));
}

/* Of the same kind, so that programs which look at a token's shape are content. */
static char drawn(char like, uint8_t random)
{
	if (like >= '0' && like <= '9')
		return (char)('0' + random % 10);
	return (char)((like >= 'a' ? 'a' : 'A') + random % 26);
}

int rein_credential_set(struct rein_net_credential *c, struct rein_str secret, struct rein_err *err)
{
	size_t random = 0;

	while (secret.n && (secret.p[secret.n - 1] == '\n' || secret.p[secret.n - 1] == '\r'))
		secret.n--;
	if (secret.n >= sizeof(c->secret))
		return rein_err_set(err, REIN_E_LIMIT, "credential %s: over %zu bytes", c->name,
				    sizeof(c->secret) - 1);
	for (size_t i = 0; i < secret.n; i++) {
		if (secret.p[i] < ' ' || secret.p[i] >= 0x7f)
			return rein_err_set(err, REIN_E_INVALID,
					    "credential %s: it has bytes that no header can carry",
					    c->name);
		random += is_alnum(secret.p[i]);
	}
	if (random < REIN_CREDENTIAL_LEAST)
		return rein_err_set(err, REIN_E_INVALID,
				    "credential %s: fewer than %d letters and digits cannot be "
				    "told from other text",
				    c->name, REIN_CREDENTIAL_LEAST);
	memcpy(c->secret, secret.p, secret.n);
	c->n = (uint32_t)secret.n;
	do {
		uint8_t bytes[256];

		for (size_t i = 0; i < secret.n; i++) {
			if (i % sizeof(bytes) == 0 &&
			    getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
				return rein_err_errno(err, "draw a placeholder");
			c->placeholder[i] = is_alnum(secret.p[i])
						    ? drawn(secret.p[i], bytes[i % sizeof(bytes)])
						    : secret.p[i];
		}
	} while (memcmp(c->placeholder, c->secret, secret.n) == 0);
	return 0;
}

bool rein_credential_is_for(const struct rein_net_credential *c, const char *host, uint16_t port)
{
	for (uint32_t i = 0; i < c->nplaces; i++)
		if (c->places[i].port == port && rein_streq(c->places[i].host, host))
			return true;
	return false;
}

/* --- out --- */

static char *find(const struct rein_net_credential *c, char *p, size_t n)
{
	return n < c->n ? NULL : memmem(p, n, c->placeholder, c->n);
}

static bool same_header(const struct rein_net_credential *c, const char *name, size_t n)
{
	return rein_streq(c->header, "*") ||
	       (strlen(c->header) == n && strncasecmp(c->header, name, n) == 0);
}

/* Is the value what the format says, with the placeholder in it? */
static bool fits(const struct rein_net_credential *c, const char *value, size_t n)
{
	const char *hole = strstr(c->format, "{}");
	size_t before = hole ? (size_t)(hole - c->format) : 0, after = hole ? strlen(hole + 2) : 0;

	if (!hole)
		return true;
	return n == before + c->n + after && memcmp(value, c->format, before) == 0 &&
	       memcmp(value + before + c->n, hole + 2, after) == 0;
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Canonical or not at all: what is decoded must encode to the same bytes. Returns the length, or 0.
 */
static size_t decode(const char *p, size_t n, char *to, size_t max)
{
	size_t out = 0, pad = n > 1 && p[n - 1] == '=' ? 1 + (p[n - 2] == '=') : 0;
	uint32_t bits = 0;

	if (!n || n % 4 || n / 4 * 3 > max)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *at =
			i >= n - pad ? alphabet : memchr(alphabet, p[i], sizeof(alphabet) - 1);

		if (!at)
			return 0;
		bits = bits << 6 | (uint32_t)(at - alphabet);
		if (i % 4 != 3)
			continue;
		for (int k = 2; k >= 0; k--)
			to[out++] = (char)(bits >> 8 * k);
		bits = 0;
	}
	return out - pad;
}

static void encode(const char *p, size_t n, char *to)
{
	for (size_t i = 0; i < n; i += 3, to += 4) {
		size_t have = n - i < 3 ? n - i : 3;
		uint32_t bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < have ? (uint8_t)p[i + k] : 0);
		to[0] = alphabet[bits >> 18 & 63];
		to[1] = alphabet[bits >> 12 & 63];
		to[2] = have > 1 ? alphabet[bits >> 6 & 63] : '=';
		to[3] = have > 2 ? alphabet[bits & 63] : '=';
	}
}

/* "Basic BASE64" of "user:placeholder", as git and registries have it. */
static enum rein_credential_result put_basic(const struct rein_net_credential *c, char *value,
					     size_t n, bool may)
{
	char text[2 * REIN_CREDENTIAL_MAX], again[3 * REIN_CREDENTIAL_MAX];
	size_t have;
	char *at;

	if (n <= 6 || strncasecmp(value, "Basic ", 6) != 0)
		return REIN_CREDENTIAL_ABSENT;
	for (value += 6, n -= 6; n && *value == ' '; value++)
		n--;
	have = decode(value, n, text, sizeof(text));
	at = have ? find(c, text, have) : NULL;
	if (!at)
		return REIN_CREDENTIAL_ABSENT;
	encode(text, have, again);
	if (!may || c->format[0] || memcmp(again, value, n) != 0)
		return REIN_CREDENTIAL_MISPLACED;
	memcpy(at, c->secret, c->n);
	encode(text, have, value);
	explicit_bzero(text, sizeof(text));
	return REIN_CREDENTIAL_PUT;
}

/* One line of a head, without its end. */
static enum rein_credential_result put_line(const struct rein_net_credential *c, char *line,
					    size_t n, bool first, bool may)
{
	char *colon = first ? NULL : memchr(line, ':', n), *value, *at;
	size_t name = colon ? (size_t)(colon - line) : 0, length;

	if (!colon)
		return find(c, line, n) ? REIN_CREDENTIAL_MISPLACED : REIN_CREDENTIAL_ABSENT;
	value = colon + 1;
	length = n - name - 1;
	while (length && (*value == ' ' || *value == '\t'))
		value++, length--;
	while (length && (value[length - 1] == ' ' || value[length - 1] == '\t'))
		length--;
	may = may && same_header(c, line, name) && !is_framing(line, name);
	if (find(c, line, name))
		return REIN_CREDENTIAL_MISPLACED;
	at = find(c, value, length);
	if (!at)
		return name == 13 && strncasecmp(line, "authorization", 13) == 0
			       ? put_basic(c, value, length, may)
			       : REIN_CREDENTIAL_ABSENT;
	if (!may || !fits(c, value, length))
		return REIN_CREDENTIAL_MISPLACED;
	for (char *end = value + length; at; at = find(c, at + c->n, (size_t)(end - at) - c->n))
		memcpy(at, c->secret, c->n);
	return REIN_CREDENTIAL_PUT;
}

/* One that is misplaced has the whole request refused: what was put in elsewhere goes nowhere. */
enum rein_credential_result rein_credential_put(const struct rein_net_credential *c, char *head,
						size_t n, bool may)
{
	enum rein_credential_result result = REIN_CREDENTIAL_ABSENT;

	for (size_t at = 0; at < n;) {
		char *end = memchr(head + at, '\n', n - at);
		size_t length = end ? (size_t)(end - head) - at : n - at;
		size_t text = length && head[at + length - 1] == '\r' ? length - 1 : length;
		enum rein_credential_result one = put_line(c, head + at, text, at == 0, may);

		if (one > result)
			result = one;
		at += length + 1;
	}
	return result;
}

/* --- and back --- */

/* The part of base64 that is of these bytes alone, with `before` others in front of them. */
static char *core(const char *p, size_t n, size_t before, size_t *ret_n)
{
	size_t first = (8 * before + 5) / 6, last = 8 * (before + n) / 6;
	auto_free char *whole = rein_alloc(n + 3), *text = rein_alloc((n + 5) / 3 * 4 + 4);
	char *part = rein_alloc(last - first + 1);

	if (!whole || !text || !part) {
		rein_free(part);
		return NULL;
	}
	memcpy(whole + before, p, n);
	encode(whole, before + n, text);
	memcpy(part, text + first, last - first);
	explicit_bzero(whole, before + n);
	explicit_bzero(text, (before + n) / 3 * 4);
	*ret_n = last - first;
	return part;
}

int rein_credential_forms(const struct rein_net_credential *c, struct rein_credential_forms *ret,
			  struct rein_err *err)
{
	struct rein_credential_forms f = {.n = {c->n}};

	f.from[0] = rein_strndup(c->secret, c->n);
	f.to[0] = rein_strndup(c->placeholder, c->n);
	for (size_t k = 0; k < 3; k++) {
		f.from[1 + k] = core(c->secret, c->n, k, &f.n[1 + k]);
		f.to[1 + k] = core(c->placeholder, c->n, k, &f.n[1 + k]);
	}
	*ret = f;
	for (size_t i = 0; i < REIN_CREDENTIAL_FORMS; i++)
		if (!f.from[i] || !f.to[i])
			return rein_err_nomem(err);
	return 0;
}

void rein_credential_forms_done(struct rein_credential_forms *f)
{
	for (size_t i = 0; i < REIN_CREDENTIAL_FORMS; i++) {
		if (f->from[i])
			explicit_bzero(f->from[i], f->n[i]);
		rein_free(f->from[i]);
		rein_free(f->to[i]);
	}
}

static size_t mask(const char *from, const char *to, size_t length, char *p, size_t n)
{
	size_t most = n < length - 1 ? n : length - 1;
	char *at;

	for (size_t past = 0;
	     n - past >= length && (at = memmem(p + past, n - past, from, length));) {
		memcpy(at, to, length);
		past = (size_t)(at - p) + length;
	}
	for (size_t k = most; k; k--)
		if (memcmp(p + n - k, from, k) == 0)
			return k;
	return 0;
}

size_t rein_credential_mask(const struct rein_credential_forms *f, char *p, size_t n)
{
	size_t keep = 0;

	for (size_t i = 0; i < REIN_CREDENTIAL_FORMS; i++) {
		size_t k = mask(f->from[i], f->to[i], f->n[i], p, n);

		keep = k > keep ? k : keep;
	}
	return keep;
}
