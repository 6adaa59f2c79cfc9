/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-knowledge OUTPUT.c FILE.yaml…: turns the knowledge files into C tables that need no work when
 * the program starts. Fails, with file and line, on anything it does not understand.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classify/know_load.h"

static char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	size_t cap = 0, got;

	*n = 0;
	if (!f)
		return NULL;
	do {
		cap += 1 << 16;
		text = realloc(text, cap);
		if (!text)
			abort();
		got = fread(text + *n, 1, cap - *n, f);
		*n += got;
	} while (*n == cap);
	fclose(f);
	return text;
}

static void put(FILE *f, const char *s)
{
	if (!s) {
		fputs("0", f);
		return;
	}
	fputc('"', f);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 32 || c == '?' || c > 126)
			fprintf(f, "\\%03o", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static unsigned serial;

static void put_opts(FILE *f, const struct know_cmd *c, unsigned id)
{
	if (!c->n_opts)
		return;
	fprintf(f, "static const struct know_opt o%u[] = {\n", id);
	for (size_t i = 0; i < c->n_opts; i++) {
		const struct know_opt *o = &c->opts[i];

		fputs("\t{", f);
		put(f, o->name);
		fputs(", ", f);
		put(f, o->key);
		fprintf(f, ", %u, %u, %u, ", o->arg, o->role, o->acts);
		put(f, o->why);
		fputs("},\n", f);
	}
	fputs("};\n", f);
}

static void put_args(FILE *f, const struct know_cmd *c, unsigned id)
{
	if (!c->n_args)
		return;
	fprintf(f, "static const uint8_t a%u[] = {", id);
	for (size_t i = 0; i < c->n_args; i++)
		fprintf(f, "%u,", c->args[i]);
	fputs("};\n", f);
}

struct made {
	const struct know_opt *opts;
	const uint8_t *args;
	const struct know_cmd *subs;
	unsigned opts_id, args_id, subs_id;
};

static struct made *made;
static size_t n_made;

/* Aliases share their tables: remember what was written for which array. */
static void put_tables(FILE *f, const struct know_cmd *c, unsigned id, struct made *m);

static void put_cmd(FILE *f, const struct know_cmd *c, const struct made *m)
{
	fputs("\t{", f);
	put(f, c->name);
	fprintf(f, ", %u, %u, %u, %u, %u, %u, %d, %d, %d, %d, ", c->level, c->reach, c->mutate,
		c->kind, c->handler, c->style, c->any, c->partial, c->proxy, c->sub_any);
	put(f, c->lang);
	fputs(", ", f);
	put(f, c->why);
	fputs(", ", f);
	put(f, c->note);
	if (c->n_opts)
		fprintf(f, ", o%u, %zu", m->opts_id, c->n_opts);
	else
		fputs(", 0, 0", f);
	if (c->n_args)
		fprintf(f, ", a%u, %zu, %d", m->args_id, c->n_args, c->star);
	else
		fprintf(f, ", 0, 0, %d", c->star);
	if (c->n_subs)
		fprintf(f, ", s%u, %zu},\n", m->subs_id, c->n_subs);
	else
		fputs(", 0, 0},\n", f);
}

static void put_cmds(FILE *f, const char *linkage, const char *name, const struct know_cmd *v,
		     size_t n)
{
	struct made *all = calloc(n + 1, sizeof(*all));

	if (!all)
		abort();
	for (size_t i = 0; i < n; i++)
		put_tables(f, &v[i], ++serial, &all[i]);
	fprintf(f, "%sconst struct know_cmd %s[] = {\n", linkage, name);
	for (size_t i = 0; i < n; i++)
		put_cmd(f, &v[i], &all[i]);
	fputs("};\n", f);
	free(all);
}

static void put_tables(FILE *f, const struct know_cmd *c, unsigned id, struct made *m)
{
	char name[32];

	for (size_t i = 0; i < n_made; i++)
		if (made[i].opts == c->opts && made[i].args == c->args && made[i].subs == c->subs &&
		    (c->opts || c->args || c->subs)) {
			*m = made[i];
			return;
		}
	*m = (struct made){c->opts, c->args, c->subs, id, id, id};
	put_opts(f, c, id);
	put_args(f, c, id);
	if (c->n_subs) {
		snprintf(name, sizeof(name), "s%u", id);
		put_cmds(f, "static ", name, c->subs, c->n_subs);
	}
	made = realloc(made, (n_made + 1) * sizeof(*made));
	if (!made)
		abort();
	made[n_made++] = *m;
}

static void put_numbers(FILE *f, const char *name, const uint16_t *v, size_t n)
{
	fprintf(f, "static const uint16_t %s[] = {", name);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s%u,", i % 16 ? " " : "\n\t", v[i]);
	fputs("\n};\n", f);
}

static void put_rest(FILE *f, const struct know *k)
{
	fputs("static const struct know_path paths[] = {\n", f);
	for (size_t i = 0; i < k->n_paths; i++) {
		fputs("\t{", f);
		put(f, k->paths[i].pattern);
		fputs(", ", f);
		put(f, k->paths[i].why);
		fprintf(f, ", %lluull, %lluull, %lluull, %u, %u, %u, %u},\n", (unsigned long long)k->paths[i].parts,
			(unsigned long long)k->paths[i].starts, (unsigned long long)k->paths[i].ends, k->paths[i].cls, k->paths[i].kind, k->paths[i].len,
			k->paths[i].shelf);
	}
	fputs("};\n", f);
	put_numbers(f, "shelved", k->shelved, k->n_paths);
	put_numbers(f, "shelves", k->shelves, KNOW_SHELVES + 1);
	fputs("static const struct know_env envs[] = {\n", f);
	for (size_t i = 0; i < k->n_envs; i++) {
		fputs("\t{", f);
		put(f, k->envs[i].pattern);
		fputs(", ", f);
		put(f, k->envs[i].why);
		fprintf(f, ", %u, %u", k->envs[i].cls, k->envs[i].len);
		fputs("},\n", f);
	}
	fputs("};\n", f);
	put_numbers(f, "env_shelved", k->env_shelved, k->n_envs);
	put_numbers(f, "env_shelves", k->env_shelves, KNOW_SHELVES + 1);
	fputs("static const struct know_verb verbs[] = {\n", f);
	for (size_t i = 0; i < k->n_verbs; i++) {
		fputs("\t{", f);
		put(f, k->verbs[i].word);
		fprintf(f, ", %u},\n", k->verbs[i].cls);
	}
	fputs("};\nstatic const struct know_example examples[] = {\n", f);
	for (size_t i = 0; i < k->n_examples; i++) {
		fputs("\t{", f);
		put(f, k->examples[i].program);
		fprintf(f, ", %u, %u, ", k->examples[i].level, k->examples[i].reach);
		put(f, k->examples[i].command);
		fputs("},\n", f);
	}
	fprintf(f,
		"};\nconst struct know know_builtin = {cmds, %zu, paths, %zu, shelved, shelves, envs, %zu, env_shelved, env_shelves, verbs, "
		"%zu, examples, %zu};\n",
		k->n_cmds, k->n_paths, k->n_envs, k->n_verbs, k->n_examples);
}

int main(int argc, char **argv)
{
	struct arena a = {.max = (size_t)1 << 28};
	struct know_tables t = {.a = &a};
	struct rein_err err = {0};
	struct know k;
	jmp_buf fail;
	FILE *f;

	if (argc < 3) {
		fputs("usage: gen-knowledge OUTPUT.c FILE.yaml...\n", stderr);
		return 2;
	}
	a.fail = &fail;
	if (setjmp(fail)) {
		fputs("gen-knowledge: out of memory\n", stderr);
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		size_t n;
		char *text = slurp(argv[i], &n);

		if (!text) {
			fprintf(stderr, "gen-knowledge: %s: %s\n", argv[i], strerror(errno));
			return 1;
		}
		if (know_load(&t, argv[i], text, n, &err) < 0) {
			fprintf(stderr, "gen-knowledge: %s\n", err.msg);
			return 1;
		}
		free(text);
	}
	if (know_finish(&t, &k, &err) < 0) {
		fprintf(stderr, "gen-knowledge: %s\n", err.msg);
		return 1;
	}
	f = fopen(argv[1], "w");
	if (!f) {
		fprintf(stderr, "gen-knowledge: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	fputs("/* Generated from knowledge/ by gen-knowledge; do not edit. */\n"
	      "#include \"classify/know.h\"\n",
	      f);
	put_cmds(f, "static ", "cmds", k.cmds, k.n_cmds);
	put_rest(f, &k);
	if (fclose(f)) {
		perror("gen-knowledge");
		return 1;
	}
	arena_done(&a);
	return 0;
}
