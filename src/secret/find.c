/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets, matched by hand: one pass, a table indexed by the first byte, no backtracking beyond the
 * identifier before an '=' or ':'.
 */
#include <pthread.h>
#include <strings.h>

#include "base/auto.h"
#include "secret/internal.h"

const struct format secret_formats[] = {
#define F(kind, prefix, chars, min, flags, check) {kind, prefix, chars, min, flags, check},
#include "secret/formats.def"
#undef F
};
const size_t secret_formats_n = ARRAY_SIZE(secret_formats);

#define formats secret_formats

#define NFORMATS ARRAY_SIZE(secret_formats)

#define JWT_HEAD_MAX  8192 /* bytes of a token's first part */
#define URL_TOKEN_MIN 20   /* bytes before an '@' that are a token by themselves */
#define GAP_MAX	      64   /* blanks between two words of a .netrc */
#define WORD_MAX      256  /* bytes of a host or a user there */
/* How far is looked before something is called likely; the rest of it is measured then. */
#define LOOK	 640
#define LOOK_JWT 2048
#define LOOK_KEY 8192

/* Filled on first use. */
static unsigned short class_of[256];
static unsigned char first_of[256]; /* 1: a format may begin, 2: '=' or ':', 4: other structure */
static unsigned char pair_of[8192]; /* bit set: a format, or another structure, begins with these two bytes */
static unsigned char chain[NFORMATS], chain_of[256]; /* formats by first byte, numbered from 1 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void pair(unsigned char a, unsigned char b)
{
	pair_of[(a << 8 | b) >> 3] |= (unsigned char)(1u << (b & 7));
}

static void prepare(void)
{
	for (int c = 0; c < 256; c++) {
		unsigned v = 0;

		v |= c >= '0' && c <= '9' ? DIGIT : 0;
		v |= c >= 'A' && c <= 'Z' ? UPPER : 0;
		v |= c >= 'a' && c <= 'z' ? LOWER : 0;
		v |= c >= 'a' && c <= 'f' ? HEXL : 0;
		v |= c >= 'A' && c <= 'F' ? HEXU : 0;
		v |= c == '-' ? DASH : c == '_' ? UNDER : c == '.' ? DOT : 0;
		v |= c == '+' || c == '/' || c == '=' ? B64 : 0;
		v |= c == ':' || c == '%' || c == '@' ? COLON : 0;
		class_of[c] = (unsigned short)v;
	}
	_Static_assert(NFORMATS < 255, "chains are bytes");
	for (size_t i = NFORMATS; i-- > 0;) { /* backwards: chains in the order of the table */
		unsigned char a = (unsigned char)formats[i].prefix[0],
			      b = (unsigned char)formats[i].prefix[1];

		first_of[a] |= 1;
		pair(a, b);
		chain[i] = chain_of[a];
		chain_of[a] = (unsigned char)(i + 1);
	}
	first_of['='] |= 2;
	first_of[':'] |= 2;
	first_of['>'] |= 2;
	first_of['-'] |= 4; /* PEM block, option */
	first_of['e'] |= 4; /* eyJ: JSON web token */
	first_of['B'] |= 4; /* Bearer, Basic */
	first_of['b'] |= 4;
	first_of['s'] |= 4; /* password of a .netrc: of its pairs the one that other words have least */
	pair('s', 'w');
	pair('-', '-');
	pair('e', 'y');
	for (const char *s = "eEaA"; *s; s++) {
		pair('B', (unsigned char)*s);
		pair('b', (unsigned char)*s);
	}
}

/* Most bytes are ruled out by themselves and the next. */
static bool may_begin(struct rein_str t, size_t i)
{
	unsigned char a = (unsigned char)t.p[i], b = i + 1 < t.n ? (unsigned char)t.p[i + 1] : 0;

	return first_of[a] & 2 || (first_of[a] && pair_of[(a << 8 | b) >> 3] & 1u << (b & 7));
}

size_t rein_secret_formats(void)
{
	return NFORMATS;
}

const char *rein_secret_format(size_t i, const char **ret_kind)
{
	*ret_kind = formats[i].kind;
	return formats[i].prefix;
}

static bool is(unsigned char c, unsigned classes)
{
	return class_of[c] & classes;
}

static size_t run(struct rein_str t, size_t from, unsigned classes)
{
	size_t i = from;

	while (i < t.n && is((unsigned char)t.p[i], classes))
		i++;
	return i - from;
}

static bool has(struct rein_str t, size_t at, const char *lit)
{
	size_t n = strlen(lit);

	return t.n - at >= n && memcmp(t.p + at, lit, n) == 0;
}

static bool has_nocase(struct rein_str t, size_t at, const char *lit)
{
	size_t n = strlen(lit);

	return t.n - at >= n && strncasecmp(t.p + at, lit, n) == 0;
}

static bool boundary(struct rein_str t, size_t at)
{
	return at == 0 || !is((unsigned char)t.p[at - 1], ALNUM | UNDER);
}

static bool prefixed(struct rein_str t, size_t at, struct found *ret)
{
	unsigned char a = (unsigned char)t.p[at], b = at + 1 < t.n ? (unsigned char)t.p[at + 1] : 0;

	if (!(pair_of[(a << 8 | b) >> 3] & 1u << (b & 7)))
		return false;
	for (size_t k = chain_of[a]; k; k = chain[k - 1]) {
		const struct format *f = &formats[k - 1];
		size_t np, n;

		if (f->prefix[1] != (char)b || !has(t, at, f->prefix))
			continue;
		if (!(f->flags & ANYWHERE) && !boundary(t, at))
			continue;
		np = strlen(f->prefix);
		n = run(t, at + np, f->chars);
		if (n < f->min)
			continue;
		*ret = (struct found){{at, np + n, f->kind}, f};
		return true;
	}
	return false;
}

static bool pem(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	const char *end, *mark;
	size_t from, n;

	if (!has(t, at, "-----BEGIN "))
		return false;
	from = at + 11;
	n = 0;
	while (from + n < t.n && (is((unsigned char)t.p[from + n], UPPER | DIGIT) ||
				  t.p[from + n] == ' '))
		n++;
	if (n < 11 || !memmem(t.p + from, n, "PRIVATE KEY", 11))
		return false;
	mark = memmem(t.p + from + n, t.n - from - n, "-----END ", 9);
	end = mark ? memmem(mark + 9, t.n - (size_t)(mark + 9 - t.p), "-----", 5) : NULL;
	/* Without an end the rest of the text is the key. */
	*h = (struct rein_secret_hit){at, end ? (size_t)(end + 5 - t.p) - at : t.n - at, "private-key"};
	return true;
}

static bool jwt(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	size_t a, b, c;

	if (!has(t, at, "eyJ") || !boundary(t, at))
		return false;
	/* a text of nothing but beginnings would be walked through from each of them */
	a = run((struct rein_str){t.p, t.n - at < JWT_HEAD_MAX ? t.n : at + JWT_HEAD_MAX}, at, URLC);
	if (a < 10 || at + a >= t.n || t.p[at + a] != '.')
		return false;
	b = run(t, at + a + 1, URLC);
	if (b < 10)
		return false;
	c = at + a + 1 + b < t.n && t.p[at + a + 1 + b] == '.' ? 1 + run(t, at + a + b + 2, URLC) : 0;
	*h = (struct rein_secret_hit){at, a + 1 + b + c, "jwt"};
	return true;
}

/* Is it a name, a colon and a password? Padding may be missing, and a third of all have none. */
static bool is_user_and_password(struct rein_str b64)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = 0, have = 0;
	bool colon = false;

	for (size_t i = 0; i < b64.n && b64.p[i] != '='; i++) {
		const char *d = strchr(digits, b64.p[i]);
		unsigned char c;

		if (!d)
			return false;
		bits = bits << 6 | (unsigned)(d - digits);
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		c = (unsigned char)(bits >> have);
		if (c < ' ' || c == 127)
			return false;
		colon |= c == ':';
	}
	return colon;
}

static bool bearer(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	size_t skip = has_nocase(t, at, "bearer ") ? 7 : has_nocase(t, at, "basic ") ? 6 : 0;
	size_t n;

	if (!skip || !boundary(t, at))
		return false;
	n = run(t, at + skip, URLC | B64 | DOT | COLON);
	if (n < 8 || (skip == 6 && (n < 12 || (!memchr(t.p + at + skip, '=', n) &&
					       !is_user_and_password((struct rein_str){t.p + at + skip, n})))))
		return false;
	*h = (struct rein_secret_hit){at + skip, n, "authorization"};
	return true;
}

/*
 * scheme://user:password@ or scheme://token@; at is the ':' of "://". The last '@' before the path ends it: people
 * write passwords with one as they are.
 */
static bool url(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	size_t from = at + 3, colon = 0, end = 0;

	for (size_t i = from; i < t.n && !(t.p[i] && strchr("/?# \t\"'\r\n", t.p[i])); i++) {
		if (t.p[i] == ':' && !colon && !end)
			colon = i;
		else if (t.p[i] == '@')
			end = i;
	}
	if (colon)
		from = colon + 1;
	/* nobody is called by so long a name */
	if (end <= from || (!colon && end - from < URL_TOKEN_MIN))
		return false;
	*h = (struct rein_secret_hit){from, end - from, "url-password"};
	return true;
}

const char *const secret_words[] = {
	"password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "accesskey", "access_key",
	"access-key", "private_key", "privatekey", "private-key", "credential", "auth_key", "mysql_pwd", "encryption_key",
	"signing_key", "session_key", "client_key", "client-key", "presharedkey", "x-auth", "authkey", "_pwd", "_pass", NULL,
};
const char *const secret_not_words[] = {
	"token_count", "tokens", "max_token", "tokenizer", "secret_name", "secretname", "password_file", "token_file",
	"key_file", "secretsmanager", "token_type", "tokenize", NULL,
};

/* Something that every word above holds: most names are done with here. */
static bool telling(const char *low)
{
	for (; *low; low++)
		switch (*low) {
		case 'p':
			if (!strncmp(low, "pass", 4) || !strncmp(low, "pwd", 3))
				return true;
			break;
		case 's':
			if (!strncmp(low, "secret", 6))
				return true;
			break;
		case 't':
			if (!strncmp(low, "token", 5))
				return true;
			break;
		case 'k':
			if (!strncmp(low, "key", 3))
				return true;
			break;
		case 'c':
			if (!strncmp(low, "credential", 10))
				return true;
			break;
		case 'x':
			if (!strncmp(low, "x-auth", 6))
				return true;
			break;
		}
	return false;
}

bool rein_secret_name(struct rein_str name)
{
	char low[SECRET_NAME_MAX + 1];
	size_t n = name.n < SECRET_NAME_MAX ? name.n : SECRET_NAME_MAX;

	for (size_t i = 0; i < n; i++) {
		char c = name.p[name.n - n + i];

		low[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
	}
	low[n] = '\0';
	if (!telling(low))
		return rein_streq(low, "psk");
	for (const char *const *w = secret_not_words; *w; w++)
		if (strstr(low, *w))
			return false;
	for (const char *const *w = secret_words; *w; w++)
		if (strstr(low, *w))
			return true;
	return rein_streq(low, "pass");
}

/* A reference to a value, or a stand-in for one, is no secret. */
static bool placeholder(struct rein_str v)
{
	static const char *const words[] = {"null",   "none",	  "true",    "false", "undefined",
					    "string", "required", "changeme", "example"};

	if (v.n == 0 || v.p[0] == '$' || v.p[0] == '<' || v.p[0] == '*' || v.p[0] == '%' ||
	    v.p[0] == '[' || v.p[0] == '{' || v.p[0] == '/')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (v.n == strlen(words[i]) && strncasecmp(v.p, words[i], v.n) == 0)
			return true;
	return false;
}

/* Where what began with this quote ends. Inside a quoted text it began with \", and so it ends. */
static size_t quoted_end(struct rein_str t, size_t i, char quote, bool inside)
{
	for (; i < t.n && t.p[i] != quote && t.p[i] != '\n'; i++) {
		if (t.p[i] != '\\')
			continue;
		if (inside)
			break;
		i += i + 1 < t.n && t.p[i + 1] != '\n';
	}
	return i;
}

/* A word that stands in no quotes; called for every byte of it, so no strchr. */
static bool ends_value(char c)
{
	switch (c) {
	case '\0':
	case ' ':
	case '\t':
	case '\r':
	case '\n':
	case '"':
	case '\'':
	case '&':
	case ';':
	case ',':
	case ')':
	case '}':
	case '|':
	case '<':
	case '>':
		return true;
	}
	return false;
}

static bool value_at(struct rein_str t, size_t i, struct rein_secret_hit *h)
{
	size_t from, n;
	bool inside;

	while (i < t.n && (t.p[i] == ' ' || t.p[i] == '\t'))
		i++;
	inside = i < t.n && t.p[i] == '\\';
	while (i < t.n && t.p[i] == '\\') /* \" inside a quoted text */
		i++;
	if (i < t.n && (t.p[i] == '"' || t.p[i] == '\'')) {
		from = i + 1;
		n = quoted_end(t, from, t.p[i], inside) - from;
	} else {
		from = i;
		while (i < t.n && !ends_value(t.p[i]))
			i++;
		n = i - from;
	}
	/* Three bytes hide nothing worth the noise. */
	if (n < 4 || placeholder((struct rein_str){t.p + from, n}))
		return false;
	*h = (struct rein_secret_hit){from, n, "value"};
	return true;
}

static size_t name_before(struct rein_str t, size_t end)
{
	size_t from = end;

	while (from > 0 && end - from < SECRET_NAME_MAX && is((unsigned char)t.p[from - 1], URLC | DOT))
		from--;
	return from;
}

/*
 * _auth=… of an .npmrc, "auth": "…" of Docker's: base64 of a name and its password. The name alone says too little, it is
 * one of code and of settings.
 */
static bool is_auth(struct rein_str t, size_t from, size_t end)
{
	return (end - from == 4 || (end - from == 5 && t.p[from] == '_')) && has_nocase(t, end - 4, "auth");
}

static bool auth(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	return value_at(t, at, h) && h->n >= 8 && is_user_and_password((struct rein_str){t.p + h->at, h->n});
}

/* name=value, name: value, "name": "value", name := value, 'name' => value; at is the '=' or ':'. */
static bool assignment(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	char next = at + 1 < t.n ? t.p[at + 1] : '\0';
	size_t end = at, from;

	if (next == '=' || next == ':')
		return false;
	if (t.p[at] == '=' && at && strchr(SECRET_BEFORE_EQUALS, t.p[at - 1]) && t.p[at - 1])
		end--;
	while (end > 0 && at - end < SECRET_GAP_MAX && t.p[end - 1] && strchr(SECRET_GAP, t.p[end - 1]))
		end--;
	from = name_before(t, end);
	if (end > from && is_auth(t, from, end))
		return auth(t, at + 1, h);
	return end > from && rein_secret_name((struct rein_str){t.p + from, end - from}) &&
	       value_at(t, at + 1 + (t.p[at] == '=' && next == '>'), h);
}

/* <name>value</name>; at is the first '>'. */
static bool element(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	size_t from = name_before(t, at);

	return at > from && from && t.p[from - 1] == '<' &&
	       rein_secret_name((struct rein_str){t.p + from, at - from}) && value_at(t, at + 1, h) &&
	       has(t, h->at + h->n, "</");
}

/* --password VALUE; with '=' it is an assignment. */
static bool option(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	size_t n;

	if (!has(t, at, "--") || (at && t.p[at - 1] != ' ' && t.p[at - 1] != '\t'))
		return false;
	n = run(t, at + 2, URLC);
	return n && n <= SECRET_OPTION_MAX && at + 2 + n < t.n && t.p[at + 2 + n] == ' ' &&
	       rein_secret_name((struct rein_str){t.p + at + 2, n}) && value_at(t, at + 3 + n, h);
}

/* 123456789:AA… (Telegram): at is the ':'. */
static bool telegram(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	size_t d = 0;

	while (d < at && d < 11 && is((unsigned char)t.p[at - 1 - d], DIGIT))
		d++;
	if (d < 8 || d > 10 || run(t, at + 1, URLC) != 35)
		return false;
	*h = (struct rein_secret_hit){at + 1, 35, "telegram"};
	return true;
}

/*
 * Where the blanks before a word begin: also the end of a line, with the sign that a diff puts before the next one, and the
 * "\n" of a printf.
 */
static size_t gap_back(struct rein_str t, size_t i)
{
	for (size_t most = i > GAP_MAX ? i - GAP_MAX : 0; i > most; i--) {
		char c = t.p[i - 1];

		if (i > 1 && t.p[i - 2] == '\\' && (c == 'n' || c == 't'))
			i--;
		else if (c != ' ' && c != '\t' && c != '\n' && c != '\r' &&
			 !((c == '+' || c == '-') && (i == 1 || t.p[i - 2] == '\n')))
			break;
	}
	return i;
}

/* Where the word that ends here begins. */
static size_t word_back(struct rein_str t, size_t end)
{
	size_t i = end;

	while (i > 0 && end - i < WORD_MAX && !(t.p[i - 1] && strchr(" \t\r\n", t.p[i - 1])))
		i--;
	return i;
}

static bool ends_with(struct rein_str t, size_t end, const char *word)
{
	size_t n = strlen(word);

	return end >= n && memcmp(t.p + end - n, word, n) == 0;
}

/* Does a line, or a quoted text, begin here? After a word it is prose. */
static bool begins_line(struct rein_str t, size_t i)
{
	if (i > 1 && t.p[i - 2] == '\\' && (t.p[i - 1] == 'n' || t.p[i - 1] == 't'))
		return true;
	while (i > 0 && (t.p[i - 1] == ' ' || t.p[i - 1] == '\t'))
		i--;
	return i == 0 || !(is((unsigned char)t.p[i - 1], ALNUM | UNDER | DOT) || strchr(",)", t.p[i - 1]));
}

/*
 * machine HOST login NAME password VALUE, in any order and on any number of lines. Goes back from the password to the host,
 * pair by pair; where is where the entry begins. "login" and "password" alone are words of prose.
 */
static bool is_entry(struct rein_str t, size_t password, size_t *where)
{
	size_t end = gap_back(t, password), word;

	if (end == password)
		return false;
	for (int pairs = 0; pairs < 4; pairs++) {
		word = word_back(t, end);
		end = gap_back(t, word);
		if (end == word)
			return false;
		if (ends_with(t, end, "machine")) {
			*where = end - 7;
			return begins_line(t, end - 7);
		}
		if (!ends_with(t, end, "login") && !ends_with(t, end, "account"))
			return false;
		word = end - (t.p[end - 1] == 'n' ? 5 : 7);
		end = gap_back(t, word);
		if (end == word)
			return false;
		if (ends_with(t, end, "default")) {
			*where = end - 7;
			return begins_line(t, end - 7);
		}
	}
	return false;
}

/* The quote in which all of an entry stands, or something that ends a value anyway. */
static char quote_around(struct rein_str t, size_t entry)
{
	return entry && (t.p[entry - 1] == '"' || t.p[entry - 1] == '\'') ? t.p[entry - 1] : '\n';
}

static size_t bare_end(struct rein_str t, size_t i, char quote)
{
	while (i < t.n && t.p[i] && !strchr(" \t\r\n", t.p[i]) && t.p[i] != quote)
		i++;
	return i;
}

/* The password of a .netrc; at is the second 's' of the word. */
static bool netrc(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	size_t from, end, entry, word = at - 3;
	char quote;

	if (at < 3 || memcmp(t.p + word, "pas", 3) != 0)
		return false;
	from = word + (has(t, word, "password") ? 8 : has(t, word, "passwd") ? 6 : 0);
	if (from == word || from == t.n || (t.p[from] != ' ' && t.p[from] != '\t') || !is_entry(t, word, &entry))
		return false;
	while (from < t.n && (t.p[from] == ' ' || t.p[from] == '\t'))
		from++;
	quote = quote_around(t, entry);
	if (quote != '"' && from < t.n && t.p[from] == '"')
		from++, end = quoted_end(t, from, '"', false);
	else
		end = bare_end(t, from, quote);
	if (end - from < 4 || placeholder((struct rein_str){t.p + from, end - from}))
		return false;
	*h = (struct rein_secret_hit){from, end - from, "netrc"};
	return true;
}

/* A field of a .pgpass and the colon behind it; 0: it is none. */
static size_t field(struct rein_str t, size_t i)
{
	size_t n = i < t.n && t.p[i] == '*' ? 1 : run(t, i, URLC | DOT);

	return n && n <= 64 && i + n < t.n && t.p[i + n] == ':' ? n + 1 : 0;
}

/* A name, also as a word of a command; or a socket's directory, at the beginning of a line. Another path is one of a file. */
static bool is_host(struct rein_str t, size_t from, size_t end)
{
	if (from && t.p[from - 1] == ':') /* one field more: an address, a message's number */
		return false;
	return (begins_line(t, from) || t.p[from - 1] == ' ' || t.p[from - 1] == '\t') &&
	       (!memchr(t.p + from, '/', end - from) || (t.p[from] == '/' && begins_line(t, from)));
}

/*
 * host:port:database:user:password of a .pgpass; at is the first ':'. Five fields and no more, a port of four digits: what
 * compilers and grep print of a file's lines has blanks before, or more of these.
 */
static bool pgpass(struct rein_str t, size_t at, struct rein_secret_hit *h)
{
	size_t i = at + 1, host = at, n, end;

	n = i < t.n && t.p[i] == '*' ? 1 : run((struct rein_str){t.p, t.n - i < 6 ? t.n : i + 6}, i, DIGIT);
	if ((n != 1 && n != 4 && n != 5) || (n == 1 && t.p[i] != '*') || i + n >= t.n || t.p[i + n] != ':')
		return false;
	i += n + 1;
	for (int k = 0; k < 2; k++, i += n)
		if (!(n = field(t, i)))
			return false;
	while (host > 0 && at - host < WORD_MAX &&
	       (is((unsigned char)t.p[host - 1], URLC | DOT) || t.p[host - 1] == '/' || t.p[host - 1] == '*'))
		host--;
	if (host == at || !is_host(t, host, at))
		return false;
	end = bare_end(t, i, quote_around(t, host));
	if (end - i < 4 || placeholder((struct rein_str){t.p + i, end - i}))
		return false;
	for (size_t k = i; k < end; k++)
		if (t.p[k] == ':' && t.p[k - 1] != '\\')
			return false;
	*h = (struct rein_secret_hit){i, end - i, "pgpass"};
	return true;
}

/* By its structure. */
static bool marked(struct rein_str t, size_t i, unsigned first, struct rein_secret_hit *h)
{
	if (t.p[i] == '>')
		return element(t, i, h);
	if (first & 2) {
		if (t.p[i] == ':' && has(t, i, "://") && url(t, i, h))
			return true;
		if (t.p[i] == ':' && (telegram(t, i, h) || pgpass(t, i, h)))
			return true;
		if (assignment(t, i, h))
			return true;
	}
	if (first & 4) {
		if (t.p[i] == '-')
			return pem(t, i, h) || option(t, i, h);
		if (t.p[i] == 'e')
			return jwt(t, i, h);
		if (t.p[i] == 's')
			return netrc(t, i, h);
		return bearer(t, i, h);
	}
	return false;
}

bool secret_at(struct rein_str t, size_t i, struct found *ret)
{
	unsigned first;

	pthread_once(&once, prepare);
	first = first_of[(unsigned char)t.p[i]];
	if (!first)
		return false;
	if ((first & 1) && prefixed(t, i, ret))
		return true;
	ret->format = NULL;
	return marked(t, i, first, &ret->hit);
}

bool secret_may(unsigned char c)
{
	pthread_once(&once, prepare);
	return first_of[c];
}

bool secret_wanted(struct rein_str t, size_t i, enum rein_secret_want want, struct found *ret)
{
	size_t look = t.p[i] == '-' ? LOOK_KEY : t.p[i] == 'e' ? LOOK_JWT : LOOK;
	struct rein_str near = {t.p, t.n - i < look ? t.n : i + look};

	if (want == REIN_SECRET_ANY)
		return secret_at(t, i, ret);
	/* what is refused is looked at again from its next byte on: that must not cost its whole length each time */
	return secret_at(near, i, ret) && secret_likely(near, ret) && secret_at(t, i, ret);
}

bool rein_secret_next(struct rein_str t, size_t from, enum rein_secret_want want, struct rein_secret_hit *ret)
{
	struct found f;

	pthread_once(&once, prepare);
	for (size_t i = from; i < t.n; i++) {
		if (!may_begin(t, i) || !secret_wanted(t, i, want, &f) || f.hit.at < from)
			continue;
		*ret = f.hit;
		return true;
	}
	return false;
}

bool rein_secret_find(struct rein_str t, size_t from, size_t *ret_at, size_t *ret_len, const char **ret_kind)
{
	struct rein_secret_hit h;

	if (!rein_secret_next(t, from, REIN_SECRET_ANY, &h))
		return false;
	*ret_at = h.at;
	*ret_len = h.n;
	*ret_kind = h.kind;
	return true;
}

void rein_secret_each_own(struct rein_str t, enum rein_secret_want want, rein_secret_fn *fn, void *arg)
{
	struct rein_secret_hit h;
	size_t from = 0;

	while (rein_secret_next(t, from, want, &h)) {
		if (!fn(arg, &h))
			return;
		from = h.at + h.n;
	}
}
