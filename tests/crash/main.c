/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash: the crash tester. One small rich tree, one held or committed transaction on it, and then
 * a command of Rein's is killed, or sees a failing call, at its 1st, 2nd, 3rd … system call, until
 * it gets through unharmed. After each fault the next command is `rein status`, and:
 *
 * [C1] the tree is the whole before or the whole after, in every byte and attribute;
 * [C2] a command that reported success left the after, one that reported failure the before,
 *      unless it said that the next command will settle it;
 * [C3] a command that fails says why;
 * [C4] what is left to do can be done, and undone again;
 * [C5] no process and no mount stays.
 *
 *	crash --rein build/rein			everything
 *	crash --rein build/rein --sample 7	every 7th point
 *	crash --rein build/rein --only commit --fault kill --at 31
 */
#include "trace.h"

#include "../lab/ops.h"
#include "../lab/tree.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ORDINARY_UID 65534
#define MAX_POINTS   20000
#define UNDECIDED    "next command"

struct crash {
	char *rein, *ops;
	const char *env;
	struct lab_who who;
	bool root; /* the program under test runs as root */
	bool keep;
	unsigned long sample, offset, at;
	const char *only, *fault;
	unsigned max_failures, failed;
	bool all_calls, must_find;
};

/* ---- the tree and what is done to it ---- */

static const char setup_list[] =
	"mkdir keep 0755\nput keep/same 0644 100 1\nput keep/other 0640 9000 2\n"
	"put modify 0644 5000 3\nput delete 0644 300 4\nput oldname 0644 700 5\n"
	"mkdir olddir 0755\nput olddir/a 0644 50 6\nmkdir olddir/sub 0700\nput olddir/sub/b 0600 "
	"60 7\n"
	"mkdir dir-to-file 0755\nput dir-to-file/x 0644 10 8\nput file-to-dir 0644 20 9\n"
	"mkdir opaque 0755\nput opaque/old1 0644 30 10\nput opaque/old2 0644 40 11\n"
	"put hard1 0644 400 12\nlink hard1 hard2\nlink hard1 keep/hard3\n"
	"put mode 0644 15 13\nput attr 0644 16 14\nsetx attr user.a%00old\nput owner 0644 17 15\n"
	"mkdir meta 0755\nput meta/in 0644 18 16\nsymlink keep/same link\nmkfifo pipe 0644\n"
	"mksock sock 0600\nmkdir gone 0755\nput gone/1 0644 19 17\nmkdir gone/deep 0755\n"
	"put gone/deep/2 0644 20 18\nmkdir sealed 0755\nput sealed/f 0444 21 19\nput sealed/g 0644 "
	"22 20\n"
	"chmod sealed 0555\nmkdir deep 0755\nmkdir deep/er 0755\nput deep/er/file 0644 23 21\n"
	"sparse sparse 4194304 2000000 100 22\n";

static const char run_list[] =
	"put new 0644 2000 31\nmkdir newdir 0750\nput newdir/n 0644 100 32\nappend modify 500 33\n"
	"unlink delete\nrename oldname newname\nrename olddir renamed\nput renamed/sub/c 0644 9 "
	"34\n"
	"rmrf dir-to-file\nput dir-to-file 0644 77 35\nunlink file-to-dir\nmkdir file-to-dir 0755\n"
	"put file-to-dir/in 0600 78 36\nrmrf opaque\nmkdir opaque 0711\nput opaque/fresh 0644 79 "
	"37\n"
	"append hard2 80 38\nchmod mode 0600\nsetx attr user.a%00new\nsetx attr user.b%00two\n"
	"chmod meta 0700\nutime meta 1100000000 5\nresym keep/other link\nrmrf gone\nmkfifo pipe2 "
	"0600\n"
	"unlink sock\nappend sealed/g 5 39\nlink new newlink\nput deep/er/more 0644 81 40\n"
	"pwrite sparse 3000000 50 41\nsetx . user.top%00yes\nchown owner @UID @GID\n"
	"utime modify 1200000000 1\nutime new 1200000000 2\nutime deep/er 1200000000 3\n"
	"utime renamed 1200000000 4\nutime hard2 1200000000 6\n";

static const char second_list[] = "put second 0644 60 51\nappend modify 7 52\nunlink newname\n"
				  "mkdir third 0755\nput third/x 0644 5 53\n";

/* by somebody else, after the commit: other files under the same names, and one written over; not a directory's time */
static const char edit_list[] = "put edit 0644 900 71\nutime edit 1300000000 1\nrename edit modify\n"
				"put edit 0640 33 72\nutime edit 1300000000 2\nrename edit deep/er/more\n"
				"append newname 12 73\nutime newname 1300000000 3\nutime deep/er 1200000000 3\n";

static const char check_list[] = "put usable 0644 3 61\n";

/* ---- a fixture: a fresh workspace and state ---- */

enum which { BASE, DONE, SECOND, EDITED, NTREES };

struct fixture {
	const struct crash *c;
	char *base, *work, *home_env, *state_env;
	struct timespec start;
};

/* differ-ops prints one errno a line, then "end". */
static bool all_succeeded(const char *out)
{
	while (!strncmp(out, "0\n", 2))
		out += 2;
	return !strcmp(out, "end\n");
}

/* Without Rein; stamp: every file of the tree gets a time that is always the same. */
static void natively(const struct fixture *x, const char *list, bool stamp)
{
	const char *argv[] = {x->c->ops, stamp ? "--stamp" : NULL, "1", NULL};
	struct lab_cmd cmd = {
		.argv = argv, .who = &x->c->who, .cwd = x->work, .in = list, .in_n = strlen(list)};
	struct lab_result r;

	lab_run(&cmd, &r);
	if (r.status != 0 || !all_succeeded(r.out.p))
		lab_die("cannot make the tree: %s%s", r.out.p, r.err.p);
	lab_result_done(&r);
}

static void fixture_make(const struct crash *c, struct fixture *x)
{
	x->c = c;
	x->base = lab_tmpdir("crash", &c->who);
	x->work = lab_format("%s/work", x->base);
	x->home_env = lab_format("HOME=%s/home", x->base);
	x->state_env = lab_format("REIN_STATE=%s/state", x->base);
	lab_mkdir(x->work, &c->who);
	lab_mkdir(x->home_env + 5, &c->who);
	natively(x, setup_list, true);
	x->start = lab_filetime();
}

static void fixture_done(struct fixture *x)
{
	if (x->c->keep)
		printf("kept: %s\n", x->base);
	else
		lab_remove(x->base);
	free(x->base);
	free(x->work);
	free(x->home_env);
	free(x->state_env);
}

static char *list_for(const struct crash *c, const char *list)
{
	const char *at = strstr(list, "@UID @GID");

	if (!at)
		return lab_strdup(list);
	/* without privilege a file can only be given to its owner */
	return lab_format("%.*s%d %d%s", (int)(at - list), list,
			  c->root	? 1000
			  : c->who.drop ? ORDINARY_UID
					: (int)getuid(),
			  c->root	? 1000
			  : c->who.drop ? ORDINARY_UID
					: (int)getgid(),
			  at + 9);
}

/*
 * A command line of Rein's, as words: "@run", "@second" and "@check" stand for differ-ops with
 * that list.
 */
struct words {
	const char *w[10];
};

struct command {
	const char *argv[24], *env[4];
	struct lab_cmd cmd;
	char *list;
};

static void command_make(const struct fixture *x, const struct words *words, struct command *ret)
{
	static const struct {
		const char *name, *text;
	} lists[] = {{"@run", run_list}, {"@second", second_list}, {"@check", check_list}};
	size_t n = 0;

	*ret = (struct command){0};
	ret->argv[n++] = x->c->rein;
	for (size_t i = 0; words->w[i]; i++) {
		if (words->w[i][0] != '@' || strlen(words->w[i]) < 4) {
			ret->argv[n++] = words->w[i];
			continue;
		}
		for (size_t j = 0; j < lab_array_size(lists); j++)
			if (!strcmp(lists[j].name, words->w[i]))
				ret->list = list_for(x->c, lists[j].text);
		ret->argv[n++] = "--workspace";
		ret->argv[n++] = x->work;
		if (x->c->root) {
			ret->argv[n++] = "--cap-add";
			ret->argv[n++] = "chown";
		}
		ret->argv[n++] = "--";
		ret->argv[n++] = x->c->ops;
	}
	ret->env[0] = x->home_env;
	ret->env[1] = x->state_env;
	ret->env[2] = x->c->env;
	ret->cmd = (struct lab_cmd){.argv = ret->argv,
				    .cwd = x->work,
				    .env = ret->env,
				    .who = &x->c->who,
				    .in = ret->list,
				    .in_n = ret->list ? strlen(ret->list) : 0};
}

static int rein(const struct fixture *x, const struct words *words, struct lab_result *r)
{
	struct command c;

	command_make(x, words, &c);
	lab_run(&c.cmd, r);
	free(c.list);
	return r->status;
}

/* ---- what is tried ---- */

static const struct words HOLD = {{"run", "--approve", "--hold", "-q", "@run"}},
			  COMMIT_RUN = {{"run", "--approve", "--commit", "@run"}},
			  COMMIT_SECOND = {{"run", "--approve", "--commit", "-q", "@second"}},
			  HOLD_SECOND = {{"run", "--approve", "--hold", "-q", "@second"}},
			  CHECK = {{"run", "--approve", "--commit", "-q", "@check"}}, STATUS = {{"status"}},
			  COMMIT = {{"commit"}}, UNDO = {{"undo"}}, REDO = {{"redo"}},
			  UNDO_EDITED = {{"undo", "--theirs", "*"}},
			  DISCARD = {{"discard"}}, GC = {{"gc", "--keep", "1"}};

struct scenario {
	const char *name;
	const struct words *prepare[4];
	const struct words *faulted;
	enum which before, after;
	/* What must work afterwards when the tree is before, and when it is after. */
	const struct words *from_before[3], *from_after[3];
	enum which then_before[3], then_after[3];
	bool alone; /* the command's own process only */
	bool edited; /* after it was prepared somebody else changed files of it */
	/*
	 * Recovery is the faulted command: this one was killed before, at so many quarters of its
	 * way. Either tree is right then.
	 */
	const struct words *killed;
	unsigned quarters;
};

#define FROM_HELD                                                                                  \
	.before = BASE, .after = DONE, .from_before = {&COMMIT, &UNDO, &REDO},                     \
	.then_before = {DONE, BASE, DONE}, .from_after = {&UNDO, &REDO, &UNDO},                    \
	.then_after = {BASE, DONE, BASE}
#define FROM_COMMITTED                                                                             \
	.before = DONE, .after = BASE, .from_before = {&UNDO, &REDO}, .then_before = {BASE, DONE}, \
	.from_after = {&REDO, &UNDO}, .then_after = {DONE, BASE}

static const struct scenario scenarios[] = {
	{.name = "commit", .prepare = {&HOLD}, .faulted = &COMMIT, FROM_HELD},
	{.name = "undo", .prepare = {&COMMIT_RUN}, .faulted = &UNDO, FROM_COMMITTED},
	{.name = "undo-edited",
	 .prepare = {&COMMIT_RUN},
	 .edited = true,
	 .faulted = &UNDO_EDITED,
	 .before = EDITED,
	 .after = BASE,
	 .from_before = {&UNDO_EDITED, &REDO},
	 .then_before = {BASE, EDITED},
	 .from_after = {&REDO, &UNDO},
	 .then_after = {EDITED, BASE}},
	{.name = "redo",
	 .prepare = {&COMMIT_RUN, &UNDO},
	 .faulted = &REDO,
	 .before = BASE,
	 .after = DONE,
	 .from_before = {&REDO, &UNDO},
	 .then_before = {DONE, BASE},
	 .from_after = {&UNDO, &REDO},
	 .then_after = {BASE, DONE}},
	{.name = "discard",
	 .prepare = {&HOLD},
	 .faulted = &DISCARD,
	 .before = BASE,
	 .after = BASE,
	 .from_before = {&COMMIT, &UNDO},
	 .then_before = {DONE, BASE}},
	{.name = "gc",
	 .prepare = {&COMMIT_RUN, &COMMIT_SECOND, &HOLD_SECOND},
	 .faulted = &GC,
	 .before = SECOND,
	 .after = SECOND},
	{.name = "run",
	 .prepare = {NULL},
	 .faulted = &COMMIT_RUN,
	 .before = BASE,
	 .after = DONE,
	 .from_before = {&COMMIT_RUN, &UNDO},
	 .then_before = {DONE, BASE},
	 .from_after = {&UNDO, &REDO},
	 .then_after = {BASE, DONE},
	 .alone = true},
	{.name = "recover-commit-1",
	 .prepare = {&HOLD},
	 .killed = &COMMIT,
	 .quarters = 1,
	 .faulted = &STATUS,
	 FROM_HELD},
	{.name = "recover-commit-2",
	 .prepare = {&HOLD},
	 .killed = &COMMIT,
	 .quarters = 2,
	 .faulted = &STATUS,
	 FROM_HELD},
	{.name = "recover-commit-3",
	 .prepare = {&HOLD},
	 .killed = &COMMIT,
	 .quarters = 3,
	 .faulted = &STATUS,
	 FROM_HELD},
	{.name = "recover-undo-2",
	 .prepare = {&COMMIT_RUN},
	 .killed = &UNDO,
	 .quarters = 2,
	 .faulted = &STATUS,
	 FROM_COMMITTED},
	{.name = "recover-undo-3",
	 .prepare = {&COMMIT_RUN},
	 .killed = &UNDO,
	 .quarters = 3,
	 .faulted = &STATUS,
	 FROM_COMMITTED},
};

static const struct fault {
	const char *name;
	unsigned classes;
	int err;
	bool sticky;
} faults[] = {
	{"kill", CALL_CHANGE, 0, false},	  {"enospc", CALL_SPACE, ENOSPC, false},
	{"full-disk", CALL_SPACE, ENOSPC, true},  {"edquot", CALL_SPACE, EDQUOT, true},
	{"sync-eio", CALL_SYNC, EIO, false},	  {"sync-dead", CALL_SYNC, EIO, true},
	{"alter-eio", CALL_ALTER, EIO, false},	  {"enomem", CALL_MEMORY, ENOMEM, false},
	{"no-memory", CALL_MEMORY, ENOMEM, true},
};

struct tally {
	unsigned long points, before, after;
};

/* One fault point: what happened, and the complaint if there is one. */
struct point {
	const struct crash *c;
	const struct scenario *s;
	const struct fault *f;
	unsigned long at;
	const struct tree *trees; /* the references */
	struct trace_result res;
	struct lab_text why;
	unsigned long *calls; /* of the command killed before, see struct scenario */
};

static bool is_tree(const struct tree *want, const struct fixture *x, struct lab_text *why)
{
	struct tree now;
	bool same;

	tree_take(&now, x->work, x->start);
	same = tree_equal(want, &now, (struct tree_rules){.clock_times = true}, why);
	tree_done(&now);
	return same;
}

/* Run the next command: it must succeed and leave this tree. */
static bool step(struct point *p, const struct fixture *x, const struct words *words,
		 enum which then)
{
	struct lab_text why = {0};
	struct lab_result r;
	bool ok = false;

	if (rein(x, words, &r) != 0)
		lab_text_printf(&p->why, "[C4] afterwards, rein %s failed with %d: %s\n",
				words->w[0], r.status, r.err.p);
	else if (!is_tree(&p->trees[then], x, &why))
		lab_text_printf(&p->why, "[C4] afterwards, rein %s left another tree:\n%s",
				words->w[0], why.p);
	else
		ok = true;
	lab_result_done(&r);
	lab_text_done(&why);
	return ok;
}

static void go_on(struct point *p, const struct fixture *x, bool after)
{
	const struct words *const *steps = after ? p->s->from_after : p->s->from_before;
	const enum which *then = after ? p->s->then_after : p->s->then_before;
	struct lab_result r;

	for (int i = 0; i < 3 && steps[i]; i++)
		if (!step(p, x, steps[i], then[i]))
			return;
	if (rein(x, &CHECK, &r) != 0)
		lab_text_printf(&p->why, "[C4] afterwards, rein run failed with %d: %s\n", r.status,
				r.err.p);
	lab_result_done(&r);
}

/* A discard that got through leaves nothing to commit; one that did not, leaves it whole. */
static void go_on_discard(struct point *p, const struct fixture *x, bool success)
{
	struct lab_text why = {0};
	struct lab_result r;
	bool committed = rein(x, &COMMIT, &r) == 0;

	if (committed && success)
		lab_text_printf(&p->why,
				"[C2] discard reported success, and commit still worked\n");
	else if (!is_tree(&p->trees[committed ? DONE : BASE], x, &why))
		lab_text_printf(&p->why, "[C4] after a commit with status %d:\n%s%s\n", r.status,
				why.p, r.err.p);
	else if (committed)
		step(p, x, &UNDO, BASE);
	else
		step(p, x, &COMMIT_RUN, DONE);
	lab_result_done(&r);
	lab_text_done(&why);
}

/*
 * gc takes the first transaction and nothing else: the held one and the newest can be dealt with as
 * before. The first is whole or gone, so that its undo works or does nothing.
 */
static void go_on_gc(struct point *p, const struct fixture *x)
{
	static const struct words newest = {{"discard", "@"}}, second = {{"undo", "@~1"}},
				  first = {{"undo", "@~2"}};
	struct lab_text why = {0};
	struct lab_result r;
	bool undone;

	if (!step(p, x, &newest, SECOND) || !step(p, x, &second, DONE))
		return;
	undone = rein(x, &first, &r) == 0;
	if (undone && p->res.said_success)
		lab_text_printf(&p->why, "[C2] gc reported success, but the old one is still there\n");
	if (!is_tree(&p->trees[undone ? BASE : DONE], x, &why))
		lab_text_printf(&p->why, "[C4] afterwards, rein undo of the old one (%d) left another tree:\n%s",
				r.status, why.p);
	lab_result_done(&r);
	lab_text_done(&why);
}

static bool has_mounts(const struct fixture *x)
{
	char line[8192];
	bool found = false;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		lab_die_errno("read mountinfo");
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, x->base) != NULL;
	fclose(f);
	return found;
}

static void check_report(struct point *p, bool is_before, bool is_after)
{
	bool killed = p->f->err == 0, success = p->res.said_success && (killed || !p->res.r.status);

	if (p->s->killed) /* what the killed command did is for recovery to decide */
		is_before = is_after = true;
	if (success && !is_after)
		lab_text_printf(&p->why,
				"[C2] it reported success, but the tree is the one before\n");
	/* A disk that stays full can stop the way back, too: then it says who will finish it. */
	if (!killed && p->res.r.status != 0 && !is_before && !strstr(p->res.r.err.p, UNDECIDED))
		lab_text_printf(&p->why,
				"[C2] it reported failure (%d), but the tree is the one "
				"after: %s\n",
				p->res.r.status, p->res.r.err.p);
	if (!killed && p->res.r.status != 0 && p->res.r.err.n == 0)
		lab_text_printf(&p->why, "[C3] it failed with %d and said nothing\n",
				p->res.r.status);
}

static void check_remains(struct point *p, const struct fixture *x)
{
	if (p->res.r.status == -1)
		lab_text_printf(&p->why, "[C1] it hangs\n");
	if (p->res.left_processes)
		lab_text_printf(&p->why, "[C5] a process was left behind\n");
	if (has_mounts(x))
		lab_text_printf(&p->why, "[C5] a mount was left behind\n");
}

/* Rein carries out some calls for the command in the box: their failure is the command's. */
static bool inside_saw_it(const struct point *p)
{
	return p->s->faulted == &COMMIT_RUN && p->f->err && p->res.r.status == 0 &&
	       !all_succeeded(p->res.r.out.p);
}

static void check_point(struct point *p, const struct fixture *x, struct tally *t)
{
	struct lab_text no_before = {0}, no_after = {0};
	struct lab_result r;
	bool before, after, success = p->res.said_success;

	check_remains(p, x);
	if (rein(x, &STATUS, &r) != 0)
		lab_text_printf(&p->why, "[C4] rein status failed with %d: %s\n", r.status,
				r.err.p);
	lab_result_done(&r);
	before = is_tree(&p->trees[p->s->before], x, &no_before);
	after = is_tree(&p->trees[p->s->after], x, &no_after);
	t->before += before;
	t->after += after && !before;
	if (!before && !after && inside_saw_it(p))
		after = true; /* the command in the box went another way, and that was committed */
	else if (!before && !after)
		lab_text_printf(&p->why, "[C1] the tree is between.\nnot before:\n%snot after:\n%s",
				no_before.p, no_after.p);
	else
		check_report(p, before, after);
	lab_text_done(&no_before);
	lab_text_done(&no_after);
	if (p->why.n || (after && inside_saw_it(p)))
		return;
	if (p->s->faulted == &DISCARD)
		go_on_discard(p, x, success);
	else if (p->s->faulted == &GC)
		go_on_gc(p, x);
	else
		go_on(p, x, after);
}

/* Kill a command on its way; how many calls its whole way has is counted first, once. */
static void kill_midway(const struct scenario *s, struct fixture *x, unsigned long *calls)
{
	struct trace_fault f = {.classes = CALL_CHANGE,
				.at = *calls ? 1 + *calls * s->quarters / 4 : 0};
	struct trace_result res;
	struct command cmd;

	command_make(x, s->killed, &cmd);
	trace_run(&cmd.cmd, &f, &res);
	*calls = *calls ? *calls : res.seen;
	free(cmd.list);
	lab_result_done(&res.r);
}

static void prepare(const struct crash *c, const struct scenario *s, struct fixture *x)
{
	struct lab_result r;

	fixture_make(c, x);
	for (int i = 0; i < 4 && s->prepare[i]; i++) {
		int st = rein(x, s->prepare[i], &r);
		bool holds = !strcmp(s->prepare[i]->w[1] ? s->prepare[i]->w[1] : "", "--hold");

		if (st != 0 && !(holds && st == 121))
			lab_die("preparing '%s': rein %s gave %d: %s", s->name, s->prepare[i]->w[0],
				st, r.err.p);
		lab_result_done(&r);
	}
	if (s->edited)
		natively(x, edit_list, false);
}

/* False when the command got through before the fault's turn came. */
static bool one_point(struct point *p, struct tally *t)
{
	struct trace_fault f = {.classes = p->c->all_calls && !p->f->err ? CALL_ANY : p->f->classes,
				.at = p->at,
				.err = p->f->err,
				.sticky = p->f->sticky,
				.alone = p->s->alone};
	struct command cmd;
	struct fixture x;
	bool hit;

	prepare(p->c, p->s, &x);
	if (p->s->killed)
		kill_midway(p->s, &x, p->calls);
	command_make(&x, p->s->faulted, &cmd);
	trace_run(&cmd.cmd, &f, &p->res);
	free(cmd.list);
	hit = p->res.hit;
	if (hit)
		check_point(p, &x, t);
	else if (p->res.r.status != 0)
		lab_text_printf(&p->why, "[C4] without a fault it failed with %d: %s\n",
				p->res.r.status, p->res.r.err.p);
	fixture_done(&x);
	return hit;
}

static void report(const struct point *p)
{
	printf("FAIL %s, %s at call %lu (%s), status %d\n%s", p->s->name, p->f->name, p->at,
	       p->res.call ? p->res.call : "none", p->res.r.status, p->why.p);
	if (p->res.r.err.n)
		printf("its standard error:\n%s\n", p->res.r.err.p);
	printf("again: crash --rein %s%s --only %s --fault %s --at %lu\n", p->c->rein,
	       p->c->who.drop ? " --user" : "", p->s->name, p->f->name, p->at);
	fflush(stdout);
}

static void enumerate(struct crash *c, const struct scenario *s, const struct fault *f,
		      const struct tree *trees)
{
	unsigned long at = c->at ? c->at : 1 + c->offset % c->sample, step_by = c->sample;
	struct tally t = {0};
	double start = lab_now();
	unsigned long calls = 0;
	unsigned failed = 0;
	bool hit = true;

	if (s->killed) {
		struct fixture x;

		prepare(c, s, &x);
		kill_midway(s, &x, &calls);
		fixture_done(&x);
	}

	for (; hit && at < MAX_POINTS && c->failed < c->max_failures; at += step_by) {
		struct point p = {
			.c = c, .s = s, .f = f, .at = at, .trees = trees, .calls = &calls};

		hit = one_point(&p, &t);
		t.points += hit;
		if (p.why.n) {
			failed++;
			c->failed++;
			report(&p);
		}
		lab_text_done(&p.why);
		lab_result_done(&p.res.r);
		if (c->at)
			break;
	}
	if (at >= MAX_POINTS)
		lab_die("%s: no end after %d points", s->name, MAX_POINTS);
	printf("crash: %-16s %-10s %4lu points: %lu before, %lu after, %u failed (%.1f s)\n",
	       s->name, f->name, t.points, t.before, t.after, failed, lab_now() - start);
	fflush(stdout);
}

/* What the trees look like when nothing goes wrong. */
static void take_references(const struct crash *c, struct tree *trees)
{
	static const struct scenario plain = {.name = "reference"},
				     edited = {.name = "reference", .prepare = {&COMMIT_RUN}, .edited = true};
	static const struct words *const steps[] = {&COMMIT_RUN, &COMMIT_SECOND};
	struct lab_text why = {0};
	struct lab_result r;
	struct fixture x;

	prepare(c, &plain, &x);
	tree_take(&trees[BASE], x.work, (struct timespec){0});
	for (int i = 0; i < 2; i++) {
		if (rein(&x, steps[i], &r) != 0)
			lab_die("rein run: %s", r.err.p);
		if (!all_succeeded(r.out.p))
			lab_die("an operation failed in the box:\n%s", r.out.p);
		lab_result_done(&r);
		tree_take(&trees[i + 1], x.work, x.start);
	}
	if (tree_equal(&trees[BASE], &trees[DONE], (struct tree_rules){0}, &why))
		lab_die("the run changed nothing: this test would prove nothing");
	lab_text_done(&why);
	fixture_done(&x);
	prepare(c, &edited, &x);
	tree_take(&trees[EDITED], x.work, x.start);
	fixture_done(&x);
}

static const struct option long_options[] = {
	{"rein", required_argument, NULL, 'r'},	  {"differ-ops", required_argument, NULL, 'd'},
	{"only", required_argument, NULL, 'o'},	  {"fault", required_argument, NULL, 'f'},
	{"at", required_argument, NULL, 'n'},	  {"sample", required_argument, NULL, 's'},
	{"offset", required_argument, NULL, 'O'}, {"max-failures", required_argument, NULL, 'm'},
	{"env", required_argument, NULL, 'e'},	  {"user", no_argument, NULL, 'u'},
	{"all-calls", no_argument, NULL, 'a'},	  {"keep", no_argument, NULL, 'k'},
	{"daily", no_argument, NULL, 'D'},	  {"must-find", no_argument, NULL, 'M'},
	{"help", no_argument, NULL, 'h'},	  {0},
};

static void usage(void)
{
	printf("usage: crash --rein PATH [options]\n"
	       "  --only NAME[,NAME]       of: ");
	for (size_t i = 0; i < lab_array_size(scenarios); i++)
		printf("%s ", scenarios[i].name);
	printf("\n  --fault NAME[,NAME]      of: ");
	for (size_t i = 0; i < lab_array_size(faults); i++)
		printf("%s ", faults[i].name);
	printf("\n"
	       "  --sample K               every K-th point; --offset N: beginning with the N-th\n"
	       "  --at N                   this point only\n"
	       "  --all-calls              kill at every system call, not only at changing ones\n"
	       "  --user                   run as uid %d (needs root)\n"
	       "  --max-failures N         stop after so many (5)\n"
	       "  --env NAME=VALUE         one more variable for the program under test\n"
	       "  --must-find              succeed only if a failure was found\n"
	       "  --keep                   leave the temporary directories\n",
	       ORDINARY_UID);
}

static char *path_of(const char *arg)
{
	char *path = realpath(arg, NULL);

	if (!path)
		lab_die_errno("%s", arg);
	return path;
}

/* What changes most and breaks worst, in a time people wait for. */
static void take_daily_sample(struct crash *c)
{
	c->only = "commit,undo,undo-edited,run";
	c->fault = "kill,full-disk,sync-eio";
	c->sample = 13;
}

static void parse(int argc, char **argv, struct crash *c)
{
	bool user = false, daily = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (opt) {
		case 'r':
			c->rein = path_of(optarg);
			break;
		case 'd':
			c->ops = path_of(optarg);
			break;
		case 'o':
			c->only = optarg;
			break;
		case 'f':
			c->fault = optarg;
			break;
		case 'n':
			c->at = lab_number(optarg, "--at");
			break;
		case 's':
			c->sample = lab_number(optarg, "--sample");
			break;
		case 'O':
			c->offset = lab_number(optarg, "--offset");
			break;
		case 'm':
			c->max_failures = (unsigned)lab_number(optarg, "--max-failures");
			break;
		case 'e':
			c->env = optarg;
			break;
		case 'u':
			user = true;
			break;
		case 'a':
			c->all_calls = true;
			break;
		case 'k':
			c->keep = true;
			break;
		case 'D':
			daily = true;
			break;
		case 'M':
			c->must_find = true;
			break;
		case 'h':
			usage();
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind != argc || !c->rein || !c->sample) {
		usage();
		exit(2);
	}
	if (user && geteuid() != 0) {
		printf("crash: --user needs root; without it this is what happens anyway\n");
		exit(LAB_SKIP);
	}
	if (lab_full())
		c->sample = 1;
	else if (daily)
		take_daily_sample(c);
	c->who = (struct lab_who){.drop = user, .uid = ORDINARY_UID, .gid = ORDINARY_UID};
	c->root = geteuid() == 0 && !user;
}

static bool chosen(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, name, n) && (p[n] == ',' || p[n] == '\0'))
			return true;
	return !list;
}

static char *sibling(const char *name)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		lab_die_errno("find myself");
	self[n] = '\0';
	return lab_format("%s/%s", dirname(self), name);
}

int main(int argc, char **argv)
{
	static struct crash c = {.sample = 1, .max_failures = 5};
	struct tree trees[NTREES] = {0};
	double start = lab_now();

	parse(argc, argv, &c);
	if (!c.ops)
		c.ops = sibling("differ-ops");
	c.rein = lab_stage(c.rein, &c.who);
	c.ops = lab_stage(c.ops, &c.who);
	/* the sanitizers' leak checker needs ptrace itself */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	trace_init();
	take_references(&c, trees);
	for (size_t i = 0; i < lab_array_size(scenarios); i++)
		for (size_t j = 0; j < lab_array_size(faults) && chosen(c.only, scenarios[i].name);
		     j++)
			if (chosen(c.fault, faults[j].name))
				enumerate(&c, &scenarios[i], &faults[j], trees);
	for (int i = 0; i < NTREES; i++)
		tree_done(&trees[i]);
	printf("crash: %s, %s point, %.0f s: %u failed\n", c.root ? "root" : "ordinary user",
	       c.sample == 1 ? "every" : "not every", lab_now() - start, c.failed);
	if (c.must_find) /* a test of the tester */
		return c.failed ? 0 : 1;
	return c.failed ? 1 : 0;
}
