/* SPDX-License-Identifier: Apache-2.0 */
/* tar: letters with a dash and without, and what is packed, unpacked or run meanwhile. */
#include "classify/handlers.h"

struct tar {
	struct field archive, dir;
	struct fields ops; /* without those that belong to the letters */
	char mode;	   /* one of cxtruAd, 0: none was given */
	bool has_archive, to_stdout, absolute;
};

static void tar_letters(struct tar *t, struct rein_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (strchr("cxtruAd", s.p[i]) && !t->mode)
			t->mode = s.p[i];
		if (s.p[i] == 'O')
			t->to_stdout = true;
	}
}

/* --create is c, --extract and --get are x, --list is t, --append is r */
static const char *tar_letter(const char *name)
{
	switch (name[2]) {
	case 'e':
	case 'g':
		return "x";
	case 'l':
		return "t";
	case 'a':
		return "r";
	default:
		return name + 2; /* create, update, diff, and concatenate as if it created */
	}
}

static void tar_options(struct ctx *cx, struct call *c, struct tar *t)
{
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];
		const char *name = g->opt->name;

		if (name[1] != '-')
			tar_letters(t, rein_str(name + 1));
		else if (str_in(rein_str(name), "--create --extract --get --list --append --update "
						"--concatenate --diff"))
			tar_letters(t, str_to(rein_str(tar_letter(name)), 1));
		if (!strcmp(name, "-f") || !strcmp(name, "--file")) {
			t->archive = g->val;
			t->has_archive = true;
		}
		if (g->opt->role == ROLE_CWD)
			t->dir = g->val;
		if (!strcmp(name, "--checkpoint-action") && str_starts(g->val.s, "exec=")) {
			struct field f = field_with(&g->val, str_from(g->val.s, 5));

			role_effect(cx, c, ROLE_PROG, &f);
		}
		if (g->opt->role == ROLE_READ || g->opt->role == ROLE_PROG || g->opt->role == ROLE_SHELL)
			role_effect(cx, c, g->opt->role, &g->val);
	}
}

/* tar cf a.tar dir: letters without a dash, whose values are the words behind them in their order */
static void tar_undashed(struct ctx *cx, struct call *c, struct tar *t)
{
	struct rein_str letters = t->ops.v[0].s;
	size_t next = 1;

	tar_letters(t, letters);
	for (size_t i = 0; i < letters.n; i++) {
		if (letters.p[i] == 'f' && next < t->ops.n) {
			t->archive = t->ops.v[next++];
			t->has_archive = true;
		} else if (letters.p[i] == 'C' && next < t->ops.n) {
			t->dir = t->ops.v[next++];
		} else if ((letters.p[i] == 'I' || letters.p[i] == 'F') && next < t->ops.n) {
			role_effect(cx, c, ROLE_PROG, &t->ops.v[next++]);
		} else if (strchr("bXTKNVHgL", letters.p[i])) {
			next++;
		} else if (letters.p[i] == 'P') {
			t->absolute = true;
		}
	}
	if (next > t->ops.n)
		next = t->ops.n;
	t->ops.v += next;
	t->ops.n -= next;
}

static void tar_archive(struct ctx *cx, const struct field *f, bool writes)
{
	if (str_is(f->s, "-"))
		return;
	if (names_host(f->s))
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, f->at,
		     show(cx, f->s), "an archive on another machine");
	else if (writes)
		effect_write(cx, f, false);
	else
		effect_read(cx, f);
}

static void tar_unpack(struct ctx *cx, struct call *c, const struct tar *t)
{
	struct field here = t->dir.s.n ? t->dir : field_of(cx, ".", c->argv[0].at);
	bool far = t->dir.s.n && path_spot(cx, t->dir.s).place > PLACE_TMP_ROOT;

	effect_write(cx, &here, false);
	if (t->absolute)
		fact(cx, REIN_FACT_WRITE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, c->argv[0].at, NULL,
		     "unpacks to absolute paths");
	if ((c->io->piped && !t->has_archive ? c->io->in.taint : file_data(cx, &t->archive).taint) & TAINT_NET)
		cx->fetched = true;
	if (c->io->piped && (c->io->in.taint & TAINT_NET) && far)
		fact(cx, REIN_FACT_WRITE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, c->argv[0].at, NULL,
		     "unpacks a download outside the workspace");
}

struct data h_tar(struct ctx *cx, struct call *c)
{
	struct tar t = {
		.ops = c->ops,
		.to_stdout = call_has(c, "-O") || call_has(c, "--to-stdout"),
		.absolute = call_has(c, "-P"),
	};
	bool writes;

	tar_options(cx, c, &t);
	if (!t.mode && t.ops.n && c->argv[1].s.n && c->argv[1].s.p[0] != '-')
		tar_undashed(cx, c, &t);
	call_base(cx, c);
	writes = t.mode && strchr("cruA", t.mode);
	if (t.has_archive)
		tar_archive(cx, &t.archive, writes);
	if (t.dir.s.n) {
		undo_push_cwd(cx);
		cx->cwd = path_resolve(cx, t.dir.s);
	}
	if (t.mode == 'x' && !t.to_stdout)
		tar_unpack(cx, c, &t);
	for (size_t i = 0; writes && i < t.ops.n; i++) {
		effect_read(cx, &t.ops.v[i]);
		rummage_tree(cx, &t.ops.v[i]);
		if (call_has(c, "--remove-files"))
			effect_delete(cx, &t.ops.v[i], true);
	}
	if (t.has_archive && writes && !str_is(t.archive.s, "-"))
		vfile_put(cx, t.archive.s, data_unknown(cx->seen), false);
	if (!t.mode && !c->n_got && !c->ops.n)
		return data_unknown(0);
	return h_finish(cx, c);
}
