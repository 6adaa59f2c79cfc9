/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of a command by a plain split into words: enough to find similar past operations, not
 * enough to judge one (that is the classifier's). Kinds: p program, s program and subcommand, f with
 * an option, d top directory of a path, x kind of file, u host, o operator.
 */
#include "record/shape.h"

#include "base/auto.h"

struct words {
	struct rein_str t;
	size_t at;
	char word[256];
	bool op; /* the word is an operator: ; & | < > */
};

static bool next_word(struct words *w)
{
	size_t n = 0;
	char quote = 0;

	while (w->at < w->t.n && strchr(" \t\n", w->t.p[w->at]) && w->t.p[w->at])
		w->at++;
	if (w->at >= w->t.n)
		return false;
	w->op = strchr(";&|<>()", w->t.p[w->at]) && w->t.p[w->at];
	for (; w->at < w->t.n; w->at++) {
		char c = w->t.p[w->at];
		bool op = c && strchr(";&|<>()", c);

		if (!quote && ((c && strchr(" \t\n", c)) || op != w->op))
			break;
		if (!op && !quote && (c == '"' || c == '\'')) {
			quote = c;
			continue;
		}
		if (quote && c == quote) {
			quote = 0;
			continue;
		}
		if (n < sizeof(w->word) - 1 && c)
			w->word[n++] = c;
	}
	w->word[n] = '\0';
	return true;
}

/* Keeps the features sorted and without duplicates. */
static void feature(struct rein_shape *s, char kind, const char *a, const char *b, const char *c)
{
	char f[200] = "";
	unsigned i;

	snprintf(f, sizeof(f), "%c:%.60s%s%.60s%s%.60s", kind, a, *b ? " " : "", b, *c ? " " : "", c);
	f[sizeof(s->feature[0]) - 1] = '\0';
	for (i = 0; i < s->n; i++) {
		int d = strcmp(f, s->feature[i]);

		if (d == 0)
			return;
		if (d < 0)
			break;
	}
	if (s->n == REIN_SHAPE_FEATURES)
		return;
	memmove(s->feature[i + 1], s->feature[i], (s->n - i) * sizeof(s->feature[0]));
	memcpy(s->feature[i], f, sizeof(s->feature[0]));
	s->n++;
}

static bool wraps(const char *program)
{
	static const char *const names[] = {"sudo", "doas", "env",  "nice",  "time",  "nohup",
					    "exec", "command", "timeout", "xargs", "stdbuf"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (rein_streq(names[i], program))
			return true;
	return false;
}

static bool has_subcommands(const char *program)
{
	static const char *const names[] = {
		"git",	 "docker", "podman",  "kubectl", "npm",	  "yarn",   "pnpm",  "cargo", "pip",
		"pip3",	 "apt",	   "apt-get", "dnf",	 "yum",	  "brew",   "systemctl", "terraform",
		"aws",	 "gcloud", "az",      "helm",	 "go",	  "gh",	    "make",  "rein",  "flyctl",
		"vercel", "netlify", "supabase", "psql", "redis-cli", "uv", "poetry", "conda", "nix"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (rein_streq(names[i], program))
			return true;
	return false;
}

static void path_features(struct rein_shape *s, const char *w)
{
	const char *dot = strrchr(w, '.'), *slash = strrchr(w, '/');
	char top[32];

	if (*w == '/')
		snprintf(top, sizeof(top), "/%.*s", (int)strcspn(w + 1, "/"), w + 1);
	else if (*w == '~')
		snprintf(top, sizeof(top), "~");
	else
		snprintf(top, sizeof(top), "%s", rein_starts(w, "..") ? ".." : ".");
	feature(s, 'd', top, "", "");
	if (dot && dot > (slash ? slash : w) && strlen(dot) < 9)
		feature(s, 'x', dot, "", "");
	if (strpbrk(w, "*?["))
		feature(s, 'x', "*", "", "");
}

static void argument(struct rein_shape *s, const char *program, const char *sub, const char *w)
{
	const char *host = strstr(w, "://");
	char name[64];

	if (*w == '-' && w[1]) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(w, "="), w);
		feature(s, 'f', program, sub, name);
	} else if (host) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(host + 3, "/:?"), host + 3);
		feature(s, 'u', name, "", "");
	} else if (strchr(w, '/') || strchr(w, '.') || *w == '~') {
		path_features(s, w);
	}
}

void rein_shape_of(struct rein_str command, struct rein_shape *ret)
{
	struct words w = {.t = command};
	char program[64] = "", sub[64] = "";
	bool expect = true; /* the next word is a program */

	memset(ret, 0, sizeof(*ret));
	while (next_word(&w)) {
		if (w.op) {
			expect = !strpbrk(w.word, "<>");
			if (w.word[0] == '|' || w.word[0] == '>')
				feature(ret, 'o', w.word, "", "");
			continue;
		}
		if (expect && strchr(w.word, '=') && !strchr(w.word, '/'))
			continue; /* NAME=value before the program */
		if (expect && *w.word == '-')
			continue; /* option of a wrapper */
		if (expect) {
			snprintf(program, sizeof(program), "%.63s", rein_basename(w.word));
			sub[0] = '\0';
			expect = wraps(program);
			feature(ret, 'p', program, "", "");
			continue;
		}
		if (!sub[0] && *w.word != '-' && has_subcommands(program)) {
			snprintf(sub, sizeof(sub), "%.63s", w.word);
			feature(ret, 's', program, sub, "");
			continue;
		}
		argument(ret, program, sub, w.word);
	}
}

double rein_shape_weight(const char *f)
{
	static const struct {
		char kind;
		double weight;
	} w[] = {{'s', 5}, {'p', 3}, {'u', 3}, {'f', 2}, {'d', 1.5}, {'o', 1}, {'x', 1}};

	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		if (w[i].kind == f[0])
			return w[i].weight;
	return 1;
}
