/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein-text.so: unified diffs and three-way merges by libgit2, on bytes in memory. For these no
 * repository, no configuration and no attributes are read. Callers have checked sizes and binaries before.
 */
#include "text/module.h"

#include <git2.h>

#include "base/buf.h"
#include "text/tracked.h"

#define HUNK_MAX 4096

struct diff {
	rein_text_emit emit;
	void *ctx;
	const struct rein_text_side *before, *after;
	struct rein_buf line;
	uint64_t added, removed;
	bool header_done, stopped, failed;
};

static int fail(struct rein_err *err, const char *what)
{
	const git_error *e = git_error_last();

	return rein_err_set(err, REIN_E_FAILED, "%s: %s", what,
			    e && e->message ? e->message : "unknown error");
}

static int start(struct rein_err *err)
{
	return git_libgit2_init() < 0 ? fail(err, "start libgit2") : 0;
}

static void stop(void)
{
	git_libgit2_shutdown();
}

static int send(struct diff *d, enum rein_text_kind kind)
{
	if (d->line.failed) {
		d->failed = true;
		return -1;
	}
	if (d->emit(d->ctx, kind, d->line.n ? d->line.p : "", d->line.n) != 0) {
		d->stopped = true;
		return -1;
	}
	rein_buf_clear(&d->line);
	return 0;
}

static bool plain(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f || *name == '"' || *name == '\\')
			return false;
	return true;
}

/* As git writes names: quoted, with octal escapes, when they could be taken for something else. */
static void put_name(struct rein_buf *b, const char *prefix, const char *name)
{
	if (!name) {
		rein_buf_cstr(b, "/dev/null");
		return;
	}
	if (plain(name)) {
		rein_buf_cstr(b, prefix);
		rein_buf_cstr(b, name);
		if (strchr(name, ' '))
			rein_buf_char(b, '\t'); /* patch(1) would stop at the blank */
		return;
	}
	rein_buf_char(b, '"');
	rein_buf_cstr(b, prefix);
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		if (c == '"' || c == '\\')
			rein_buf_printf(b, "\\%c", c);
		else if (c == '\n')
			rein_buf_cstr(b, "\\n");
		else if (c == '\t')
			rein_buf_cstr(b, "\\t");
		else if (c < 0x20 || c == 0x7f)
			rein_buf_printf(b, "\\%03o", c);
		else
			rein_buf_char(b, (char)c);
	}
	rein_buf_char(b, '"');
}

static int header(struct diff *d)
{
	d->header_done = true;
	rein_buf_cstr(&d->line, "--- ");
	put_name(&d->line, "a/", d->before->name);
	rein_buf_char(&d->line, '\n');
	if (send(d, REIN_TEXT_HEADER) < 0)
		return -1;
	rein_buf_cstr(&d->line, "+++ ");
	put_name(&d->line, "b/", d->after->name);
	rein_buf_char(&d->line, '\n');
	return send(d, REIN_TEXT_HEADER);
}

static int on_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk, void *ctx)
{
	struct diff *d = ctx;

	(void)delta;
	if (!d->emit)
		return 0;
	if (!d->header_done && header(d) < 0)
		return -1;
	rein_buf_add(&d->line, hunk->header, hunk->header_len);
	return send(d, REIN_TEXT_HUNK);
}

static int on_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
		   const git_diff_line *line, void *ctx)
{
	static const char remark[] = "\\ No newline at end of file\n";
	struct diff *d = ctx;

	(void)delta;
	(void)hunk;
	switch (line->origin) {
	case GIT_DIFF_LINE_ADDITION:
		d->added++;
		break;
	case GIT_DIFF_LINE_DELETION:
		d->removed++;
		break;
	case GIT_DIFF_LINE_CONTEXT:
		break;
	default: /* the remark, for either side */
		if (!d->emit)
			return 0;
		rein_buf_add(&d->line, remark, sizeof(remark) - 1);
		return send(d, REIN_TEXT_NO_EOL);
	}
	if (!d->emit)
		return 0;
	rein_buf_char(&d->line, line->origin);
	rein_buf_add(&d->line, line->content, line->content_len);
	if (line->content_len == 0 || line->content[line->content_len - 1] != '\n')
		rein_buf_char(&d->line, '\n');
	return send(d, (enum rein_text_kind)line->origin);
}

static int diff(const struct rein_text_side *before, const struct rein_text_side *after,
		unsigned context, rein_text_emit emit, void *ctx, uint64_t *ret_added,
		uint64_t *ret_removed, struct rein_err *err)
{
	git_diff_options o = GIT_DIFF_OPTIONS_INIT;
	struct diff d = {.emit = emit,
			 .ctx = ctx,
			 .before = before,
			 .after = after,
			 .line = REIN_BUF((size_t)1 << 31)};
	int rc;

	o.context_lines = context;
	o.flags = GIT_DIFF_FORCE_TEXT | GIT_DIFF_INDENT_HEURISTIC;
	rc = git_diff_buffers(before->text.p ? before->text.p : "", before->text.n, "a",
			      after->text.p ? after->text.p : "", after->text.n, "b", &o, NULL,
			      NULL, on_hunk, on_line, &d);
	rein_buf_done(&d.line);
	if (d.failed)
		rc = rein_err_nomem(err);
	else if (rc < 0 && !d.stopped)
		rc = fail(err, "compare");
	else
		rc = 0;
	if (rc == 0) {
		*ret_added = d.added;
		*ret_removed = d.removed;
	}
	return rc;
}

static git_merge_file_input input(struct rein_str s)
{
	git_merge_file_input in = GIT_MERGE_FILE_INPUT_INIT;

	in.ptr = s.n ? s.p : "";
	in.size = s.n;
	return in;
}

static int merge(const struct rein_text_merge_in *in,
		 int (*put)(void *ctx, const char *p, size_t n), void *ctx, bool *ret_conflict,
		 struct rein_err *err)
{
	git_merge_file_options o = GIT_MERGE_FILE_OPTIONS_INIT;
	git_merge_file_input base = input(in->base), ours = input(in->ours),
			     theirs = input(in->theirs);
	git_merge_file_result result = {0};
	int rc;

	o.ancestor_label = in->base_label ? in->base_label : "base";
	o.our_label = in->our_label ? in->our_label : "ours";
	o.their_label = in->their_label ? in->their_label : "theirs";
	o.flags = in->diff3 ? GIT_MERGE_FILE_STYLE_DIFF3 : GIT_MERGE_FILE_STYLE_MERGE;
	rc = git_merge_file(&result, in->no_base ? NULL : &base, &ours, &theirs, &o);
	if (rc < 0)
		rc = fail(err, "merge");
	else if (put(ctx, result.len ? result.ptr : "", result.len) < 0)
		rc = rein_err_set(err, REIN_E_LIMIT, "the merged text is too large");
	else
		*ret_conflict = !result.automergeable;
	git_merge_file_result_free(&result);
	return rc;
}

extern const struct rein_text_module rein_text_module;
REIN_API const struct rein_text_module rein_text_module = {
	.abi = REIN_TEXT_ABI, .open = start, .close = stop, .diff = diff, .merge = merge, .tracked = rein_text_tracked_};
