/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables reach the command. What counts as a secret is data, in the tables below. */
#include "sandbox/env.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"

#define ENV_FILE_MAX (1u << 20)
#define NAME_MAX_LEN 256

enum where {
	WHOLE,
	AT_START,
	AT_END,
	ANYWHERE,
};

/* A word and where in a name it stands. Every variable is asked about every word at each run. */
struct word {
	enum where where;
	struct rein_str text;
};

#define WORD(s)                                                                                    \
	{                                                                                          \
		"" s, sizeof(s) - 1                                                                \
	}

/* Held back by name, compared in capitals. */
static const struct word secret_names[] = {
	{ANYWHERE, WORD("TOKEN")},
	{ANYWHERE, WORD("SECRET")},
	{ANYWHERE, WORD("PASSWORD")},
	{ANYWHERE, WORD("PASSWD")},
	{ANYWHERE, WORD("PASSPHRASE")},
	{ANYWHERE, WORD("CREDENTIAL")},
	{ANYWHERE, WORD("APIKEY")},
	{ANYWHERE, WORD("API_KEY")},
	{ANYWHERE, WORD("ACCESS_KEY")},
	{ANYWHERE, WORD("ACCESSKEY")},
	{ANYWHERE, WORD("PRIVATE_KEY")},
	{ANYWHERE, WORD("PRIVATEKEY")},
	{ANYWHERE, WORD("CONNECTION_STRING")},
	{AT_END, WORD("_KEY")},
	{AT_END, WORD("_PASS")},
	{AT_END, WORD("_PWD")},
	{AT_END, WORD("_PAT")},
	{AT_END, WORD("_AUTH")},
	{AT_END, WORD("_COOKIE")},
	{WHOLE, WORD("KEY")},
	{AT_START, WORD("AWS_")},
	/* doors to agents and desktops outside the box */
	{WHOLE, WORD("SSH_AUTH_SOCK")},
	{WHOLE, WORD("SSH_AGENT_PID")},
	{WHOLE, WORD("GPG_AGENT_INFO")},
	{AT_START, WORD("GNOME_KEYRING_")},
	{WHOLE, WORD("DBUS_SESSION_BUS_ADDRESS")},
	{WHOLE, WORD("DBUS_SYSTEM_BUS_ADDRESS")},
	{WHOLE, WORD("XAUTHORITY")},
	{WHOLE, WORD("ICEAUTHORITY")},
	{WHOLE, WORD("KRB5CCNAME")},
};

/* Look-alikes that say nothing secret. A *_FILE or *_PATH only says where something lies. */
static const struct word harmless_names[] = {
	{AT_END, WORD("_FILE")},
	{AT_END, WORD("_PATH")},
	{AT_END, WORD("_DIR")},
	{AT_END, WORD("_PUBLIC_KEY")},
	{WHOLE, WORD("AWS_REGION")},
	{WHOLE, WORD("AWS_DEFAULT_REGION")},
	{WHOLE, WORD("AWS_DEFAULT_OUTPUT")},
	{WHOLE, WORD("AWS_PROFILE")},
	{WHOLE, WORD("AWS_PAGER")},
	{WHOLE, WORD("AWS_CA_BUNDLE")},
	{WHOLE, WORD("AWS_RETRY_MODE")},
	{WHOLE, WORD("AWS_MAX_ATTEMPTS")},
	{WHOLE, WORD("AWS_EXECUTION_ENV")},
};

/* Words that only look like one: what else the name says counts (TOKENIZER_API_KEY). */
static const struct word harmless_words[] = {
	{ANYWHERE, WORD("TOKENIZER")},
	{AT_END, WORD("TOKENIZE")},
	{ANYWHERE, WORD("MAX_TOKENS")},
	{ANYWHERE, WORD("TOKEN_LIMIT")},
	{AT_START, WORD("AWS_ENDPOINT_URL")},
	{AT_START, WORD("AWS_SDK_")},
};

/* Values that are a secret whatever the variable is called. */
static const struct {
	const char *prefix;
	size_t min;
} secret_values[] = {
	{"-----BEGIN ", 0}, {"AKIA", 20},     {"ASIA", 20},	{"ghp_", 20},
	{"gho_", 20},	    {"ghs_", 20},     {"ghu_", 20},	{"github_pat_", 20},
	{"glpat-", 20},	    {"sk-ant-", 20},  {"sk-proj-", 20}, {"sk_live_", 20},
	{"rk_live_", 20},   {"xoxb-", 20},    {"xoxp-", 20},	{"xoxa-", 20},
	{"npm_", 40},	    {"pypi-AgE", 20}, {"hvs.", 20},	{"AGE-SECRET-KEY-", 20},
	{"dop_v1_", 20},    {"AIzaSy", 39},
};

/* Variables that name a database or service and may carry its password. */
static const struct word address_names[] = {{AT_END, WORD("_DSN")},
					    {AT_END, WORD("_URL")},
					    {AT_END, WORD("_URI")},
					    {ANYWHERE, WORD("CONN")}};

static bool stands(const struct word *w, const char *name, size_t n)
{
	size_t len = w->text.n;

	if (n < len || (w->where == WHOLE && n != len))
		return false;
	if (w->where == ANYWHERE)
		return memmem(name, n, w->text.p, len) != NULL;
	return memcmp(w->where == AT_END ? name + n - len : name, w->text.p, len) == 0;
}

static bool any(const struct word *v, size_t count, const char *name, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (stands(&v[i], name, n))
			return true;
	return false;
}

/* Strike the harmless words out of a name in capitals. */
static void strike(char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(harmless_words); i++)
		while (stands(&harmless_words[i], name, n))
			memset(memmem(name, n, harmless_words[i].text.p, harmless_words[i].text.n), '.',
			       harmless_words[i].text.n);
}

/* scheme://user:password@host somewhere in the value */
static bool has_userinfo(const char *value, bool user_alone)
{
	for (const char *p = strstr(value, "://"); p; p = strstr(p, "://")) {
		size_t n;

		p += 3;
		n = strcspn(p, "/?# \t\n");
		if (memchr(p, '@', n) && (user_alone || memchr(p, ':', n)))
			return true;
	}
	return false;
}

static bool has_password_word(const char *value)
{
	return strcasestr(value, "password=") || strcasestr(value, "pwd=") ||
	       strcasestr(value, "passwd=");
}

bool rein_env_is_secret(struct rein_str name, const char *value)
{
	char upper[NAME_MAX_LEN];
	size_t n = strlen(value);

	if (name.n >= sizeof(upper))
		return true; /* nobody names a harmless thing like that */
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		upper[i] = c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
	}
	for (size_t i = 0; i < ARRAY_SIZE(secret_values); i++)
		if (*value == *secret_values[i].prefix && n >= secret_values[i].min &&
		    rein_starts(value, secret_values[i].prefix))
			return true;
	if (has_userinfo(value, stands(&address_names[0], upper, name.n)))
		return true;
	if (any(address_names, ARRAY_SIZE(address_names), upper, name.n) &&
	    has_password_word(value))
		return true;
	if (any(harmless_names, ARRAY_SIZE(harmless_names), upper, name.n))
		return false;
	strike(upper, name.n);
	return any(secret_names, ARRAY_SIZE(secret_names), upper, name.n);
}

static bool name_char(char c, bool first)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
	       (!first && ((c >= '0' && c <= '9') || c == '.' || c == '-'));
}

static size_t name_length(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && name_char(p[i], i == 0))
		i++;
	return i;
}

struct line {
	const char *p, *end;
	const char *why; /* set when the line is wrong */
};

static void skip_blanks(struct line *l)
{
	while (l->p < l->end && (*l->p == ' ' || *l->p == '\t'))
		l->p++;
}

static void quoted_value(struct line *l, struct rein_buf *b)
{
	static const char from[] = "ntr\"\\$", to[] = "\n\t\r\"\\$";
	char quote = *l->p++;

	for (; l->p < l->end && *l->p != quote; l->p++) {
		const char *escape = quote == '"' && *l->p == '\\' && l->p + 1 < l->end && l->p[1]
					     ? strchr(from, l->p[1])
					     : NULL;

		if (escape)
			l->p++;
		rein_buf_char(b, escape ? to[escape - from] : *l->p);
	}
	if (l->p == l->end) {
		l->why = "the quote is not closed on this line";
		return;
	}
	l->p++;
	skip_blanks(l);
	if (l->p < l->end && *l->p != '#')
		l->why = "there is text after the closing quote";
}

static void plain_value(struct line *l, struct rein_buf *b)
{
	const char *start = l->p, *end = l->end;

	for (const char *p = start; p < end; p++)
		if (*p == '#' && (p == start || p[-1] == ' ' || p[-1] == '\t'))
			end = p;
	while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	rein_buf_add(b, start, (size_t)(end - start));
}

/* One line into b as NAME=VALUE; b stays empty for a blank or a comment. */
static void parse_line(struct line *l, struct rein_buf *b)
{
	size_t n;

	skip_blanks(l);
	if (l->p == l->end || *l->p == '#')
		return;
	if (l->end - l->p > 7 && memcmp(l->p, "export", 6) == 0 &&
	    (l->p[6] == ' ' || l->p[6] == '\t')) {
		l->p += 7;
		skip_blanks(l);
	}
	n = name_length(l->p, (size_t)(l->end - l->p));
	if (n == 0 || l->p + n == l->end || l->p[n] != '=') {
		l->why = "expected NAME=VALUE";
		return;
	}
	if (memchr(l->p, '\0', (size_t)(l->end - l->p))) {
		l->why = "there is a NUL byte in it";
		return;
	}
	rein_buf_add(b, l->p, n + 1);
	l->p += n + 1;
	if (l->p < l->end && (*l->p == '"' || *l->p == '\''))
		quoted_value(l, b);
	else
		plain_value(l, b);
}

int rein_env_parse_file(struct rein_str text, const char *where, struct rein_strlist *ret,
			struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(ENV_FILE_MAX);
	const char *p = text.p, *end = text.p + text.n;

	for (unsigned number = 1; p < end; number++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		struct line l = {.p = p, .end = newline ? newline : end};

		p = newline ? newline + 1 : end;
		if (l.end > l.p && l.end[-1] == '\r')
			l.end--;
		rein_buf_clear(&b);
		parse_line(&l, &b);
		if (l.why)
			return rein_err_set(err, REIN_E_INVALID, "env file '%s', line %u: %s",
					    where, number, l.why);
		if (b.failed)
			return rein_err_nomem(err);
		if (b.n && rein_strlist_take(ret, rein_strndup(b.p, b.n)) < 0)
			return rein_err_nomem(err);
	}
	return 0;
}

static int read_file(const char *path, struct rein_strlist *ret, struct rein_err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	auto_buf struct rein_buf b = REIN_BUF(ENV_FILE_MAX);
	char chunk[4096];
	ssize_t n;

	if (fd < 0)
		return rein_err_errno(err, "env file '%s'", path);
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rein_err_errno(err, "env file '%s'", path);
		rein_buf_add(&b, chunk, (size_t)n);
		if (b.failed && b.n + (size_t)n <= ENV_FILE_MAX)
			return rein_err_nomem(err);
		if (b.failed)
			return rein_err_set(err, REIN_E_LIMIT, "env file '%s' is over %u MiB", path,
					    ENV_FILE_MAX >> 20);
	}
	return b.n ? rein_env_parse_file((struct rein_str){b.p, b.n}, path, ret, err) : 0;
}

static size_t name_of(const char *var)
{
	return strcspn(var, "=");
}

static bool same_name(const char *var, const char *name, size_t n)
{
	return strncmp(var, name, n) == 0 && (var[n] == '=' || var[n] == '\0');
}

/* Index of the variable, or l->n. */
static size_t find(const struct rein_strlist *l, const char *name, size_t n)
{
	size_t i = 0;

	while (i < l->n && !same_name(l->v[i], name, n))
		i++;
	return i;
}

/* An environment may have a name twice, and who reads it chooses as he likes: what is put is there once. */
static int put(struct rein_strlist *l, const char *var)
{
	size_t n = name_of(var), i = find(l, var, n), kept = i + 1;
	char *copy;

	if (i == l->n)
		return rein_strlist_add(l, var);
	copy = rein_strdup(var);
	if (!copy)
		return -1;
	rein_free(l->v[i]);
	l->v[i] = copy;
	for (size_t k = kept; k < l->n; k++) {
		if (same_name(l->v[k], var, n))
			rein_free(l->v[k]);
		else
			l->v[kept++] = l->v[k];
	}
	l->n = kept;
	l->v[kept] = NULL;
	return 0;
}

static bool forced(const struct rein_env_opts *opts, const char *var)
{
	for (size_t i = 0; opts->set && opts->set[i]; i++)
		if (!strchr(opts->set[i], '=') &&
		    same_name(var, opts->set[i], strlen(opts->set[i])))
			return true;
	return false;
}

static bool is_without(const struct rein_env_opts *opts, const char *var, size_t n)
{
	for (size_t i = 0; opts->without && opts->without[i]; i++)
		if (strlen(opts->without[i]) == n && memcmp(var, opts->without[i], n) == 0)
			return true;
	return false;
}

static int pass_environ(const struct rein_env_opts *opts, struct rein_env *e)
{
	for (size_t i = 0; opts->environ && opts->environ[i]; i++) {
		const char *var = opts->environ[i];
		size_t n = name_of(var);
		bool secret;

		if (var[n] != '=')
			continue;
		if (is_without(opts, var, n))
			continue;
		secret = rein_env_is_secret((struct rein_str){var, n}, var + n + 1);
		if (secret && !forced(opts, var)) {
			if (rein_strlist_take(&e->dropped, rein_strndup(var, n)) < 0)
				return -1;
		} else if (rein_strlist_add(&e->envp, var) < 0) {
			return -1;
		}
	}
	return 0;
}

static int apply_set(const struct rein_env_opts *opts, struct rein_env *e, struct rein_err *err)
{
	for (size_t i = 0; opts->set && opts->set[i]; i++) {
		const char *var = opts->set[i];
		size_t n = name_of(var);

		if (n == 0)
			return rein_err_set(err, REIN_E_USAGE,
					    "--env '%s': expected NAME or NAME=VALUE", var);
		if (var[n] == '=' && put(&e->envp, var) < 0)
			return rein_err_nomem(err);
	}
	return 0;
}

static int apply_rest(const struct rein_env_opts *opts, struct rein_env *e, struct rein_err *err)
{
	for (size_t i = 0; opts->defaults && opts->defaults[i]; i++) {
		const char *var = opts->defaults[i];

		if (find(&e->envp, var, name_of(var)) == e->envp.n &&
		    rein_strlist_add(&e->envp, var) < 0)
			return rein_err_nomem(err);
	}
	if (opts->cwd) {
		auto_free char *pwd = rein_asprintf("PWD=%s", opts->cwd);

		if (!pwd || put(&e->envp, pwd) < 0)
			return rein_err_nomem(err);
	}
	return 0;
}

void rein_env_done(struct rein_env *e)
{
	rein_strlist_done(&e->envp);
	rein_strlist_done(&e->dropped);
}

int rein_env_make(const struct rein_env_opts *opts, struct rein_env *ret, struct rein_err *err)
{
	auto_(rein_env_done) struct rein_env e = {0};
	auto_strlist struct rein_strlist from_files = {0};

	if (pass_environ(opts, &e) < 0)
		return rein_err_nomem(err);
	for (size_t i = 0; opts->files && opts->files[i]; i++)
		if (read_file(opts->files[i], &from_files, err) < 0)
			return -err->code;
	for (size_t i = 0; i < from_files.n; i++)
		if (put(&e.envp, from_files.v[i]) < 0)
			return rein_err_nomem(err);
	for (size_t i = 0; opts->over && opts->over[i]; i++)
		if (put(&e.envp, opts->over[i]) < 0)
			return rein_err_nomem(err);
	if (apply_set(opts, &e, err) < 0 || apply_rest(opts, &e, err) < 0)
		return -err->code;
	if (!e.envp.v) { /* an empty environment is still a terminated list */
		e.envp.v = rein_calloc(1, sizeof(char *));
		if (!e.envp.v)
			return rein_err_nomem(err);
	}
	*ret = e;
	e = (struct rein_env){0};
	return 0;
}
