/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that copy, move, delete and write files, whose operands need more than roles. */
#include "classify/handlers.h"

struct data h_rm(struct ctx *cx, struct call *c)
{
	if (c->hole_opt)
		fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_CONTAINED,
		     c->argv[0].at, NULL, "how it deletes is only known when it runs");
	call_base(cx, c);
	call_effects(cx, c);
	return h_finish(cx, c);
}

/* What a copy leaves behind, under both readings of the target (file or directory). */
static void copied(struct ctx *cx, const struct field *from, const struct field *to)
{
	struct data d = file_data(cx, from);
	struct sbuf below = {.a = cx->a};

	vfile_put(cx, to->s, d, false);
	sbuf_str(&below, to->s);
	sbuf_char(&below, '/');
	sbuf_str(&below, str_base(from->s));
	vfile_put(cx, sbuf_view(&below), d, false);
}

static struct field target_of(struct call *c, size_t *sources)
{
	const struct got *t = call_opt(c, "-t");

	if (!t)
		t = call_opt(c, "--target-directory");
	*sources = c->ops.n;
	if (t)
		return t->val;
	if (c->ops.n < 2)
		return (struct field){0};
	*sources = c->ops.n - 1;
	return c->ops.v[c->ops.n - 1];
}

/* Does this mode give everybody write access, nobody any, or run as the owner? */
static bool bad_mode(struct rein_str m)
{
	if (!m.n)
		return false;
	if (m.p[0] >= '0' && m.p[0] <= '7') {
		struct rein_str t = m.n > 3 ? str_from(m, m.n - 3) : m;

		if (m.n > 3 && m.p[m.n - 4] != '0')
			return true;
		return str_in(t, "777 666 000 776 767 0 00") || (t.n == 3 && strchr("2367", t.p[2]));
	}
	return str_has(m, "+s") || str_has(m, "=s") || str_has(m, "xs") || str_has(m, "o+w") ||
	       str_has(m, "o=w") || str_has(m, "o=rw") || str_has(m, "o+rw") || str_has(m, "a+w") ||
	       str_has(m, "a+rw") || str_has(m, "a=rw") || str_starts(m, "+w") ||
	       str_has(m, "ugo+rw") || str_has(m, "ugo+w") || str_has(m, "go+w") ||
	       str_has(m, "a-") || str_has(m, "ugo-");
}

struct data h_cp(struct ctx *cx, struct call *c)
{
	size_t n;
	struct field to = target_of(c, &n);
	const struct got *mode = call_opt(c, "-m"); /* install -m 4755 */

	call_base(cx, c);
	if (!mode)
		mode = call_opt(c, "--mode");
	if (mode && to.s.n && bad_mode(mode->val.s))
		effect_attr(cx, &to, false, true);
	for (size_t i = 0; i < n; i++) {
		effect_read(cx, &c->ops.v[i]);
		rummage_tree(cx, &c->ops.v[i]);
		if (to.s.n && str_in(c->ops.v[i].s, "/dev/null"))
			effect_delete(cx, &to, false);
		if (to.s.n)
			copied(cx, &c->ops.v[i], &to);
	}
	if (to.s.n)
		effect_write(cx, &to, false);
	return h_finish(cx, c);
}

struct data h_mv(struct ctx *cx, struct call *c)
{
	size_t n;
	struct field to = target_of(c, &n);
	struct spot dest = path_spot(cx, to.s);

	call_base(cx, c);
	for (size_t i = 0; i < n; i++) {
		struct spot s = path_spot(cx, c->ops.v[i].s);

		if (s.secret)
			effect_read(cx, &c->ops.v[i]);
		if (s.place == PLACE_WORKSPACE_ROOT && s.path.n && !is_literal(s.path) &&
		    dest.place <= PLACE_REGEN)
			fact(cx, REIN_FACT_WRITE, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED,
			     c->ops.v[i].at, show(cx, c->ops.v[i].s), "moves everything");
		else if (s.place != PLACE_WORKSPACE && s.place != PLACE_REGEN &&
			 s.place != PLACE_TMP && s.place != PLACE_UNKNOWN)
			effect_delete(cx, &c->ops.v[i], true);
		else if (s.place == PLACE_UNKNOWN && !names_own(cx, &c->ops.v[i]))
			fact(cx, REIN_FACT_WRITE, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED,
			     c->ops.v[i].at, show(cx, c->ops.v[i].s),
			     "moves a path that is not known");
		if (to.s.n && str_in(to.s, "/dev/null"))
			effect_delete(cx, &c->ops.v[i], true);
		if (to.s.n)
			copied(cx, &c->ops.v[i], &to);
	}
	if (to.s.n)
		effect_write(cx, &to, false);
	return h_finish(cx, c);
}

struct data h_ln(struct ctx *cx, struct call *c)
{
	size_t n;
	struct field to = target_of(c, &n);

	call_base(cx, c);
	for (size_t i = 0; i < n; i++) {
		struct spot s = path_spot(cx, c->ops.v[i].s);

		if (s.secret)
			effect_read(cx, &c->ops.v[i]);
		if (to.s.n && str_is(c->ops.v[i].s, "/dev/null"))
			effect_delete(cx, &to, false);
		if (to.s.n)
			copied(cx, &c->ops.v[i], &to);
	}
	if (to.s.n)
		effect_write(cx, &to, !call_has(c, "-f"));
	return h_finish(cx, c);
}

struct data h_chmod(struct ctx *cx, struct call *c)
{
	bool ref = call_has(c, "--reference"), chmod = str_is(rein_str(c->top->name), "chmod");
	bool bad = chmod && !ref && c->ops.n && bad_mode(c->ops.v[0].s);

	call_base(cx, c);
	for (size_t i = ref ? 0 : 1; i < c->ops.n; i++)
		effect_attr(cx, &c->ops.v[i], c->acts & ACT_REC, bad);
	/* "-w" and "-x" look like options */
	return h_finish(cx, c);
}

struct data h_tee(struct ctx *cx, struct call *c)
{
	bool append = call_has(c, "-a");

	call_base(cx, c);
	for (size_t i = 0; i < c->ops.n; i++) {
		effect_write(cx, &c->ops.v[i], append);
		rummage_store(cx, &c->io->in, &c->ops.v[i]);
		vfile_put(cx, c->ops.v[i].s, c->io->in, append);
	}
	return c->io->in;
}

struct data h_dd(struct ctx *cx, struct call *c)
{
	struct data d = data_unknown(c->io->in.taint);
	struct field *in = NULL;

	for (size_t i = 1; i < c->argc; i++) {
		struct field f = c->argv[i];

		if (str_starts(f.s, "if=")) {
			f.s = str_from(f.s, 3);
			effect_read(cx, &f);
			c->argv[i].s = f.s;
			in = &c->argv[i];
			d = file_data(cx, in);
			d.known = false;
		}
	}
	for (size_t i = 1; i < c->argc; i++) {
		struct field f = c->argv[i];

		if (!str_starts(f.s, "of="))
			continue;
		f.s = str_from(f.s, 3);
		effect_write(cx, &f, false);
		if (in && str_in(in->s, "/dev/zero /dev/urandom /dev/random /dev/null") &&
		    path_spot(cx, f.s).place > PLACE_TMP_ROOT && path_spot(cx, f.s).place != PLACE_NULL)
			effect_delete(cx, &f, false);
		vfile_put(cx, f.s, d, false);
	}
	return d;
}

struct data h_mktemp(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	if (c->ops.n && c->ops.v[0].s.n && c->ops.v[0].s.p[0] == '/')
		return data_known(c->ops.v[0].s);
	fact(cx, REIN_FACT_WRITE, REIN_LEVEL_SAFE, REIN_REACH_CONTAINED, c->argv[0].at, "/tmp",
	     "creates a temporary path");
	return data_known(STR("/tmp/tmp.XXXXXXXXXX"));
}
