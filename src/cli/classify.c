/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein classify: how bad an action could be, where its effects go, and what the policy in force here
 * decides, with the bytes that say so underlined. --batch reads one action a line (escapes
 * \\ \n \t \r) and prints one JSON object a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "cli/judge.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "engine/knowload.h"

#define TEXT_BYTES ((size_t)16 << 20)

struct options {
	struct rein_circumstances who;
	const char *cwd, *workspace, *home, *method, *knowledge, *dialect, *content;
	int op; /* enum rein_file_op */
	bool batch;
};

#define OPT(m) offsetof(struct options, m)

const struct rein_opt rein_classify_opts[] = {
	REIN_JUDGE_OPTS(struct options, who),
	{"batch", 0, REIN_OPT_FLAG, OPT(batch), NULL, "one action a line in, one JSON object a line out", 0},
	{"method", 0, REIN_OPT_STRING, OPT(method), "METHOD", "of an http request", 0},
	{"op", 0, REIN_OPT_CHOICE, OPT(op), "read|write|append|delete|chmod|list", "on a file", 0},
	{"content", 0, REIN_OPT_STRING, OPT(content), "FILE", "what would be written to the file", 0},
	{"dialect", 0, REIN_OPT_STRING, OPT(dialect), "DIALECT", "of sql: postgres, mysql, sqlite ...", 0},
	{"cwd", 0, REIN_OPT_STRING, OPT(cwd), "DIR", "where relative paths begin", 0},
	{"workspace", 0, REIN_OPT_STRING, OPT(workspace), "DIR", "what counts as the workspace", 0},
	{"home", 0, REIN_OPT_STRING, OPT(home), "DIR", "what counts as the home directory", 0},
	{"knowledge", 0, REIN_OPT_STRING, OPT(knowledge), "FILE", "what is known of programs, besides what is built in", 0},
	{0},
};

struct session {
	struct options o;
	struct rein_common common;
	struct rein_judge judge;
	struct rein_buf content;
};

static void session_done(struct session *s)
{
	rein_strlist_done(&s->o.who.policy);
	rein_judge_done(&s->judge);
	rein_buf_done(&s->content);
}

/* An option that only one kind of action has says which it is. */
static int settle_kind(struct options *o, struct rein_err *err)
{
	const struct {
		const char *option, *kind;
		bool given;
	} rows[] = {{"op", "file", o->op != 0},
		    {"content", "file", o->content != NULL},
		    {"method", "http", o->method != NULL},
		    {"dialect", "sql", o->dialect != NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int kind = 1;

		while (!rein_streq(rein_kind_name(kind), rows[i].kind))
			kind++;
		if (rows[i].given && o->who.kind && o->who.kind != kind)
			return rein_err_set(err, REIN_E_USAGE, "--%s is for --kind %s, not %s", rows[i].option, rows[i].kind,
					    rein_kind_name(o->who.kind));
		if (rows[i].given)
			o->who.kind = kind;
	}
	return 0;
}

/* "METHOD URL" for http, "OPERATION PATH" for file when no option says it. */
static int make_action(const struct session *s, const char *text, size_t n, struct rein_action *a,
		       struct rein_err *err)
{
	const struct options *o = &s->o;
	const char *kind = rein_kind_name(o->who.kind);

	if (strlen(text) != n && kind && !rein_streq(kind, "command") && !rein_streq(kind, "sql"))
		return rein_err_set(err, REIN_E_INVALID, "a zero byte in the text of a %s action", kind);
	rein_policy_action(kind, text, a);
	a->text_n = n;
	a->cwd = o->cwd;
	a->workspace = o->workspace ? o->workspace : o->cwd;
	a->home = o->home;
	a->dialect = o->dialect;
	if (a->kind == REIN_ACTION_HTTP && o->method) {
		a->method = o->method;
		a->url = text;
	}
	if (a->kind == REIN_ACTION_FILE && o->op) {
		a->op = (enum rein_file_op)o->op;
		a->path = text;
	}
	if (a->kind == REIN_ACTION_FILE && o->content) {
		a->content = s->content.p ? s->content.p : "";
		a->content_n = s->content.n;
	}
	return 0;
}

static void put_json(struct rein_buf *b, const struct rein_verdict *v, const struct rein_decision *d)
{
	struct rein_json j = {.b = b};

	rein_json_open(&j, '{');
	rein_json_kstr(&j, "level", rein_level_name(v->level));
	rein_json_kstr(&j, "reach", rein_reach_name(v->reach));
	rein_json_kbool(&j, "complete", v->complete);
	rein_json_kstr(&j, "decision", rein_decide_name(d->decide));
	rein_json_kstr(&j, "tier", rein_tier_name(d->tier));
	rein_json_kstr(&j, "rule", d->rule);
	rein_json_kstr(&j, "layer", rein_layer_name(d->layer));
	rein_json_kstr(&j, "reason", d->reason);
	rein_json_kstr(&j, "instead", d->instead);
	rein_json_kbool(&j, "advisory", d->advisory);
	if (d->would) {
		rein_json_kstr(&j, "would", rein_decide_name(d->would_decide));
		rein_json_kstr(&j, "would_rule", d->would_rule);
	}
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

static void put_decision(struct rein_buf *b, const struct rein_decision *d)
{
	rein_buf_printf(b, "%s, rule %s", rein_decide_name(d->decide), d->rule);
	if (!d->by_default)
		rein_buf_printf(b, " (%s): %s", rein_layer_name(d->layer), d->reason);
	rein_buf_char(b, '\n');
	if (d->instead)
		rein_buf_printf(b, "  instead: %s\n", d->instead);
	if (d->would)
		rein_buf_printf(b, "  on trial: %s would %s\n", d->would_rule, rein_decide_name(d->would_decide));
	if (d->advisory)
		rein_buf_cstr(b, "  advisory: recorded, not enforced\n");
}

static void put_text(struct rein_buf *b, const struct rein_verdict *v, const struct rein_decision *d,
		     const struct rein_action *a)
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
	put_decision(b, d);
}

static int flush(struct rein_buf *b, struct rein_err *err)
{
	size_t done = 0;

	if (b->failed)
		return rein_err_nomem(err);
	while (done < b->n) {
		ssize_t n = write(STDOUT_FILENO, b->p + done, b->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return rein_err_errno(err, "standard output cannot be written");
		done += (size_t)n;
	}
	rein_buf_clear(b);
	return 0;
}

static int one(struct session *s, const char *text, size_t n, struct rein_buf *out, struct rein_err *err)
{
	const struct rein_verdict *v;
	struct rein_decision d;
	struct rein_action a;
	int rc = make_action(s, text, n, &a, err);

	if (rc == 0)
		rc = rein_judge(&s->judge, &a, &v, &d, err);
	if (rc < 0)
		return rc;
	if (s->common.json || s->o.batch)
		put_json(out, v, &d);
	else
		put_text(out, v, &d, &a);
	return 0;
}

static int batch(struct session *s, struct rein_buf *out, struct rein_err *err)
{
	auto_free char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = getline(&line, &cap, stdin)) > 0) {
		size_t len = (size_t)n - (line[n - 1] == '\n');

		line[len] = '\0';
		rc = one(s, line, rein_unescape(line, len), out, err);
		if (rc == 0 && out->n > (1 << 16))
			rc = flush(out, err);
	}
	return rc;
}

static int read_all(int fd, const char *what, struct rein_buf *b, struct rein_err *err)
{
	char chunk[16384];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		rein_buf_add(b, chunk, (size_t)n);
	if (n < 0)
		return rein_err_errno(err, "cannot read %s", what);
	return b->failed ? rein_err_set(err, REIN_E_LIMIT, "%s is too large", what) : 0;
}

static int read_file(const char *path, struct rein_buf *b, struct rein_err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? rein_err_errno(err, "cannot open '%s'", path) : read_all(fd, path, b, err);
}

static int learn(struct session *s, struct rein_err *err)
{
	int rc = rein_knowledge_open(&s->judge.classifier, err);

	return rc < 0 ? rc : rein_knowledge_add(s->judge.classifier, s->o.knowledge, err);
}

static int single(struct session *s, const char *text, struct rein_buf *out, struct rein_err *err)
{
	auto_buf struct rein_buf in = REIN_BUF(TEXT_BYTES);

	if (text)
		return one(s, text, strlen(text), out, err);
	if (isatty(STDIN_FILENO))
		return rein_err_set(err, REIN_E_USAGE, "nothing to classify: give a text, or --batch");
	if (read_all(STDIN_FILENO, "standard input", &in, err) < 0)
		return -err->code;
	while (in.n && in.p[in.n - 1] == '\n')
		in.n--;
	rein_buf_char(&in, '\0');
	return in.failed ? rein_err_nomem(err) : one(s, in.p, in.n - 1, out, err);
}

int rein_cli_classify(int argc, char **argv)
{
	auto_(session_done) struct session s = {.content = REIN_BUF(TEXT_BYTES)};
	auto_buf struct rein_buf out = REIN_BUF((size_t)64 << 20);
	struct rein_err err = {0};
	int first, status, rc;

	if (rein_verb_begin("classify", argc, argv, &s.o, &s.common, &first, NULL, &status))
		return status;
	if (argc - first > 1 || (s.o.batch && first < argc)) {
		rein_err_set(&err, REIN_E_USAGE, s.o.batch ? "--batch reads standard input and takes no text"
							   : "one text at a time; put it in quotes");
		return rein_fail(&err, s.common.json);
	}
	rc = settle_kind(&s.o, &err);
	if (rc == 0)
		rc = rein_judge_begin(&s.judge, &s.o.who, &err);
	if (rc == 0 && s.o.knowledge)
		rc = learn(&s, &err);
	if (rc == 0 && s.o.content)
		rc = read_file(s.o.content, &s.content, &err);
	if (rc == 0 && rein_judge_load(&s.judge, &s.o.who, false, &err) < 0) {
		if (!s.judge.policy)
			return rein_fail(&err, s.common.json);
		rein_say("%s", err.msg); /* and now it denies everything, which is the answer */
	}
	if (rc == 0)
		rc = s.o.batch ? batch(&s, &out, &err) : single(&s, first < argc ? argv[first] : NULL, &out, &err);
	if (rc == 0)
		rc = flush(&out, &err);
	return rc < 0 ? rein_fail(&err, s.common.json) : 0;
}
