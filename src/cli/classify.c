/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein classify [--kind KIND] [--json] [--batch] [--cwd DIR] [--workspace DIR] [--home DIR]
 *               [--knowledge FILE] [TEXT]
 *
 * Says how bad an action could be and where its effects go, with the bytes that say so underlined.
 * --batch reads one action a line (escapes \\ \n \t \r) and prints one JSON object a line.
 */
#include "cli/classify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/json.h"
#include "model/action.h"
#include "model/verdict.h"

struct options {
	const char *kind, *text, *cwd, *workspace, *home, *method, *op, *knowledge, *dialect;
	bool json, batch;
};

static const char usage_text[] =
	"usage: rein classify [--kind command|sql|http|file|custom] [--json] [--batch]\n"
	"                     [--method M] [--op OP] [--dialect D] [--cwd DIR] [--workspace DIR]\n"
	"                     [--home DIR] [--knowledge FILE] [TEXT]\n";

static int usage(const char *what)
{
	fprintf(stderr, "rein: %s\n%s", what, usage_text);
	return rein_code_exit(REIN_E_USAGE);
}

static int parse(int argc, char **argv, struct options *o)
{
	struct {
		const char *name;
		const char **value;
	} with[] = {
		{"--kind", &o->kind},	  {"--cwd", &o->cwd},	{"--workspace", &o->workspace},
		{"--home", &o->home},	  {"--method", &o->method}, {"--op", &o->op},
		{"--dialect", &o->dialect}, {"--knowledge", &o->knowledge},
	};

	for (int i = 1; i < argc; i++) {
		bool found = false;

		if (rein_streq(argv[i], "--json")) {
			o->json = true;
			continue;
		}
		if (rein_streq(argv[i], "--batch")) {
			o->batch = true;
			continue;
		}
		if (rein_streq(argv[i], "--")) {
			if (i + 1 < argc)
				o->text = argv[i + 1];
			break;
		}
		for (size_t k = 0; k < ARRAY_SIZE(with) && !found; k++) {
			size_t n = strlen(with[k].name);

			if (rein_streq(argv[i], with[k].name) && i + 1 < argc) {
				*with[k].value = argv[++i];
				found = true;
			} else if (rein_starts(argv[i], with[k].name) && argv[i][n] == '=') {
				*with[k].value = argv[i] + n + 1;
				found = true;
			}
		}
		if (found)
			continue;
		if (argv[i][0] == '-' && argv[i][1] == '-')
			return usage("unknown option");
		if (o->text)
			return usage("one text at a time; quote it");
		o->text = argv[i];
	}
	return 0;
}

/* "METHOD URL" for http, "OP PATH" for file when the method or operation is not an option. */
static bool first_word(char *text, const char **word, char **rest)
{
	char *sp = strchr(text, ' ');

	if (!sp)
		return false;
	*sp = '\0';
	*word = text;
	*rest = sp + 1;
	return true;
}

static enum rein_file_op file_op(const char *s)
{
	static const char *const names[] = {"", "read", "write", "append", "delete", "chmod", "list"};

	for (size_t i = 1; i < ARRAY_SIZE(names); i++)
		if (rein_streq(s, names[i]))
			return (enum rein_file_op)i;
	return 0;
}

static int make_action(const struct options *o, char *text, size_t n, struct rein_action *a)
{
	const char *kind = o->kind ? o->kind : "command", *word = NULL;

	*a = (struct rein_action){.cwd = o->cwd, .workspace = o->workspace, .home = o->home};
	a->text = text;
	a->text_n = n;
	a->dialect = o->dialect;
	if (rein_streq(kind, "command")) {
		a->kind = REIN_ACTION_COMMAND;
	} else if (rein_streq(kind, "sql")) {
		a->kind = REIN_ACTION_SQL;
	} else if (rein_streq(kind, "http")) {
		a->kind = REIN_ACTION_HTTP;
		a->method = o->method ? o->method : "GET";
		if (!o->method && first_word(text, &word, &text))
			a->method = word;
		a->url = text;
	} else if (rein_streq(kind, "file")) {
		a->kind = REIN_ACTION_FILE;
		word = o->op ? o->op : "read";
		if (!o->op)
			first_word(text, &word, &text);
		a->op = file_op(word);
		a->path = text;
	} else if (rein_streq(kind, "custom")) {
		a->kind = REIN_ACTION_CUSTOM;
		a->name = text;
	} else {
		return usage("unknown kind: command, sql, http, file or custom");
	}
	return 0;
}

static void put_json(struct rein_buf *b, const struct rein_verdict *v)
{
	struct rein_json j = {.b = b};

	rein_json_open(&j, '{');
	rein_json_kstr(&j, "level", rein_level_name(v->level));
	rein_json_kstr(&j, "reach", rein_reach_name(v->reach));
	rein_json_kbool(&j, "complete", v->complete);
	rein_json_key(&j, "reasons");
	rein_json_open(&j, '[');
	for (size_t i = 0; i < v->n_facts; i++) {
		const struct rein_fact *f = &v->facts[i];

		rein_json_open(&j, '{');
		rein_json_kstr(&j, "kind", rein_verdict_kind(v, i));
		rein_json_kstr(&j, "level", rein_level_name(f->level));
		rein_json_kstr(&j, "reach", rein_reach_name(f->reach));
		if (f->target)
			rein_json_kstr(&j, "target", f->target);
		if (f->program)
			rein_json_kstr(&j, "program", f->program);
		rein_json_kstr(&j, "reason", f->reason);
		rein_json_ku64(&j, "start", f->start);
		rein_json_ku64(&j, "end", f->end);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_buf_char(b, '\n');
}

/* The line of text that holds the range, and carets under it. */
static void underline(struct rein_buf *b, const char *text, size_t n, size_t start, size_t end)
{
	size_t from = start < n ? start : n, to;

	while (from && text[from - 1] != '\n')
		from--;
	for (to = from; to < n && text[to] != '\n'; to++)
		;
	if (end > to)
		end = to;
	if (start >= end || to - from > 400)
		return;
	rein_buf_cstr(b, "    ");
	rein_buf_escaped(b, (struct rein_str){text + from, to - from});
	rein_buf_cstr(b, "\n    ");
	for (size_t i = from; i < end; i++)
		if ((text[i] & 0xc0) != 0x80)
			rein_buf_char(b, i < start ? ' ' : '^');
	rein_buf_char(b, '\n');
}

static void put_text(struct rein_buf *b, const struct rein_verdict *v, const struct rein_action *a)
{
	rein_buf_printf(b, "%s, %s%s\n", rein_level_name(v->level), rein_reach_name(v->reach),
			v->complete ? "" : ", not understood in full");
	for (int level = REIN_LEVEL_DESTRUCTIVE; level > REIN_LEVEL_SAFE; level--)
		for (size_t i = 0; i < v->n_facts; i++) {
			const struct rein_fact *f = &v->facts[i];

			if ((int)f->level != level)
				continue;
			rein_buf_printf(b, "  %s: %s", rein_level_name(level), f->reason);
			if (f->target) {
				rein_buf_cstr(b, " (");
				rein_buf_escaped(b, rein_str(f->target));
				rein_buf_cstr(b, ")");
			}
			rein_buf_char(b, '\n');
			if (a->kind == REIN_ACTION_COMMAND || a->kind == REIN_ACTION_SQL)
				underline(b, a->text, a->text_n, f->start, f->end);
		}
}

static int flush(struct rein_buf *b)
{
	size_t done = 0;

	while (done < b->n) {
		ssize_t n = write(STDOUT_FILENO, b->p + done, b->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	rein_buf_clear(b);
	return 0;
}

static int one(struct rein_classifier *c, const struct options *o, char *text, size_t n,
	       struct rein_buf *out)
{
	struct rein_err err = {0};
	struct rein_action a;
	const struct rein_verdict *v;
	int rc = make_action(o, text, n, &a);

	if (rc)
		return rc;
	v = rein_classify(c, &a, &err);
	if (!v) {
		fprintf(stderr, "rein: %s\n", err.msg);
		return rein_code_exit(err.code);
	}
	if (o->json || o->batch)
		put_json(out, v);
	else
		put_text(out, v, &a);
	return 0;
}

/* \\ \n \t \r, in place */
static size_t unescape(char *s, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		char ch = s[i];

		if (ch == '\\' && i + 1 < n && strchr("\\ntr", s[i + 1])) {
			ch = s[++i];
			ch = (char)(ch == 'n' ? '\n' : ch == 't' ? '\t' : ch == 'r' ? '\r' : '\\');
		}
		s[to++] = ch;
	}
	s[to] = '\0';
	return to;
}

static int batch(struct rein_classifier *c, const struct options *o, struct rein_buf *out)
{
	auto_free char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		size_t len = (size_t)n;
		int rc;

		if (line[len - 1] == '\n')
			len--;
		rc = one(c, o, line, unescape(line, len), out);
		if (rc)
			return rc;
		if (out->n > (1 << 16) && flush(out) < 0)
			return 125;
	}
	return flush(out) < 0 ? 125 : 0;
}

static int learn(struct rein_classifier *c, const char *path)
{
	auto_buf struct rein_buf text = REIN_BUF((size_t)8 << 20);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct rein_err err = {0};
	char chunk[4096];
	ssize_t n;

	if (fd < 0) {
		fprintf(stderr, "rein: cannot open '%s': %s\n", path, strerror(errno));
		return 125;
	}
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		rein_buf_add(&text, chunk, (size_t)n);
	if (n < 0 || text.failed) {
		fprintf(stderr, "rein: cannot read '%s'\n", path);
		return 125;
	}
	if (rein_classifier_learn(c, path, text.p ? text.p : "", text.n, &err) < 0) {
		fprintf(stderr, "rein: %s\n", err.msg);
		return rein_code_exit(err.code);
	}
	return 0;
}

int rein_cli_classify(int argc, char **argv)
{
	auto_buf struct rein_buf out = REIN_BUF((size_t)64 << 20);
	struct rein_classifier *c = NULL;
	struct options o = {0};
	struct rein_err err = {0};
	int rc;

	if (argc > 1 && (rein_streq(argv[1], "--help") || rein_streq(argv[1], "-h"))) {
		fputs(usage_text, stdout);
		return 0;
	}
	rc = parse(argc, argv, &o);
	if (rc)
		return rc;
	if (!o.text && !o.batch)
		return usage("nothing to classify: give a text, or --batch");
	if (rein_classifier_new(&c, &err) < 0) {
		fprintf(stderr, "rein: %s\n", err.msg);
		return rein_code_exit(err.code);
	}
	if (o.knowledge)
		rc = learn(c, o.knowledge);
	if (!rc && o.batch) {
		rc = batch(c, &o, &out);
	} else if (!rc) {
		auto_free char *copy = rein_strdup(o.text);

		rc = copy ? one(c, &o, copy, strlen(copy), &out) : 125;
		if (!rc && flush(&out) < 0)
			rc = 125;
	}
	rein_classifier_free(c);
	return rc;
}
