/* SPDX-License-Identifier: Apache-2.0 */
/* Build tools and runners of scripts: the name of a target is all that is seen of what runs. */
#include "classify/handlers.h"

#define LOCAL REIN_REACH_CONTAINED

static const char risky_targets[] =
	"install uninstall deploy publish release push destroy teardown drop reset migrate seed "
	"nuke "
	"purge distclean mrproper rollback down upload postinstall preinstall ship "
	"promote bootstrap provision apply wipe flash program burn erase delete remove undeploy "
	"terminate";

static const char gone_targets[] = "destroy drop reset wipe nuke purge fresh teardown flush";

static bool name_has(struct rein_str s, const char *list);

/* "build:prod" builds; "prod" alone does something there */
static bool risky_name(struct rein_str s, const char *list)
{
	if (list == risky_targets && name_has(s, "prod production live") &&
	    !name_has(s, "build test lint check compile bundle start preview dev watch"))
		return true;
	return name_has(s, list);
}

static bool name_has(struct rein_str s, const char *list)
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

static void target(struct ctx *cx, const struct call *c, const struct field *f)
{
	/* what Maven installs it puts beside the packages it fetched; Spotless applies a format */
	if ((str_is(f->s, "install") && str_starts(rein_str(c->top->name), "mvn")) ||
	    str_is(f->s, "spotless:apply"))
		return;
	/* loading a schema drops the tables it holds first */
	if (risky_name(f->s, gone_targets) || str_ends(f->s, "schema:load") || str_ends(f->s, "structure:load"))
		h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, f->at, f->s,
		       "a target whose name says that it destroys");
	else if (!is_literal(f->s) || risky_name(f->s, risky_targets))
		h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, f->at, f->s,
		       "a target that reaches beyond the workspace");
}

/* make CC=…, cmake -DCMAKE_C_COMPILER=…: as if it stood in the environment */
static void assigned(struct ctx *cx, const struct field *f)
{
	const char *eq = f->s.n ? memchr(f->s.p, '=', f->s.n) : NULL, *colon;
	struct rein_str name = eq ? str_to(f->s, (size_t)(eq - f->s.p)) : STR("");
	struct field val = *f;
	unsigned dry = cx->dry;

	if (!eq || !name.n)
		return;
	colon = memchr(name.p, ':', name.n);
	val.s = str_from(f->s, name.n + 1);
	if (colon) /* NAME:TYPE=value, NAME:=value */
		name.n = (size_t)(colon - name.p);
	if (str_has(val.s, "$(shell") || str_has(f->s, "!=")) {
		cx->dry = 0; /* make expands these to know what it would do */
		h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, f->at, f->s,
		       "a value that runs programs");
		cx->dry = dry;
	}
	if (name.n && !str_is(name, "PATH"))
		effect_env(cx, name, &val, f->at);
}

struct data h_make(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_CONFIG && str_in(g->val.s, "- /dev/stdin"))
			effect_code(cx, &(struct data){.taint = c->io->in.taint}, "make", g->at);
		else if (g->opt->role == ROLE_SHELL || g->opt->role == ROLE_PROG ||
			 g->opt->role == ROLE_CODE || g->opt->role == ROLE_SCRIPT ||
			 g->opt->role == ROLE_WRITE)
			role_effect(cx, c, g->opt->role, &g->val);
		else if (g->opt->role == ROLE_CONFIG)
			effect_script(cx, &g->val, "make");
		else if (g->opt->role == ROLE_TARGET)
			target(cx, c, &g->val);
	}
	fact(cx, REIN_FACT_EXEC, REIN_LEVEL_SAFE, LOCAL, c->argv[0].at, NULL,
	     "builds what the workspace describes");
	if (str_is(rein_str(c->top->name), "just") && call_has(c, "-c") && c->ops.n)
		return exec_argv(cx, c->ops.v, c->ops.n, c->io);
	if (c->rest < c->argc) /* lerna exec -- … */
		return exec_rest(cx, c, c->rest);
	for (size_t i = 0; i < c->ops.n; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (str_starts(s, "SHELL="))
			h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, c->ops.v[i].at, s,
			       "makes another program run every line");
		if (memchr(s.p, '=', s.n)) {
			assigned(cx, &c->ops.v[i]);
			continue;
		}
		target(cx, c, &c->ops.v[i]);
	}
	return data_unknown(0);
}

/* cmake -E: the commands of a system that has none */
static struct data cmake_tool(struct ctx *cx, struct call *c)
{
	static const struct {
		const char *name, *program, *flag;
	} rows[] = {
		{"rm", "rm", NULL},
		{"remove", "rm", NULL},
		{"remove_directory", "rm", "-r"},
		{"copy", "cp", NULL},
		{"copy_directory", "cp", "-r"},
		{"copy_if_different", "cp", NULL},
		{"copy_directory_if_different", "cp", "-r"},
		{"copy_if_newer", "cp", NULL},
		{"rename", "mv", NULL},
		{"create_symlink", "ln", "-s"},
		{"create_hardlink", "ln", NULL},
		{"touch", "touch", NULL},
		{"touch_nocreate", "touch", NULL},
		{"make_directory", "mkdir", "-p"},
		{"cat", "cat", NULL},
		{"tar", "tar", NULL},
		{"env", "env", NULL},
		{"time", "time", NULL},
		{"chdir", "env", "-C"},
	};
	struct field *v = arena_alloc(cx->a, (c->ops.n + 2) * sizeof(*v));
	struct rein_str name = c->ops.n ? c->ops.v[0].s : STR("");
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!str_is(name, rows[i].name))
			continue;
		v[n++] = field_of(cx, rows[i].program, c->ops.v[0].at);
		if (rows[i].flag)
			v[n++] = field_of(cx, rows[i].flag, c->ops.v[0].at);
		memcpy(v + n, c->ops.v + 1, (c->ops.n - 1) * sizeof(*v));
		return exec_argv(cx, v, n + c->ops.n - 1, c->io);
	}
	if (!str_in(name, "echo echo_append compare_files sleep capabilities true false "
			  "environment md5sum sha1sum "
			  "sha224sum sha256sum sha384sum sha512sum help cmake_llvm_rc"))
		h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->argv[0].at, name,
		       "a command that is not known");
	return data_unknown(0);
}

struct data h_cmake(struct ctx *cx, struct call *c)
{
	if (call_has(c, "-E"))
		return cmake_tool(cx, c);
	call_base(cx, c);
	call_effects(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		if (!strcmp(c->got[i].opt->name, "-D"))
			assigned(cx, &c->got[i].val);
	for (size_t i = 1; i + 1 < c->argc; i++) /* --build b --target install */
		if (str_in(c->argv[i].s, "--target -t"))
			target(cx, c, &c->argv[i + 1]);
	return data_unknown(0);
}

/* "yarn workspace NAME build": the same program in another directory */
static struct data in_workspace(struct ctx *cx, struct call *c)
{
	size_t from = c->op_at[0] + 1;
	struct field *v = arena_alloc(cx->a, (c->argc - from + 1) * sizeof(*v));

	v[0] = c->argv[0];
	memcpy(v + 1, c->argv + from, (c->argc - from) * sizeof(*v));
	return exec_argv(cx, v, c->argc - from + 1, c->io); /* which counts how deep it goes */
}

static bool is_source(struct rein_str s)
{
	return memchr(s.p, '/', s.n) || str_ends(s, ".js") || str_ends(s, ".ts") ||
	       str_ends(s, ".mjs") || str_ends(s, ".cjs") || str_ends(s, ".tsx") ||
	       str_ends(s, ".jsx");
}

/*
 * A script the project names. Some runners start programs as well: "yarn tsc", "pdm run pytest".
 * Package managers have sub-commands of their own, for which the tables say all there is to say.
 */
struct data h_npmrun(struct ctx *cx, struct call *c)
{
	bool bare = c->cmd == c->top && c->cmd->n_subs && c->ops.n;
	size_t at = c->rest < c->argc ? c->rest : bare ? c->op_at[0] : c->argc;
	bool named = c->cmd == c->top ||
		     str_in(rein_str(c->cmd->name), "run run-script rum urn script exec");
	const struct field *name = at < c->argc	       ? &c->argv[at]
				   : c->ops.n && named ? &c->ops.v[0]
						       : NULL;

	if (str_is(rein_str(c->cmd->name), "workspace") && c->ops.n > 1)
		return in_workspace(cx, c);
	call_base(cx, c);
	call_effects(cx, c);
	for (size_t i = 0; i < c->ops.n; i++)
		if ((str_has(c->ops.v[i].s, "_authToken") || str_has(c->ops.v[i].s, "_password")) &&
		    !str_is(rein_str(c->cmd->name), "set"))
			h_fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			       c->ops.v[i].at, c->ops.v[i].s, "reads a credential");
	if (c->rest < c->argc && !c->cmd->handler)
		return exec_rest(cx, c, c->rest);
	if (!c->cmd->handler)
		return h_finish(cx, c);
	fact(cx, REIN_FACT_EXEC, REIN_LEVEL_SAFE, LOCAL, c->argv[0].at, NULL,
	     "runs a script of the workspace");
	if (at < c->argc && is_literal(name->s) && !is_source(name->s) && know_find(cx, name->s))
		return exec_rest(cx, c, at);
	if (name && is_literal(name->s) && is_source(name->s) && name->s.p[0] != '@')
		effect_script(cx, name, c->top->lang);
	else if (name && risky_name(name->s, gone_targets))
		h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, name->at, name->s,
		       "a script whose name says that it destroys");
	else if (name && (!is_literal(name->s) || risky_name(name->s, risky_targets)))
		h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, name->at, name->s,
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
		/* the console of a job is its log */
		if (!c->ops.n || !str_is(c->ops.v[0].s, "console"))
			verbs_effect(cx, "jenkins", c->ops.v, c->ops.n, true, false);
		return data_unknown(TAINT_NET);
	}
	if (jar)
		effect_script(cx, &jar->val, "java");
	else if (c->ops.n)
		effect_script(cx, &c->ops.v[0], "java");
	return data_unknown(0);
}
