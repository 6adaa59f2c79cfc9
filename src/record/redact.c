/* SPDX-License-Identifier: Apache-2.0 */
/* Putting matchers together: earliest hit wins, the longest of those that begin together. */
#include "record/redact.h"

#include <regex.h>

#include "base/auto.h"
#include "record/crypthash.h"
#include "record/head.h"
#include "record/sha256.h"
#include "record/terse.h"

#define VALUE_MIN 6

struct pattern {
	char kind[32];
	regex_t re;
};

struct rein_redactor {
	uint8_t key[32];
	struct value {
		char *p;
		size_t n;
	} * value;
	size_t nvalue, value_cap;
	uint8_t pair[8192]; /* bit set: a value begins with these two bytes */
	struct pattern **pattern;
	size_t npattern, pattern_cap;
	rein_redact_match_fn *match;
	void *match_arg;
};

int rein_redactor_new(const uint8_t key[32], struct rein_redactor **ret, struct rein_err *err)
{
	struct rein_redactor *r = rein_alloc(sizeof(*r));

	if (!r)
		return rein_err_nomem(err);
	memcpy(r->key, key, 32);
	*ret = r;
	return 0;
}

void rein_redactor_free(struct rein_redactor *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nvalue; i++) {
		explicit_bzero(r->value[i].p, r->value[i].n);
		rein_free(r->value[i].p);
	}
	for (size_t i = 0; i < r->npattern; i++) {
		regfree(&r->pattern[i]->re);
		rein_free(r->pattern[i]);
	}
	rein_free(r->value);
	rein_free(r->pattern);
	explicit_bzero(r, sizeof(*r));
	rein_free(r);
}

static unsigned pair_of(const char *p)
{
	return (unsigned)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

int rein_redactor_add_value(struct rein_redactor *r, struct rein_str v, struct rein_err *err)
{
	char *copy;
	unsigned k;

	if (v.n < VALUE_MIN)
		return 0;
	for (size_t i = 0; i < r->nvalue; i++)
		if (r->value[i].n == v.n && memcmp(r->value[i].p, v.p, v.n) == 0)
			return 0;
	copy = rein_strndup(v.p, v.n);
	if (!copy || rein_grow(r->value, r->nvalue, r->value_cap) < 0) {
		rein_free(copy);
		return rein_err_nomem(err);
	}
	r->value[r->nvalue++] = (struct value){copy, v.n};
	k = pair_of(copy);
	r->pair[k >> 3] |= (uint8_t)(1u << (k & 7));
	return 0;
}

int rein_redactor_add_env(struct rein_redactor *r, char *const envp[], struct rein_err *err)
{
	for (; envp && *envp; envp++) {
		const char *eq = strchr(*envp, '='), *kind;
		struct rein_str name, value;
		size_t at, n;

		if (!eq)
			continue;
		name = (struct rein_str){*envp, (size_t)(eq - *envp)};
		value = rein_str(eq + 1);
		if (!rein_secret_name(name) && !rein_secret_find(value, 0, &at, &n, &kind))
			continue;
		/* A path or a short word under such a name (…_TOKEN_PATH=/x) would redact too much.
		 */
		if (value.n && value.p[0] == '/')
			continue;
		if (rein_redactor_add_value(r, value, err) < 0)
			return -err->code;
	}
	return 0;
}

int rein_redactor_add_pattern(struct rein_redactor *r, const char *kind, const char *regex,
			      struct rein_err *err)
{
	auto_free struct pattern *p = rein_alloc(sizeof(*p));
	char why[128];
	int rc;

	if (!p || rein_grow(r->pattern, r->npattern, r->pattern_cap) < 0)
		return rein_err_nomem(err);
	for (const char *c = kind; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-'))
			return rein_err_set(err, REIN_E_INVALID,
					    "pattern name '%s': use a-z, 0-9 and '-'", kind);
	if ((size_t)snprintf(p->kind, sizeof(p->kind), "%s", kind) >= sizeof(p->kind))
		return rein_err_set(err, REIN_E_INVALID, "pattern name '%s' is too long", kind);
	rc = regcomp(&p->re, regex, REG_EXTENDED);
	if (rc) {
		regerror(rc, &p->re, why, sizeof(why));
		return rein_err_set(err, REIN_E_INVALID, "pattern '%s': %s", kind, why);
	}
	r->pattern[r->npattern++] = take_ptr(p);
	return 0;
}

void rein_redactor_set_matcher(struct rein_redactor *r, rein_redact_match_fn *fn, void *arg)
{
	r->match = fn;
	r->match_arg = arg;
}

struct hit {
	size_t at, n;
	const char *kind;
};

static void better(struct hit *best, struct hit h)
{
	if (h.n && (!best->n || h.at < best->at || (h.at == best->at && h.n > best->n)))
		*best = h;
}

/*
 * What each finds next in one text: who finds nothing is not asked again after every secret that another found, or a
 * text of many would be read as often.
 */
struct search {
	struct {
		bool asked;
		struct hit hit;
	} of[4];
	struct rein_terse terse;
};

static struct hit find_value(const struct rein_redactor *r, struct rein_str t, size_t from,
			     struct search *s)
{
	(void)s;
	for (size_t i = from; r->nvalue && i + VALUE_MIN <= t.n; i++) {
		unsigned k = pair_of(t.p + i);
		struct hit h = {0};

		if (!(r->pair[k >> 3] & 1u << (k & 7)))
			continue;
		for (size_t v = 0; v < r->nvalue; v++)
			if (r->value[v].n <= t.n - i &&
			    memcmp(r->value[v].p, t.p + i, r->value[v].n) == 0)
				better(&h, (struct hit){i, r->value[v].n, "env"});
		if (h.n)
			return h;
	}
	return (struct hit){0};
}

/* regexec wants a terminated text; REG_STARTEND (glibc has it) takes bytes as they are. */
static struct hit find_pattern(const struct pattern *p, struct rein_str t, size_t from)
{
	regmatch_t m[2] = {{.rm_so = (regoff_t)from, .rm_eo = (regoff_t)t.n}};
	int k;

	if (regexec(&p->re, t.p, 2, m, REG_STARTEND) != 0)
		return (struct hit){0};
	k = p->re.re_nsub && m[1].rm_so >= 0 ? 1 : 0;
	return (struct hit){(size_t)m[k].rm_so, (size_t)(m[k].rm_eo - m[k].rm_so), p->kind};
}

static struct hit find_secret(const struct rein_redactor *r, struct rein_str t, size_t from, struct search *s)
{
	struct hit h = {0};

	(void)r;
	(void)s;
	return rein_secret_find(t, from, &h.at, &h.n, &h.kind) ? h : (struct hit){0};
}

static struct hit find_terse(const struct rein_redactor *r, struct rein_str t, size_t from, struct search *s)
{
	struct hit h = {.kind = "password"};

	(void)r;
	return rein_terse_next(&s->terse, t, from, &h.at, &h.n) ? h : (struct hit){0};
}

static struct hit find_hash(const struct rein_redactor *r, struct rein_str t, size_t from, struct search *s)
{
	struct hit h = {.kind = "password-hash"};

	(void)r;
	(void)s;
	return rein_crypthash_find(t, from, &h.at, &h.n) ? h : (struct hit){0};
}

static struct hit (*const finders[])(const struct rein_redactor *, struct rein_str, size_t, struct search *) = {
	find_secret, find_terse, find_hash, find_value};
_Static_assert(ARRAY_SIZE(finders) == ARRAY_SIZE(((struct search *)0)->of), "each has its place");

static struct hit find(const struct rein_redactor *r, struct rein_str t, size_t from, struct search *s)
{
	struct hit best = {0}, h = {0};

	for (size_t i = 0; i < ARRAY_SIZE(finders); i++) {
		if (!s->of[i].asked || (s->of[i].hit.n && s->of[i].hit.at < from))
			s->of[i].hit = finders[i](r, t, from, s);
		s->of[i].asked = true;
		better(&best, s->of[i].hit);
	}
	for (size_t i = 0; i < r->npattern; i++)
		better(&best, find_pattern(r->pattern[i], t, from));
	h = (struct hit){0};
	if (r->match && r->match(r->match_arg, t, from, &h.at, &h.n, &h.kind) && h.at >= from &&
	    h.at <= t.n && h.n <= t.n - h.at)
		better(&best, h);
	return best;
}

unsigned rein_redact(const struct rein_redactor *r, struct rein_str t, bool word,
		     struct rein_buf *out)
{
	struct search s = {0};
	unsigned count = 0;
	size_t from = 0;

	while (from < t.n) {
		struct hit h = find(r, t, from, &s);
		uint8_t mac[32];
		char hex[13];

		if (!h.n)
			break;
		rein_hmac_sha256(r->key, 32, t.p + h.at, h.n, mac);
		rein_hex(mac, 6, hex);
		rein_buf_add(out, t.p + from, h.at - from);
		rein_buf_printf(out, word ? "redacted:%s:%s" : "[redacted:%s:%s]", h.kind, hex);
		from = h.at + h.n;
		count++;
	}
	rein_buf_add(out, t.p + from, t.n - from);
	return count;
}

static void mark(const struct rein_redactor *r, const char *kind, const char *p, size_t n,
		 struct rein_buf *out)
{
	uint8_t mac[32];
	char hex[13];

	rein_hmac_sha256(r->key, 32, p, n, mac);
	rein_hex(mac, 6, hex);
	rein_buf_printf(out, "[redacted:%s:%s]", kind, hex);
}

/* A line of words and the next secret in it, which may stand in a later word. */
struct line {
	struct rein_str text;
	size_t from;
	bool known;
	struct hit next;
	struct search search;
};

static const struct hit *next_hit(const struct rein_redactor *r, struct line *l)
{
	if (!l->known)
		l->next = find(r, l->text, l->from, &l->search);
	l->known = true;
	return l->next.n ? &l->next : NULL;
}

static void behind(struct line *l, size_t at)
{
	l->from = at;
	l->known = false;
}

static char *one_word(const struct rein_redactor *r, struct line *l, size_t begin, size_t end)
{
	auto_buf struct rein_buf b = REIN_BUF(64u << 20);
	struct rein_buf out = REIN_BUF(64u << 20);
	struct rein_str word = {l->text.p + begin, end - begin};
	struct search within = {0};
	const struct hit *h;
	size_t at = begin;

	while ((h = next_hit(r, l)) && h->at < end) {
		struct hit alone;
		size_t n = h->n;

		if (h->at < at) {
			behind(l, h->at + h->n);
			continue;
		}
		/* What a word before gave away ("--password", "x y") is secret to its end. */
		alone = find(r, word, at - begin, &within);
		if (!alone.n || alone.at + begin != h->at || h->at + n > end)
			n = end - h->at;
		rein_buf_add(&b, l->text.p + at, h->at - at);
		mark(r, h->kind, l->text.p + h->at, n, &b);
		at = h->at + n;
		behind(l, at);
	}
	rein_buf_add(&b, l->text.p + at, end - at);
	if (b.failed)
		return NULL;
	rein_redact(r, (struct rein_str){b.p ? b.p : "", b.n}, false, &out);
	if (!out.n && !out.failed)
		rein_buf_cstr(&out, "");
	return rein_buf_take(&out);
}

static const char *quote_of(const char *word)
{
	if (!strpbrk(word, " \t\n") || (strchr(word, '"') && strchr(word, '\'')))
		return "";
	return strchr(word, '"') ? "'" : "\"";
}

int rein_redact_words(const struct rein_redactor *r, char *const *word, size_t n, char **ret,
		      struct rein_err *err)
{
	auto_buf struct rein_buf text = REIN_BUF(64u << 20);
	struct line l = {0};
	size_t begin = 0;

	/* A word of several stands in quotes, so that it counts as one. */
	for (size_t i = 0; i < n; i++)
		rein_buf_printf(&text, "%s%s%s%s", i ? " " : "", quote_of(word[i]), word[i],
				quote_of(word[i]));
	if (text.failed)
		return rein_err_nomem(err);
	l.text = (struct rein_str){text.p, text.n};
	for (size_t i = 0; i < n; i++) {
		size_t quote = strlen(quote_of(word[i])), end;

		begin += quote;
		end = begin + strlen(word[i]);
		ret[i] = one_word(r, &l, begin, end);
		if (!ret[i]) {
			while (i)
				rein_free(take_ptr(ret[--i]));
			return rein_err_nomem(err);
		}
		begin = end + quote + 1;
	}
	return 0;
}

struct walk {
	const struct rein_redactor *r;
	struct rein_redacted *keep;
	struct rein_err *err;
};

static const size_t limits[] = {
	[REIN_TEXT_WORD] = 256,
	[REIN_TEXT_LONG] = 16384,
	[REIN_TEXT_LINE] = 2048,
	[REIN_TEXT_ITEM] = 1024,
};

/* Cut at a character, after the secrets are gone: half a secret would not be recognised. */
static void cut(struct rein_buf *b, size_t limit)
{
	size_t total = b->n, at = limit;

	if (b->n <= limit)
		return;
	while (at > 0 && ((unsigned char)b->p[at] & 0xc0) == 0x80)
		at--;
	b->n = at;
	rein_buf_printf(b, " [%zu bytes more]", total - at);
}

static int one_text(void *arg, enum rein_event_text kind, struct rein_str *s)
{
	struct walk *w = arg;
	struct rein_redacted *k = w->keep;
	size_t limit = limits[kind] / (k->squeeze ? k->squeeze : 1);
	auto_buf struct rein_buf b = REIN_BUF(64u << 20);
	unsigned found;

	if (s->n == 0 || (s->n <= limit && !find(w->r, *s, 0, &(struct search){0}).n))
		return 0;
	found = rein_redact(w->r, *s, kind == REIN_TEXT_WORD, &b);
	if (b.failed)
		return rein_err_set(w->err, REIN_E_LIMIT, "event text of %zu bytes", s->n);
	if (!found && s->n <= limit)
		return 0;
	if (kind != REIN_TEXT_WORD)
		cut(&b, limit);
	if (b.failed || k->n == ARRAY_SIZE(k->mem))
		return rein_err_nomem(w->err);
	k->secrets += found;
	*s = (struct rein_str){b.p, b.n};
	k->mem[k->n++] = take_ptr(b.p);
	return 0;
}

int rein_redact_event(const struct rein_redactor *r, struct rein_event *ev,
		      struct rein_redacted *keep, struct rein_err *err)
{
	struct walk w = {r, keep, err};

	return rein_event_each_text(ev, one_text, &w);
}

void rein_redacted_done(struct rein_redacted *k)
{
	for (size_t i = 0; i < k->n; i++)
		rein_free(k->mem[i]);
	k->n = 0;
}
