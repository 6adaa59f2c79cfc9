/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files the script itself made, and what reading any file gives: its text where that is known, else where it
 * comes from.
 */
#include "classify/internal.h"

struct vfile *vfile_find(struct ctx *cx, struct rein_str path)
{
	struct rein_str p = path_resolve(cx, path);

	for (struct vfile *f = cx->files; f; f = f->next)
		if (rein_str_eq(f->path, p))
			return f;
	return NULL;
}

void vfile_put(struct ctx *cx, struct rein_str path, struct data d, bool append)
{
	struct vfile *f = vfile_find(cx, path);
	unsigned n = 0;

	if (f && (append || cx->cond)) {
		f->data = append ? data_join(cx, f->data, d) : (d.known && !f->data.known ? f->data : d);
		f->data.taint |= d.taint;
		return;
	}
	if (!f) {
		for (f = cx->files; f; f = f->next)
			n++;
		if (n > 64)
			return;
		f = arena_new(cx->a, struct vfile);
		f->path = path_resolve(cx, path);
		f->next = cx->files;
		cx->files = f;
	}
	f->data = d;
}

static bool fd_of(struct rein_str p, unsigned *fd)
{
	static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		struct rein_str n = str_from(p, strlen(dirs[i]));

		if (!str_starts(p, dirs[i]) || !n.n || n.n > 4)
			continue;
		*fd = 0;
		for (size_t k = 0; k < n.n; k++) {
			if (n.p[k] < '0' || n.p[k] > '9')
				return false;
			*fd = *fd * 10 + (unsigned)(n.p[k] - '0');
		}
		return *fd < CX_FDS;
	}
	return false;
}

struct data file_data(struct ctx *cx, const struct field *f)
{
	struct spot s = path_spot(cx, f->s);
	struct vfile *v = vfile_find(cx, f->s);
	struct data d = data_unknown(TAINT_FILE);
	unsigned fd;

	if (v)
		return v->data;
	if (fd_of(s.path, &fd) && cx->fd_open[fd])
		return cx->fds[fd];
	if (str_is(s.path, "/dev/null"))
		return data_known(STR(""));
	if (s.place == PLACE_NET)
		d.taint |= TAINT_NET;
	if (s.secret)
		d.taint |= TAINT_SECRET;
	if (is_far(&s))
		d.taint |= TAINT_FAR;
	return d;
}
