/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/env: what passes, what is held back, and the env file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>

#include "base/auto.h"
#include "sandbox/env.h"

static void secrets_are_told_from_lookalikes(void **state)
{
	static const struct {
		const char *name, *value;
		bool secret;
	} cases[] = {
		{"GITHUB_TOKEN", "x", true},
		{"npm_config_//registry/:_authToken", "x", true},
		{"ANTHROPIC_API_KEY", "x", true},
		{"OPENAI_APIKEY", "x", true},
		{"AWS_ACCESS_KEY_ID", "x", true},
		{"AWS_SESSION_TOKEN", "x", true},
		{"aws_secret_access_key", "x", true},
		{"PGPASSWORD", "x", true},
		{"MYSQL_PWD", "x", true},
		{"DB_PASS", "x", true},
		{"STRIPE_KEY", "x", true},
		{"SECRET_KEY_BASE", "x", true},
		{"GITHUB_PAT", "x", true},
		{"REDISCLI_AUTH", "x", true},
		{"GOOGLE_APPLICATION_CREDENTIALS", "/x", true},
		{"SSH_AUTH_SOCK", "/tmp/x", true},
		{"DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/x", true},
		{"XAUTHORITY", "/x", true},
		{"DATABASE_URL", "postgres://me:pw@db/x", true},
		{"http_proxy", "http://me:pw@proxy:3128", true},
		{"SENTRY_DSN", "https://abc@sentry.example/1", true},
		{"PG_DSN", "host=db password=pw", true},
		{"TOKENIZER_API_KEY", "x", true},
		{"MAX_TOKENS_SECRET", "x", true},
		{"TOKEN_LIMIT_TOKEN", "x", true},
		{"AWS_SDK_SECRET_KEY", "x", true},
		{"AZURE_STORAGE_CONNECTION_STRING", "x", true},
		{"NOTES", "ghp_0123456789abcdefghij", true},
		{"DEPLOY", "-----BEGIN OPENSSH PRIVATE KEY-----", true},
		{"SOMETHING", "AKIA0123456789ABCDEF", true},

		{"PATH", "/usr/bin", false},
		{"PWD", "/x", false},
		{"OLDPWD", "/x", false},
		{"KEYBOARD", "de", false},
		{"KEYMAP", "de", false},
		{"SSH_KEY_PATH", "/x", false},
		{"PGPASSFILE", "/x", false},
		{"PASSWORD_FILE", "/x", false},
		{"SSH_ASKPASS", "/usr/bin/x", false},
		{"GIT_ASKPASS", "/usr/bin/x", false},
		{"TOKENIZERS_PARALLELISM", "false", false},
		{"MAX_TOKENS", "100", false},
		{"OPENAI_MAX_TOKENS", "100", false},
		{"NO_TOKENIZE", "1", false},
		{"AWS_SDK_LOAD_CONFIG", "1", false},
		{"AWS_ENDPOINT_URL_S3", "http://s3", false},
		{"GPG_PUBLIC_KEY", "x", false},
		{"AWS_REGION", "eu-central-1", false},
		{"AWS_PROFILE", "dev", false},
		{"DATABASE_URL", "postgres://db/x", false},
		{"DATABASE_URL", "sqlite:///x@y:z", false},
		{"HOMEPAGE_URL", "https://example.org/@me:x", false},
		{"http_proxy", "http://proxy:3128", false},
		{"COMPASS", "x", false},
		{"LD_PRELOAD", "/x.so", false},
		{"MONKEY", "x", false},
		{"ASIA", "x", false},
		{"LANG", "C.UTF-8", false},
		{"PATTERN", "x", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (rein_env_is_secret(rein_str(cases[i].name), cases[i].value) != cases[i].secret)
			fail_msg("%s=%s should %sbe secret", cases[i].name, cases[i].value,
				 cases[i].secret ? "" : "not ");
}

static const char *get(const struct rein_env *e, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < e->envp.n; i++)
		if (strncmp(e->envp.v[i], name, n) == 0 && e->envp.v[i][n] == '=')
			return e->envp.v[i] + n + 1;
	return NULL;
}

static char *lit(const char *s)
{
	return (char *)(uintptr_t)s;
}

static void options_speak_last(void **state)
{
	char path[] = "/tmp/rein-env-XXXXXX";
	char *environ_[] = {lit("A=1"),	     lit("API_TOKEN=t"), lit("DEPLOY_KEY=k"),
			    lit("PWD=/old"), lit("junk"),	 NULL};
	char *set[] = {lit("DEPLOY_KEY"), lit("B=from env"), lit("C="), lit("ABSENT"), NULL};
	char *defaults[] = {lit("A=9"), lit("XDG_CACHE_HOME=/tmp/.cache"), NULL};
	char *files[] = {path, NULL};
	struct rein_env_opts o = {.environ = environ_,
				  .set = set,
				  .files = files,
				  .defaults = defaults,
				  .cwd = "/new"};
	struct rein_env e = {0};
	struct rein_err err = {0};
	int fd = mkostemp(path, O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "A=2\nB=file\nF_TOKEN=given\n", 25), 25);
	close(fd);
	assert_int_equal(rein_env_make(&o, &e, &err), 0);
	assert_string_equal(get(&e, "A"), "2");
	assert_string_equal(get(&e, "B"), "from env");
	assert_string_equal(get(&e, "C"), "");
	assert_string_equal(get(&e, "F_TOKEN"), "given");
	assert_string_equal(get(&e, "DEPLOY_KEY"), "k");
	assert_string_equal(get(&e, "PWD"), "/new");
	assert_string_equal(get(&e, "XDG_CACHE_HOME"), "/tmp/.cache");
	assert_null(get(&e, "API_TOKEN"));
	assert_null(get(&e, "ABSENT"));
	assert_int_equal(e.dropped.n, 1);
	assert_string_equal(e.dropped.v[0], "API_TOKEN");
	rein_env_done(&e);

	for (unsigned n = 1;; n++) { /* every allocation may fail, and nothing leaks */
		int rc;

		rein_fault_alloc(n);
		rc = rein_env_make(&o, &e, &err);
		rein_fault_alloc(0);
		if (rc == 0)
			break;
		assert_int_equal(err.code, REIN_E_NOMEM);
	}
	rein_env_done(&e);
	unlink(path);

	assert_int_equal(rein_env_make(&o, &e, &err), -REIN_E_IO);
	assert_non_null(strstr(err.msg, path));
	set[0] = lit("=x");
	o.files = NULL;
	assert_int_equal(rein_env_make(&o, &e, &err), -REIN_E_USAGE);
}

/* Programs differ in which of two they take: the shell has the last, getenv(3) the first. */
static void what_is_set_is_there_once(void **state)
{
	char *environ_[] = {lit("A=1"), lit("B=1"), lit("A=2"), lit("AB=3"), lit("A=4"), NULL};
	char *set[] = {lit("A=new"), NULL};
	struct rein_env_opts o = {.environ = environ_, .set = set};
	struct rein_env e = {0};
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_env_make(&o, &e, &err), 0);
	assert_int_equal(e.envp.n, 3);
	assert_string_equal(get(&e, "A"), "new");
	assert_string_equal(get(&e, "B"), "1");
	assert_string_equal(get(&e, "AB"), "3");
	assert_null(e.envp.v[3]);
	rein_env_done(&e);
}

static void env_files_are_read(void **state)
{
	static const char text[] = "# comment\n"
				   "\n"
				   "  export A=1\r\n"
				   "B = 2\n";
	static const char good[] = "A=one two  # not this\n"
				   "B='single $x \\n # in'  # comment\n"
				   "C=\"tab\\there \\\"q\\\" \\\\ \\$d \\z\"\n"
				   "D=a#b\n"
				   "E=\n"
				   "F.g-h=http://x/?a=b\n"
				   "export\tG=1";
	static const char *const want[] = {"A=one two",
					   "B=single $x \\n # in",
					   "C=tab\there \"q\" \\ $d \\z",
					   "D=a#b",
					   "E=",
					   "F.g-h=http://x/?a=b",
					   "G=1"};
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"A='x\n'", "line 1: the quote"}, {"\nA=\"x\" y", "line 2: there is text"},
		{"A", "line 1: expected"},	  {"9A=1", "line 1: expected"},
		{"A=1\n=2", "line 2: expected"},
	};
	auto_strlist struct rein_strlist l = {0};
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_env_parse_file(rein_str(text), "f", &l, &err), -REIN_E_INVALID);
	assert_string_equal(err.msg, "env file 'f', line 4: expected NAME=VALUE");
	assert_int_equal(l.n, 1);
	assert_string_equal(l.v[0], "A=1");
	rein_strlist_done(&l);
	assert_int_equal(rein_env_parse_file(rein_str(good), "f", &l, &err), 0);
	assert_int_equal(l.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < l.n; i++)
		assert_string_equal(l.v[i], want[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(rein_env_parse_file(rein_str(bad[i].text), "f", &l, &err),
				 -REIN_E_INVALID);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("'%s' says '%s'", bad[i].text, err.msg);
	}
	assert_int_equal(rein_env_parse_file((struct rein_str){"A=\0b", 4}, "f", &l, &err),
			 -REIN_E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_told_from_lookalikes),
		cmocka_unit_test(options_speak_last),
		cmocka_unit_test(what_is_set_is_there_once),
		cmocka_unit_test(env_files_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
