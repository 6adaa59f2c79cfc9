/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts, made from the tables of verbs and options so that they cannot fall behind. */
#include "base/auto.h"
#include "cli/ui.h"
#include "cli/verbs.h"

static bool names_txn(const struct rein_verb *v)
{
	return rein_starts(v->args, "[TXN]");
}

static bool takes_value(const struct rein_opt *o)
{
	return o->type != REIN_OPT_FLAG && o->type != REIN_OPT_VALUE;
}

/* Every option of a verb, its own and the common ones. */
static void each_opt(const struct rein_verb *v, void (*fn)(const struct rein_verb *, const struct rein_opt *))
{
	for (const struct rein_opt *o = v->opts; o && o->name; o++)
		fn(v, o);
	for (const struct rein_opt *o = rein_common_opts; o->name; o++)
		fn(v, o);
}

static void bash_opt(const struct rein_verb *v, const struct rein_opt *o)
{
	(void)v;
	printf("--%s ", o->name);
}

static void bash_choices(void)
{
	for (const struct rein_verb *v = rein_verbs; v->name; v++)
		for (const struct rein_opt *o = v->opts; o && o->name; o++)
			if (o->type == REIN_OPT_CHOICE)
				printf("\t%s:--%s) COMPREPLY=($(compgen -W \"$(tr '|' ' ' <<<'%s')\" -- \"$cur\")); return;;\n",
				       v->name, o->name, o->arg);
			else if (takes_value(o) && (rein_streq(o->arg, "DIR") || rein_streq(o->arg, "PATH") ||
						    rein_streq(o->arg, "FILE")))
				printf("\t%s:--%s) compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\")); return;;\n",
				       v->name, o->name);
}

static void bash(void)
{
	printf("# bash completion for rein\n_rein() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} i\n"
	       "\tif [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W '");
	for (const struct rein_verb *v = rein_verbs; v->name; v++)
		printf("%s ", v->name);
	printf("' -- \"$cur\")); return; fi\n"
	       "\tif [ \"$verb\" = run ]; then\n"
	       "\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "\t\t\t[ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
	       "\t\t\tif declare -F _command_offset >/dev/null; then _command_offset $((i + 1))\n"
	       "\t\t\telse compopt -o filenames; COMPREPLY=($(compgen -c -f -- \"$cur\")); fi\n"
	       "\t\t\treturn\n\t\tdone\n\tfi\n"
	       "\tcase $verb:$prev in\n");
	bash_choices();
	printf("\tesac\n\tcase $verb in\n");
	for (const struct rein_verb *v = rein_verbs; v->name; v++) {
		printf("\t%s) COMPREPLY=($(compgen -W '", v->name);
		each_opt(v, bash_opt);
		if (rein_streq(v->name, "completion"))
			printf("bash zsh fish");
		printf("'");
		if (names_txn(v))
			printf("\" $(rein log -a --ids 2>/dev/null)\"");
		printf(" -- \"$cur\"));;\n");
	}
	printf("\tesac\n}\ncomplete -F _rein rein\n");
}

static void quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", stdout);
		else if (strchr(special, *text))
			fputc('\\', stdout);
		fputc(*text, stdout);
	}
}

static void zsh_opt(const struct rein_verb *v, const struct rein_opt *o)
{
	const char *arg = o->arg ? o->arg : "";

	(void)v;
	printf("\t\t'%s--%s%s[", o->type == REIN_OPT_LIST ? "*" : "", o->name, takes_value(o) ? "=" : "");
	quoted(o->help, "[]:");
	printf("]");
	if (o->type == REIN_OPT_CHOICE) {
		printf(":%s:(", o->name);
		for (const char *p = o->arg; *p; p++)
			fputc(*p == '|' ? ' ' : *p, stdout);
		printf(")");
	} else if (takes_value(o)) {
		printf(":%s:%s", o->name,
		       rein_streq(arg, "DIR")					    ? "_files -/"
		       : rein_streq(arg, "PATH") || rein_streq(arg, "FILE") ? "_files"
									    : "");
	}
	printf("' \\\n");
}

static void zsh(void)
{
	printf("#compdef rein\n_rein_ids() { compadd -- $(rein log -a --ids 2>/dev/null) }\n_rein() {\n"
	       "\tlocal -a verbs\n\tverbs=(\n");
	for (const struct rein_verb *v = rein_verbs; v->name; v++) {
		printf("\t\t'%s:", v->name);
		quoted(v->summary, ":");
		printf("'\n");
	}
	printf("\t)\n\tif (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
	       "\tlocal verb=$words[2]\n\tshift words; (( CURRENT-- ))\n\tcase $verb in\n");
	for (const struct rein_verb *v = rein_verbs; v->name; v++) {
		printf("\t%s) _arguments -S \\\n", v->name);
		each_opt(v, zsh_opt);
		printf("\t\t%s;;\n", v->rest	    ? "'*::command:_normal'"
				     : names_txn(v) ? "'*:transaction:_rein_ids'"
				     : rein_streq(v->name, "completion")
					     ? "':shell:(bash zsh fish)'"
					     : "");
	}
	printf("\tesac\n}\n_rein \"$@\"\n");
}

static void fish_opt(const struct rein_verb *v, const struct rein_opt *o)
{
	printf("complete -c rein -n '__fish_seen_subcommand_from %s' -l %s", v->name, o->name);
	if (o->letter)
		printf(" -s %c", o->letter);
	if (o->type == REIN_OPT_CHOICE) {
		printf(" -x -a '");
		for (const char *p = o->arg; *p; p++)
			fputc(*p == '|' ? ' ' : *p, stdout);
		printf("'");
	} else if (takes_value(o)) {
		printf(" -r");
	}
	printf(" -d '");
	quoted(o->help, "\\");
	printf("'\n");
}

static void fish(void)
{
	printf("# fish completion for rein\ncomplete -c rein -f\n");
	for (const struct rein_verb *v = rein_verbs; v->name; v++) {
		printf("complete -c rein -n __fish_use_subcommand -a %s -d '", v->name);
		quoted(v->summary, "\\");
		printf("'\n");
		each_opt(v, fish_opt);
		if (names_txn(v))
			printf("complete -c rein -n '__fish_seen_subcommand_from %s' -a '(rein log -a --ids 2>/dev/null)'\n",
			       v->name);
	}
	printf("complete -c rein -n '__fish_seen_subcommand_from run' -x -a '(__fish_complete_subcommand)'\n"
	       "complete -c rein -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n");
}

int rein_cli_completion(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
	struct rein_common common = {0};
	struct rein_err err = {0};
	int first, status;

	if (rein_verb_begin("completion", argc, argv, NULL, &common, &first, NULL, &status))
		return status;
	for (size_t i = 0; first < argc && i < ARRAY_SIZE(shells); i++) {
		if (rein_streq(argv[first], shells[i].name)) {
			shells[i].print();
			return 0;
		}
	}
	rein_err_set(&err, REIN_E_USAGE, "which shell? rein completion bash|zsh|fish");
	return rein_fail(&err, common.json);
}
