/* SPDX-License-Identifier: Apache-2.0 */
/* rein diff: what a transaction changes, as a unified diff, a table, or names. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/glob.h"
#include "base/json.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "sys/file.h"
#include "text/load.h"
#include "txn/content.h"

#define SHOWN_MAX (8u << 20) /* a larger file is only measured */

const struct rein_opt rein_diff_opts[] = {
	{"stat", 0, REIN_OPT_FLAG, offsetof(struct rein_diff, stat), NULL, "only how much changed in each file", 0},
	{"name-status", 0, REIN_OPT_FLAG, offsetof(struct rein_diff, name_status), NULL, "only names and kinds of change", 0},
	{"unified", 'U', REIN_OPT_NUMBER, offsetof(struct rein_diff, context), "N", "lines of context (default 3)", 0},
	{0},
};

struct side {
	struct rein_buf text; /* of a regular file; of a symlink its target */
	uint32_t mode;
	bool exists, huge, unreadable;
	bool later; /* it lies in the tree, where somebody changed it since */
	uint64_t size;
};

struct counts {
	uint64_t added, removed, files;
};

/* Not by its ctime, which every undo of another transaction moves. */
static bool is_another(const struct rein_fp *was, const struct rein_fp *is)
{
	return was->mode && (!rein_fp_same_inode(was, is) || was->size != is->size || was->mtime_ns != is->mtime_ns);
}

static int read_side(const struct rein_content *c, const struct rein_change *x, bool after,
		     struct side *s, struct rein_err *err)
{
	auto_free char *path = NULL;
	struct rein_fp fp;
	int fd;

	s->text = (struct rein_buf)REIN_BUF(SHOWN_MAX);
	if (rein_content_find(c, x, after, &fd, &path, err) < 0)
		return -err->code;
	if (!path || rein_fp_at(fd, path, &fp, err) < 0)
		return 0;
	s->later = (c->t->state == REIN_TX_COMMITTED) == after && is_another(after ? &x->after : &x->before, &fp);
	if (!fp.mode)
		return 0;
	s->exists = true;
	s->mode = fp.mode;
	s->size = fp.size;
	if (S_ISLNK(fp.mode)) {
		char target[4097];
		ssize_t n = readlinkat(fd, path, target, sizeof(target));

		rein_buf_add(&s->text, target, n > 0 ? (size_t)n : 0);
	} else if (S_ISREG(fp.mode) && fp.size > SHOWN_MAX) {
		s->huge = true;
	} else if (S_ISREG(fp.mode)) {
		struct rein_err why = {0};

		s->unreadable = rein_file_read(fd, path, &s->text, &why) < 0;
	}
	return 0;
}

static int emit(void *ctx, enum rein_text_kind kind, const char *p, size_t n)
{
	enum rein_colour colour = kind == REIN_TEXT_ADDED     ? REIN_GREEN
				  : kind == REIN_TEXT_REMOVED ? REIN_RED
				  : kind == REIN_TEXT_HUNK    ? REIN_CYAN
				  : kind == REIN_TEXT_HEADER  ? REIN_BOLD
							      : REIN_PLAIN;
	bool nl = n && p[n - 1] == '\n';
	bool tty = rein_ui_on_screen() || *rein_ui(stdout, REIN_BOLD);

	(void)ctx;
	fputs(rein_ui(stdout, colour), stdout);
	if (tty) { /* a file's bytes must not drive the terminal */
		auto_buf struct rein_buf b = REIN_BUF(1u << 24);

		for (size_t i = 0; i < n - nl;) {
			size_t end = i;

			while (end < n - nl && p[end] != '\t' && p[end] != '\\')
				end++;
			rein_buf_escaped(&b, (struct rein_str){p + i, end - i});
			if (end < n - nl)
				rein_buf_char(&b, p[end++]);
			i = end;
		}
		fwrite(b.p ? b.p : "", 1, b.n, stdout);
	} else {
		fwrite(p, 1, n - nl, stdout);
	}
	fputs(rein_ui_off(stdout), stdout);
	if (nl)
		fputc('\n', stdout);
	return ferror(stdout) ? 1 : 0;
}

static const char *letter(const struct rein_change *x)
{
	return x->from				    ? "R"
	       : x->kind == REIN_CHANGE_CREATED	    ? "A"
	       : x->kind == REIN_CHANGE_DELETED	    ? "D"
	       : x->kind == REIN_CHANGE_META	    ? "T"
						    : "M";
}

static const char *label(const struct rein_tx *t, const struct rein_change *x, const char *path)
{
	auto_free char *full = NULL;

	if (t->workspace && rein_streq(t->roots[x->root].real, t->workspace))
		return rein_ui_path(*path ? path : ".");
	full = rein_path_join(t->roots[x->root].real, path);
	return rein_ui_path(full ? full : path);
}

/* What a new file can be run by, or run as; a new directory that others can write to. */
static bool has_telling_mode(const struct rein_fp *fp)
{
	return (S_ISREG(fp->mode) && fp->mode & 07111) || (S_ISDIR(fp->mode) && fp->mode & 07002);
}

/* Where a symlink leads, or NULL. */
static const char *target(const struct side *s)
{
	auto_free char *text = NULL;

	if (!s || !S_ISLNK(s->mode) || !s->text.n)
		return NULL;
	text = rein_strndup(s->text.p, s->text.n);
	return rein_ui_path(text ? text : "?");
}

/* Links have no text that could be compared line by line: one word each. */
static void describe_targets(const struct rein_change *x, const struct side *a, const struct side *b)
{
	const char *was = target(a), *is = target(b);

	if (was && is && !rein_streq(was, is))
		printf(", target %s -> %s", was, is);
	else if (!x->from && !was != !is && rein_type_changed(x))
		printf(", target %s%s", is ? "" : "was ", is ? is : was);
	else if (!x->from && !was != !is)
		printf(" -> %s", is ? is : was);
}

static void describe_mode(const struct rein_change *x)
{
	const bool is_new = rein_type_changed(x) || (x->kind == REIN_CHANGE_CREATED && !x->before.mode);

	if (is_new && has_telling_mode(&x->after))
		printf(", mode %04o", x->after.mode & 07777);
	else if (!is_new && x->before.mode && x->after.mode && x->kind != REIN_CHANGE_DELETED &&
		 (x->before.mode ^ x->after.mode) & 07777)
		printf(", mode %04o -> %04o", x->before.mode & 07777, x->after.mode & 07777);
}

/* a, b: what was read of the two sides; NULL for a directory. */
static void describe(const struct rein_tx *t, const struct rein_change *x, const struct side *a, const struct side *b)
{
	const char *type = rein_type_changed(x) ? NULL : rein_special_type(x);

	printf("%s%s %s%s%s%s%s", rein_ui(stdout, REIN_BOLD),
	       x->from ? "renamed" : rein_change_kind_name(x->kind), type ? type : "", type ? " " : "",
	       label(t, x, x->from ? x->from : x->path), x->from ? " -> " : "",
	       x->from ? label(t, x, x->path) : "");
	if (rein_type_changed(x))
		printf(", type %s", rein_special_type(x));
	describe_targets(x, a, b);
	describe_mode(x);
	if (x->before.mode && x->after.mode && x->kind != REIN_CHANGE_DELETED) {
		if (x->what & REIN_WHAT_OWNER)
			printf(", owner %u:%u -> %u:%u", x->before.uid, x->before.gid, x->after.uid,
			       x->after.gid);
		if (x->what & REIN_WHAT_XATTR)
			printf(", extended attributes");
		if (x->kind == REIN_CHANGE_META && x->what == REIN_WHAT_TIMES)
			printf(", modification time");
	}
	printf("%s\n", rein_ui_off(stdout));
}

/* Of a regular file; of anything else a number of bytes tells nobody anything. */
static const char *size_text(const struct side *s)
{
	return S_ISREG(s->mode) ? rein_ui_bytes(s->size) : "none";
}

static void stat_row(const struct rein_tx *t, const struct rein_change *x, const struct side *a,
		     const struct side *b, const struct rein_text_stat *st)
{
	const char *type = rein_special_type(x);

	printf(" %s %s%s%s", letter(x), x->from ? label(t, x, x->from) : "", x->from ? " -> " : "",
	       label(t, x, x->path));
	if (type)
		printf("  %s", type);
	if (!S_ISREG(a->mode) && !S_ISREG(b->mode))
		putchar('\n');
	else if (st->binary || st->huge || a->huge || b->huge)
		printf("  %s -> %s\n", size_text(a), size_text(b));
	else
		printf("  %s+%llu%s %s-%llu%s\n", rein_ui(stdout, REIN_GREEN), (unsigned long long)st->added,
		       rein_ui_off(stdout), rein_ui(stdout, REIN_RED), (unsigned long long)st->removed,
		       rein_ui_off(stdout));
}

/* Only of a regular file: what became something else has lost its lines. */
static struct rein_text_side text_side(const struct side *s, const char *path)
{
	if (!S_ISREG(s->mode))
		return (struct rein_text_side){NULL, {"", 0}};
	return (struct rein_text_side){path, {s->text.p ? s->text.p : "", s->text.n}};
}

static int diff_one(const struct rein_text *text, const struct rein_content *c,
		    const struct rein_change *x, const struct rein_diff *d, struct counts *sum,
		    struct rein_err *err)
{
	struct side a = {0}, b = {0};
	struct rein_text_stat st = {0};
	struct rein_text_side before, after;
	int rc;

	rc = read_side(c, x, false, &a, err);
	if (rc == 0)
		rc = read_side(c, x, true, &b, err);
	before = text_side(&a, x->from ? x->from : x->path);
	after = text_side(&b, x->path);
	if (rc == 0 && !d->stat)
		describe(c->t, x, &a, &b);
	if (rc == 0 && !a.huge && !b.huge && !a.unreadable && !b.unreadable && (before.name || after.name))
		rc = rein_text_diff(text, &before, &after, (unsigned)d->context, d->stat ? NULL : emit,
				    NULL, &st, err);
	if (rc == 0 && d->stat)
		stat_row(c->t, x, &a, &b, &st);
	else if (rc == 0 && (a.unreadable || b.unreadable))
		printf("  (cannot be read)\n");
	else if (rc == 0 && (st.binary || st.huge || a.huge || b.huge))
		printf("  (%s: %s -> %s)\n", st.binary ? "binary" : "large", size_text(&a),
		       size_text(&b));
	if (rc == 0 && !d->stat && (a.later || b.later))
		printf("  (%s %s)\n", b.later ? "the new content" : "the old content",
		       (b.later ? b.exists : a.exists) ? "as it is now: it was changed since" : "is gone: it was removed since");
	sum->added += st.added;
	sum->removed += st.removed;
	sum->files++;
	rein_buf_done(&a.text);
	rein_buf_done(&b.text);
	return rc;
}

static bool matches(const char *glob, const char *path)
{
	return rein_glob_match(glob, path) || rein_path_within(path, glob + (*glob == '/'));
}

/* One of these, or within one of them; no path stands for all. */
static bool named(const struct rein_tx *t, const struct rein_change *x, char **paths, int n)
{
	for (int i = 0; i < n; i++) {
		const char *glob = rein_pattern_in(t, x, paths[i]);
		size_t len = strlen(glob);
		auto_free char *p = rein_strndup(glob, len > 1 && glob[len - 1] == '/' ? len - 1 : len);

		if (p && (matches(p, x->path) || (x->from && matches(p, x->from))))
			return true;
	}
	return n == 0;
}

static void name_row(const struct rein_tx *t, const struct rein_change *x)
{
	const char *type = rein_special_type(x);

	printf("%s\t%s%s%s%s%s\n", letter(x), x->from ? label(t, x, x->from) : "", x->from ? "\t" : "",
	       label(t, x, x->path), type ? "\t" : "", type ? type : "");
}

/* A directory, before too if it was there: nothing to compare. */
static bool is_directory(const struct rein_change *x)
{
	return S_ISDIR(x->after.mode ? x->after.mode : x->before.mode) && !rein_type_changed(x);
}

static bool wanted(const struct rein_tx *t, const struct rein_change *x, char **paths, int n)
{
	if (x->renamed_away || x->opaque || x->skipped ||
	    (x->kind == REIN_CHANGE_META && S_ISDIR(x->before.mode) && !(x->what & ~REIN_WHAT_TIMES)))
		return false;
	return named(t, x, paths, n);
}

/* A directory that went as a whole is one row; what left it for another name has its own there. Returns the index of its last change. */
static size_t whole_row(const struct rein_tx *t, const struct rein_changes *c, size_t i,
			struct counts *sum)
{
	const struct rein_change *top = &c->v[i];
	uint64_t files = 0, bytes = 0;

	for (; i + 1 < c->n && c->v[i + 1].root == top->root &&
	       rein_path_within(c->v[i + 1].path, top->path);
	     i++) {
		const struct rein_change *x = &c->v[i + 1];

		files += !S_ISDIR(x->before.mode) && !x->renamed_away;
		bytes += S_ISREG(x->before.mode) && !x->renamed_away ? x->before.size : 0;
	}
	printf(" D %s/  %s file%s, %s\n", label(t, top, top->path), rein_ui_count(files),
	       files == 1 ? "" : "s", rein_ui_bytes(bytes));
	sum->files += files;
	return i;
}

int rein_print_diff(const struct rein_tx *t, const struct rein_changes *c, const struct rein_diff *d,
		    char **paths, int npaths, struct rein_err *err)
{
	auto_(rein_content_done) struct rein_content content = {0};
	struct rein_text *text = NULL;
	struct counts sum = {0};
	int rc = 0;

	if (!d->name_status &&
	    (rein_content_open(t, &content, err) < 0 || rein_text_load(NULL, &text, err) < 0))
		return -err->code;
	for (size_t i = 0; i < c->n && rc == 0 && !ferror(stdout); i++) {
		const struct rein_change *x = &c->v[i];

		if (!wanted(t, x, paths, npaths))
			continue;
		if (d->name_status)
			name_row(t, x);
		else if (d->stat && x->top && x->kind == REIN_CHANGE_DELETED && S_ISDIR(x->before.mode) &&
			 !npaths)
			i = whole_row(t, c, i, &sum);
		else if (is_directory(x))
			d->stat ? (void)printf(" %s %s/\n", letter(x), label(t, x, x->path))
				: describe(t, x, NULL, NULL);
		else
			rc = diff_one(text, &content, x, d, &sum, err);
	}
	if (rc == 0 && d->stat)
		printf(" %s file%s, %s+%llu%s %s-%llu%s lines\n", rein_ui_count(sum.files),
		       sum.files == 1 ? "" : "s", rein_ui(stdout, REIN_GREEN),
		       (unsigned long long)sum.added, rein_ui_off(stdout), rein_ui(stdout, REIN_RED),
		       (unsigned long long)sum.removed, rein_ui_off(stdout));
	rein_text_free(text);
	return rc;
}

static int print_json(const struct rein_tx *t, const struct rein_changes *all, char **paths, int npaths,
		      struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 30);
	auto_free struct rein_change *some = rein_calloc(all->n + 1, sizeof(*some)); /* borrowed, only the array is ours */
	struct rein_changes c = {.v = some};
	struct rein_json j = {.b = &b};

	if (!some)
		return rein_err_nomem(err);
	for (size_t i = 0; i < all->n; i++)
		if (named(t, &all->v[i], paths, npaths))
			some[c.n++] = all->v[i];
	rein_json_open(&j, '{');
	rein_json_tx(&j, t);
	rein_json_key(&j, "changes");
	rein_json_changes(&j, t, &c);
	rein_json_close(&j, '}');
	rein_json_out(&b);
	return 0;
}

static int take_paths(const struct rein_tx *t, const struct rein_changes *c, char **v, int n, struct rein_strlist *ret,
		      struct rein_err *err)
{
	for (int i = 0; i < n; i++)
		if (rein_strlist_add(ret, v[i]) < 0)
			return rein_err_nomem(err);
	return rein_patterns_meant(t, c, ret, err);
}

/* Who knows git names a path first. */
static bool is_no_id(const char *word)
{
	return word[0] != '@' && (word[strspn(word, "0123456789abcdefghijklmnopqrstuvwxyz")] || strlen(word) > REIN_TX_ID_MAX);
}

int rein_cli_diff(int argc, char **argv)
{
	struct rein_diff d = {.context = 3};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_tx_done) struct rein_tx t = {.dirfd = -1};
	auto_(rein_changes_done) struct rein_changes c = {0};
	auto_strlist struct rein_strlist paths = {0};
	struct rein_err err = {0}, none = {0};
	int first, status, rc;

	if (rein_verb_begin("diff", argc, argv, &d, &common, &first, &e, &status))
		return status;
	if (d.context > INT_MAX) {
		rein_err_set(&err, REIN_E_USAGE, "--unified: no file has so many lines");
		return rein_fail(&err, common.json);
	}
	if (d.stat && d.name_status) {
		rein_err_set(&err, REIN_E_USAGE, "--stat and --name-status tell different things: keep one");
		return rein_fail(&err, common.json);
	}
	/* without a name: what is waiting, else the latest */
	if (first < argc)
		rc = rein_engine_find(&e, argv[first], ~0u, &t, &err);
	else if ((rc = rein_engine_find(&e, NULL, 1u << REIN_TX_HELD, &t, &none)) < 0)
		rc = rein_engine_find(&e, "@", ~0u, &t, &err);
	if (rc == -REIN_E_NOTFOUND && first < argc && is_no_id(argv[first]))
		rein_err_set(&err, REIN_E_NOTFOUND, "no transaction '%.80s' (see: rein log); of a path: rein diff @ %.80s", argv[first],
			     argv[first]);
	if (rc < 0 || rein_tx_changes(&t, &c, &err) < 0)
		return rein_fail(&err, common.json);
	first += first < argc;
	if (take_paths(&t, &c, argv + first, argc - first, &paths, &err) < 0)
		return rein_fail(&err, common.json);
	if (common.json)
		return print_json(&t, &c, paths.v, (int)paths.n, &err) < 0 ? rein_fail(&err, true) : 0;
	rein_ui_page(!common.no_pager);
	rc = rein_print_diff(&t, &c, &d, paths.v, (int)paths.n, &err);
	rein_ui_page_end();
	return rc < 0 ? rein_fail(&err, false) : 0;
}
