/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a script the way bash would run it, without running anything: variables, functions,
 * directories and streams are followed, both sides of every condition are taken.
 */
#include "classify/internal.h"

struct running {
	struct ctx *cx;
	struct io *io;
	struct data said;
	bool keep; /* somebody reads what it prints */
};

static bool run_each(void *arg, struct node *n)
{
	struct running *r = arg;

	struct data d = run_node(r->cx, n, r->io);

	if (r->keep)
		r->said = data_join(r->cx, r->said, d);
	return !r->cx->over;
}

/* A command after the other: what follows the one that used the budget up is not even parsed. */
struct data run_script(struct ctx *cx, struct rein_str text, const struct range *fixed, struct io *io,
		       struct script *ret)
{
	struct running r = {.cx = cx, .io = io, .said = data_known(STR("")), .keep = fixed != NULL};

	shell_parse_each(cx->a, text, fixed, cx->extglob, run_each, &r, ret);
	return r.said;
}

/* What a shell that ends takes with it. */
struct leaving {
	struct undo *mark;
	struct alias *aliases;
	struct func *funcs;
	struct frame *frame;
};

static struct leaving shell_begin(struct ctx *cx)
{
	struct leaving l = {undo_mark(cx), cx->aliases, cx->funcs, cx->frame};

	undo_push_cwd(cx);
	return l;
}

static void shell_end(struct ctx *cx, const struct leaving *l)
{
	undo_to(cx, l->mark);
	cx->aliases = l->aliases;
	cx->frame = l->frame;
	/* they stay in the list: their bodies must be judged too */
	for (struct func *f = cx->funcs; f && f != l->funcs; f = f->next)
		f->gone = true;
}

struct data run_text(struct ctx *cx, struct rein_str text, struct range at, struct io *io)
{
	struct leaving l = shell_begin(cx);
	unsigned shell = cx->shell;
	struct data d;

	cx->shell = ++cx->shells; /* our functions are not its */
	d = run_here(cx, text, at, io);
	cx->shell = shell;
	shell_end(cx, &l);
	return d;
}

struct data run_here(struct ctx *cx, struct rein_str text, struct range at, struct io *io)
{
	struct range *fixed = arena_new(cx->a, struct range);
	struct script sc;
	struct data d;

	if (++cx->parse_depth > 16) {
		cx_incomplete(cx, at, "code inside code is nested too deeply");
		cx->parse_depth--;
		return data_unknown(0);
	}
	*fixed = at;
	d = run_script(cx, text, fixed, io, &sc);
	if (sc.error)
		cx_incomplete(cx, at, sc.error);
	if (sc.odd)
		cx_incomplete(cx, at, "uses syntax that is not read in full");
	cx->parse_depth--;
	return d;
}

void run_index(struct ctx *cx, struct rein_str s, struct range at)
{
	const char *open = s.n ? memchr(s.p, '[', s.n) : NULL;
	struct rein_str rest = open ? str_from(s, (size_t)(open - s.p)) : STR("");
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct sbuf text = {.a = cx->a};

	if (!str_has(rest, "$(") && !str_has(rest, "`"))
		return;
	sbuf_str(&text, STR(": \""));
	sbuf_str(&text, rest);
	sbuf_char(&text, '"');
	run_text(cx, sbuf_view(&text), at, &io);
}

/* [[ x -eq 1 ]]: words beside such an operator are arithmetic, and so is what a variable of that
 * name holds */
static void cond_word(struct ctx *cx, const struct word *w)
{
	struct rounds old = rounds_begin(cx);

	do {
		struct field f = expand_one(cx, w);
		const struct var *v = f.s.n && is_literal(f.s) ? var_find(cx, f.s) : NULL;

		run_index(cx, f.s, w->at);
		for (const struct value *x = v ? v->vals : NULL; x; x = x->next)
			run_index(cx, x->s, w->at);
	} while (rounds_next(cx));
	rounds_end(cx, old);
}

/* again: what was set in an earlier round was taken back, so it is set in this one, too; else it is set once. */
static void prefix_assigns(struct ctx *cx, const struct assign *as, bool again)
{
	for (; as && !cx->over; as = as->next) {
		struct field f = as->is_array ? (struct field){0} : expand_one(cx, as->value);

		if (again || !cx->round)
			run_assign(cx, as);
		if (!as->is_array)
			effect_env(cx, as->name, &f, as->at);
	}
}

/* FOO=x command: gone after it, except what ${y:=z} set on the way. */
static void end_temporary(struct ctx *cx, struct undo *mark, const struct lasting *before)
{
	struct lasting *l = cx->lasting;

	undo_to(cx, mark);
	for (; l && l != before; l = l->next)
		var_set(cx, l->name, l->s, l->taint, false);
}

static struct data simple_round(struct ctx *cx, struct node *n, struct io *io)
{
	struct fields argv = {0}, out = {0};
	struct io own = *io;
	struct undo *mark;
	struct lasting *lasting = cx->lasting;
	bool temporary = false, declaring, doubtful, set, declared = cx->declared;
	struct data d;

	own.doubtful = false;
	declare_expand(cx, n->words, &argv);
	if (!argv.n) {
		prefix_assigns(cx, n->assigns, false);
		run_redirs(cx, n->redirs, &own, &out);
		for (size_t i = 0; i < out.n; i++) {
			struct spot s = path_spot(cx, out.v[i].s);

			if (!out.v[i].quoted && is_far(&s)) /* "> file" and nothing before it */
				fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, out.v[i].at,
				     show(cx, out.v[i].s), "empties a file outside the workspace");
		}
		/* $(<file): a redirection alone prints the file */
		d = n->redirs && !n->words && !n->assigns && own.piped ? own.in
								       : data_known(STR(""));
		return deliver(cx, &out, d);
	}
	mark = undo_mark(cx);
	/* declare x=y <file: not without the file */
	declaring = declares(&argv);
	doubtful = n->redirs && (declaring || str_in(argv.v[0].s, "set shift"));
	cx->cond += doubtful;
	set = declaring && declare_run(cx, n, &argv);
	if (n->assigns) {
		temporary = !declaring && !str_is(argv.v[0].s, "exec");
		prefix_assigns(cx, n->assigns, temporary);
	}
	run_redirs(cx, n->redirs, &own, &out);
	if (str_is(argv.v[0].s, "exec") && argv.n == 1) {
		/* exec 3<file: stays open for everything after it */
		if (own.piped && !io->piped)
			*io = own;
		return data_known(STR(""));
	}
	cx->declared = set;
	d = exec_simple(cx, argv.v, argv.n, &own);
	cx->declared = declared;
	cx->cond -= doubtful;
	if (temporary)
		end_temporary(cx, mark, lasting);
	/* x=y eval …: gone afterwards in bash, kept in a POSIX shell */
	if (temporary && str_in(argv.v[0].s, "eval . source : trap set shift unset return")) {
		cx->cond++;
		prefix_assigns(cx, n->assigns, true);
		cx->cond--;
	}
	/* a file to read from that is not there: then nothing was run, and nothing printed */
	if (own.doubtful && d.known)
		d = data_unknown(d.taint);
	return deliver(cx, &out, d);
}

/* The next round begins where this one began: what ${y:=z} set is not set yet. */
static void take_back(struct ctx *cx, const struct lasting *before)
{
	for (const struct lasting *l = cx->lasting; l && l != before; l = l->next) {
		struct var *v = var_make(cx, l->name);

		v->vals = l->vals;
		v->n_vals = l->n_vals;
		v->is_set = l->is_set;
	}
}

static struct data run_simple(struct ctx *cx, struct node *n, struct io *io)
{
	struct rounds old = rounds_begin(cx);
	struct lasting *before = cx->lasting;
	struct range at = cx->at;
	struct data d = data_known(STR(""));
	const struct rein_str cwd = cx->cwd;
	const bool was_unknown = cx->cwd_unknown;
	bool unknown = false;

	cx->at = n->at;
	do {
		struct data one;

		if (cx->round)
			take_back(cx, before);
		cx->cwd = cwd;
		cx->cwd_unknown = was_unknown;
		one = simple_round(cx, n, io);
		unknown |= cx->cwd_unknown;
		if (cx->round)
			one = data_unknown(one.taint | d.taint);
		d = one;
	} while (rounds_next(cx));
	for (const struct lasting *l = cx->round > 1 ? cx->lasting : before; l && l != before; l = l->next)
		var_set(cx, l->name, l->s, l->taint, false);
	rounds_end(cx, old);
	cx->cwd_unknown = unknown; /* cd "$x": somewhere on one way is somewhere */
	cx->at = at;
	return d;
}

struct data run_list(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d = data_known(STR(""));

	if (!n)
		return d;
	if (n->kind != NODE_SEQ)
		return run_node(cx, n, io);
	for (struct node *k = n->kids; k && !cx->over; k = k->next)
		d = data_join(cx, d, run_node(cx, k, io));
	return d;
}

struct data run_subshell(struct ctx *cx, struct node *n, struct io *io)
{
	struct leaving l = shell_begin(cx);
	struct data d = run_list(cx, n, io);

	shell_end(cx, &l);
	return d;
}

static struct data run_pipe(struct ctx *cx, struct node *n, struct io *io)
{
	struct io own = *io;
	struct data d = data_known(STR(""));

	cx->pipes++;
	for (struct node *k = n->kids; k && !cx->over; k = k->next) {
		struct leaving l = shell_begin(cx);
		bool keep = !k->next && cx->lastpipe;

		d = run_node(cx, k, &own);
		if (!keep)
			shell_end(cx, &l);
		own.in = d;
		own.piped = true;
	}
	cx->pipes--;
	return d;
}

static bool contains_bg(const struct node *n, unsigned depth)
{
	if (!n || depth > 40)
		return false;
	if (n->kind == NODE_BG)
		return true;
	for (const struct node *k = n->kids; k; k = k->next)
		if (contains_bg(k, depth + 1))
			return true;
	return contains_bg(n->a, depth + 1) || contains_bg(n->b, depth + 1) ||
	       contains_bg(n->c, depth + 1);
}

static bool simple_is(const struct node *n, const char *names)
{
	if (!n || n->kind != NODE_SIMPLE || !n->words || !n->words->first ||
	    n->words->first->next)
		return false;
	return str_in(str_base(n->words->first->text), names);
}

/* while true, while :, while ((1)), while [ 1 ], until false */
static bool endless(const struct node *n)
{
	const struct node *c = n->a;

	if (c && c->kind == NODE_SEQ && c->kids && !c->kids->next)
		c = c->kids;
	if (!c)
		return false;
	if (n->until)
		return simple_is(c, "false");
	if (c->kind == NODE_ARITH)
		return c->words && c->words->first && !c->words->first->next &&
		       str_in(c->words->first->text, "1");
	if (simple_is(c, "[ test"))
		return c->words->next && (!c->words->next->next || !c->words->next->next->next);
	return simple_is(c, "true :");
}

static bool waits(const struct node *n, unsigned depth)
{
	if (!n || depth > 40)
		return false;
	if (simple_is(n, "wait sleep read"))
		return true;
	for (const struct node *k = n->kids; k; k = k->next)
		if (waits(k, depth + 1))
			return true;
	return waits(n->a, depth + 1) || waits(n->b, depth + 1) || waits(n->c, depth + 1);
}

#define LOOPS_AGAIN 2 /* of loops in loops those outside, or it would be 2, 4, 8 … times */

/* What a turn sets the next one sees: where something was set, once more, the condition (or NULL) first. */
static struct data run_turns(struct ctx *cx, struct node *condition, struct node *body, struct io *io)
{
	unsigned sets = cx->sets;
	struct data d;

	cx->loops++;
	d = run_list(cx, body, io);
	if (cx->sets != sets && cx->loops <= LOOPS_AGAIN) {
		if (condition)
			d = data_join(cx, d, run_list(cx, condition, io));
		d = data_join(cx, d, run_list(cx, body, io));
	}
	cx->loops--;
	return d;
}

static struct data run_loop(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d;

	if (endless(n) && contains_bg(n->b, 0) && !waits(n->b, 0))
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, n->at, NULL,
		     "starts background processes without end (fork bomb)");
	d = run_list(cx, n->a, io);
	cx->cond++;
	d = data_join(cx, d, run_turns(cx, n->a, n->b, io));
	cx->cond--;
	return data_unknown(d.taint | io->in.taint);
}

static struct data run_for(struct ctx *cx, struct node *n, struct io *io)
{
	struct fields items = {0};
	struct data d = data_known(STR(""));
	struct rounds old = rounds_begin(cx);
	const struct var *var = var_find(cx, n->name);
	struct var before = var ? *var : (struct var){0};
	bool perhaps = cx->cond; /* it may not come to it */
	size_t i = 0;

	do
		for (struct word *w = n->words; w; w = w->next)
			expand_word(cx, w, &items);
	while (rounds_next(cx));
	rounds_end(cx, old);
	if (!n->has_in) {
		for (size_t k = 0; cx->frame && k < cx->frame->n; k++)
			fields_push(cx, &items, cx->frame->v[k]);
		if (!cx->frame || !cx->frame->known)
			fields_push(cx, &items,
				    (struct field){.s = STR("\001"), .taint = TAINT_INPUT});
	}
	if (items.n > 64) {
		/* too many to look at one by one: any of them */
		struct field any = {.s = STR("\001"), .taint = TAINT_INPUT};
		bool literal = true;

		for (size_t k = 0; k < items.n; k++)
			literal &= is_literal(items.v[k].s);
		items.n = literal ? 64 : 0;
		fields_push(cx, &items, any);
	}
	cx->cond++;
	do {
		size_t stop = i + CX_VALUES < items.n ? i + CX_VALUES : items.n;
		struct var *v;

		var_unset(cx, n->name);
		v = var_make(cx, n->name);
		v->vals = NULL;
		v->n_vals = 0;
		for (; i < stop; i++) {
			struct value *val = arena_new(cx->a, struct value);

			val->s = items.v[i].s;
			val->taint = items.v[i].taint;
			val->next = v->vals;
			v->vals = val;
			v->n_vals++;
		}
		d = items.n <= 1 && !has_hole(items.n ? items.v[0].s : STR("")) ? run_list(cx, n->b, io)
										: run_turns(cx, NULL, n->b, io);
	} while (i < items.n && cx_step(cx));
	cx->cond--;
	if (perhaps || !items.n)
		var_or_before(cx, n->name, &before);
	return items.n <= 1 ? d : data_unknown(d.taint | io->in.taint);
}

static struct data run_case(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d = data_known(STR("")), one;

	if (n->words)
		rounds_expand(cx, n->words);
	cx->cond++;
	for (struct case_arm *arm = n->arms; arm; arm = arm->next) {
		for (struct word *w = arm->patterns; w; w = w->next)
			rounds_expand(cx, w);
		one = run_list(cx, arm->body, io);
		d = data_unknown(d.taint | one.taint);
	}
	cx->cond--;
	return d;
}

static void define(struct ctx *cx, struct node *n)
{
	struct func *f = arena_new(cx->a, struct func);

	if (!n->name.n || !n->b)
		return;
	f->name = n->name;
	f->body = n->b;
	f->shell = cx->shell;
	f->doubtful = cx->cond;
	f->next = cx->funcs;
	cx->funcs = f;
	if (!strncmp(n->name.p, "command_not_found_handle", n->name.n) && n->name.n == 24)
		f->called = false;
}

static struct data run_coproc(struct ctx *cx, struct node *n, struct io *io)
{
	struct io own = {.in = data_unknown(TAINT_INPUT), .piped = true};
	struct fields fds = {0};
	unsigned fd = 10 + cx->next_fd++ % (CX_FDS - 10);
	char num[16];
	struct data d;

	(void)io;
	cx->bg++;
	d = run_subshell(cx, n->a, &own);
	cx->bg--;
	cx->fds[fd] = d;
	cx->fd_open[fd] = true;
	snprintf(num, sizeof(num), "%u", fd);
	fields_push(cx, &fds, field_of(cx, num, n->at));
	fields_push(cx, &fds, field_of(cx, num, n->at));
	var_array(cx, n->name, &fds);
	return data_known(STR(""));
}

static struct data run_if(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d = run_list(cx, n->a, io), one;

	cx->cond++;
	one = run_list(cx, n->b, io);
	d = data_unknown(d.taint | one.taint);
	one = run_list(cx, n->c, io);
	cx->cond--;
	return data_unknown(d.taint | one.taint);
}

static struct data node_body(struct ctx *cx, struct node *n, struct io *io)
{
	struct data d = data_known(STR(""));

	switch (n->kind) {
	case NODE_SIMPLE:
		return run_simple(cx, n, io);
	case NODE_PIPE:
		return run_pipe(cx, n, io);
	case NODE_AND_OR:
		for (struct node *k = n->kids; k && !cx->over; k = k->next) {
			cx->cond += k != n->kids;
			d = data_join(cx, d, run_node(cx, k, io));
			cx->cond -= k != n->kids;
		}
		return d;
	case NODE_SEQ:
		return run_list(cx, n, io);
	case NODE_BG:
		cx->bg++;
		d = run_subshell(cx, n->a, io);
		cx->bg--;
		return d;
	case NODE_NOT:
	case NODE_TIME:
		return n->a ? run_node(cx, n->a, io) : d;
	case NODE_GROUP:
		return run_list(cx, n->a, io);
	case NODE_SUBSHELL:
		return run_subshell(cx, n->a, io);
	case NODE_IF:
		return run_if(cx, n, io);
	case NODE_LOOP:
		return run_loop(cx, n, io);
	case NODE_FOR:
	case NODE_SELECT:
		return run_for(cx, n, io);
	case NODE_CFOR:
		rounds_expand(cx, n->words);
		cx->cond++;
		d = run_turns(cx, NULL, n->b, io);
		cx->cond--;
		return data_unknown(d.taint);
	case NODE_CASE:
		return run_case(cx, n, io);
	case NODE_FUNC:
		define(cx, n);
		return d;
	case NODE_COND:
		for (struct word *w = n->words; w; w = w->next)
			cond_word(cx, w);
		return d;
	case NODE_ARITH:
		rounds_expand(cx, n->words);
		return d;
	case NODE_COPROC:
		return run_coproc(cx, n, io);
	}
	return d;
}

struct data run_node(struct ctx *cx, struct node *n, struct io *io)
{
	struct fields out = {0};
	struct rounds old;
	struct io own;
	struct data d;

	if (!n)
		return data_known(STR(""));
	if (!cx_step(cx) || cx->depth > 90) {
		cx_incomplete(cx, n->at, "too much to analyse");
		return data_unknown(0);
	}
	if (n->kind == NODE_SIMPLE || !n->redirs)
		return node_body(cx, n, io);
	old = rounds_begin(cx);
	do {
		own = *io;
		run_redirs(cx, n->redirs, &own, &out);
	} while (rounds_next(cx));
	rounds_end(cx, old);
	d = node_body(cx, n, &own);
	return deliver(cx, &out, d);
}

/* Functions nobody called here may be called later: their bodies count as well. */
void run_uncalled(struct ctx *cx)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	for (struct func *f = cx->funcs; f; f = f->next) {
		struct frame frame = {0};

		if (f->called)
			continue;
		f->called = true;
		f->active++;
		cx->frame = &frame;
		cx->cond++;
		run_node(cx, f->body, &io);
		cx->cond--;
		cx->frame = NULL;
		f->active--;
	}
}
