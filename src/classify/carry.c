/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that a program hands on. Its own table says nothing of them, but a shell's path, a line that begins with a
 * program's name and "rm -rf" mean one thing wherever they stand.
 */
#include "classify/internal.h"

/* "/bin/sh" alone, before a blank, or quoted inside code */
static bool holds_shell(struct rein_str s)
{
	static const struct rein_str shells[] = {WORD("sh"),  WORD("bash"), WORD("dash"),
						 WORD("zsh"), WORD("ksh"),  WORD("ash")};
	const char *bin;

	while (s.n >= 7 && (bin = memmem(s.p, s.n, "/bin/", 5))) {
		struct rein_str name = str_from(s, (size_t)(bin - s.p) + 5);
		size_t n = 0;

		/* one byte more than the longest of them tells that it is none: /bin/bin/bin/… is read once */
		while (n < name.n && n < 5 && ((name.p[n] >= 'a' && name.p[n] <= 'z') ||
					       strchr("/._-", name.p[n])))
			n++;
		if (str_among(str_to(name, n), shells, ARRAY_SIZE(shells)))
			return true;
		s = name;
	}
	return false;
}

/* --exec, --pre-command=… */
static bool says_run(struct rein_str opt)
{
	static const char *const runs[] = {"exec", "command", "cmd",   "shell",  "invoke",
					   "hook", "eval",    "pager", "editor", "prog"};
	const char *eq = opt.n ? memchr(opt.p, '=', opt.n) : NULL;
	struct rein_str name = eq ? str_to(opt, (size_t)(eq - opt.p)) : opt;

	if (!str_starts(name, "--"))
		return false;
	for (size_t k = 0; k < ARRAY_SIZE(runs); k++)
		if (str_has(name, runs[k]))
			return true;
	return false;
}

bool carry_line(struct ctx *cx, struct rein_str s)
{
	const char *blank = s.n ? memchr(s.p, ' ', s.n) : NULL;
	struct rein_str first = blank ? str_to(s, (size_t)(blank - s.p)) : s;

	return blank && is_literal(first) && know_find(cx, str_base(first));
}

/*
 * GTFOBins' way: a program that was not made for it is told to start a shell. Which of its options
 * does that need not be known: a shell's path means one thing to a program that changes things, or
 * behind an option whose name says that it runs something.
 */
void carry_shell(struct ctx *cx, const struct field *v, size_t n, bool changes)
{
	for (size_t i = 1; i < n; i++) {
		const char *eq = v[i].s.n ? memchr(v[i].s.p, '=', v[i].s.n) : NULL;
		bool own = eq && str_starts(v[i].s, "--");
		struct rein_str val = own ? str_from(v[i].s, (size_t)(eq - v[i].s.p) + 1) : v[i].s;
		bool line = carry_line(cx, val), shell = holds_shell(val), told;
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		if (!line && !shell) /* nearly all */
			continue;
		told = says_run(v[own ? i : i - 1].s) && (own || !memchr(v[i - 1].s.p, '=', v[i - 1].s.n));
		if (told && line)
			run_text(cx, val, v[i].at, &io);
		if (shell && (told || changes))
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED,
			     v[i].at, show(cx, v[i].s), "gives a program a shell to start");
	}
}

/* "rm -rf", "dd if=": words that are a command wherever they stand */
static bool destroys(struct rein_str s, struct rein_str next)
{
	return s.n && next.n && str_in(str_base(s), "rm dd shred mkfs wipefs truncate find") &&
	       (next.p[0] == '-' || next.p[0] == '/' || str_starts(next, "if=") || str_starts(next, "of="));
}

/* Most calls carry nothing, and can be told so without looking at verbs. */
static bool may_carry(const struct call *c)
{
	for (size_t i = 2; i < c->argc; i++)
		if ((c->argv[i].s.n && memchr(c->argv[i].s.p, ' ', c->argv[i].s.n)) ||
		    (i + 1 < c->argc && destroys(c->argv[i].s, c->argv[i + 1].s)))
			return true;
	return false;
}

/*
 * "oc rsh pod rm -rf /x", "heroku run 'rm -rf /x'", "tox exec -- rm -rf x": a command that a program which changes or
 * runs things hands on. What its own grammar says of these words need not be known to see them.
 */
static void carried(struct ctx *cx, struct call *c)
{
	bool runs = false;

	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s, next = i + 1 < c->argc ? c->argv[i + 1].s : STR("");
		struct io io = {.in = data_unknown(TAINT_INPUT)};

		if (i > 1 && runs && carry_line(cx, s)) {
			cx->remote++;
			run_text(cx, s, c->argv[i].at, &io);
			cx->remote--;
		}
		if (i > 1 && (runs || c->cmd->level >= REIN_LEVEL_RISKY) && destroys(s, next)) {
			cx->remote++;
			exec_argv(cx, c->argv + i, c->argc - i, &io);
			cx->remote--;
			return;
		}
		runs |= str_in(s, "-- -c -C --command rsh new-session new new-window neww split-window "
				  "splitw respawn-pane run-shell popup") ||
			verb_class(cx, s) == VERB_EXEC;
	}
}

/* Login shells are named by these, and nobody starts them. */
static bool wants_shell(const struct call *c)
{
	return c->cmd->level >= REIN_LEVEL_RISKY && !c->top->handler && !has_cmd_role(c->cmd) &&
	       !str_in(rein_str(c->top->name), "chsh usermod useradd adduser update-alternatives dscl");
}

void carry_call(struct ctx *cx, struct call *c, uint8_t handler)
{
	bool services = !handler || handler == HANDLE_verbs || handler == HANDLE_make;

	if (cmd_notes(c->top, "filter")) /* yq eval-all '…': an expression of its own */
		return;
	if (services || handler == HANDLE_npmrun)
		carry_shell(cx, c->argv, c->rest < c->argc ? c->rest : c->argc, wants_shell(c));
	if (c->rest >= c->argc && (services || handler == HANDLE_kubectl) && may_carry(c))
		carried(cx, c);
}
