/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts, made from the tables of verbs and options so that they cannot fall behind. */
#include "base/auto.h"
#include "cli/audit.h"
#include "cli/ui.h"
#include "cli/verbs.h"

#define LIST_BOXES "rein ps 2>/dev/null | sed '1d;s/ .*//'"
#define LIST_IDS   "rein log --ids 2>/dev/null"
#define IDS_OF(state) "rein log --ids --state " state " 2>/dev/null"

static bool takes_value(const struct rein_opt *o)
{
	return o->type != REIN_OPT_FLAG && o->type != REIN_OPT_VALUE;
}

static bool takes_file(const struct rein_opt *o)
{
	return takes_value(o) && (rein_streq(o->arg, "DIR") || rein_streq(o->arg, "PATH") || rein_streq(o->arg, "FILE"));
}

static void words(const char *text, char between)
{
	for (; *text && *text != ' '; text++)
		fputc(*text == '|' ? between : *text, stdout);
}

static bool has_first(const struct rein_verb *v)
{
	return rein_streq(v->name, "help") || rein_streq(v->name, "audit help") ||
	       (v->args[0] >= 'a' && v->args[0] <= 'z');
}

/* What the first operand may be, if that is known; else a command tells (lister). */
static void print_first(const struct rein_verb *v)
{
	const char *name;

	if (rein_streq(v->name, "help"))
		for (const struct rein_verb *o = rein_verbs; o->name; o++)
			printf("%s ", o->name);
	else if (rein_streq(v->name, "audit") || rein_streq(v->name, "audit help"))
		for (size_t i = 0; rein_audit_verb(i, &name); i++)
			printf("%s ", name);
	else if (has_first(v))
		words(v->args, ' ');
}

/* Only ids of this workspace, which its verbs take without being told more, and of a state they can use. */
static const char *lister(const struct rein_verb *v)
{
	static const struct {
		const char *verb, *list;
	} rows[] = {{"commit", IDS_OF("held")},
		    {"discard", IDS_OF("held")},
		    {"undo", IDS_OF("committed")},
		    {"redo", IDS_OF("undone")}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rein_streq(rows[i].verb, v->name))
			return rows[i].list;
	return rein_starts(v->args, "[TXN]") ? LIST_IDS : rein_starts(v->args, "BOX") ? LIST_BOXES : NULL;
}

/* Every option of a verb, its own and the common ones. */
static void each_opt(const struct rein_verb *v, void (*fn)(const struct rein_verb *, const struct rein_opt *))
{
	for (const struct rein_opt *o = v->opts; o && o->name; o++)
		fn(v, o);
	for (const struct rein_opt *o = rein_common_opts; o->name; o++)
		fn(v, o);
}

/* The verbs; those of `rein audit` are called "audit log" and so on. */
static void each_verb(void (*fn)(const struct rein_verb *))
{
	const struct rein_verb *v;
	const char *name;

	for (v = rein_verbs; v->name; v++)
		if (!rein_streq(v->name, "audit"))
			fn(v);
	for (size_t i = 0; (v = rein_audit_verb(i, &name)); i++)
		fn(v);
}

static void bash_opt(const struct rein_verb *v, const struct rein_opt *o)
{
	(void)v;
	printf("--%s ", o->name);
	if (o->letter)
		printf("-%c ", o->letter);
}

static void bash_pattern(const struct rein_verb *v, const struct rein_opt *o)
{
	printf("\t'%s:--%s'", v->name, o->name);
	if (o->letter)
		printf("|'%s:-%c'", v->name, o->letter);
	printf(") ");
}

static void bash_value(const struct rein_verb *v, const struct rein_opt *o)
{
	if (!takes_value(o))
		return;
	bash_pattern(v, o);
	if (o->type == REIN_OPT_CHOICE) {
		printf("_rein_words '");
		words(o->arg, ' ');
		printf("'; return;;\n");
	} else {
		/* of another value nothing is known, but no option may stand there */
		printf("%sreturn;;\n", takes_file(o) ? "_rein_files; " : "");
	}
}

static void bash_values(const struct rein_verb *v)
{
	each_opt(v, bash_value);
}

static void bash_verb(const struct rein_verb *v)
{
	printf("\t'%s') _rein_words '", v->name);
	each_opt(v, bash_opt);
	print_first(v);
	printf("'");
	if (lister(v))
		printf("\" $(%s)\"", lister(v));
	printf(";;\n");
}

/* Where a command begins that has a completion of its own. */
static void bash_command(void)
{
	printf("_rein_command() {\n\tlocal i\n"
	       "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "\t\tcase $1:${COMP_WORDS[i]} in\n"
	       "\t\t*:--) echo $((i + 1)); return;;\n");
	for (const struct rein_verb *v = rein_verbs; v->name; v++)
		for (const struct rein_opt *o = v->opts; v->lends_stdout && o && o->name; o++)
			if (takes_value(o) && o->letter)
				printf("\t\t%s:--%s | %s:-%c) ((i++));;\n", v->name, o->name, v->name, o->letter);
			else if (takes_value(o))
				printf("\t\t%s:--%s) ((i++));;\n", v->name, o->name);
	printf("\t\trun:-*) ;;\n\t\trun:*) echo $i; return;;\n\t\tesac\n\tdone\n}\n");
}

static void bash(void)
{
	printf("# bash completion for rein\n"
	       "_rein_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
	       "_rein_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); }\n");
	bash_command();
	printf("_rein() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} at\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [ \"$COMP_CWORD\" = 1 ]; then _rein_words '");
	for (const struct rein_verb *v = rein_verbs; v->name; v++)
		printf("%s ", v->name);
	printf("'; return; fi\n"
	       "\tif [ \"$verb\" = audit ]; then\n"
	       "\t\tif [ \"$COMP_CWORD\" = 2 ]; then _rein_words '");
	print_first(rein_verb_find("audit"));
	printf("'; return; fi\n"
	       "\t\tverb=\"audit ${COMP_WORDS[2]}\"\n\tfi\n"
	       "\tcase $verb in run | attach)\n"
	       "\t\tat=$(_rein_command \"$verb\")\n"
	       "\t\tif [ -n \"$at\" ]; then\n"
	       "\t\t\tif declare -F _command_offset >/dev/null; then _command_offset \"$at\"\n"
	       "\t\t\telse compopt -o filenames; mapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\"); fi\n"
	       "\t\t\treturn\n\t\tfi\n\tesac\n"
	       "\tcase $verb:$prev in\n");
	each_verb(bash_values);
	printf("\tesac\n\tcase $verb in\n");
	each_verb(bash_verb);
	printf("\tesac\n}\ncomplete -o bashdefault -o default -F _rein rein\n");
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

/* name: --name= or -n+, as it takes a value. */
static void zsh_spec(const struct rein_opt *o, const char *name)
{
	printf("\t\t'%s%s[", o->type == REIN_OPT_LIST ? "*" : "", name);
	quoted(o->help, "[]:\\");
	printf("]");
	if (o->type == REIN_OPT_CHOICE) {
		printf(":%s:(", o->name);
		words(o->arg, ' ');
		printf(")");
	} else if (takes_value(o)) {
		printf(":%s:%s", o->name, !takes_file(o) ? " " : rein_streq(o->arg, "DIR") ? "_files -/" : "_files");
	}
	printf("' \\\n");
}

static void zsh_opt(const struct rein_verb *v, const struct rein_opt *o)
{
	char name[64];

	(void)v;
	snprintf(name, sizeof(name), "--%s%s", o->name, takes_value(o) ? "=" : "");
	zsh_spec(o, name);
	snprintf(name, sizeof(name), "-%c%s", o->letter, takes_value(o) ? "+" : "");
	if (o->letter)
		zsh_spec(o, name);
}

static void zsh_operands(const struct rein_verb *v)
{
	if (has_first(v)) {
		printf("\t\t'1:%s:(", v->name);
		print_first(v);
		printf(")' '*:file:_files'");
	} else if (v->rest) {
		printf("\t\t'*::command:_normal'");
	} else if (lister(v)) {
		printf("\t\t'1: :{compadd -- $(%s)}' '*:file:_files'", rein_starts(v->args, "BOX") ? "_rein_boxes" : lister(v));
	} else {
		printf("\t\t'*:file:_files'");
	}
}

static void zsh_verb(const struct rein_verb *v)
{
	const char *audit = rein_starts(v->name, "audit ") ? v->name + strlen("audit ") : NULL;

	printf("\t%s) _arguments -S \\\n", audit ? audit : v->name);
	each_opt(v, zsh_opt);
	zsh_operands(v);
	printf(";;\n");
}

static void zsh_row(const char *name, const char *summary)
{
	printf("\t\t'%s:", name);
	quoted(summary, ":\\");
	printf("'\n");
}

static void zsh(void)
{
	const struct rein_verb *v;
	const char *name;

	printf("#compdef rein\n_rein_boxes() { " LIST_BOXES " }\n_rein_audit() {\n\tlocal -a verbs\n\tverbs=(\n");
	for (size_t i = 0; (v = rein_audit_verb(i, &name)); i++)
		zsh_row(name, v->summary);
	printf("\t)\n\tif (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
	       "\tlocal verb=$words[2]\n\tshift words; (( CURRENT-- ))\n\tcase $verb in\n");
	for (size_t i = 0; (v = rein_audit_verb(i, &name)); i++)
		zsh_verb(v);
	printf("\tesac\n}\n_rein() {\n\tlocal -a verbs\n\tverbs=(\n");
	for (v = rein_verbs; v->name; v++)
		zsh_row(v->name, v->summary);
	printf("\t)\n\tif (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
	       "\tlocal verb=$words[2]\n\tshift words; (( CURRENT-- ))\n\tcase $verb in\n");
	for (v = rein_verbs; v->name; v++)
		if (rein_streq(v->name, "audit"))
			printf("\taudit) _rein_audit;;\n");
		else
			zsh_verb(v);
	/* loaded by its name, or read by source */
	printf("\tesac\n}\nif [[ $funcstack[1] == _rein ]]; then _rein \"$@\"; else compdef _rein rein; fi\n");
}

static void fish_opt(const struct rein_verb *v, const struct rein_opt *o)
{
	printf("complete -c rein -n '__rein_at %s' -l %s", v->name, o->name);
	if (o->letter)
		printf(" -s %c", o->letter);
	if (o->type == REIN_OPT_CHOICE) {
		printf(" -x -a '");
		words(o->arg, ' ');
		printf("'");
	} else if (takes_value(o)) {
		printf(takes_file(o) ? " -r -F" : " -x");
	}
	printf(" -d '");
	quoted(o->help, "\\");
	printf("'\n");
}

static void fish_verb(const struct rein_verb *v)
{
	each_opt(v, fish_opt);
	if (has_first(v)) {
		printf("complete -c rein -n '__rein_at %s' -a '", v->name);
		print_first(v);
		printf("'\n");
	}
	if (lister(v))
		printf("complete -c rein -n '__rein_at %s' -a \"(%s)\"\n", v->name, lister(v));
}

static void fish_row(const char *at, const char *name, const char *summary)
{
	printf("complete -c rein -n '%s' -a %s -d '", at, name);
	quoted(summary, "\\");
	printf("'\n");
}

static void fish(void)
{
	const struct rein_verb *v;
	const char *name;

	printf("# fish completion for rein\n"
	       "function __rein_at\n"
	       "\tset -l words (commandline -opc)\n"
	       "\tset -l last (math 1 + (count $argv))\n"
	       "\ttest (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
	       "end\n"
	       "function __rein_audit\n"
	       "\tset -l words (commandline -opc)\n"
	       "\ttest (count $words) = 2; and test \"$words[2]\" = audit\n"
	       "end\n"
	       "complete -c rein -f\n");
	for (v = rein_verbs; v->name; v++)
		fish_row("__fish_use_subcommand", v->name, v->summary);
	for (size_t i = 0; (v = rein_audit_verb(i, &name)); i++)
		fish_row("__rein_audit", name, v->summary);
	each_verb(fish_verb);
	printf("complete -c rein -n '__rein_at run' -x -a '(__fish_complete_subcommand)'\n"
	       "complete -c rein -n '__rein_at policy; or __rein_at diff; or __rein_at audit verify' -F\n");
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
