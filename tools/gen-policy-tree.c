/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-policy-tree OUTPUT INPUT: a policy's YAML as the tree that reading it gives, in C. Used while
 * building, with the reader itself: a program that starts does not read the built-in policy again,
 * which took it 0.4 ms.
 */
#include <stdio.h>

#include "base/buf.h"
#include "policy/internal.h"

#define BYTES_MAX (1u << 20)

/* The reader asks whether a text is the built-in one: here there is none yet. */
const char rein_policy_builtin[] = "";
const size_t rein_policy_builtin_n = 0;
struct node policy_builtin_tree[1];

static unsigned count(const struct node *n)
{
	unsigned total = 1;

	for (const struct node *k = n->kids; k; k = k->next)
		total += count(k);
	return total;
}

static void put_text(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++)
		fprintf(out, "\\%03o", (unsigned char)*s);
	fputc('"', out);
}

/* A node stands before its children, a child before its sister: at is this one's place. */
static void put(FILE *out, const struct node *n, unsigned at, bool sister)
{
	unsigned next = at + count(n), kid = at + 1, last = 0;

	fprintf(out, "{.kind = %d, .quoted = %d, .line = %u, .column = %u, .n = %zu", n->kind,
		n->quoted, n->line, n->column, n->n);
	if (n->text) {
		fputs(", .text = ", out);
		put_text(out, n->text);
	}
	for (const struct node *k = n->kids; k; k = k->next) {
		last = kid;
		kid += count(k);
	}
	if (n->kids)
		fprintf(out, ", .kids = &T[%u], .last = &T[%u]", at + 1, last);
	if (sister)
		fprintf(out, ", .next = &T[%u]", next);
	fputs("},\n", out);
	kid = at + 1;
	for (const struct node *k = n->kids; k; k = k->next) {
		put(out, k, kid, k->next);
		kid += count(k);
	}
}

int main(int argc, char **argv)
{
	static char text[BYTES_MAX];
	struct rein_err err = {0};
	struct pool pool = {0};
	struct source src = {.pool = &pool, .file = argc > 2 ? argv[2] : "", .err = &err};
	struct node *root = NULL;
	FILE *in, *out;
	size_t n;

	if (argc != 3)
		return 2;
	in = fopen(argv[2], "r");
	out = fopen(argv[1], "w");
	if (!in || !out) {
		perror(argv[in ? 1 : 2]);
		return 1;
	}
	n = fread(text, 1, sizeof(text), in);
	if (ferror(in) || n == sizeof(text) || yaml_read(&src, (struct rein_str){text, n}, &root) < 0 || !root) {
		fprintf(stderr, "gen-policy-tree: %s\n", err.msg);
		return 1;
	}
	fprintf(out, "#include \"policy/internal.h\"\n#define T policy_builtin_tree\n"
		     "struct node policy_builtin_tree[%u] = {\n", count(root));
	put(out, root, 0, false);
	fputs("};\n", out);
	fclose(in);
	pool_done(&pool);
	return fclose(out) ? 1 : 0;
}
