/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats, checksums and likelihood; and that vectorscan, the own matcher and the stream find the same, on texts
 * made of all formats, their near misses and noise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/buf.h"
#include "secret/internal.h"

static bool likely(const char *text, const char *kind)
{
	struct rein_secret_hit h;

	return rein_secret_next(rein_str(text), 0, REIN_SECRET_LIKELY, &h) && (!kind || rein_streq(h.kind, kind));
}

static bool any(const char *text)
{
	struct rein_secret_hit h;

	return rein_secret_next(rein_str(text), 0, REIN_SECRET_ANY, &h);
}

static void test_formats(void **state)
{
	(void)state;
	assert_true(rein_secret_formats() >= 150);
	for (size_t i = 0; i < secret_formats_n; i++) {
		const struct format *f = &secret_formats[i];

		assert_true(strlen(f->prefix) >= 2 && strlen(f->prefix) < 64);
		assert_true(strlen(f->prefix) + f->min >= 14);
		for (size_t k = 0; k < i; k++) /* the same prefix twice: the second would never be seen */
			if (rein_streq(secret_formats[k].prefix, f->prefix) && secret_formats[k].min <= f->min &&
			    (secret_formats[k].chars & f->chars) == f->chars)
				fail_msg("%s %s stands behind %s", f->kind, f->prefix, secret_formats[k].kind);
	}
}

/* The tokens are put together here so that no scanner takes this file for a leak. */
static void test_likely(void **state)
{
	(void)state;
	/* a published example of GitHub's checksum, and the same with one letter changed */
	assert_true(likely("x = ghp_" "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", "github"));
	assert_false(likely("x = ghp_" "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18", "github"));
	assert_true(any("x = ghp_" "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18"));
	/* the example of age's own specification */
	assert_true(likely("AGE-SECRET-KEY-" "1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX", "age"));
	assert_false(likely("AGE-SECRET-KEY-" "1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEQ", "age"));
	assert_true(likely("AKIA" "Z5T7Q2LMN8RVX3KD", "aws-key-id"));
	assert_false(likely("AKIA" "IOSFODNN7EXAMPLE", NULL));
	assert_false(likely("sk_live_" "xxxxxxxxxxxxxxxxxxxxxxxx", NULL));
	assert_false(likely("glpat-" "aaaaaaaaaaaaaaaaaaaa", NULL));
	assert_true(likely("password = \"k3J9x-Qp72mZ+tR5\"", "value"));
	assert_false(likely("password = os.environ[\"DB_PASSWORD\"]", NULL));
	assert_false(likely("token = await getAccessToken(user)", NULL));
	assert_false(likely("API_KEY=your-api-key-here", NULL));
	assert_false(likely("secret: string", NULL));
	assert_true(any("password = hunter22"));
	assert_false(likely("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", NULL));
	assert_false(likely("the token count is 12345678", NULL));
}

/* What is taken out of a text, and nothing of it is left. */
static void takes(const char *text, const char *what)
{
	struct rein_secret_hit h;

	if (!rein_secret_next(rein_str(text), 0, REIN_SECRET_ANY, &h))
		fail_msg("nothing in: %s", text);
	if (h.n != strlen(what) || memcmp(text + h.at, what, h.n) != 0)
		fail_msg("'%.*s' of: %s", (int)h.n, text + h.at, text);
}

static void test_places(void **state)
{
	(void)state;
	takes("password:\thunter22", "hunter22");
	takes("PASSWORD\t=\thunter22", "hunter22");
	takes("dbPassword := \"hunter22\"", "hunter22");
	takes("TOKEN ?= hunter22", "hunter22");
	takes("'password' => 'hunter22',", "hunter22");
	takes("<password>hunter22</password>", "hunter22");
	takes("<server><username>a</username><apiKey>hunter22</apiKey>", "hunter22");
	assert_false(any("List<Token> tokens = new ArrayList<>();"));
	assert_false(any("usage: login <token>"));
	assert_false(any("if (password == other)"));
	/* a quote or a backslash in it does not end it */
	takes("{\"password\": \"ab\\\"cdefgh\"}", "ab\\\"cdefgh");
	takes("{\"password\": \"a\\\\bcdefgh\", \"x\": 1}", "a\\\\bcdefgh");
	takes("sh -c \"curl -d '{\\\"password\\\": \\\"hunter22\\\"}'\"", "hunter22");
	/* a user's name and password, with and without padding */
	takes("Authorization: Basic " "YWRhOmh1bnRlcjI=", "YWRhOmh1bnRlcjI=");
	takes("Authorization: Basic " "YWRhOmh1bnRlcjIy", "YWRhOmh1bnRlcjIy");
	assert_false(any("a basic understanding of things"));
	assert_false(any("basic configuration"));
	takes("https://ada:p@ss@word@example.org/x", "p@ss@word");
	takes("redis://:hunter22@localhost:6379", "hunter22");
	takes("git clone https://" "0123456789abcdef0123456789abcdef01234567@example.org/x", "0123456789abcdef0123456789abcdef01234567");
	assert_false(any("ssh://git@example.org/x"));
	assert_false(any("https://example.org/a:b@c"));
}

static void test_files(void **state)
{
	(void)state;
	/* .netrc, on one line and on several, in a diff and in a shell's words */
	takes("machine example.org login ada password hunter22\n", "hunter22");
	takes("machine example.org\n\tlogin ada\n\tpassword hunter22\n", "hunter22");
	takes("machine h password hunter22 login ada", "hunter22");
	takes("machine h account x login ada password hunter22", "hunter22");
	takes("default login ada passwd hunter22", "hunter22");
	takes("machine h login ada password \"two words\"", "two words");
	takes("@@ -0,0 +1,3 @@\n+machine h\n+  login ada\n+  password hunter22\n", "hunter22");
	takes("echo 'machine h login ada password hunter22' >>~/.netrc", "hunter22");
	takes("printf 'machine h\\nlogin ada\\npassword hunter22' >~/.netrc", "hunter22");
	takes("machine a login b password $P\nmachine h login ada password hunter22", "hunter22");
	assert_true(likely("machine h login ada password k3J9x-Qp72mZ+tR5", "netrc"));
	assert_false(likely("machine h login ada password your-password-12", NULL));
	/* prose, and what is only like it */
	assert_false(any("The login page asks for a password before it goes on"));
	assert_false(any("use login ada password hunter22 there"));
	assert_false(any("each machine asks login and password when it starts"));
	assert_false(any("For this machine, login name password pairs are kept"));
	assert_false(any("machine h login ada password $PASSWORD"));
	assert_false(any("machine h login ada\npassword\nhunter22"));
	assert_false(any("machine code switches password storage"));
	assert_false(any("echo \"machine h login ada password \"; echo somebody"));
	/* .pgpass */
	takes("db.example.org:5432:app:ada:hunter22\n", "hunter22");
	takes("x\n*:*:*:ada:hunter22", "hunter22");
	takes("/run/postgresql:5433:*:ada:a\\:b\\\\c\n", "a\\:b\\\\c");
	takes("+localhost:5432:app:ada:hunter22\n", "hunter22");
	takes("echo 'localhost:5432:app:ada:hunter22' >~/.pgpass", "hunter22");
	assert_true(likely("localhost:5432:app:ada:k3J9x-Qp72mZ+tR5", "pgpass"));
	assert_false(any("src/a.c:1234:12: error: something"));
	assert_false(any("src/a.py:1234:def:x:yyyy"));
	assert_false(any("root:x:1000:1000:root:/root:/bin/bash"));
	assert_false(any("at 2024:10:20:30:40 and 12:3456:a:b"));
	takes("echo localhost:5432:app:ada:hunter22 >>~/.pgpass", "hunter22");
	assert_false(any("at /src/a.py:1234:def:x:yyyy"));
	assert_false(any("fe80:1234:5678:9abc:def0:1234:5678:9abc"));
	assert_false(any("x '2001:db8:85a3:0000:0000:8a2e:0370:7334', 2001:0000:4136:e378:8000:63bf:3fff:fdd2"));
	assert_false(any("id 935-XPB-567:0:45327:9:90305:17843586-40"));
	assert_false(any("localhost:5432:app:ada:*"));
	/* what others keep */
	takes("https://ada:hunter22@example.org", "hunter22");
	takes("//registry.example/:_authToken=hunter22", "hunter22");
	takes("_auth=YWRhOmh1bnRlcjIy", "YWRhOmh1bnRlcjIy");
	takes("{\"auths\": {\"r.example\": {\"auth\": \"YWRhOmh1bnRlcjIy\"}}}", "YWRhOmh1bnRlcjIy");
	takes("index-url = https://ada:hunter22@pypi.example.org/simple", "hunter22");
	takes("aws_secret_access_key = k3J9xQp72mZtR5", "k3J9xQp72mZtR5");
	takes("client-key-data: LS0tLS1CRUdJTg==", "LS0tLS1CRUdJTg==");
	takes("PresharedKey = yAnz5TF+lXXJte14tji3", "yAnz5TF+lXXJte14tji3");
	takes("psk=\"hunter22\"", "hunter22");
	assert_false(any("auth: basic"));
	assert_false(any("auth = requests.auth.HTTPBasicAuth"));
	assert_false(any("auth: YWRhaHVudGVyMjIh")); /* no colon in it */
	assert_false(any("always-auth=YWRhOmh1bnRlcjIy"));
}

/* Their shape is that of a secret, and people keep them in every repository. */
static void test_unlikely(void **state)
{
	(void)state;
	assert_true(likely("key: cflt" "U5Rq5lAsICMzPzbaLGJpbWlUmTxAIqojd2dtRhhHwzVd1pQPb0PpYWcn5bTWAL5TzavPzbX9", "confluent"));
	assert_false(likely("\"integrity\": \"sha512-cflt" "U5Rq5lAsICMzPzbaLGJpbWlUmTxAIqojd2dtRhhHwzVd1+QPb0PpYWcn5bTWAL5TzavPz/bX9in0elSA5w==\"", NULL));
	assert_true(likely("KEY=cio" "Zi03gduptTjNsO4DyQKYh5UnWODHCxvTkbfA2", "crates"));
	assert_false(likely("data:image/png;base64,iVBORw0KGgo/cio" "Zi03gduptTjNsO4DyQKYh5UnWODHCxvTkbfA2", NULL));
	assert_false(likely("#define TOKEN_OPTION CURLOPT\npassword = CURLOPTTYPE_STRINGPOINT+153;", NULL));
	assert_false(likely("credential: MSV1_0_SUPPLEMENTAL_CREDENTIAL", NULL));
	assert_true(likely("password = \"K7_QX2M9_ZT4WPLR8\"", "value"));
	/* a table of what files begin with */
	assert_false(likely("<match value=\"-----BEGIN PGP PRIVATE KEY BLOCK-----\" offset=\"0\"/>\n<glob pattern=\"*.pgp\"/>\n"
			    "<match type=\"string\" value=\"one two three four five six seven eight nine ten eleven twelve\"/>\n"
			    "<match type=\"string\" value=\"one two three four five six seven eight nine ten eleven twelve\"/>\n", NULL));
	assert_false(likely("WWW-Authenticate: Bearer https://example.org/html/rfc6750", NULL));
}

/* A text that an adversary made: nothing in it is a secret, and every word begins like one. */
static void test_slow_texts(void **state)
{
	static const char *const parts[] = {"glpat-", "eyJ-", "password=", "-----BEGIN PRIVATE KEY----- example ", "sk-ant-sk-ant-",
					    "--password ", "basic basic", "a://b:", "12345678:", "<password>", "Bearer x",
					    "machine a login b password ", "login a password ", " password", "\nh:5432:a:b:", "*:*:*:", "auth="};
	const size_t size = (size_t)1 << 19;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		auto_buf struct rein_buf b = REIN_BUF(size + 64);
		struct rein_secret_hit h;
		clock_t began = clock();
		size_t from = 0;

		while (b.n < size)
			rein_buf_cstr(&b, parts[i]);
		while (from < b.n && rein_secret_next((struct rein_str){b.p, b.n}, from, REIN_SECRET_LIKELY, &h))
			from = h.at + h.n;
		if (clock() - began > 10 * CLOCKS_PER_SEC)
			fail_msg("half a MB of '%s' took %ld s", parts[i], (long)((clock() - began) / CLOCKS_PER_SEC));
	}
}

/* ------------------------------------------------------------ the same by every way */

struct hits {
	struct rein_secret_hit v[4096];
	size_t n;
};

static bool collect(void *arg, const struct rein_secret_hit *h)
{
	struct hits *all = arg;

	if (all->n < ARRAY_SIZE(all->v))
		all->v[all->n++] = *h;
	return true;
}

static uint32_t seed = 1;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

static void noise(struct rein_buf *b)
{
	static const char *const parts[] = {
		" ", "\n", "\"", "'", "=", ": ", "://", "password", "Token", "--api-key ", "--secret=", "eyJhbGciOi", ".", "-----BEGIN ",
		"RSA PRIVATE KEY-----", "-----END ", "-----", "Bearer ", "basic ", "user:pass@host/", "123456789:", "secret_name",
		"tokens", "pass", "PASS=", "\t", ":= ", "?=", "=> ", "<password>", "</", "@", "YWRhOmh1bnRlcjIy", "x_pwd = ", "\\\"", "https", "lorem ipsum dolor sit amet ", "    \"client_secret\" : \"", "$VAR",
		"machine ", "login ", "password ", "passwd\t", "default ", "\n+", "\\n", "machine h login u password ", "host:5432:db:user:", "\n*:*:",
		":5432:", "ada:", "auth", "_auth=", "\"auth\": \"", "AUTH := ", "psk=", "psk", "sw",
	};
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	if (rnd(3)) {
		rein_buf_cstr(b, parts[rnd(ARRAY_SIZE(parts))]);
		return;
	}
	if (rnd(2)) {
		const struct format *f = &secret_formats[rnd((uint32_t)secret_formats_n)];

		rein_buf_cstr(b, f->prefix);
		for (uint32_t n = f->min + rnd(3); n-- > rnd(2);)
			rein_buf_char(b, letters[rnd(f->chars & LOWER ? 62 : 36) % (sizeof(letters) - 1)]);
		return;
	}
	for (uint32_t n = rnd(60); n--;)
		rein_buf_char(b, letters[rnd(sizeof(letters) - 1)]);
}

static void same(const struct hits *a, const struct hits *b, const char *how)
{
	for (size_t i = 0; i < a->n || i < b->n; i++)
		if (i >= a->n || i >= b->n || a->v[i].at != b->v[i].at || a->v[i].n != b->v[i].n ||
		    !rein_streq(a->v[i].kind, b->v[i].kind))
			fail_msg("%s: hit %zu differs: %s at %zu, %s at %zu", how, i, i < a->n ? a->v[i].kind : "none",
				 i < a->n ? a->v[i].at : 0, i < b->n ? b->v[i].kind : "none", i < b->n ? b->v[i].at : 0);
}

static void test_same(void **state)
{
	static struct hits own, other;
	size_t total = 0;

	(void)state;
	if (!rein_secret_each_scan(STR("x"), REIN_SECRET_ANY, collect, &other)) {
		print_message("rein-scan.so is not here\n");
		skip();
	}
	for (int round = 0; round < 3000; round++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 20);
		enum rein_secret_want want = round & 1 ? REIN_SECRET_LIKELY : REIN_SECRET_ANY;

		for (uint32_t n = 1 + rnd(60); n--;)
			noise(&b);
		own.n = other.n = 0;
		rein_secret_each_own((struct rein_str){b.p, b.n}, want, collect, &own);
		assert_true(rein_secret_each_scan((struct rein_str){b.p, b.n}, want, collect, &other));
		same(&own, &other, "vectorscan");
		total += own.n;
	}
	assert_true(total > 3000);
}

static void test_stream(void **state)
{
	static struct hits own, other;
	auto_buf struct rein_buf b = REIN_BUF(8 << 20);
	struct rein_secret_stream *s = NULL;
	struct rein_err err = {0};

	(void)state;
	while (b.n < (3u << 20)) { /* far apart, so that the table of hits holds them all */
		for (int i = 0; i < 40; i++)
			rein_buf_cstr(&b, "lorem ipsum dolor sit amet, consectetur\n");
		rein_buf_cstr(&b, "AWS_SECRET_ACCESS_KEY=");
		for (int i = 0; i < 40; i++)
			rein_buf_char(&b, (char)('a' + (int)rnd(26)));
		rein_buf_cstr(&b, "\nAKIA");
		for (int i = 0; i < 16; i++)
			rein_buf_char(&b, (char)('A' + (int)rnd(26)));
		rein_buf_char(&b, '\n');
	}
	own.n = other.n = 0;
	rein_secret_each_own((struct rein_str){b.p, b.n}, REIN_SECRET_ANY, collect, &own);
	assert_int_equal(rein_secret_stream_new(REIN_SECRET_ANY, collect, &other, &s, &err), 0);
	for (size_t at = 0, n; at < b.n; at += n) {
		n = 1 + rnd(100000);
		n = n < b.n - at ? n : b.n - at;
		rein_secret_stream_feed(s, (struct rein_str){b.p + at, n});
	}
	rein_secret_stream_end(s);
	assert_true(own.n > 1000);
	same(&own, &other, "stream");
}

/* Every word that makes a name one of a secret does, in either case and anywhere in it. */
static void test_names(void **state)
{
	(void)state;
	for (const char *const *w = secret_words; *w; w++) {
		char name[64];

		snprintf(name, sizeof(name), "MY_%s", *w);
		assert_true(rein_secret_name(rein_str(*w)));
		assert_true(rein_secret_name(rein_str(name)));
		for (char *c = name; *c; c++)
			*c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
		assert_true(rein_secret_name(rein_str(name)));
	}
	for (const char *const *w = secret_not_words; *w; w++)
		assert_false(rein_secret_name(rein_str(*w)));
	assert_true(rein_secret_name(STR("pass")));
	assert_false(rein_secret_name(STR("compass")));
	assert_false(rein_secret_name(STR("path")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_likely),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_unlikely),
		cmocka_unit_test(test_slow_texts),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
