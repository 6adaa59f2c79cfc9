/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading rein-text.so, and the checks that keep foreign bytes within bounds. */
#include "text/load.h"

#include <dlfcn.h>
#include <limits.h>

#include "base/auto.h"

#define BINARY_PROBE 8000

struct rein_text {
	void *handle;
	const struct rein_text_module *module;
};

/* Relative to the directory of the program, or absolute. */
static const char *const places[] = {
	"rein-text.so",
	"../rein-text.so",
	"../lib/rein/rein-text.so",
#ifdef REIN_LIBDIR
	REIN_LIBDIR "/rein/rein-text.so",
#endif
};

static void *open_module(const char *path)
{
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *find_module(struct rein_err *err)
{
	char exe[PATH_MAX], path[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n < 0) {
		rein_err_errno(err, "find this program");
		return NULL;
	}
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		slash[1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		void *handle;

		snprintf(path, sizeof(path), "%s%s", places[i][0] == '/' ? "" : exe, places[i]);
		if (access(path, R_OK) < 0)
			continue;
		handle = open_module(path);
		if (handle)
			return handle;
		rein_err_set(err, REIN_E_UNSUPPORTED,
			     "load %s: %s (diffs and merges need libgit2: apt install libgit2-1.5)",
			     path, dlerror());
		return NULL;
	}
	rein_err_set(err, REIN_E_UNSUPPORTED,
		     "rein-text.so was not found beside %srein: build or install Rein completely",
		     exe);
	return NULL;
}

void rein_text_free(struct rein_text *t)
{
	if (!t)
		return;
	if (t->module)
		t->module->close();
	if (t->handle)
		dlclose(t->handle);
	rein_free(t);
}

static void freep(struct rein_text **t)
{
	rein_text_free(*t);
}

int rein_text_load(const char *path, struct rein_text **ret, struct rein_err *err)
{
	auto_(freep) struct rein_text *t = rein_alloc(sizeof(*t));
	const struct rein_text_module *module;

	if (!t)
		return rein_err_nomem(err);
	t->handle = path ? open_module(path) : find_module(err);
	if (!t->handle && path)
		return rein_err_set(err, REIN_E_UNSUPPORTED, "load %s: %s", path, dlerror());
	if (!t->handle)
		return -err->code;
	module = dlsym(t->handle, REIN_TEXT_SYMBOL);
	if (!module || module->abi != REIN_TEXT_ABI)
		return rein_err_set(
			err, REIN_E_UNSUPPORTED,
			"rein-text.so is of another version than rein: install both anew");
	if (module->open(err) < 0)
		return -err->code;
	t->module = module;
	*ret = take_ptr(t);
	return 0;
}

bool rein_text_is_binary(struct rein_str s)
{
	return s.n && memchr(s.p, '\0', s.n < BINARY_PROBE ? s.n : BINARY_PROBE) != NULL;
}

int rein_text_diff(const struct rein_text *t, const struct rein_text_side *before,
		   const struct rein_text_side *after, unsigned context, rein_text_emit emit,
		   void *ctx, struct rein_text_stat *ret, struct rein_err *err)
{
	struct rein_text_stat stat = {0};

	stat.huge = before->text.n > REIN_TEXT_SIZE_MAX || after->text.n > REIN_TEXT_SIZE_MAX;
	stat.binary = rein_text_is_binary(before->text) || rein_text_is_binary(after->text);
	if (!stat.huge && !stat.binary &&
	    t->module->diff(before, after, context, emit, ctx, &stat.added, &stat.removed, err) < 0)
		return -err->code;
	*ret = stat;
	return 0;
}

static int into_buf(void *ctx, enum rein_text_kind kind, const char *p, size_t n)
{
	struct rein_buf *b = ctx;

	(void)kind;
	rein_buf_add(b, p, n);
	return b->failed;
}

int rein_text_diff_buf(const struct rein_text *t, const struct rein_text_side *before,
		       const struct rein_text_side *after, unsigned context, struct rein_buf *out,
		       struct rein_text_stat *ret, struct rein_err *err)
{
	if (rein_text_diff(t, before, after, context, into_buf, out, ret, err) < 0)
		return -err->code;
	if (out->failed)
		return rein_err_set(err, REIN_E_LIMIT, "the diff is over %zu bytes", out->max);
	return 0;
}

static int put(void *ctx, const char *p, size_t n)
{
	struct rein_buf *b = ctx;

	rein_buf_add(b, p, n);
	return b->failed ? -1 : 0;
}

int rein_text_merge(const struct rein_text *t, const struct rein_text_merge_in *in,
		    struct rein_buf *out, bool *ret_conflict, struct rein_err *err)
{
	const struct rein_str sides[] = {in->base, in->ours, in->theirs};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		if (sides[i].n > REIN_TEXT_SIZE_MAX)
			return rein_err_set(err, REIN_E_UNSUPPORTED,
					    "too large to merge (over %zu MiB)",
					    REIN_TEXT_SIZE_MAX >> 20);
		if (rein_text_is_binary(sides[i]))
			return rein_err_set(err, REIN_E_UNSUPPORTED, "binary: cannot be merged");
	}
	return t->module->merge(in, put, out, ret_conflict, err);
}

int rein_text_tracked(const struct rein_text *t, const char *dir, const char *const *paths, size_t n,
		      bool *ret, struct rein_err *err)
{
	return t->module->tracked(dir, paths, n, ret, err);
}
