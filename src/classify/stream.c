/* SPDX-License-Identifier: Apache-2.0 */
/* What flows between commands: text that is known or only where it comes from, and where redirections lead it. */
#include "classify/internal.h"

struct data data_known(struct rein_str s)
{
	return (struct data){.text = s, .known = true};
}

struct data data_unknown(unsigned taint)
{
	return (struct data){.text = {"", 0}, .taint = (uint16_t)taint};
}

struct data data_join(struct ctx *cx, struct data a, struct data b)
{
	struct data r = {.taint = a.taint | b.taint, .known = a.known && b.known};

	if (a.known && !a.text.n)
		return b;
	if (b.known && !b.text.n)
		return a;
	if (!(a.taint & b.taint & TAINT_NAMES)) /* no longer nothing but names */
		r.taint &= (uint16_t)~TAINT_NAMES;
	r.known = r.known && cx_work(cx, (a.text.n + b.text.n) / 8);
	if (r.known) {
		struct sbuf t = {.a = cx->a};

		sbuf_str(&t, a.text);
		sbuf_str(&t, b.text);
		r.text = sbuf_view(&t);
	}
	return r;
}

static bool all_digits(struct rein_str s)
{
	if (!s.n || s.n > 4)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

static unsigned digits(struct rein_str s)
{
	unsigned v = 0;

	for (size_t i = 0; i < s.n; i++)
		v = v * 10 + (unsigned)(s.p[i] - '0');
	return v;
}

static int redir_fd(struct ctx *cx, const struct redir *r)
{
	bool in = r->op == REDIR_IN || r->op == REDIR_DUP_IN || r->op == REDIR_HEREDOC ||
		  r->op == REDIR_HERESTR || r->op == REDIR_RDWR;
	char num[16];

	if (r->fdvar.n) {
		unsigned fd = 10 + cx->next_fd++ % (CX_FDS - 10);

		snprintf(num, sizeof(num), "%u", fd);
		var_set(cx, r->fdvar,
			(struct rein_str){arena_dup(cx->a, num, strlen(num)), strlen(num)}, 0, false);
		return (int)fd;
	}
	return r->fd >= 0 ? r->fd : in ? 0 : 1;
}

static void redir_input(struct ctx *cx, int fd, struct data d, struct io *io)
{
	if (fd == 0) {
		io->in = d;
		io->piped = true;
	} else if (fd < CX_FDS) {
		cx->fds[fd] = d;
		cx->fd_open[fd] = true;
	}
}

static void redir_output(struct ctx *cx, const struct redir *r, int fd, struct field f,
			 struct fields *out)
{
	bool append = r->op == REDIR_APPEND || r->op == REDIR_BOTH_APPEND;

	effect_write(cx, &f, append);
	f.quoted = append; /* reused below: how to put the data */
	if (fd == 1 || r->op == REDIR_BOTH || r->op == REDIR_BOTH_APPEND || r->op == REDIR_DUP_OUT)
		fields_push(cx, out, f);
	else if (fd > 2 && fd < CX_FDS)
		cx->fd_path[fd] = f.s;
}

/* >> "$GITHUB_OUTPUT": how a step tells the next ones something. Without a runner it names nothing, and nothing is written. */
static bool tells_runner(const struct word *w)
{
	static const struct rein_str names[] = {WORD("GITHUB_OUTPUT"), WORD("GITHUB_ENV"), WORD("GITHUB_STATE"),
						WORD("GITHUB_STEP_SUMMARY")};
	const struct part *p = w ? w->first : NULL;

	if (p && p->kind == PART_DQ && !p->next)
		p = p->sub;
	return p && p->kind == PART_PARAM && !p->next && p->param && !p->param->op &&
	       str_among(p->param->name, names, ARRAY_SIZE(names));
}

static void one_redir(struct ctx *cx, const struct redir *r, struct io *io, struct fields *out)
{
	struct field f = expand_one(cx, r->target);
	int fd = redir_fd(cx, r);
	struct data d;

	if (!f.at.end)
		f.at = r->at;
	if (r->op == REDIR_APPEND && f.s.n == 1 && f.s.p[0] == HOLE && tells_runner(r->target))
		return;
	switch (r->op) {
	case REDIR_HEREDOC:
	case REDIR_HERESTR:
		d = data_known(f.s);
		d.known = !has_hole(f.s);
		d.taint = f.taint;
		if (r->op == REDIR_HERESTR && d.known) {
			struct sbuf t = {.a = cx->a};

			sbuf_str(&t, f.s);
			sbuf_char(&t, '\n');
			d.text = sbuf_view(&t);
		} else if (!d.known) {
			d.text = f.s; /* with holes, for whoever can use it */
		}
		redir_input(cx, fd, d, io);
		return;
	case REDIR_IN:
	case REDIR_RDWR:
		if (r->op == REDIR_IN && !vfile_find(cx, f.s) && !str_starts(f.s, "/dev/"))
			io->doubtful = true;
		effect_read(cx, &f);
		redir_input(cx, fd, file_data(cx, &f), io);
		if (r->op == REDIR_RDWR) {
			effect_write(cx, &f, true);
			if (fd > 2 && fd < CX_FDS)
				cx->fd_path[fd] = f.s;
		}
		return;
	case REDIR_DUP_IN:
		if (all_digits(f.s) && digits(f.s) < CX_FDS) {
			unsigned from = digits(f.s);

			redir_input(cx, fd,
				    cx->fd_open[from] ? cx->fds[from] : data_unknown(TAINT_INPUT),
				    io);
		} else if (has_hole(f.s)) {
			redir_input(cx, fd, data_unknown(f.taint ? f.taint : TAINT_INPUT), io);
		}
		return;
	case REDIR_DUP_OUT:
		if (f.s.n && f.s.p[f.s.n - 1] == '-')
			f.s.n--;
		if (!f.s.n)
			return;
		if (all_digits(f.s)) {
			unsigned to = digits(f.s);

			if (fd == 1 && to < CX_FDS && cx->fd_path[to].n) {
				f.s = cx->fd_path[to];
				f.quoted = true;
				fields_push(cx, out, f);
			}
			return;
		}
		if (has_hole(f.s) && (f.taint & TAINT_NUMBER))
			return;
		redir_output(cx, r, fd, f, out);
		return;
	default:
		redir_output(cx, r, fd, f, out);
	}
}

void run_redirs(struct ctx *cx, struct redir *r, struct io *io, struct fields *out)
{
	for (; r; r = r->next)
		one_redir(cx, r, io, out);
}

/* Give the output to the files it was sent to; what is left goes on. */
struct data deliver(struct ctx *cx, const struct fields *out, struct data d)
{
	if (!out->n)
		return d;
	for (size_t i = 0; i < out->n; i++) {
		rummage_store(cx, &d, &out->v[i]);
		vfile_put(cx, out->v[i].s, d, out->v[i].quoted);
	}
	return data_known(STR(""));
}
