/* SPDX-License-Identifier: Apache-2.0 */
/* record: redaction, search, similar operations, retention, holds, archives, proofs, alerts, loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "base/clock.h"
#include "model/event.h"
#include "record/alert.h"
#include "record/alert_memory.h"
#include "record/count.h"
#include "record/event.h"
#include "record/export.h"
#include "record/filter.h"
#include "record/index.h"
#include "record/internal.h"
#include "record/jread.h"
#include "record/proof.h"
#include "record/prune.h"
#include "record/redact.h"
#include "record/shape.h"

static char dir[128];

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st, (void)flag, (void)f;
	return remove(path);
}

static int new_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/rein-use-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
	(void)state;
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct rein_record *open_log(uint64_t segment_bytes)
{
	struct rein_record_options opt = {.segment_bytes = segment_bytes};
	struct rein_record *r = NULL;
	struct rein_err err = {0};

	if (rein_record_open(dir, &opt, &r, &err) < 0)
		fail_msg("open: %s", err.msg);
	return r;
}

static void append(struct rein_record *r, struct rein_event ev)
{
	struct rein_err err = {0};

	if (rein_record_append(r, &ev, true, &err) < 0)
		fail_msg("append: %s", err.msg);
}

static int verify(struct rein_verify_result *res)
{
	struct rein_err err = {0};

	return rein_record_verify(dir, NULL, res, &err);
}

/* --- redaction ------------------------------------------------------------------------------ */

/*
 * Made-up secrets, in parts so that nobody's scanner takes this file for a leak. Each must vanish
 * from a text it stands in.
 */
static const struct {
	const char *a, *b;
} secrets[] = {
	{"AKIA", "IOSFODNN7EXAMPLQ"},
	{"ASIA", "Y34FZKBOKMUTVV7A"},
	{"ghp_", "abcdefghijklmnopqrstuvwxyz0123456789"},
	{"gho_", "16C7e42F292c6912E7710c838347Ae178B4a"},
	{"ghs_", "16C7e42F292c6912E7710c838347Ae178B4a"},
	{"github_pat_", "11ABCDEFG0abcdefghijkl_MNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz0123"},
	{"glpat-", "ABCDEFabcdef12345678"},
	{"glrt-", "t1_ABCDEFabcdef12345678"},
	{"xoxb-", "123456789012-1234567890123-abcdefABCDEF"},
	{"xoxp-", "123456789012-1234567890123-abcdefABCDEF"},
	{"xapp-", "1-A0123456789-1234567890123-abcdef"},
	{"https://hooks.slack.com/services/", "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"},
	{"sk-ant-", "api03-abcdefghijklmnopqrstuvwxyz-0123456789_ABCDEF"},
	{"sk-proj-", "abcdefghijklmnopqrstuvwxyz0123456789"},
	{"sk-", "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl"},
	{"sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"},
	{"rk_test_", "4eC39HqLyjWDarjtT1zdp7dc"},
	{"whsec_", "4eC39HqLyjWDarjtT1zdp7dc4eC39Hq"},
	{"AIza", "SyA1234567890abcdefghijklmnopqrstuv"},
	{"ya29.", "a0AfH6SMBxabcdefghijklmnop"},
	{"GOCSPX-", "abcdefghijklmnopqrstuvwxyz12"},
	{"npm_", "abcdefghijklmnopqrstuvwxyz0123456789"},
	{"pypi-AgEI", "cHlwaS5vcmcCJGFiY2RlZmdoLWlqa2wtbW5vcC1xcnN0"},
	{"rubygems_", "0123456789abcdef0123456789abcdef0123456789abcdef"},
	{"dckr_pat_", "abcdefghijklmnopqrstuvwxyz1"},
	{"dop_v1_", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
	{"shpat_", "0123456789abcdef0123456789abcdef"},
	{"SG.", "abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"},
	{"key-", "0123456789abcdef0123456789abcdef"},
	{"SK", "0123456789abcdef0123456789abcdef"},
	{"hf_", "abcdefghijklmnopqrstuvwxyzABCDEFGH"},
	{"AGE-SECRET-KEY-1", "QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQ"},
	{"hvs.", "CAESIabcdefghijklmnopqrstuvwxyz"},
	{"dapi", "0123456789abcdef0123456789abcdef"},
	{"lin_api_", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"},
	{"ntn_", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"},
	{"figd_", "abcdefghijklmnopqrstuvwxyz0123456789"},
	{"PMAK-", "0123456789abcdef01234567-0123456789abcdef0123456789abcdef01"},
	{"sq0atp-", "abcdefghijklmnopqrstuv"},
	{"xkeysib-", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef-abcdefghijklmnop"},
	{"NRAK-", "ABCDEFGHIJKLMNOPQRSTUVWXYZ1"},
	{"glsa_", "abcdefghijklmnopqrstuvwxyzABCDEF_01234567"},
	{"sntrys_", "eyJpYXQiOjE2ODczMzY1NDMuNjk4NTksInVybCI6bnVsbH0"},
	{"pscale_tkn_", "abcdefghijklmnopqrstuvwxyz0123456789"},
	{"pul-", "0123456789abcdef0123456789abcdef01234567"},
	{"dp.pt.", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"},
	{"ATATT3xFfGF0", "abcdefghijklmnopqrstuvwxyz0123456789abcdefgh"},
	{"sbp_", "0123456789abcdef0123456789abcdef01234567"},
	{"gsk_", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"},
	{"tskey-", "auth-kabcdef1CNTRL-abcdefghijklmnop"},
	{"eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"},
	{"AccountKey=", "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ=="},
	{"123456789:", "AAabcdefghijklmnopqrstuvwxyz0123456"},
};

/* In a surrounding, with the part that must vanish. */
static const struct {
	const char *text, *secret;
} phrases[] = {
	{"PGPASSWORD=hunter2hunter psql", "hunter2hunter"},
	{"mysql --password 'tr0ub4dor&3' -u root", "tr0ub4dor"},
	{"curl -H 'Authorization: Bearer abcDEF123456789xyz' https://x", "abcDEF123456789xyz"},
	{"curl -H \"authorization: basic dXNlcjpwYXNzd29yZA==\"", "dXNlcjpwYXNzd29yZA"},
	{"git clone https://bob:s3cr3tpw@git.example.org/r.git", "s3cr3tpw"},
	{"{\"api_key\": \"zzTopSecretValue\"}", "zzTopSecretValue"},
	{"client_secret: qwertyuiopas", "qwertyuiopas"},
	{"export DB_PASSWORD=\"correct horse battery\"", "correct horse battery"},
	{"curl -u me:pa55w0rd-x http://x", "pa55w0rd-x"},
	{"sh -c 'cd /x; /usr/bin/curl -sS --user \"me:pa55 w0rd\" http://x'", "pa55 w0rd"},
	{"mysql -uroot -phunter22 db", "hunter22"},
	{"sshpass -p opensesame ssh me@host", "opensesame"},
	{"echo a | docker login -u me -p dckr1234 registry", "dckr1234"},
	{"redis-cli -h db -a r3d1spw ping", "r3d1spw"},
	{"openssl rsa -in k -passin pass:kk1234", "kk1234"},
	{"mysql --password=tr0ub4dor -e 'select 1'", "tr0ub4dor"},
	{"mysqldump -h db -p'tr0ub 4dor' shop", "tr0ub 4dor"},
	{"docker exec -i db mariadb-dump -uroot -ptr0ub4dor shop", "tr0ub4dor"},
	{"docker run --name mysql -p3306:3306 -d mysql:8 && mysql -ptr0ub4dor", "tr0ub4dor"},
	{"{\"command\":[\"mysql\",\"-ptr0ub4dor\"]}", "tr0ub4dor"},
	{"curl -sSu me:pa55w0rd-x http://x", "pa55w0rd-x"},
	{"curl -fsSLU me:pa55w0rd-x http://x", "pa55w0rd-x"},
	{"curl -H 'Cookie: a=1; b=2' -u me:pa55w0rd-x http://x", "pa55w0rd-x"},
	{"bash -c \"curl -d '{\\\"a\\\": 1} | x' -u me:pa55w0rd-x http://x\"", "pa55w0rd-x"},
	{"curl 'http://x/?a=1&b=(2)' -u me:pa55w0rd-x", "pa55w0rd-x"},
	{"curl http://x/?a=1&b=2 -H accept:text/html;q=1 -u me:pa55w0rd-x", "pa55w0rd-x"},
	{"curl \\\n  -u me:pa55w0rd-x \\\n  http://x", "pa55w0rd-x"},
	{"curl -u \\\n  me:pa55w0rd-x http://x", "pa55w0rd-x"},
	{"curl --cert me.pem:pa55w0rd-x https://x", "pa55w0rd-x"},
	{"sshpass -popensesame scp -P 2222 f me@host:", "opensesame"},
	{"sudo unzip -Popensesame a.zip", "opensesame"},
	{"htpasswd -b -c /etc/htpasswd me opensesame", "opensesame"},
	{"htpasswd -cbB -C 12 .htpasswd me 'open sesame'", "open sesame"},
	{"htpasswd -nbm me opensesame >>f", "opensesame"},
	{"keytool -list -keystore k.jks -storepass opensesame", "opensesame"},
	{"useradd -m -p opensesame me", "opensesame"},
	{"usermod -p '$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/' me",
	 "qFmFH.bQmm"},
	{"usermod -p \"\\$6\\$saltsalt\\$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/\" me",
	 "qFmFH.bQmm"},
	{"root:$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7:19000::", "X3DX6M94c7o"},
	{"echo 'me:$2b$12$GhvMmNVjRW29ulnudl.LbuAnUtN/LRfe1JsBm1Xu6LE3059z5Tr8m'", "GhvMmNVjRW29"},
	{"me:$apr1$rU0uWBnG$tHPKyS1bJAvkBAQq8BqZ80", "tHPKyS1bJAvkBAQq8BqZ80"},
	{"'$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b4dWRWJTmaaJObG'", "RdescudvJCsgt3ub"},
	{"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----", "MIIEow"},
	{"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", "b3BlbnNzaC1rZXk"},
};

static const char *const harmless[] = {
	"git commit -m 'fix tokenizer: handle max_tokens=4096'",
	"make TOKEN_COUNT=3 build",
	"export API_KEY=$SECRET_FROM_VAULT",
	"kubectl get secret db-pass -o yaml",
	"sha256sum dist/app-1.2.3.tar.gz",
	"password_file=/run/secrets/db cat x",
	"docker run -e TOKEN=${TOKEN} image",
	"http://localhost:8080/path?x=1",
	"ls sk-learn key-value SKILL.md",
	"PASSWORD=<your password>",
	"curl -u me http://x",
	"curl -u me:$PASSWORD http://x",
	"docker run -p 8080:80 image",
	"mkdir -p build/output; mysql -p db",
	"sort -u names:first file",
	"curl http://x; sort -u names:first file",
	"curl http://x && sort -u names:first file",
	"curl 'http://x' | sort -u names:first",
	"sh -c 'curl -s http://x'; sort -u names:first",
	"curl -su me http://x",
	"curl -o sum:mary http://x",
	"sh -c 'sshpass -e ssh me@host; mkdir -p build/output'",
	"sshpass -e ssh -p 2222 me@host",
	"docker login registry; docker run -p 8080:8080 image",
	"docker run -p 8080:8080 image login",
	"docker run --name mysql -p3306:3306 mysql:8",
	"cd mysql && patch -p1 <x.diff",
	"mysql -p db <dump.sql",
	"ssh -p 22222 host; redis-cli ping; cp -a redis-cli /usr/local/bin/redis",
	"htpasswd -c .htpasswd someone",
	"htpasswd -nb someone $PASSWORD",
	"rsync -a --delete http-root/ host:/srv/www",
	"awk '{print $1$2$3}' file | sed 's/$6$//' # $1$ $2b$ $y$x$",
	"echo \"$1$2\" $6$7 $y$z",
};

static struct rein_redactor *redactor(void)
{
	struct rein_redactor *r = NULL;
	struct rein_err err = {0};

	assert_int_equal(rein_redactor_new((const uint8_t *)"0123456789abcdef0123456789abcdef", &r, &err),
			 0);
	return r;
}

/* As long as a command line may be: it is redacted before anything runs. */
static void many_secrets_take_no_longer(void **state)
{
	struct rein_redactor *r = redactor();
	auto_buf struct rein_buf text = REIN_BUF(2 << 20), out = REIN_BUF(8 << 20);
	char *words[1], *ret[1];
	struct rein_err err = {0};
	clock_t began = clock();
	unsigned n = 0;

	(void)state;
	for (; text.n < (1 << 20); n++)
		rein_buf_cstr(&text, "password=aaaa ");
	assert_int_equal(rein_redact(r, (struct rein_str){text.p, text.n}, false, &out), n);
	assert_null(memmem(out.p, out.n, "aaaa", 4));
	words[0] = text.p;
	assert_int_equal(rein_redact_words(r, words, 1, ret, &err), 0);
	assert_null(strstr(ret[0], "aaaa"));
	rein_free(ret[0]);
	/* options by themselves, and those of a program */
	for (int i = 0; i < 2; i++) {
		auto_buf struct rein_buf options = REIN_BUF(2 << 20), red = REIN_BUF(8 << 20);

		rein_buf_cstr(&options, i ? "sshpass" : "tar");
		for (n = 0; options.n < (1 << 20); n++)
			rein_buf_cstr(&options, i % 2 ? " -p aaaa $$6$" : " -p -u -a -P");
		assert_int_equal(rein_redact(r, (struct rein_str){options.p, options.n}, false, &red), i ? n : 0);
	}
	if (clock() - began > 10 * CLOCKS_PER_SEC)
		fail_msg("%u secrets took %ld s", n, (long)((clock() - began) / CLOCKS_PER_SEC));
	rein_redactor_free(r);
}

static void known_secrets_vanish(void **state)
{
	struct rein_redactor *r = redactor();
	char text[512];

	(void)state;
	assert_true(rein_secret_formats() >= 40);
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 16);

		snprintf(text, sizeof(text), "run --x %s%s; echo done", secrets[i].a, secrets[i].b);
		if (rein_redact(r, rein_str(text), false, &b) == 0 || strstr(b.p, secrets[i].b))
			fail_msg("not redacted: %s -> %s", text, b.p);
		if (!strstr(b.p, "; echo done"))
			fail_msg("too much redacted: %s -> %s", text, b.p);
	}
	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 16);

		if (rein_redact(r, rein_str(phrases[i].text), false, &b) == 0 ||
		    strstr(b.p, phrases[i].secret))
			fail_msg("not redacted: %s -> %s", phrases[i].text, b.p);
	}
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 16);

		if (rein_redact(r, rein_str(harmless[i]), false, &b) != 0)
			fail_msg("redacted for nothing: %s -> %s", harmless[i], b.p);
	}
	rein_redactor_free(r);
}

static bool match_zebra(void *arg, struct rein_str t, size_t from, size_t *at, size_t *n,
			const char **kind)
{
	const char *p = memmem(t.p + from, t.n - from, "zebra", 5);

	(void)arg;
	if (!p)
		return false;
	*at = (size_t)(p - t.p);
	*n = 5;
	*kind = "animal";
	return true;
}

static void own_patterns_values_and_matchers(void **state)
{
	struct rein_redactor *r = redactor();
	struct rein_err err = {0};
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	char *env[] = {(char *)(uintptr_t) "MY_TOKEN=swordfish-7", (char *)(uintptr_t) "PATH=/usr/bin",
		       (char *)(uintptr_t) "PLAIN=something", NULL};

	(void)state;
	assert_int_equal(rein_redactor_add_env(r, env, &err), 0);
	assert_int_equal(rein_redactor_add_pattern(r, "ticket", "TICKET-([0-9]+)", &err), 0);
	assert_int_equal(rein_redactor_add_pattern(r, "bad", "(", &err), -REIN_E_INVALID);
	rein_redactor_set_matcher(r, match_zebra, NULL);
	assert_int_equal(rein_redact(r, STR("a swordfish-7 b TICKET-123 c zebra d swordfish-7 something"),
				     false, &b), 4);
	assert_null(strstr(b.p, "swordfish"));
	assert_null(strstr(b.p, "123 "));
	assert_null(strstr(b.p, "zebra"));
	assert_non_null(strstr(b.p, "something"));
	assert_non_null(strstr(b.p, "TICKET-[redacted:ticket:"));
	{ /* the same secret has the same mark */
		const char *one = strstr(b.p, "[redacted:env:");
		const char *two = strstr(one + 5, "[redacted:env:");

		assert_non_null(two);
		assert_memory_equal(one, two, strlen("[redacted:env:012345678901]"));
	}
	rein_redactor_free(r);
}

static const char *needle;
static size_t found_in;

static int scan_file(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	auto_close int fd = flag == FTW_F ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	auto_free char *p = fd >= 0 ? rein_alloc((size_t)st->st_size + 1) : NULL;

	(void)f;
	if (p && pread(fd, p, (size_t)st->st_size, 0) == st->st_size &&
	    memmem(p, (size_t)st->st_size, needle, strlen(needle)))
		found_in++;
	return 0;
}

static void no_secret_reaches_the_disk(void **state)
{
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	struct rein_record *r = open_log(4096);
	struct rein_err err = {0};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(secrets) + ARRAY_SIZE(phrases); i++) {
		struct rein_event ev = {.type = REIN_EV_REQUEST};

		if (i < ARRAY_SIZE(secrets))
			snprintf(text, sizeof(text), "run %s%s", secrets[i].a, secrets[i].b);
		else
			snprintf(text, sizeof(text), "%s", phrases[i - ARRAY_SIZE(secrets)].text);
		ev.command = ev.cwd = ev.task = ev.excerpt = ev.reason = ev.detail = rein_str(text);
		ev.agent = ev.session = ev.rule = ev.user = ev.host = rein_str(text);
		ev.effects.path[ev.effects.npath++] = rein_str(text);
		ev.effects.peer[ev.effects.npeer++] = rein_str(text);
		ev.approver[ev.napprover++] = rein_str(text);
		ev.extra[ev.nextra++] = (struct rein_event_pair){STR("output"), rein_str(text)};
		append(r, ev);
	}
	rein_record_close(r);
	assert_int_equal(rein_index_load(&ops, &err), 0);
	assert_int_equal(ops->open(dir, false, &x, &err), 0);
	ops->close(x);
	for (size_t i = 0; i < ARRAY_SIZE(secrets) + ARRAY_SIZE(phrases); i++) {
		needle = i < ARRAY_SIZE(secrets) ? secrets[i].b : phrases[i - ARRAY_SIZE(secrets)].secret;
		nftw(dir, scan_file, 16, FTW_PHYS);
		if (found_in)
			fail_msg("'%s' is in the state directory", needle);
	}
}

static void words_tell_of_each_other(void **state)
{
	struct rein_redactor *r = redactor();
	struct rein_err err = {0};
	char *word[] = {(char *)(uintptr_t) "curl", (char *)(uintptr_t) "-u",
			(char *)(uintptr_t) "me:my pass word", (char *)(uintptr_t) "--password",
			(char *)(uintptr_t) "two words", (char *)(uintptr_t) "", (char *)(uintptr_t) "plain",
			(char *)(uintptr_t) "sh -c 'PGPASSWORD=hunter2hunter psql'"};
	char *out[ARRAY_SIZE(word)];

	(void)state;
	assert_int_equal(rein_redact_words(r, word, ARRAY_SIZE(word), out, &err), 0);
	assert_string_equal(out[0], "curl");
	assert_true(rein_starts(out[2], "me:[redacted:password:"));
	assert_null(strstr(out[2], "pass word"));
	assert_true(rein_starts(out[4], "[redacted:value:"));
	assert_null(strstr(out[4], "words"));
	assert_string_equal(out[5], "");
	assert_string_equal(out[6], "plain");
	assert_true(rein_starts(out[7], "sh -c 'PGPASSWORD=[redacted:value:"));
	assert_non_null(strstr(out[7], "] psql'"));
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		rein_free(out[i]);
	rein_redactor_free(r);
}

static void write_config(const char *text)
{
	auto_free char *path = rein_asprintf("%s/audit/config", dir);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void the_users_patterns_come_from_the_settings(void **state)
{
	struct rein_record *r = open_log(0);
	struct rein_err err = {0};

	(void)state;
	rein_record_close(r);
	write_config("# ours\nredact=badge BADGE-[a-z]{6}\nredact=door open=([a-z]+)\n");
	r = open_log(0);
	append(r, (struct rein_event){.type = REIN_EV_REQUEST, .command = STR("enter BADGE-zygoma open=sesame now")});
	rein_record_close(r);
	needle = "zygoma"; /* no hexadecimal number looks like it */
	nftw(dir, scan_file, 16, FTW_PHYS);
	assert_false(found_in);
	needle = "sesame";
	nftw(dir, scan_file, 16, FTW_PHYS);
	assert_false(found_in);
	needle = "open=[redacted:door:"; /* the rest stays readable */
	nftw(dir, scan_file, 16, FTW_PHYS);
	assert_true(found_in);
	found_in = 0;
	/* A pattern that cannot be understood hides nothing: so nothing is written. */
	write_config("redact=badge BADGE-[a-z\n");
	assert_int_equal(rein_record_open(dir, NULL, &r, &err), -REIN_E_INVALID);
	assert_non_null(strstr(err.msg, "redact=badge"));
	write_config("redact=badge\n");
	assert_int_equal(rein_record_open(dir, NULL, &r, &err), -REIN_E_INVALID);
	{ /* nor may one be behind a byte that ends a text */
		auto_free char *path = rein_asprintf("%s/audit/config", dir);
		auto_close int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

		assert_true(write(fd, "\0\nredact=badge BADGE\n", 22) == 22);
	}
	assert_int_equal(rein_record_open(dir, NULL, &r, &err), -REIN_E_INVALID);
	write_config(""); /* no settings are none */
	assert_int_equal(rein_record_open(dir, NULL, &r, &err), 0);
	rein_record_close(r);
}

/* Every published head goes to the file and to the log socket, and each of them fits afterwards. */
static void heads_are_kept_elsewhere(void **state)
{
	auto_free char *sock = rein_asprintf("%s/log", dir), *path = rein_asprintf("%s/heads", dir), *config =
		rein_asprintf("anchor-path=%s\nanchor-syslog=%s\n", path, sock);
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct rein_record *r = open_log(0);
	struct rein_verify_result res;
	struct rein_err err = {0};
	char got[1024];
	ssize_t n;
	unsigned heads = 0;

	(void)state;
	rein_record_close(r);
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", sock);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	write_config(config);
	r = open_log(0);
	for (int i = 0; i < 3; i++)
		append(r, (struct rein_event){.type = REIN_EV_REQUEST, .command = STR("x")});
	rein_record_close(r);
	while ((n = recv(fd, got, sizeof(got) - 1, 0)) > 0) {
		got[n] = '\0';
		assert_true(rein_starts(got, "<110>rein: head {\"v\":1,\"type\":\"head\","));
		heads++;
	}
	assert_int_equal(heads, 3);
	assert_int_equal(rein_record_verify(dir, &(struct rein_verify_options){.anchor = path}, &res, &err), 0);
	assert_int_equal(res.anchors, 3);
	/* Somebody without a system log goes on all the same. */
	unlink(sock);
	r = open_log(0);
	append(r, (struct rein_event){.type = REIN_EV_REQUEST, .command = STR("x")});
	rein_record_close(r);
	assert_int_equal(rein_record_verify(dir, &(struct rein_verify_options){.anchor = path}, &res, &err), 0);
	assert_int_equal(res.anchors, 4);
}

static void any_bytes_can_be_recorded(void **state)
{
	auto_free char *big = rein_alloc(300000);
	struct rein_record *r = open_log(0);
	struct rein_verify_result res;
	struct rein_event ev = {.type = REIN_EV_RUN_END};

	(void)state;
	for (size_t i = 0; i < 300000; i++)
		big[i] = (char)(i * 31 % 256);
	ev.command = ev.excerpt = (struct rein_str){big, 300000};
	for (size_t i = 0; i < REIN_EVENT_LIST; i++)
		ev.effects.path[ev.effects.npath++] = (struct rein_str){big + i, 9000};
	append(r, ev);
	memset(big, 1, 300000); /* the worst: six bytes a byte */
	append(r, ev);
	rein_record_close(r);
	assert_int_equal(verify(&res), 0);
	assert_int_equal(res.events, 2);
}

/* --- search --------------------------------------------------------------------------------- */

static int count_found(void *arg, uint64_t line, struct rein_str text, const struct rein_event *ev,
		       struct rein_err *err)
{
	(void)line, (void)text, (void)ev, (void)err;
	++*(unsigned *)arg;
	return 0;
}

struct plain {
	const struct rein_filter *f;
	unsigned n;
};

static int count_plain(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct plain *p = arg;
	struct rein_event_read r;
	struct rein_err ignored = {0};

	(void)err;
	if (rein_event_parse(l->text, &r, &ignored) < 0)
		return 0;
	p->n += rein_filter_match(p->f, &r.ev);
	rein_event_read_done(&r);
	return 0;
}

static void fill(struct rein_record *r, unsigned n)
{
	static const char *const commands[] = {"git push origin main", "rm -rf build", "npm test",
					       "git push --force origin main", "cat src/a.c"};
	static const char *const levels[] = {"dangerous", "risky", "safe", "destructive", "safe"};

	for (unsigned i = 0; i < n; i++) {
		char action[16], path[64];
		struct rein_event ev = {.type = REIN_EV_REQUEST, .time_ns = (1700000000ull + i) * 1000000000};

		snprintf(action, sizeof(action), "a%u", i);
		snprintf(path, sizeof(path), "/work/dir%u/file%u.c", i % 7, i);
		ev.action = rein_str(action);
		ev.command = rein_str(commands[i % 5]);
		ev.level = rein_str(levels[i % 5]);
		ev.agent = i % 3 ? STR("one") : STR("two");
		ev.effects.path[ev.effects.npath++] = rein_str(path);
		append(r, ev);
		ev = (struct rein_event){.type = REIN_EV_RUN_END,
					 .action = rein_str(action),
					 .result = i % 4 ? STR("ok") : STR("failed")};
		append(r, ev);
	}
}

static void the_index_finds_what_reading_finds(void **state)
{
	const struct rein_filter filters[] = {
		{0},
		{.agent = "two"},
		{.agent = "nobody"},
		{.level = "destructive", .agent = "one"},
		{.text = "push"},
		{.text = "push force"},
		{.path = "/work/dir3"},
		{.path = "/work/dir3/*.c"},
		{.path = "**/file1*.c"},
		{.since_ns = 1700000030ull * 1000000000, .until_ns = 1700000050ull * 1000000000},
		{.type = "run.end", .result = "failed"},
		{.action = "a17"},
	};
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	struct rein_record *r = open_log(8000);
	struct rein_err err = {0};

	(void)state;
	fill(r, 60);
	if (rein_index_load(&ops, &err) < 0 || ops->open(dir, false, &x, &err) < 0)
		fail_msg("%s", err.msg);
	fill(r, 30); /* the index goes on from where it was */
	assert_int_equal(ops->refresh(x, &err), 0);
	for (int again = 0; again < 2; again++) {
		for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
			struct plain p = {.f = &filters[i]};
			unsigned n = 0;

			assert_int_equal(rein_record_each(r->dirfd, 0, count_plain, &p, &err), 0);
			assert_true(ops->query(x, &filters[i], 100000, 0, count_found, &n, &err) >= 0);
			if (n != p.n)
				fail_msg("filter %zu: index %u, log %u", i, n, p.n);
		}
		ops->close(x);
		if (again == 0) { /* a damaged index is made anew */
			char path[256];

			snprintf(path, sizeof(path), "%s/audit/index.db", dir);
			auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
			assert_true(pwrite(fd, "garbage", 7, 0) == 7);
			assert_int_equal(ops->open(dir, false, &x, &err), 0);
		}
	}
	rein_record_close(r);
}

static void similar_operations_by_what_they_do(void **state)
{
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	struct rein_similar found[5];
	struct rein_record *r = open_log(0);
	struct rein_err err = {0};
	int n;

	(void)state;
	fill(r, 50);
	rein_record_close(r);
	assert_int_equal(rein_index_load(&ops, &err), 0);
	assert_int_equal(ops->open(dir, false, &x, &err), 0);
	n = ops->similar(x, STR("sudo git push upstream release-2"), found, 5, &err);
	assert_true(n == 5);
	for (int i = 0; i < n; i++)
		assert_non_null(strstr(found[i].command, "git push"));
	assert_true(found[0].result[0]); /* its outcome */
	n = ops->similar(x, STR("git push --force origin dev"), found, 5, &err);
	assert_true(n == 5 && strstr(found[0].command, "--force"));
	n = ops->similar(x, STR("emacs"), found, 5, &err);
	assert_int_equal(n, 0);
	ops->close(x);
}

static void shapes_forget_particulars(void **state)
{
	struct rein_shape a, b;

	(void)state;
	rein_shape_of(STR("git push origin feature-1"), &a);
	rein_shape_of(STR("git  push 'origin' feature-2"), &b);
	assert_memory_equal(&a, &b, sizeof(a));
	rein_shape_of(STR("FOO=1 /usr/bin/rm -rf ./build/x.o"), &a);
	rein_shape_of(STR("rm -rf src/y.o"), &b);
	assert_memory_equal(&a, &b, sizeof(a));
	rein_shape_of(STR("rm -rf /etc/x.o"), &b);
	assert_true(memcmp(&a, &b, sizeof(a)) != 0);
}

/* --- exports -------------------------------------------------------------------------------- */

static void exports_are_well_formed(void **state)
{
	static struct rein_jnode node[512];
	struct rein_event ev = {.type = REIN_EV_VIOLATION,
				.time_ns = 1794778440123456789ull,
				.id = STR("0123456789abcdef"),
				.command = STR("=cmd|' /C calc'!A0 \"x\" |y\n]z\\ \x1b[8m \xc2\x9b" "8m \xc3\xa9"),
				.level = STR("destructive"),
				.decision = STR("deny"),
				.detail = STR("a=b|c\nd]\"")};
	const char *names[] = {"jsonl", "csv", "cef", "syslog", "ocsf"};
	struct rein_err err = {0};
	auto_buf struct rein_buf line = REIN_BUF(1 << 16);

	(void)state;
	assert_int_equal(rein_event_format(&ev, &line, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 16);

		rein_export_format(names[i])->event(&b, 7, (struct rein_str){line.p, line.n}, &ev);
		assert_true(b.n > 0 && b.p[b.n - 1] == '\n');
		assert_null(memchr(b.p, '\x1b', b.n)); /* it drives no terminal */
		assert_true(i == 0 || i == 4 || !memmem(b.p, b.n, "\xc2\x9b", 2)); /* JSON is not for people */
		assert_true(i == 3 || memmem(b.p, b.n, "\xc3\xa9", 2)); /* letters stay */
		if (i == 0 || i == 4) {
			assert_int_equal(rein_jread((struct rein_str){b.p, b.n}, node, 512, &err), 0);
		} else if (i == 1) {
			assert_non_null(strstr(b.p, "\"'=cmd")); /* no formula */
		} else {
			assert_ptr_equal(memchr(b.p, '\n', b.n), b.p + b.n - 1); /* one line */
		}
	}
	for (int t = 1; t < REIN_EV__MAX; t++) { /* every type has a class */
		auto_buf struct rein_buf b = REIN_BUF(1 << 16);

		ev.type = (enum rein_event_type)t;
		rein_export_format("ocsf")->event(&b, 7, (struct rein_str){line.p, line.n}, &ev);
		assert_null(strstr(b.p, "\"class_uid\":0"));
	}
	assert_null(rein_export_format("xml"));
}

/* --- upkeep --------------------------------------------------------------------------------- */

static void pruning_keeps_the_proof(void **state)
{
	struct rein_record *r = open_log(2500);
	struct rein_verify_result res;
	struct rein_prune_result pr;
	struct rein_err err = {0};
	auto_buf struct rein_buf proof = REIN_BUF(1 << 16);
	struct rein_hash root;
	uint64_t before;
	char path[256];

	(void)state;
	fill(r, 12);
	assert_int_equal(verify(&res), 0);
	before = res.lines;
	assert_int_equal(rein_record_prune(r, &(struct rein_prune_options){.keep_segments = 2}, &pr,
					   &err), 0);
	assert_true(pr.segments > 3);
	assert_int_equal(verify(&res), 0);
	assert_int_equal(res.first, pr.first_line);
	assert_true(res.head.n >= before); /* nothing was renumbered */
	memcpy(root.b, res.head.root, 32);
	append(r, (struct rein_event){.type = REIN_EV_ADMIN, .id = STR("abcdefgh12345678")});
	assert_int_equal(rein_proof_write(dir, "abcdefgh12345678", NULL, &proof, &err), 0);
	assert_int_equal(rein_proof_check((struct rein_str){proof.p, proof.n}, NULL, &err), 0);
	proof.p[40]++;
	assert_true(rein_proof_check((struct rein_str){proof.p, proof.n}, NULL, &err) < 0);
	/* One more file gone without a word: seen. */
	rein_record_close(r);
	auto_free uint64_t *seg = NULL;
	size_t n;
	auto_close int fd = rein_record_dir(dir, false, &err);
	assert_int_equal(rein_segments(fd, &seg, &n, &err), 0);
	snprintf(path, sizeof(path), "%s/audit/%08llu.log", dir, (unsigned long long)seg[0]);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(verify(&res), -REIN_E_INVALID);
}

/* Numbers of the whole record, and whether it is whole. */
static bool counted(enum rein_count_trust trust, const struct rein_filter *f, struct rein_stats *s)
{
	struct rein_verify_result v;
	struct rein_err broken = {0}, err = {0};

	memset(s, 0, sizeof(*s));
	if (rein_record_count(dir, trust, f, s, &v, &broken, &err) < 0)
		fail_msg("count: %s", err.msg);
	return !broken.code;
}

/* All that a report or a gauge is made of. */
static void same_counts(struct rein_stats *a, struct rein_stats *b)
{
	assert_int_equal(a->ndays, b->ndays);
	assert_memory_equal(a->day, b->day, a->ndays * sizeof(*a->day));
	rein_stats_done(&(struct rein_stats){.map = a->map, .day = a->day});
	rein_stats_done(&(struct rein_stats){.map = b->map, .day = b->day});
	a->map = b->map = NULL;
	a->day = b->day = NULL;
	a->day_cap = b->day_cap = 0;
	assert_memory_equal(a, b, sizeof(*a));
}

static void fill_much(struct rein_record *r, unsigned n)
{
	static struct rein_event ev[1000];
	static char id[1000][16];
	struct rein_err err = {0};

	for (unsigned k = 0; k < n; k++) {
		for (unsigned i = 0; i < 1000; i++) {
			static const enum rein_event_type types[] = {REIN_EV_REQUEST, REIN_EV_DECISION, REIN_EV_RUN_END,
								     REIN_EV_COMMIT};

			snprintf(id[i], sizeof(id[i]), "a%06u%02u", (k * 1000 + i) / 3, k % 7);
			ev[i] = (struct rein_event){.type = types[i % 4], .action = rein_str(id[i]),
						    .agent = i % 5 ? STR("claude") : STR("codex"), .level = STR("risky"),
						    .decision = i % 9 ? STR("allow") : STR("deny"), .result = STR("ok"),
						    .duration_ns = i * 1000000ull, .command = STR("make test")};
		}
		assert_int_equal(rein_record_append_batch(r, ev, 1000, true, &err), 0);
	}
}

static void flip(const char *name, off_t at)
{
	char path[200], c = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/audit/%s", dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && pread(fd, &c, 1, at) == 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void what_was_counted_need_not_be_counted_again(void **state)
{
	static struct rein_stats once, again;
	struct rein_record *r = open_log(2 << 20);
	struct rein_prune_options some = {.keep_segments = 2};
	struct rein_prune_result pr;
	struct rein_err err = {0};
	char kept[200];

	(void)state;
	snprintf(kept, sizeof(kept), "%s/audit/counted", dir);
	fill_much(r, 21);
	assert_true(counted(REIN_COUNT_ALL, NULL, &once));
	assert_int_equal(access(kept, F_OK), 0);
	assert_true(counted(REIN_COUNT_ALL, NULL, &again));
	same_counts(&once, &again);
	fill_much(r, 2);
	assert_true(counted(REIN_COUNT_SINCE, NULL, &once)); /* from what is kept, and 2,000 events */
	assert_true(counted(REIN_COUNT_ALL, NULL, &again));
	assert_int_equal(again.events, 23000);
	same_counts(&once, &again);
	flip("counted", 5000); /* not ours any more: everything anew */
	assert_true(counted(REIN_COUNT_SINCE, NULL, &once));
	assert_int_equal(unlink(kept), 0);
	assert_true(counted(REIN_COUNT_ALL, NULL, &again));
	same_counts(&once, &again);
	assert_true(counted(REIN_COUNT_ALL, &(struct rein_filter){.agent = "codex"}, &once));
	assert_int_equal(once.events, 4600);
	rein_stats_done(&once);
	assert_true(counted(REIN_COUNT_ALL, &(struct rein_filter){.until_ns = 1}, &once));
	assert_int_equal(once.events, 0);
	rein_stats_done(&once);
	assert_true(counted(REIN_COUNT_ALL, &(struct rein_filter){.since_ns = 1}, &once));
	assert_int_equal(once.events, 23000);
	rein_stats_done(&once);
	/* lines that were counted, changed: a statement says so, whatever is kept */
	flip("00000001.log", 3000);
	assert_false(counted(REIN_COUNT_ALL, NULL, &once));
	rein_stats_done(&once);
	flip("00000001.log", 3000);
	/* pruned lines do not count, and nothing of them is kept */
	assert_int_equal(rein_record_prune(r, &some, &pr, &err), 0);
	assert_int_equal(access(kept, F_OK), -1);
	assert_true(counted(REIN_COUNT_SINCE, NULL, &once));
	assert_true(once.events < 23000);
	rein_stats_done(&once);
	rein_record_close(r);
}

static void holds_stop_pruning(void **state)
{
	struct rein_prune_options all = {.keep_segments = 1};
	struct rein_record *r = open_log(2500);
	struct rein_prune_result pr;
	struct rein_verify_result res;
	struct rein_err err = {0};
	char id[17];

	(void)state;
	fill(r, 8);
	assert_int_equal(rein_record_hold(r, 0, 0, "case 17", &err), 0);
	memcpy(id, rein_record_last_id(r), 17);
	fill(r, 8);
	assert_int_equal(rein_record_prune(r, &all, &pr, &err), 0);
	assert_int_equal(pr.segments, 0);
	assert_int_equal(pr.held, 1);
	assert_int_equal(rein_record_release(r, "nosuchhold", "x", &err), -REIN_E_NOTFOUND);
	assert_int_equal(rein_record_release(r, id, "case closed", &err), 0);
	assert_int_equal(rein_record_prune(r, &all, &pr, &err), 0);
	assert_true(pr.segments > 0);
	rein_record_close(r);
	assert_int_equal(verify(&res), 0);
}

static void an_archive_verifies_elsewhere(void **state)
{
	struct rein_verify_options opt = {.archive = true, .all_events = true};
	struct rein_record *r = open_log(2500);
	struct rein_verify_result res;
	struct rein_err err = {0};
	char dest[256], path[300];

	(void)state;
	fill(r, 10);
	snprintf(dest, sizeof(dest), "%s/copy", dir);
	assert_int_equal(rein_record_archive(r, dest, 0, 0, &err), 0);
	fill(r, 3); /* the log goes on, the archive does not change */
	rein_record_close(r);
	assert_int_equal(rein_record_verify(dest, &opt, &res, &err), 0);
	assert_int_equal(res.events, 20);
	assert_int_equal(res.tail, 0);
	snprintf(path, sizeof(path), "%s/00000002.log", dest);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(rein_record_verify(dest, &opt, &res, &err), -REIN_E_INVALID);
}

static void a_loss_is_accepted_in_writing(void **state)
{
	struct rein_record *r = open_log(0), *other = open_log(0);
	struct rein_verify_result res;
	struct rein_event ev = {.type = REIN_EV_REQUEST};
	struct rein_err err = {0};
	char path[256];

	(void)state;
	fill(r, 5);
	append(other, ev);
	rein_record_close(r);
	assert_int_equal(rein_record_accept_loss(dir, "why not", &err), -REIN_E_STATE);
	snprintf(path, sizeof(path), "%s/audit/00000001.log", dir);
	assert_int_equal(truncate(path, 1000), 0);
	assert_int_equal(verify(&res), -REIN_E_INVALID);
	assert_int_equal(rein_record_accept_loss(dir, "disk died", &err), 0);
	assert_int_equal(verify(&res), 0);
	assert_true(res.loss_accepted);
	/* A process that still had the old one open does not write into the past. */
	assert_int_equal(rein_record_append(other, &ev, true, &err), -REIN_E_STATE);
	rein_record_close(other);
}

/* A full disk, at every length of the file: the event is refused, the log stays whole. */
static void a_full_disk_refuses_and_loses_nothing(void **state)
{
	struct rein_verify_result res;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct rein_record *r = NULL;
		struct rein_err err = {0};
		struct rein_event ev = {.type = REIN_EV_REQUEST, .command = STR("ls")};
		struct stat st;
		unsigned good = 0;

		signal(SIGXFSZ, SIG_IGN);
		if (rein_record_open(dir, NULL, &r, &err) < 0)
			_exit(1);
		for (; good < 60; good++) /* longer than the other files of the log */
			if (rein_record_append(r, &ev, true, &err) < 0)
				_exit(1);
		for (unsigned i = 0; i < 900; i++) {
			struct rlimit lim = {.rlim_max = RLIM_INFINITY};

			fstat(r->seg_fd, &st);
			lim.rlim_cur = (rlim_t)st.st_size + i;
			setrlimit(RLIMIT_FSIZE, &lim);
			if (rein_record_append(r, &ev, true, &err) == 0)
				good++;
			lim.rlim_cur = RLIM_INFINITY;
			setrlimit(RLIMIT_FSIZE, &lim);
			if (i % 50 == 0 && rein_record_sync(r, &err) < 0)
				_exit(2);
		}
		if (rein_record_sync(r, &err) < 0 || rein_record_verify(dir, NULL, &res, &err) < 0) {
			fprintf(stderr, "%s\n", err.msg);
			_exit(3);
		}
		rein_record_close(r);
		_exit(res.events >= good && good > 100 ? 0 : 4);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- alerts --------------------------------------------------------------------------------- */

static char fired[16][32];
static unsigned nfired;

static int on_alert(void *arg, const struct rein_alert *a, struct rein_err *err)
{
	if (arg && nfired == 1) { /* delivery fails half-way */
		return rein_err_set(err, REIN_E_FAILED, "no connection");
	}
	if (nfired < 16)
		snprintf(fired[nfired++], 32, "%s", a->rule->name);
	return 0;
}

static const struct rein_alert_rule rules[] = {
	{.name = "rate", .kind = REIN_ALERT_RATE, .match = {.type = "violation"},
	 .field = REIN_ALERT_BY_AGENT, .count = 3, .window_ns = 10 * REIN_NS_PER_S,
	 .cooldown_ns = 100 * REIN_NS_PER_S},
	{.name = "first", .kind = REIN_ALERT_FIRST, .match = {.type = "request"},
	 .field = REIN_ALERT_BY_PROGRAM},
	{.name = "many", .kind = REIN_ALERT_THRESHOLD, .match = {.type = "commit"},
	 .field = REIN_ALERT_OF_DELETED, .count = 100},
	{.name = "sequence", .kind = REIN_ALERT_SEQUENCE, .match = {.text = "secret"},
	 .then = {.type = "network"}, .window_ns = 5 * REIN_NS_PER_S},
};

static void at(struct rein_record *r, unsigned s, struct rein_event ev)
{
	ev.time_ns = (1700000000ull + s) * REIN_NS_PER_S;
	append(r, ev);
}

static void alerts_fire_once_and_never_get_lost(void **state)
{
	struct rein_record *r = open_log(0);
	struct rein_event viol = {.type = REIN_EV_VIOLATION, .agent = STR("x")};
	struct rein_event read = {.type = REIN_EV_VIOLATION, .agent = STR("y"), .session = STR("s"),
				  .detail = STR("read a secret")};
	struct rein_event net = {.type = REIN_EV_NETWORK, .agent = STR("y"), .session = STR("s")};
	struct rein_err err = {0};

	(void)state;
	nfired = 0;
	at(r, 0, viol);
	at(r, 20, viol);
	at(r, 21, viol);
	at(r, 22, viol); /* three within ten seconds */
	at(r, 23, viol); /* silent: cooling down */
	at(r, 30, read);
	at(r, 60, net); /* too late */
	at(r, 70, read);
	at(r, 72, net); /* in time */
	at(r, 80, (struct rein_event){.type = REIN_EV_COMMIT, .effects.deleted = 100});
	at(r, 81, (struct rein_event){.type = REIN_EV_REQUEST, .command = STR("rm x")});
	at(r, 82, (struct rein_event){.type = REIN_EV_REQUEST, .command = STR("rm y")});
	rein_record_close(r);
	/* The second delivery fails: it and what follows come again next time. */
	assert_int_equal(rein_alerts_run(dir, rules, ARRAY_SIZE(rules), 0, on_alert, &err, &err),
			 -REIN_E_FAILED);
	assert_int_equal(nfired, 1);
	/* who takes nothing moves nothing on */
	assert_int_equal(rein_alerts_run(dir, rules, ARRAY_SIZE(rules), 1 << 20, NULL, NULL, &err), -REIN_E_BUSY);
	assert_int_equal(rein_alerts_run(dir, rules, ARRAY_SIZE(rules), 0, on_alert, NULL, &err), 3);
	assert_string_equal(fired[0], "rate");
	assert_string_equal(fired[1], "sequence");
	assert_string_equal(fired[2], "many");
	assert_string_equal(fired[3], "first");
	assert_int_equal(rein_alerts_run(dir, rules, ARRAY_SIZE(rules), 0, on_alert, NULL, &err), 0);
}

static void json_reader_is_strict(void **state)
{
	static const char *const bad[] = {
		"", "{", "[1,]", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "01", "1.", "\"\\ud800\"", "\"\x01\"",
		"nul", "[1 2]", "{\"a\" 1}", "\"\xff\"", "1 2", "{\"\\u0061\":1}", "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
	};
	static const char *const good[] = {"0", "-1.5e3", "\"\\ud83d\\ude00\"", " [ ] ", "{\"a\":[{}]}"};
	struct rein_jnode node[32];
	struct rein_err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (rein_jread(rein_str(bad[i]), node, 32, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (rein_jread(rein_str(good[i]), node, 32, &err) < 0)
			fail_msg("refused: %s: %s", good[i], err.msg);
}

/* Two rules may come to have one memory, by names that were chosen for it. */
static void a_memory_of_another_rule(void **state)
{
	static const struct rein_alert_rule rule[] = {{.name = "r", .kind = REIN_ALERT_RATE, .field = REIN_ALERT_BY_AGENT,
						       .count = 64, .window_ns = REIN_NS_PER_S}};
	struct rein_event ev = {.type = REIN_EV_REQUEST, .time_ns = REIN_NS_PER_S, .agent = STR("a")};
	struct rein_alerts *a = NULL;
	struct rein_err err = {0};
	size_t i = 0;

	(void)state;
	assert_int_equal(rein_alerts_new(rule, 1, &a, &err), 0);
	assert_int_equal(rein_alerts_feed(a, 0, &ev, NULL, NULL, &err), 0);
	while (!a->m[i].hash)
		i++;
	rein_free(a->m[i].time);
	a->m[i].time = rein_calloc(1, sizeof(*a->m[i].time));
	a->m[i].ntime = 1;
	a->m[i].at = 0;
	for (unsigned n = 0; n < 63; n++)
		assert_int_equal(rein_alerts_feed(a, 1 + n, &ev, NULL, NULL, &err), 0);
	assert_int_equal(a->m[i].ntime, 64);
	assert_int_equal(rein_alerts_feed(a, 64, &ev, NULL, NULL, &err), 1);
	rein_alerts_free(a);
}

/* Who appends what concerns no rule does not look; so nothing that a rule wants may be passed over. */
static void events_that_concern_rules(void **state)
{
	static const struct rein_alert_rule four[] = {
		{.name = "rate", .kind = REIN_ALERT_RATE, .match = {.type = "decision", .decision = "deny"}, .count = 2, .window_ns = 1},
		{.name = "first", .kind = REIN_ALERT_FIRST, .match = {.type = "request"}, .field = REIN_ALERT_BY_AGENT},
		{.name = "many", .kind = REIN_ALERT_THRESHOLD, .match = {.type = "commit"}, .field = REIN_ALERT_OF_DELETED, .count = 10},
		{.name = "then", .kind = REIN_ALERT_SEQUENCE, .match = {.type = "violation", .text = "x"}, .then = {.type = "network"}, .window_ns = 1},
	};
	static const struct rein_alert_rule text = {.name = "text", .kind = REIN_ALERT_RATE, .match = {.text = "never"}, .count = 1, .window_ns = 1};
	static const struct {
		struct rein_event ev;
		bool concerns;
	} rows[] = {
		{{.type = REIN_EV_DECISION, .decision = STR("allow")}, false},
		{{.type = REIN_EV_DECISION, .decision = STR("deny")}, true},
		{{.type = REIN_EV_REQUEST}, false},
		{{.type = REIN_EV_REQUEST, .agent = STR("a")}, true},
		{{.type = REIN_EV_COMMIT, .effects = {.deleted = 9}}, false},
		{{.type = REIN_EV_COMMIT, .effects = {.deleted = 10}}, true},
		{{.type = REIN_EV_VIOLATION}, true}, /* its text may be another one on the record */
		{{.type = REIN_EV_NETWORK}, true},
		{{.type = REIN_EV_RUN_END}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rein_alerts_concern(four, ARRAY_SIZE(four), &rows[i].ev) != rows[i].concerns)
			fail_msg("row %zu", i);
		assert_true(rein_alerts_concern(&text, 1, &rows[i].ev));
		assert_false(rein_alerts_concern(NULL, 0, &rows[i].ev));
	}
}

int main(void)
{
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, new_dir, drop_dir)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_reader_is_strict),
		cmocka_unit_test(events_that_concern_rules),
		cmocka_unit_test(known_secrets_vanish),
		cmocka_unit_test(many_secrets_take_no_longer),
		cmocka_unit_test(own_patterns_values_and_matchers),
		cmocka_unit_test(words_tell_of_each_other),
		IN_DIR(no_secret_reaches_the_disk),
		IN_DIR(the_users_patterns_come_from_the_settings),
		IN_DIR(heads_are_kept_elsewhere),
		IN_DIR(any_bytes_can_be_recorded),
		IN_DIR(the_index_finds_what_reading_finds),
		IN_DIR(similar_operations_by_what_they_do),
		cmocka_unit_test(shapes_forget_particulars),
		cmocka_unit_test(exports_are_well_formed),
		IN_DIR(pruning_keeps_the_proof),
		IN_DIR(what_was_counted_need_not_be_counted_again),
		IN_DIR(holds_stop_pruning),
		IN_DIR(an_archive_verifies_elsewhere),
		IN_DIR(a_loss_is_accepted_in_writing),
		IN_DIR(a_full_disk_refuses_and_loses_nothing),
		IN_DIR(alerts_fire_once_and_never_get_lost),
		cmocka_unit_test(a_memory_of_another_rule),
	};

	return cmocka_run_group_tests_name("record_use", tests, NULL, NULL);
}
