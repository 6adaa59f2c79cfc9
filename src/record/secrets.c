/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in secret formats, matched by hand: one pass, a table indexed by the first byte, no
 * backtracking beyond the identifier before an '=' or ':'. Sources of the formats are the issuers'
 * own descriptions of what their tokens look like.
 */
#include <pthread.h>
#include <strings.h>

#include "base/auto.h"
#include "record/redact.h"

/* Alphabets. */
enum {
	DIGIT = 1,
	UPPER = 2,
	LOWER = 4,
	HEXL = 8,    /* a-f */
	DASH = 16,   /* - */
	UNDER = 32,  /* _ */
	DOT = 64,    /* . */
	B64 = 128,   /* + / = */
	HEXU = 256,  /* A-F */
	COLON = 512, /* : % and the like in tokens that carry them */
	ALNUM = DIGIT | UPPER | LOWER,
	WORDC = ALNUM | UNDER,
	URLC = ALNUM | UNDER | DASH,
	HEX = DIGIT | HEXL,
	ANYHEX = DIGIT | HEXL | HEXU,
};

#define ANYWHERE 1 /* distinctive enough to be found inside a longer word */

static const struct format {
	const char *kind, *prefix;
	unsigned short chars, min; /* of what follows the prefix */
	unsigned char flags;
} formats[] = {
	{"aws-key-id", "AKIA", UPPER | DIGIT, 16, 0},
	{"aws-key-id", "ASIA", UPPER | DIGIT, 16, 0},
	{"aws-key-id", "ABIA", UPPER | DIGIT, 16, 0},
	{"aws-key-id", "ACCA", UPPER | DIGIT, 16, 0},
	{"github", "ghp_", ALNUM, 30, ANYWHERE},
	{"github", "gho_", ALNUM, 30, ANYWHERE},
	{"github", "ghu_", ALNUM, 30, ANYWHERE},
	{"github", "ghs_", ALNUM, 30, ANYWHERE},
	{"github", "ghr_", ALNUM, 30, ANYWHERE},
	{"github", "github_pat_", WORDC, 30, ANYWHERE},
	{"gitlab", "glpat-", URLC | DOT, 16, ANYWHERE},
	{"gitlab", "glptt-", URLC, 16, ANYWHERE},
	{"gitlab", "gldt-", URLC, 16, ANYWHERE},
	{"gitlab", "glrt-", URLC | DOT, 16, ANYWHERE},
	{"gitlab", "glcbt-", URLC, 16, ANYWHERE},
	{"gitlab", "glagent-", URLC, 16, ANYWHERE},
	{"gitlab", "gloas-", URLC, 16, ANYWHERE},
	{"gitlab", "glsoat-", URLC, 16, ANYWHERE},
	{"gitlab", "glimt-", URLC, 16, ANYWHERE},
	{"gitlab", "glft-", URLC, 16, ANYWHERE},
	{"slack", "xoxb-", ALNUM | DASH, 10, ANYWHERE},
	{"slack", "xoxa-", ALNUM | DASH, 10, ANYWHERE},
	{"slack", "xoxp-", ALNUM | DASH, 10, ANYWHERE},
	{"slack", "xoxr-", ALNUM | DASH, 10, ANYWHERE},
	{"slack", "xoxs-", ALNUM | DASH, 10, ANYWHERE},
	{"slack", "xoxe-", ALNUM | DASH, 10, ANYWHERE},
	{"slack", "xoxe.xox", ALNUM | DASH, 10, ANYWHERE},
	{"slack", "xapp-", ALNUM | DASH, 10, ANYWHERE},
	{"slack-hook", "hooks.slack.com/services/", ALNUM | B64, 20, ANYWHERE},
	{"discord-hook", "discord.com/api/webhooks/", URLC | B64, 40, ANYWHERE},
	{"teams-hook", "webhook.office.com/webhookb2/", URLC | B64 | COLON, 40, ANYWHERE},
	{"anthropic", "sk-ant-", URLC, 16, ANYWHERE},
	{"openai", "sk-proj-", URLC, 16, ANYWHERE},
	{"openai", "sk-svcacct-", URLC, 16, ANYWHERE},
	{"openai", "sk-admin-", URLC, 16, ANYWHERE},
	{"openrouter", "sk-or-v1-", HEX, 32, ANYWHERE},
	{"openai", "sk-", ALNUM, 20, 0},
	{"stripe", "sk_live_", ALNUM, 10, ANYWHERE},
	{"stripe", "sk_test_", ALNUM, 10, ANYWHERE},
	{"stripe", "rk_live_", ALNUM, 10, ANYWHERE},
	{"stripe", "rk_test_", ALNUM, 10, ANYWHERE},
	{"stripe", "whsec_", ALNUM | B64, 16, ANYWHERE},
	{"google-api", "AIza", URLC, 30, ANYWHERE},
	{"google-oauth", "ya29.", URLC, 20, ANYWHERE},
	{"google-oauth", "GOCSPX-", URLC, 20, ANYWHERE},
	{"google-refresh", "1//0", URLC, 30, 0},
	{"npm", "npm_", ALNUM, 30, ANYWHERE},
	{"pypi", "pypi-AgEI", URLC, 30, ANYWHERE},
	{"rubygems", "rubygems_", HEX, 32, ANYWHERE},
	{"docker", "dckr_pat_", URLC, 16, ANYWHERE},
	{"docker", "dckr_oat_", URLC, 16, ANYWHERE},
	{"digitalocean", "dop_v1_", HEX, 40, ANYWHERE},
	{"digitalocean", "doo_v1_", HEX, 40, ANYWHERE},
	{"digitalocean", "dor_v1_", HEX, 40, ANYWHERE},
	{"shopify", "shpat_", ANYHEX, 30, ANYWHERE},
	{"shopify", "shpca_", ANYHEX, 30, ANYWHERE},
	{"shopify", "shppa_", ANYHEX, 30, ANYWHERE},
	{"shopify", "shpss_", ANYHEX, 30, ANYWHERE},
	{"sendgrid", "SG.", URLC | DOT, 40, 0},
	{"mailgun", "key-", HEX, 32, 0},
	{"twilio", "SK", HEX, 32, 0},
	{"huggingface", "hf_", ALNUM, 30, 0},
	{"age", "AGE-SECRET-KEY-1", UPPER | DIGIT, 40, ANYWHERE},
	{"vault", "hvs.", URLC, 24, ANYWHERE},
	{"vault", "hvb.", URLC, 24, ANYWHERE},
	{"vault", "hvr.", URLC, 24, ANYWHERE},
	{"databricks", "dapi", HEX | DASH, 32, 0},
	{"linear", "lin_api_", ALNUM, 30, ANYWHERE},
	{"notion", "ntn_", ALNUM, 40, 0},
	{"figma", "figd_", URLC, 30, ANYWHERE},
	{"postman", "PMAK-", HEX | DASH, 40, ANYWHERE},
	{"facebook", "EAACEdEose0cBA", ALNUM, 10, ANYWHERE},
	{"square", "sq0atp-", URLC, 20, ANYWHERE},
	{"square", "sq0csp-", URLC, 40, ANYWHERE},
	{"brevo", "xkeysib-", ALNUM | DASH, 40, ANYWHERE},
	{"newrelic", "NRAK-", ALNUM, 20, ANYWHERE},
	{"newrelic", "NRJS-", HEX, 16, ANYWHERE},
	{"grafana", "glsa_", WORDC, 30, ANYWHERE},
	{"grafana", "glc_", ALNUM | B64, 30, 0},
	{"sentry", "sntrys_", WORDC | B64, 30, ANYWHERE},
	{"sentry", "sntryu_", HEX, 40, ANYWHERE},
	{"planetscale", "pscale_tkn_", URLC | DOT, 30, ANYWHERE},
	{"planetscale", "pscale_pw_", URLC | DOT, 30, ANYWHERE},
	{"planetscale", "pscale_oauth_", URLC | DOT, 30, ANYWHERE},
	{"pulumi", "pul-", HEX, 40, 0},
	{"doppler", "dp.pt.", ALNUM, 40, ANYWHERE},
	{"doppler", "dp.st.", URLC | DOT, 40, ANYWHERE},
	{"doppler", "dp.ct.", ALNUM, 40, ANYWHERE},
	{"doppler", "dp.sa.", ALNUM, 40, ANYWHERE},
	{"atlassian", "ATATT3xFfGF0", URLC | B64, 40, ANYWHERE},
	{"atlassian", "ATCTT3xFfG", URLC | B64, 40, ANYWHERE},
	{"bitbucket", "ATBB", ALNUM, 32, 0},
	{"netlify", "nfp_", ALNUM, 36, 0},
	{"fly", "fo1_", URLC, 40, 0},
	{"fly", "fm2_", ALNUM | B64, 40, 0},
	{"render", "rnd_", ALNUM, 28, 0},
	{"supabase", "sbp_", HEX, 40, 0},
	{"supabase", "sb_secret_", URLC, 20, ANYWHERE},
	{"groq", "gsk_", ALNUM, 40, 0},
	{"xai", "xai-", ALNUM, 40, 0},
	{"perplexity", "pplx-", ALNUM, 40, 0},
	{"replicate", "r8_", ALNUM, 30, 0},
	{"langsmith", "lsv2_", WORDC, 30, 0},
	{"tailscale", "tskey-", ALNUM | DASH, 16, ANYWHERE},
	{"buildkite", "bkua_", HEX, 40, ANYWHERE},
	{"circleci", "CCIPAT_", WORDC, 40, ANYWHERE},
	{"contentful", "CFPAT-", URLC, 40, ANYWHERE},
	{"dynatrace", "dt0c01.", ALNUM | DOT, 64, ANYWHERE},
	{"easypost", "EZAK", ALNUM, 54, 0},
	{"easypost", "EZTK", ALNUM, 54, 0},
	{"clojars", "CLOJARS_", ALNUM, 50, ANYWHERE},
	{"duffel", "duffel_live_", URLC, 40, ANYWHERE},
	{"shippo", "shippo_live_", HEX, 40, ANYWHERE},
	{"readme", "rdme_", ALNUM, 60, 0},
	{"prefect", "pnu_", ALNUM, 36, 0},
	{"typeform", "tfp_", URLC | DOT, 40, 0},
	{"infracost", "ico-", ALNUM, 32, 0},
	{"openshift", "sha256~", URLC, 40, ANYWHERE},
	{"azure-key", "AccountKey=", ALNUM | B64, 40, ANYWHERE},
	{"azure-key", "SharedAccessKey=", ALNUM | B64, 30, ANYWHERE},
	{"azure-sas", "&sig=", ALNUM | B64 | COLON, 30, ANYWHERE},
	{"aws-signature", "X-Amz-Signature=", HEX, 64, ANYWHERE},
	{"aws-session", "IQoJb3JpZ2lu", ALNUM | B64, 60, ANYWHERE},
	{"adafruit", "aio_", ALNUM, 28, 0},
	{"alibaba", "LTAI", ALNUM, 16, 0},
	{"plaid", "access-sandbox-", HEX | DASH, 30, ANYWHERE},
	{"plaid", "access-production-", HEX | DASH, 30, ANYWHERE},
	{"mapbox", "sk.eyJ", URLC | DOT, 40, ANYWHERE},
	{"rein", "rein_", ALNUM | UNDER, 40, 0},
};

#define NFORMATS ARRAY_SIZE(formats)

/* Filled on first use. */
static unsigned short class_of[256];
static unsigned char first_of[256]; /* 1: a format may begin, 2: '=' or ':', 4: other structure */
static unsigned char pair_of[8192]; /* bit set: a format begins with these two bytes */
static unsigned char chain[NFORMATS], chain_of[256]; /* formats by first byte, numbered from 1 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

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
		pair_of[(a << 8 | b) >> 3] |= (unsigned char)(1u << (b & 7));
		chain[i] = chain_of[a];
		chain_of[a] = (unsigned char)(i + 1);
	}
	first_of['='] |= 2;
	first_of[':'] |= 2;
	first_of['-'] |= 4; /* PEM block, option */
	first_of['e'] |= 4; /* eyJ: JSON web token */
	first_of['B'] |= 4; /* Bearer, Basic */
	first_of['b'] |= 4;
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

struct hit {
	size_t at, n;
	const char *kind;
};

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

static bool prefixed(struct rein_str t, size_t at, struct hit *h)
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
		*h = (struct hit){at, np + n, f->kind};
		return true;
	}
	return false;
}

static bool pem(struct rein_str t, size_t at, struct hit *h)
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
	*h = (struct hit){at, end ? (size_t)(end + 5 - t.p) - at : t.n - at, "private-key"};
	return true;
}

static bool jwt(struct rein_str t, size_t at, struct hit *h)
{
	size_t a, b, c;

	if (!has(t, at, "eyJ") || !boundary(t, at))
		return false;
	a = run(t, at, URLC);
	if (a < 10 || at + a >= t.n || t.p[at + a] != '.')
		return false;
	b = run(t, at + a + 1, URLC);
	if (b < 10)
		return false;
	c = at + a + 1 + b < t.n && t.p[at + a + 1 + b] == '.' ? 1 + run(t, at + a + b + 2, URLC) : 0;
	*h = (struct hit){at, a + 1 + b + c, "jwt"};
	return true;
}

static bool bearer(struct rein_str t, size_t at, struct hit *h)
{
	size_t skip = has_nocase(t, at, "bearer ") ? 7 : has_nocase(t, at, "basic ") ? 6 : 0;
	size_t n;

	if (!skip || !boundary(t, at))
		return false;
	n = run(t, at + skip, URLC | B64 | DOT | COLON);
	if (n < 8 || (skip == 6 && (n < 12 || !memchr(t.p + at + skip, '=', n))))
		return false;
	*h = (struct hit){at + skip, n, "authorization"};
	return true;
}

/* scheme://user:password@ — at is the ':' of "://". */
static bool url(struct rein_str t, size_t at, struct hit *h)
{
	size_t i = at + 3, colon = 0;

	for (; i < t.n; i++) {
		char c = t.p[i];

		if (c == ':' && !colon)
			colon = i;
		else if (c == '@' && colon && i > colon + 1) {
			*h = (struct hit){colon + 1, i - colon - 1, "url-password"};
			return true;
		} else if (c == '/' || c == '?' || c == '#' || c == ' ' || c == '"' || c == '\'' ||
			   c == '\n')
			return false;
	}
	return false;
}

bool rein_secret_name(struct rein_str name)
{
	static const char *const words[] = {
		"password", "passwd",	  "passphrase", "secret",   "token",	   "apikey",
		"api_key",  "api-key",	  "accesskey",	"access_key", "access-key",  "private_key",
		"privatekey", "private-key", "credential", "auth_key", "pgpassword", "mysql_pwd",
		"encryption_key", "signing_key", "session_key", "client_key", "x-auth", "authkey",
	};
	static const char *const not[] = {
		"token_count", "tokens", "max_token", "tokenizer", "secret_name", "secretname",
		"password_file", "token_file", "key_file", "secretsmanager", "token_type", "tokenize",
	};
	char low[65];
	size_t n = name.n < 64 ? name.n : 64;

	for (size_t i = 0; i < n; i++) {
		char c = name.p[name.n - n + i];

		low[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
	}
	low[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(not); i++)
		if (strstr(low, not[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(low, words[i]))
			return true;
	return rein_streq(low, "pass") || strstr(low, "_pwd") || strstr(low, "_pass");
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

static bool value_at(struct rein_str t, size_t i, struct hit *h)
{
	char quote = 0;
	size_t from, n = 0;

	while (i < t.n && t.p[i] == ' ')
		i++;
	while (i < t.n && t.p[i] == '\\') /* \" inside a quoted text */
		i++;
	if (i < t.n && (t.p[i] == '"' || t.p[i] == '\''))
		quote = t.p[i++];
	from = i;
	for (; from + n < t.n; n++) {
		char c = t.p[from + n];

		if (quote ? c == quote || c == '\n' : strchr(" \t\r\n\"'&;,)}|<>", c) != NULL)
			break;
		if (quote && c == '\\')
			break;
	}
	/* Three bytes hide nothing worth the noise. */
	if (n < 4 || placeholder((struct rein_str){t.p + from, n}))
		return false;
	*h = (struct hit){from, n, "value"};
	return true;
}

/* name=value, name: value, "name": "value" — at is the '=' or ':'. */
static bool assignment(struct rein_str t, size_t at, struct hit *h)
{
	size_t end = at, from;

	if (at + 1 < t.n && (t.p[at + 1] == '=' || t.p[at + 1] == ':'))
		return false;
	while (end > 0 && (t.p[end - 1] == ' ' || t.p[end - 1] == '"' || t.p[end - 1] == '\'' ||
			   t.p[end - 1] == '\\'))
		end--;
	from = end;
	while (from > 0 && end - from < 64 && is((unsigned char)t.p[from - 1], URLC | DOT))
		from--;
	return end > from && rein_secret_name((struct rein_str){t.p + from, end - from}) &&
	       value_at(t, at + 1, h);
}

/* --password VALUE; with '=' it is an assignment. */
static bool option(struct rein_str t, size_t at, struct hit *h)
{
	size_t n;

	if (!has(t, at, "--") || (at && t.p[at - 1] != ' ' && t.p[at - 1] != '\t'))
		return false;
	n = run(t, at + 2, URLC);
	return n && at + 2 + n < t.n && t.p[at + 2 + n] == ' ' &&
	       rein_secret_name((struct rein_str){t.p + at + 2, n}) && value_at(t, at + 3 + n, h);
}

/* 123456789:AA… (Telegram): at is the ':'. */
static bool telegram(struct rein_str t, size_t at, struct hit *h)
{
	size_t d = 0;

	while (d < at && d < 11 && is((unsigned char)t.p[at - 1 - d], DIGIT))
		d++;
	if (d < 8 || d > 10 || run(t, at + 1, URLC) != 35)
		return false;
	*h = (struct hit){at + 1, 35, "telegram"};
	return true;
}

/* A secret that begins, or whose mark stands, at this byte. */
static bool at_byte(struct rein_str t, size_t i, unsigned first, struct hit *h)
{
	if ((first & 1) && prefixed(t, i, h))
		return true;
	if (first & 2) {
		if (t.p[i] == ':' && has(t, i, "://") && url(t, i, h))
			return true;
		if (t.p[i] == ':' && telegram(t, i, h))
			return true;
		if (assignment(t, i, h))
			return true;
	}
	if (first & 4) {
		if (t.p[i] == '-')
			return pem(t, i, h) || option(t, i, h);
		if (t.p[i] == 'e')
			return jwt(t, i, h);
		return bearer(t, i, h);
	}
	return false;
}

bool rein_secret_find(struct rein_str t, size_t from, size_t *ret_at, size_t *ret_len,
		      const char **ret_kind)
{
	struct hit h;

	pthread_once(&once, prepare);
	for (size_t i = from; i < t.n; i++) {
		unsigned first = first_of[(unsigned char)t.p[i]];

		if (!first || !at_byte(t, i, first, &h) || h.at < from)
			continue;
		*ret_at = h.at;
		*ret_len = h.n;
		*ret_kind = h.kind;
		return true;
	}
	return false;
}
