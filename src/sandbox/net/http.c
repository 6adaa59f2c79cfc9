/* SPDX-License-Identifier: Apache-2.0 */
/* See http.h. */
#include "sandbox/net/http.h"

#include "base/auto.h"
#include "sandbox/net/rule.h"

static bool token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_word(struct rein_str s, const char *word)
{
	if (s.n != strlen(word))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (lower(s.p[i]) != word[i])
			return false;
	return true;
}

static struct rein_str trim(struct rein_str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s.p++, s.n--;
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

bool rein_http_reads(struct rein_str method)
{
	return rein_str_eq(method, STR("GET")) || rein_str_eq(method, STR("HEAD"));
}

static int hex(char c)
{
	c = lower(c);
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A longer form of a shorter character, "%c0%ae" for a dot: no UTF-8, but some have decoded it. */
static bool overlong(int before, int v)
{
	return v == 0xc0 || v == 0xc1 || (before == 0xe0 && v < 0xa0) || (before == 0xf0 && v < 0x90);
}

/* One part between slashes: servers and proxies differ in what they make of the odd ones. */
static bool part_plain(const char *p, size_t n)
{
	int before = 0;

	if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
		return false;
	for (size_t i = 0; i < n; i++) {
		int v;

		if (p[i] <= ' ' || p[i] >= 0x7f || strchr("\\;#", p[i]))
			return false;
		if (p[i] != '%') {
			before = 0;
			continue;
		}
		if (n - i < 3 || hex(p[i + 1]) < 0 || hex(p[i + 2]) < 0)
			return false;
		v = hex(p[i + 1]) << 4 | hex(p[i + 2]);
		if (v < ' ' || v == 0x7f || (v < 0x80 && strchr("./\\;#?%", v)) || overlong(before, v))
			return false;
		before = v;
		i += 2;
	}
	return true;
}

bool rein_http_path(struct rein_str target, struct rein_str *ret)
{
	const char *query = memchr(target.p, '?', target.n);
	size_t n = query ? (size_t)(query - target.p) : target.n, start = 1;

	if (!n || target.p[0] != '/' || memchr(target.p, '#', target.n))
		return false;
	for (size_t i = 1; i <= n; i++) {
		if (i < n && target.p[i] != '/')
			continue;
		if ((i == start && i < n) || !part_plain(target.p + start, i - start))
			return false;
		start = i + 1;
	}
	*ret = (struct rein_str){target.p, n};
	return true;
}

/* METHOD SP TARGET SP "HTTP/1." DIGIT */
static bool request_line(struct rein_str line, struct rein_http_head *h, bool *old)
{
	const char *space = memchr(line.p, ' ', line.n);
	struct rein_str rest, version;

	if (!space || space == line.p)
		return false;
	h->method = (struct rein_str){line.p, (size_t)(space - line.p)};
	for (size_t i = 0; i < h->method.n; i++)
		if (!token_char(h->method.p[i]))
			return false;
	rest = (struct rein_str){space + 1, line.n - h->method.n - 1};
	space = memchr(rest.p, ' ', rest.n);
	if (!space || space == rest.p)
		return false;
	h->target = (struct rein_str){rest.p, (size_t)(space - rest.p)};
	for (size_t i = 0; i < h->target.n; i++)
		if (h->target.p[i] <= ' ' || h->target.p[i] == 0x7f)
			return false;
	version = (struct rein_str){space + 1, rest.n - h->target.n - 1};
	*old = rein_str_eq(version, STR("HTTP/1.0"));
	return *old || rein_str_eq(version, STR("HTTP/1.1"));
}

enum rein_http_result rein_http_looks(const char *p, size_t n)
{
	struct rein_http_head h;
	const char *end;
	bool old;

	if (n && !(p[0] >= 'A' && p[0] <= 'Z'))
		return REIN_HTTP_BAD;
	end = memchr(p, '\n', n);
	if (!end) {
		/* Other protocols may begin like a method and wait for an answer: tell them early. */
		size_t method = 0;

		while (method < n && token_char(p[method]))
			method++;
		if (method > 24 || (method < n && p[method] != ' ') || n >= 8192)
			return REIN_HTTP_BAD;
		for (size_t i = method + 1; i < n; i++)
			if ((p[i] < ' ' && p[i] != '\r') || p[i] == 0x7f)
				return REIN_HTTP_BAD;
		return REIN_HTTP_MORE;
	}
	n = (size_t)(end - p);
	if (n && p[n - 1] == '\r')
		n--;
	return request_line((struct rein_str){p, n}, &h, &old) ? REIN_HTTP_OK : REIN_HTTP_BAD;
}

/* "[v6]": kept with its brackets, so that it never equals a name. */
static bool bracketed(struct rein_str s, char host[REIN_NET_NAME])
{
	if (s.n < 4 || s.n >= 64 || s.p[0] != '[' || s.p[s.n - 1] != ']')
		return false;
	for (size_t i = 1; i < s.n - 1; i++)
		if (!strchr("0123456789abcdefABCDEF:.", s.p[i]))
			return false;
	memcpy(host, s.p, s.n);
	host[s.n] = 0;
	return true;
}

/* "name", "name:port", "[v6]:port". IPv4 addresses are names here: they are compared as such. */
static bool authority(struct rein_str s, char host[REIN_NET_NAME], uint16_t *port)
{
	const char *colon = NULL;
	uint32_t v = 0;

	for (size_t i = s.n; i > 0; i--) {
		char c = s.p[i - 1];

		if (c == ':') {
			colon = s.p + i - 1;
			break;
		}
		if (c < '0' || c > '9')
			break;
	}
	*port = 0;
	if (colon) {
		size_t digits = s.n - (size_t)(colon - s.p) - 1;

		if (!digits || digits > 5)
			return false;
		for (size_t i = 1; i <= digits; i++)
			v = v * 10 + (uint32_t)(colon[i] - '0');
		if (!v || v > 65535)
			return false;
		*port = (uint16_t)v;
		s.n = (size_t)(colon - s.p);
	}
	return bracketed(s, host) || rein_name_normal(s.p, s.n, host);
}

/* "http://host/…": the target itself says who is meant, and wins over Host. */
static bool absolute(struct rein_http_head *h, char host[REIN_NET_NAME], uint16_t *port)
{
	static const char scheme[] = "http://";
	struct rein_str s = h->target;
	size_t n = 0;

	if (s.n < sizeof(scheme) - 1 || !is_word((struct rein_str){s.p, sizeof(scheme) - 1}, scheme))
		return false;
	s.p += sizeof(scheme) - 1;
	s.n -= sizeof(scheme) - 1;
	while (n < s.n && s.p[n] != '/' && s.p[n] != '?' && s.p[n] != '#')
		n++;
	return authority((struct rein_str){s.p, n}, host, port);
}

static bool parse_length(struct rein_str v, uint64_t *ret)
{
	uint64_t n = 0;

	if (!v.n || v.n > 18)
		return false;
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] < '0' || v.p[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(v.p[i] - '0');
	}
	*ret = n;
	return true;
}

/* Fields by which frameworks take a request for another one. Underscores are dashes to some of them. */
static bool names_another(struct rein_str name)
{
	static const char *const words[] = {"x-http-method-override", "x-http-method", "x-method-override",
					    "x-original-url", "x-rewrite-url"};
	char plain[32];

	if (name.n >= sizeof(plain))
		return false;
	for (size_t i = 0; i < name.n; i++)
		plain[i] = name.p[i] == '_' ? '-' : name.p[i];
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is_word((struct rein_str){plain, name.n}, words[i]))
			return true;
	return false;
}

struct seen {
	bool host, length, coding;
};

static bool field(struct rein_str line, struct rein_http_head *h, struct seen *seen)
{
	const char *colon = memchr(line.p, ':', line.n);
	struct rein_str name, value;

	/* A line that begins with a space would continue the one before: obsolete, and a trap. */
	if (!colon || colon == line.p)
		return false;
	name = (struct rein_str){line.p, (size_t)(colon - line.p)};
	for (size_t i = 0; i < name.n; i++)
		if (!token_char(name.p[i]))
			return false;
	value = trim((struct rein_str){colon + 1, line.n - name.n - 1});
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] < ' ' && value.p[i] != '\t')
			return false;
	if (is_word(name, "host")) {
		if (seen->host || !authority(value, h->host, &h->port))
			return false;
		seen->host = true;
	} else if (is_word(name, "content-length")) {
		if (seen->length || !parse_length(value, &h->length))
			return false;
		seen->length = true;
	} else if (is_word(name, "transfer-encoding")) {
		if (seen->coding || !is_word(value, "chunked"))
			return false;
		seen->coding = true;
	} else if (is_word(name, "upgrade")) {
		h->upgrade = true;
	} else if (names_another(name)) {
		h->another = true;
	}
	return true;
}

/* The next line, without its end; only CR LF ends one. */
static enum rein_http_result next_line(const char *p, size_t n, struct rein_str *ret)
{
	const char *lf = memchr(p, '\n', n);

	if (memchr(p, 0, lf ? (size_t)(lf - p) : n))
		return REIN_HTTP_BAD;
	if (!lf)
		return REIN_HTTP_MORE;
	if (lf == p || lf[-1] != '\r' || memchr(p, '\r', (size_t)(lf - p - 1)))
		return REIN_HTTP_BAD;
	*ret = (struct rein_str){p, (size_t)(lf - p - 1)};
	return REIN_HTTP_OK;
}

static bool settle(struct rein_http_head *h, const struct seen *seen, bool old)
{
	char host[REIN_NET_NAME];
	uint16_t port;

	if ((seen->length && seen->coding) || (old && seen->coding) || (!old && !seen->host))
		return false;
	if (h->target.p[0] != '/' && !rein_str_eq(h->method, STR("CONNECT")) &&
	    !rein_str_eq(h->target, STR("*"))) {
		if (!absolute(h, host, &port) || (seen->host && (!rein_streq(host, h->host))))
			return false;
		memcpy(h->host, host, sizeof(host));
		h->port = port;
	}
	h->framing = seen->coding		    ? REIN_HTTP_CHUNKED
		     : seen->length && h->length ? REIN_HTTP_LENGTH
						    : REIN_HTTP_NO_BODY;
	return true;
}

enum rein_http_result rein_http_head(const char *p, size_t n, struct rein_http_head *ret)
{
	struct rein_http_head h = {0};
	struct seen seen = {0};
	struct rein_str line;
	size_t at = 0;
	bool old = false;

	for (;;) {
		enum rein_http_result rc = next_line(p + at, n - at, &line);

		if (rc == REIN_HTTP_MORE && n >= REIN_HTTP_HEAD)
			return REIN_HTTP_BAD;
		if (rc != REIN_HTTP_OK)
			return rc;
		if (at && !line.n)
			break;
		if (!(at ? field(line, &h, &seen) : request_line(line, &h, &old)))
			return REIN_HTTP_BAD;
		at += line.n + 2;
	}
	h.n = at + 2;
	if (!settle(&h, &seen, old))
		return REIN_HTTP_BAD;
	*ret = h;
	return REIN_HTTP_OK;
}

bool rein_http_head_ends(const char *p, size_t n, size_t *seen)
{
	static const char end[] = "\n\r\n";
	const size_t back = sizeof(end) - 2; /* it may have begun in what was searched */
	size_t from = *seen > back ? *seen - back : 0;

	*seen = n;
	return n > from && memmem(p + from, n - from, end, sizeof(end) - 1);
}

struct rein_http_body rein_http_body(const struct rein_http_head *h)
{
	struct rein_http_body b = {.left = h->length};

	if (h->framing == REIN_HTTP_LENGTH)
		b.state = REIN_BODY_DATA;
	else if (h->framing == REIN_HTTP_CHUNKED)
		b = (struct rein_http_body){.state = REIN_BODY_SIZE};
	return b;
}

static void size_char(struct rein_http_body *b, char c)
{
	int v = c >= '0' && c <= '9' ? c - '0' : lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;

	if (v >= 0 && b->digits++ < 15)
		b->left = b->left << 4 | (unsigned)v;
	else if (v < 0 && b->digits && c == ';')
		b->state = REIN_BODY_EXTENSION;
	else if (v < 0 && b->digits && c == '\r')
		b->state = REIN_BODY_SIZE_LF;
	else
		b->state = REIN_BODY_BAD;
}

/* One byte that is not data. */
static void step(struct rein_http_body *b, char c)
{
	switch (b->state) {
	case REIN_BODY_SIZE:
		size_char(b, c);
		break;
	case REIN_BODY_EXTENSION:
		if (c == '\r')
			b->state = REIN_BODY_SIZE_LF;
		else if ((unsigned char)c < ' ' || ++b->trailer > 4096)
			b->state = REIN_BODY_BAD;
		break;
	case REIN_BODY_SIZE_LF:
		b->state = c != '\n' ? REIN_BODY_BAD : b->left ? REIN_BODY_CHUNK : REIN_BODY_TRAILER;
		b->digits = b->trailer = 0; /* each line has its own limit */
		break;
	case REIN_BODY_CHUNK_CR:
		b->state = c == '\r' ? REIN_BODY_CHUNK_LF : REIN_BODY_BAD;
		break;
	case REIN_BODY_CHUNK_LF:
		b->state = c == '\n' ? REIN_BODY_SIZE : REIN_BODY_BAD;
		break;
	case REIN_BODY_TRAILER:
		b->state = c == '\r'		     ? REIN_BODY_END_LF
			   : (unsigned char)c < ' ' ? REIN_BODY_BAD
						     : REIN_BODY_TRAILER_LINE;
		break;
	case REIN_BODY_TRAILER_LINE:
		if (c == '\r')
			b->state = REIN_BODY_TRAILER_LF;
		else if (((unsigned char)c < ' ' && c != '\t') || ++b->trailer > 8192)
			b->state = REIN_BODY_BAD;
		break;
	case REIN_BODY_TRAILER_LF:
		b->state = c == '\n' ? REIN_BODY_TRAILER : REIN_BODY_BAD;
		break;
	case REIN_BODY_END_LF:
		b->state = c == '\n' ? REIN_BODY_DONE : REIN_BODY_BAD;
		break;
	default:
		b->state = REIN_BODY_BAD;
	}
}

size_t rein_http_body_take(struct rein_http_body *b, const char *p, size_t n)
{
	size_t at = 0;

	while (at < n && b->state != REIN_BODY_DONE && b->state != REIN_BODY_BAD) {
		if (b->state == REIN_BODY_DATA || b->state == REIN_BODY_CHUNK) {
			size_t part = b->left < n - at ? (size_t)b->left : n - at;

			at += part;
			b->left -= part;
			if (!b->left)
				b->state = b->state == REIN_BODY_DATA ? REIN_BODY_DONE
								      : REIN_BODY_CHUNK_CR;
			continue;
		}
		step(b, p[at++]);
	}
	return at;
}
