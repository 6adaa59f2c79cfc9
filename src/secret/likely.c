/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is it a secret, or something of its shape? Checksums where a format has one, randomness, and the words
 * people put where a secret goes.
 */
#include <pthread.h>
#include <strings.h>

#include "base/auto.h"
#include "secret/internal.h"

static uint32_t crc_table[256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_prepare(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
		crc_table[i] = c;
	}
}

static uint32_t crc32_of(const char *p, size_t n)
{
	uint32_t c = ~0u;

	pthread_once(&crc_once, crc_prepare);
	for (size_t i = 0; i < n; i++)
		c = crc_table[(c ^ (unsigned char)p[i]) & 255] ^ c >> 8;
	return ~c;
}

/* GitHub's and npm's tokens: 30 random characters and six that prove them. */
static bool crc62(struct rein_str body)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	uint32_t c;

	if (body.n != 36)
		return false;
	c = crc32_of(body.p, 30);
	for (int i = 35; i >= 30; i--, c /= 62)
		if (body.p[i] != digits[c % 62])
			return false;
	return true;
}

static uint32_t bech32_step(uint32_t c, unsigned v)
{
	static const uint32_t gen[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
	uint32_t top = c >> 25;

	c = (c & 0x1ffffff) << 5 ^ v;
	for (int i = 0; i < 5; i++)
		if (top >> i & 1)
			c ^= gen[i];
	return c;
}

/* BIP 173; all: the whole token, in capitals, the part before the last '1' is what it is for. */
static bool bech32(struct rein_str all)
{
	static const char digits[] = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
	const char *one = memrchr(all.p, '1', all.n);
	size_t n = one ? (size_t)(one - all.p) : 0;
	uint32_t c = 1;

	if (!n)
		return false;
	for (size_t i = 0; i < n; i++)
		c = bech32_step(c, (unsigned)(all.p[i] | 32) >> 5);
	c = bech32_step(c, 0);
	for (size_t i = 0; i < n; i++)
		c = bech32_step(c, (unsigned)(all.p[i] >= 'A' && all.p[i] <= 'Z' ? all.p[i] | 32 : all.p[i]) & 31);
	for (size_t i = n + 1; i < all.n; i++) {
		const char *d = strchr(digits, all.p[i]);

		if (!d || !all.p[i])
			return false;
		c = bech32_step(c, (unsigned)(d - digits));
	}
	return c == 1;
}

/* log2 to eight digits, for what a count of characters needs: libm would be one more library to load at every start. */
static double log2_of(double x)
{
	double t, square, term, sum = 0;
	int whole = 0;

	for (; x >= 2; x /= 2)
		whole++;
	for (; x < 1; x *= 2)
		whole--;
	t = (x - 1) / (x + 1); /* ln x = 2 (t + t^3/3 + t^5/5 ...), t <= 1/3 */
	square = t * t;
	term = t;
	for (int i = 1; i < 17; i += 2, term *= square)
		sum += term / i;
	return whole + sum * 2 * 1.4426950408889634; /* 1 / ln 2 */
}

/* Bits a character. */
static double entropy(struct rein_str s)
{
	unsigned count[256] = {0};
	double bits = 0;

	for (size_t i = 0; i < s.n; i++)
		count[(unsigned char)s.p[i]]++;
	for (size_t i = 0; i < 256; i++)
		if (count[i]) {
			double p = (double)count[i] / (double)s.n;

			bits -= p * log2_of(p);
		}
	return bits;
}

#define LOOKED_AT     256  /* bytes that tell a word from a secret */
#define KEY_LINE_MIN  32   /* digits of base64 in a row; a line of a key has 64 */
#define LOOKED_AT_KEY 4096 /* of a key that has several lines of them */

static struct rein_str first(struct rein_str s, size_t n)
{
	return (struct rein_str){s.p, s.n < n ? s.n : n};
}

static bool stand_in(struct rein_str s)
{
	static const char *const words[] = {"example", "xxxx", "placeholder", "changeme", "change-me", "your-", "your_",
					    "dummy", "sample", "redacted", "1234567890", "abcdefgh", "0000000", "insert",
					    "notreal", "fake", "foobar", "test-", "replace", "...."};

	uint64_t begins[4] = {0}; /* bit set: a word begins with this byte */

	for (size_t k = 0; k < ARRAY_SIZE(words); k++)
		begins[(words[k][0] | 32) >> 6] |= 1ull << ((words[k][0] | 32) & 63);
	for (size_t i = 0; i < s.n; i++) {
		unsigned c = (unsigned char)s.p[i] | 32u;

		for (size_t k = 0; begins[c >> 6] >> (c & 63) & 1 && k < ARRAY_SIZE(words); k++)
			if (c == ((unsigned char)words[k][0] | 32u) && s.n - i >= strlen(words[k]) &&
			    !strncasecmp(s.p + i, words[k], strlen(words[k])))
				return true;
	}
	return false;
}

/* CURLOPTTYPE_STRINGPOINT+153: the name of a constant, of words, and perhaps a number added to it. */
static bool is_constant(struct rein_str v)
{
	size_t letters = 0, n = 0;

	for (; n < v.n && ((v.p[n] >= 'A' && v.p[n] <= 'Z') || (v.p[n] >= '0' && v.p[n] <= '9') || v.p[n] == '_'); n++)
		letters += v.p[n] >= 'A' && v.p[n] <= 'Z';
	if (!memchr(v.p, '_', n) || letters * 4 < n * 3) /* what is drawn by lot has more digits */
		return false;
	while (n < v.n && strchr("+*-0123456789", v.p[n]) && v.p[n])
		n++;
	return n == v.n;
}

/* A value under a telling name is often code: os.environ["X"], getToken(), props.token. */
static bool literal_value(struct rein_str v)
{
	bool digit = false, alpha = false;

	if (v.n < 12 || v.n > 512)
		return false;
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		if (c <= ' ' || c >= 127 || strchr("()[]{}<>;$`\"'", c))
			return false;
		digit |= c >= '0' && c <= '9';
		alpha |= (c | 32) >= 'a' && (c | 32) <= 'z';
	}
	return digit && alpha && entropy(v) >= 3.2 && !is_constant(v) && !memmem(v.p, v.n, "://", 3);
}

/*
 * A prefix of letters alone comes about by chance where base64 is: after its signs, and after the '-' of a
 * checksum's name.
 */
static bool is_within_base64(struct rein_str t, const struct found *f)
{
	const char *p = f->format->prefix;

	for (; *p; p++)
		if (!((*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z')))
			return false;
	return f->hit.at && strchr("+/-", t.p[f->hit.at - 1]) && t.p[f->hit.at - 1];
}

static bool has_key_line(struct rein_str s)
{
	size_t run = 0;

	for (size_t i = 0; i < s.n && run < KEY_LINE_MIN; i++) {
		bool digit = (s.p[i] >= '0' && s.p[i] <= '9') || ((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z') ||
			     s.p[i] == '+' || s.p[i] == '/';

		run = digit ? run + 1 : 0;
	}
	return run == KEY_LINE_MIN;
}

static bool is_random(struct rein_str all, const struct format *f)
{
	struct rein_str body = {all.p + strlen(f->prefix), all.n - strlen(f->prefix)};
	double least;

	switch ((enum check)f->check) {
	case CRC62:
		return crc62(body);
	case BECH32:
		return bech32(all);
	case NONE:
		break;
	}
	/* random hexadecimal digits carry 4 bits less what a short sample loses, letters and digits 5.9 */
	least = body.n < 20 ? 2.5 : f->chars & (UPPER | LOWER) ? 3.2 : 2.8;
	return body.n < 8 || entropy(first(body, LOOKED_AT)) >= least;
}

/* Found by its structure, and not a key. */
static bool is_literal(struct rein_str all, const char *kind)
{
	if (rein_streq(kind, "value") || rein_streq(kind, "authorization") || rein_streq(kind, "url-password") ||
	    rein_streq(kind, "netrc") || rein_streq(kind, "pgpass"))
		return literal_value(all);
	return entropy(first(all, LOOKED_AT)) >= 3.5;
}

bool secret_likely(struct rein_str t, const struct found *f)
{
	struct rein_str all = {t.p + f->hit.at, f->hit.n};

	/* stand_in comes last: it takes longest */
	if (rein_streq(f->hit.kind, "private-key"))
		/* a key's first and last line alone are documentation, or a table of what files begin with */
		return all.n >= 200 && has_key_line(first(all, LOOKED_AT_KEY)) && !stand_in(first(all, LOOKED_AT_KEY));
	if (f->format)
		return !is_within_base64(t, f) && is_random(all, f->format) && !stand_in(first(all, LOOKED_AT));
	return is_literal(all, f->hit.kind) && !stand_in(first(all, LOOKED_AT));
}
