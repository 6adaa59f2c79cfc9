/* SPDX-License-Identifier: Apache-2.0 */
/* Build tools and runners of scripts: the name of a target is all that is seen of what runs. */
#include "classify/handlers.h"

#define LOCAL REIN_REACH_CONTAINED

static void say(struct ctx *cx, enum rein_fact_kind kind, enum rein_level level,
		enum rein_reach reach, struct range at, struct rein_str what, const char *why)
{
	fact(cx, kind, level, reach, at, show(cx, what), why);
}

static const char risky_targets[] =
	"install uninstall deploy publish release push destroy teardown drop reset migrate seed nuke "
	"purge prod production distclean mrproper rollback down upload postinstall preinstall ship "
	"promote bootstrap provision apply wipe";

static const char gone_targets[] = "destroy drop reset wipe nuke purge fresh teardown flush";

static bool risky_name(struct rein_str s, const char *list)
{
	size_t i = 0;

	while (i < s.n) {
		size_t n = 0;

		while (i + n < s.n && !strchr("-_:./", s.p[i + n]))
			n++;
		if (n && str_in((struct rein_str){s.p + i, n}, list))
			return true;
		i += n + 1;
	}
	return false;
}

struct data h_make(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_CONFIG && str_in(g->val.s, "- /dev/stdin"))
			effect_code(cx, &(struct data){.taint = c->io->in.taint}, "make", g->at);
		else if (g->opt->role == ROLE_SHELL)
			role_effect(cx, c, ROLE_SHELL, &g->val);
		else if (g->opt->role == ROLE_CONFIG)
			effect_script(cx, &g->val, "make");
	}
	fact(cx, REIN_FACT_EXEC, REIN_LEVEL_SAFE, LOCAL, c->argv[0].at, NULL,
	     "builds what the workspace describes");
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (str_starts(s, "SHELL="))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[i].at, s,
			    "makes another program run every line");
		if (memchr(s.p, '=', s.n))
			continue;
		if (risky_name(s, gone_targets))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[i].at, s,
			    "a target whose name says that it destroys");
		else if (!is_literal(s) || risky_name(s, risky_targets))
			say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->ops.v[i].at, s,
			    "a target that reaches beyond the workspace");
	}
	return data_unknown(0);
}

struct data h_npmrun(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	fact(cx, REIN_FACT_EXEC, REIN_LEVEL_SAFE, LOCAL, c->argv[0].at, NULL,
	     "runs a script of the workspace");
	if (c->ops.n && risky_name(c->ops.v[0].s, gone_targets))
		say(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[0].at, c->ops.v[0].s,
		    "a script whose name says that it destroys");
	else if (c->ops.n &&
		 (!is_literal(c->ops.v[0].s) || risky_name(c->ops.v[0].s, risky_targets)))
		say(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->ops.v[0].at, c->ops.v[0].s,
		    "a script whose name says that it reaches further");
	return data_unknown(0);
}

struct data h_java(struct ctx *cx, struct call *c)
{
	const struct got *jar = call_opt(c, "-jar");

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role == ROLE_PROG)
			role_effect(cx, c, ROLE_PROG, &c->got[i].val);
	if (jar && str_is(str_base(jar->val.s), "jenkins-cli.jar")) {
		verbs_effect(cx, "jenkins", c->ops.v, c->ops.n, true, false);
		return data_unknown(TAINT_NET);
	}
	if (jar)
		effect_script(cx, &jar->val, "java");
	else if (c->ops.n)
		effect_script(cx, &c->ops.v[0], "java");
	return data_unknown(0);
}
