/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs share: their beginning, and lists of changes as people read them. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "sys/priv.h"
#include "sys/tree.h"

/* Its state is hidden in a box: nothing of it can be told, changed or added to from there. */
static void explain_if_inside(struct rein_err *err)
{
	auto_close int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);
	char name[16];
	ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof(name));

	if (n == 9 && memcmp(name, "rein-box\n", 9) == 0)
		rein_err_set(err, REIN_E_STATE,
			     "this is inside a box, where Rein's own state is hidden: what runs here is part of a "
			     "transaction already, run it without rein");
}

static int fail(const struct rein_verb *verb, const struct rein_err *err, bool json)
{
	return verb->lends_stdout ? rein_fail_last(err, json) : rein_fail(err, json);
}

bool rein_wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && argv[i] && !rein_streq(argv[i], "--"); i++)
		if (rein_streq(argv[i], "--json"))
			return true;
	return false;
}

int rein_verb_parse(const struct rein_verb *verb, int argc, char **argv, void *target, struct rein_common *common,
		    int *first, int *status)
{
	struct rein_err err = {0};

	if (rein_opts_parse(verb, argc, argv, target, common, first, &err) < 0) {
		*status = fail(verb, &err, common->json || rein_wants_json(argc, argv));
		return 1;
	}
	if (common->help) {
		rein_opts_help(verb);
		*status = 0;
		return 1;
	}
	if (verb->operands >= 0 && argc - *first > verb->operands) {
		rein_err_set(&err, REIN_E_USAGE, "'%s' is one too many (see: rein %s --help)",
			     argv[*first + verb->operands], verb->name);
		*status = fail(verb, &err, common->json);
		return 1;
	}
	return 0;
}

/* What could not be finished still lies in the journal, under its id; the message tells of one of them. */
static void tell_stuck(const struct rein_engine *e)
{
	auto_(rein_names_done) struct rein_names names = {0};
	struct rein_err ignored = {0};
	const char *id = "ID";

	if (rein_names_read(e->state.journal_fd, "", &names, &ignored) == 0)
		for (size_t i = 0; i < names.n; i++)
			if (strstr(e->stuck.msg, names.v[i]))
				id = names.v[i];
	rein_say("%s%s%s (tried again on every command; give it up: rein discard --force %s)",
		 rein_ui(stderr, REIN_YELLOW), e->stuck.msg, rein_ui_off(stderr), rein_ui_path(id));
}

int rein_verb_open(const char *name, const struct rein_common *common, struct rein_engine *engine, int *status)
{
	struct rein_err err = {0};

	if (rein_engine_open(engine, &err) < 0) {
		explain_if_inside(&err);
		*status = fail(rein_verb_find(name), &err, common->json);
		return 1;
	}
	if (engine->recovered)
		rein_say("finished %d transaction%s that was interrupted", engine->recovered,
			 engine->recovered == 1 ? "" : "s");
	if (engine->stuck.code)
		tell_stuck(engine);
	return 0;
}

int rein_verb_begin(const char *name, int argc, char **argv, void *target, struct rein_common *common,
		    int *first, struct rein_engine *engine, int *status)
{
	rein_may_master_own_files();
	if (rein_verb_parse(rein_verb_find(name), argc, argv, target, common, first, status))
		return 1;
	return engine ? rein_verb_open(name, common, engine, status) : 0;
}

const char *rein_change_path(const struct rein_tx *t, const struct rein_change *x)
{
	auto_free char *p = NULL;

	/* the workspace's own paths are short; another root's are told in full */
	if (t->nroots && t->workspace && rein_streq(t->roots[x->root].real, t->workspace))
		return rein_ui_path(*x->path ? x->path : ".");
	p = rein_path_join(t->roots[x->root].real, x->path);
	return rein_ui_path(p ? p : x->path);
}

static bool is_trace(const struct rein_change *x)
{
	return x->renamed_away || x->opaque ||
	       (x->kind == REIN_CHANGE_META && S_ISDIR(x->before.mode) &&
		!(x->what & ~REIN_WHAT_TIMES) && !x->clash);
}

void rein_print_changes(FILE *f, const struct rein_tx *t, const struct rein_changes *c, size_t max)
{
	static const struct {
		const char *word;
		enum rein_colour colour;
	} rows[] = {
		[REIN_CHANGE_CREATED] = {"created", REIN_GREEN},
		[REIN_CHANGE_MODIFIED] = {"modified", REIN_YELLOW},
		[REIN_CHANGE_DELETED] = {"deleted", REIN_RED},
		[REIN_CHANGE_META] = {"attributes", REIN_CYAN},
	};
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];

		if (is_trace(x) || x->skipped)
			continue;
		if (max && shown == max) {
			left++;
			continue;
		}
		shown++;
		fprintf(f, "  %s%-10s%s %s", rein_ui(f, rows[x->kind].colour),
			x->from ? "renamed" : rows[x->kind].word, rein_ui_off(f),
			x->from ? rein_ui_path(x->from) : rein_change_path(t, x));
		if (x->from)
			fprintf(f, " -> %s", rein_change_path(t, x));
		else if (S_ISDIR(x->after.mode ? x->after.mode : x->before.mode) && *x->path)
			fputc('/', f);
		if (rein_special_type(x))
			fprintf(f, " (%s)", rein_special_type(x));
		fputc('\n', f);
	}
	if (left)
		fprintf(f, "  ... and %s more\n", rein_ui_count(left));
}

static bool is_from_here(const char *glob)
{
	const char *rest = glob + (glob[0] == '.') + (glob[0] == '.' && glob[1] == '.');

	return rest != glob && (*rest == '\0' || *rest == '/');
}

/* In full, without "." and ".."; nothing is looked up, for what is named may be gone. */
static char *in_full(const char *here, const char *glob)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 20);

	rein_buf_cstr(&b, rein_streq(here, "/") ? "" : here);
	while (*glob) {
		const size_t n = strcspn(glob, "/");

		if (n == 2 && !strncmp(glob, "..", 2)) {
			while (b.n && b.p[--b.n] != '/')
				;
		} else if (n && !(n == 1 && *glob == '.')) {
			rein_buf_char(&b, '/');
			rein_buf_add(&b, glob, n);
		}
		glob += n + (glob[n] == '/');
	}
	return b.failed ? NULL : b.n ? rein_strndup(b.p, b.n) : rein_strdup("/");
}

static int take_from_here(const struct rein_tx *t, struct rein_strlist *globs, struct rein_err *err)
{
	auto_free char *here = getcwd(NULL, 0);
	bool inside = false;

	for (size_t i = 0; here && i < t->nroots; i++)
		inside |= rein_path_within(here, t->roots[i].real);
	for (size_t i = 0; inside && i < globs->n; i++) {
		char *full;

		if (!is_from_here(globs->v[i]))
			continue;
		full = in_full(here, globs->v[i]);
		if (!full)
			return rein_err_nomem(err);
		rein_free(globs->v[i]);
		globs->v[i] = full;
	}
	return 0;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes behind what is shown of them (rein_buf_escaped); NULL: no memory. Other backslashes stay. */
static char *unshow(const char *shown)
{
	static const char from[] = "nt\\", to[] = "\n\t\\";
	auto_buf struct rein_buf b = REIN_BUF(1u << 20);

	while (*shown) {
		const char *at = shown[0] == '\\' && shown[1] ? strchr(from, shown[1]) : NULL;

		if (at) {
			rein_buf_char(&b, to[at - from]);
			shown += 2;
		} else if (shown[0] == '\\' && shown[1] == 'x' && hex(shown[2]) >= 0 && hex(shown[3]) >= 0 &&
			   (shown[2] != '0' || shown[3] != '0')) {
			rein_buf_char(&b, (char)(hex(shown[2]) << 4 | hex(shown[3])));
			shown += 4;
		} else {
			rein_buf_char(&b, *shown++);
		}
	}
	return rein_buf_take(&b);
}

static int names_any(const struct rein_tx *t, const struct rein_changes *c, char *glob, bool *ret, struct rein_err *err)
{
	const struct rein_strlist one = {.v = &glob, .n = 1};

	*ret = false;
	for (size_t i = 0; i < c->n && !*ret; i++)
		if (rein_named(t, &one, &c->v[i], ret, err) < 0)
			return -err->code;
	return 0;
}

static int take_as_shown(const struct rein_tx *t, const struct rein_changes *c, char **glob, struct rein_err *err)
{
	auto_free char *plain = NULL;
	bool any;

	if (!strchr(*glob, '\\'))
		return 0;
	if (names_any(t, c, *glob, &any, err) < 0)
		return -err->code;
	if (any)
		return 0;
	plain = unshow(*glob);
	if (!plain)
		return rein_err_nomem(err);
	if (names_any(t, c, plain, &any, err) < 0)
		return -err->code;
	if (any) {
		rein_free(*glob);
		*glob = take_ptr(plain);
	}
	return 0;
}

int rein_patterns_meant(const struct rein_tx *t, const struct rein_changes *c, struct rein_strlist *globs,
			struct rein_err *err)
{
	if (take_from_here(t, globs, err) < 0)
		return -err->code;
	for (size_t i = 0; i < globs->n; i++)
		if (take_as_shown(t, c, &globs->v[i], err) < 0)
			return -err->code;
	return 0;
}

void rein_print_conflicts(const struct rein_tx *t, const struct rein_changes *c,
			  const struct rein_err *err)
{
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];

		if (!x->clash || x->skipped)
			continue;
		if (shown == 20) {
			left++;
			continue;
		}
		shown++;
		rein_more("%sconflict%s  %s: %s here, %s", rein_ui(stderr, REIN_RED),
			  rein_ui_off(stderr), rein_change_path(t, x), rein_change_kind_name(x->kind),
			  rein_clash_text(x->clash));
	}
	if (left)
		rein_more("... and %s more", rein_ui_count(left));
	if (!shown)
		rein_more("%s", err->msg);
}

void rein_print_parted(const struct rein_tx *t, const struct rein_changes *c)
{
	const struct rein_change *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (!c->v[i].parted || c->v[i].skipped)
			continue;
		first = first ? first : &c->v[i];
		n++;
	}
	if (n == 1)
		rein_more("%s had other names in the run, which were left out: it is a file of its own now",
			  rein_change_path(t, first));
	else if (n)
		rein_more("%s and %s more had other names in the run, which were left out: they are files of their own now",
			  rein_change_path(t, first), rein_ui_count(n - 1));
}

void rein_print_ways_out(const struct rein_tx *t, const struct rein_changes *c, bool merged)
{
	bool hidden = false, other = false;

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].clash && !c->v[i].skipped)
			*(c->v[i].clash == REIN_CLASH_HIDDEN ? &hidden : &other) = true;
	/* neither a merge nor --theirs touches it: nobody there saw what would be lost */
	if (hidden)
		rein_more("what was hidden is never overwritten   leave it as it is: rein commit %s --ours PATH   "
			  "look: rein diff %s PATH, and change it yourself",
			  t->id, t->id);
	if (hidden && !other)
		rein_more("drop: rein discard %s", t->id);
	else if (merged)
		rein_more("it cannot be merged   per path: --ours PATH, --theirs PATH   drop: rein discard %s", t->id);
	else
		rein_more("merge text: rein commit %s --merge   per path: --ours PATH, --theirs PATH   drop: rein discard %s",
			  t->id, t->id);
}
