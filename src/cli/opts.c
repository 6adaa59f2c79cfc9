/* SPDX-License-Identifier: Apache-2.0 */
/* The option parser and the help made from the same tables. */
#include "cli/opts.h"

#include <stdio.h>

#include "base/auto.h"
#include "cli/fold.h"

const struct rein_opt rein_common_opts[] = {
	{"json", 0, REIN_OPT_FLAG, offsetof(struct rein_common, json), NULL, "print JSON", 0},
	{"quiet", 'q', REIN_OPT_FLAG, offsetof(struct rein_common, quiet), NULL, "say only what went wrong", 0},
	{"verbose", 'v', REIN_OPT_FLAG, offsetof(struct rein_common, verbose), NULL, "say more", 0},
	{"no-pager", 0, REIN_OPT_FLAG, offsetof(struct rein_common, no_pager), NULL, "never start a pager", 0},
	{"help", 'h', REIN_OPT_FLAG, offsetof(struct rein_common, help), NULL, "show this help", 0},
	{0},
};

static bool takes_value(const struct rein_opt *o)
{
	return o->type != REIN_OPT_FLAG && o->type != REIN_OPT_VALUE;
}

static int choose(const struct rein_opt *o, const char *v)
{
	size_t n = strlen(v);
	int index = 1;

	for (const char *p = o->arg; p; index++) {
		const char *bar = strchr(p, '|');
		size_t len = bar ? (size_t)(bar - p) : strlen(p);

		if (len == n && !strncmp(p, v, n))
			return index;
		p = bar ? bar + 1 : NULL;
	}
	return 0;
}

/* "$DIR" of a variable that is not set would be taken for no option at all. */
static bool is_no_place(const struct rein_opt *o, const char *v)
{
	return (o->type == REIN_OPT_STRING || o->type == REIN_OPT_LIST) && !*v &&
	       (rein_streq(o->arg, "DIR") || rein_streq(o->arg, "PATH") || rein_streq(o->arg, "FILE"));
}

static int store(const struct rein_opt *o, const char *v, void *base, struct rein_err *err)
{
	void *to = (char *)base + o->offset;
	bool ok = true;

	if (is_no_place(o, v))
		return rein_err_set(err, REIN_E_USAGE, "--%s: '' is no %s", o->name, o->arg);
	switch (o->type) {
	case REIN_OPT_FLAG:
		*(bool *)to = true;
		return 0;
	case REIN_OPT_VALUE:
		if (*(int *)to && *(int *)to != o->value)
			return rein_err_set(err, REIN_E_USAGE, "--%s contradicts an earlier option",
					    o->name);
		*(int *)to = o->value;
		return 0;
	case REIN_OPT_STRING:
		*(const char **)to = v;
		return 0;
	case REIN_OPT_LIST:
		return rein_strlist_add(to, v) < 0 ? rein_err_nomem(err) : 0;
	case REIN_OPT_DURATION:
		ok = rein_parse_duration(v, to);
		break;
	case REIN_OPT_SIZE:
		ok = rein_parse_size(v, to);
		break;
	case REIN_OPT_NUMBER:
		ok = rein_parse_u64(v, UINT64_MAX, to);
		break;
	case REIN_OPT_CHOICE:
		*(int *)to = choose(o, v);
		ok = *(int *)to != 0;
		break;
	}
	if (ok)
		return 0;
	return rein_err_set(err, REIN_E_USAGE, "--%s: '%s' is not %s%s", o->name, v,
			    o->type == REIN_OPT_DURATION ? "a duration (90s, 5m, 2h)"
			    : o->type == REIN_OPT_SIZE   ? "a size (64K, 10M, 2G)"
			    : o->type == REIN_OPT_NUMBER ? "a number"
							 : "one of ",
			    o->type == REIN_OPT_CHOICE ? o->arg : "");
}

struct found {
	const struct rein_opt *o;
	void *base;
};

static struct found find(const struct rein_verb *verb, const char *name, size_t n, char letter,
			 void *target, struct rein_common *common)
{
	const struct rein_opt *tables[] = {verb->opts, rein_common_opts};
	void *bases[] = {target, common};

	for (size_t t = 0; t < 2; t++)
		for (const struct rein_opt *o = tables[t]; o && o->name; o++)
			if (name ? strlen(o->name) == n && !strncmp(o->name, name, n)
				 : o->letter == letter)
				return (struct found){o, bases[t]};
	return (struct found){NULL, NULL};
}

static int unknown(const struct rein_verb *verb, const char *arg, struct rein_err *err)
{
	const struct rein_opt *tables[] = {verb->opts, rein_common_opts};
	char name[40] = "";
	struct rein_near near;

	if (rein_starts(arg, "--"))
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
	near = rein_near(name);
	for (size_t t = 0; *name && t < ARRAY_SIZE(tables); t++)
		for (const struct rein_opt *o = tables[t]; o && o->name; o++)
			rein_near_try(&near, o->name);
	if (near.best)
		return rein_err_set(err, REIN_E_USAGE, "unknown option '%s'; did you mean '--%s'? (see: rein %s --help)", arg,
				    near.best, verb->name);
	return rein_err_set(err, REIN_E_USAGE, "unknown option '%s' (see: rein %s --help)", arg,
			    verb->name);
}

static int long_option(const struct rein_verb *verb, int argc, char **argv, int *i, void *target,
		       struct rein_common *common, struct rein_err *err)
{
	const char *name = argv[*i] + 2;
	const char *eq = strchr(name, '=');
	struct found f = find(verb, name, eq ? (size_t)(eq - name) : strlen(name), 0, target, common);

	if (!f.o)
		return unknown(verb, argv[*i], err);
	if (!takes_value(f.o)) {
		if (eq)
			return rein_err_set(err, REIN_E_USAGE, "--%s takes no value", f.o->name);
		return store(f.o, NULL, f.base, err);
	}
	if (!eq && *i + 1 >= argc)
		return rein_err_set(err, REIN_E_USAGE, "--%s needs a value: --%s %s", f.o->name,
				    f.o->name, f.o->arg);
	return store(f.o, eq ? eq + 1 : argv[++*i], f.base, err);
}

static int letters(const struct rein_verb *verb, int argc, char **argv, int *i, void *target,
		   struct rein_common *common, struct rein_err *err)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		struct found f = find(verb, NULL, 0, *p, target, common);

		if (!f.o)
			return unknown(verb, argv[*i], err);
		if (!takes_value(f.o)) {
			if (store(f.o, NULL, f.base, err) < 0)
				return -err->code;
			continue;
		}
		if (!p[1] && *i + 1 >= argc)
			return rein_err_set(err, REIN_E_USAGE, "-%c needs a value: -%c %s", *p, *p,
					    f.o->arg);
		return store(f.o, p[1] ? p + 1 : argv[++*i], f.base, err);
	}
	return 0;
}

int rein_opts_parse(const struct rein_verb *verb, int argc, char **argv, void *target,
		    struct rein_common *common, int *ret_first, struct rein_err *err)
{
	int kept = 1; /* operands seen so far are argv[1..kept) */
	int i = 1;

	for (; i < argc; i++) {
		char *a = argv[i];
		int rc;

		if (rein_streq(a, "--")) {
			i++;
			break;
		}
		if (a[0] != '-' || !a[1]) {
			if (verb->rest)
				break;
			argv[kept++] = a;
			continue;
		}
		rc = a[1] == '-' ? long_option(verb, argc, argv, &i, target, common, err)
				 : letters(verb, argc, argv, &i, target, common, err);
		if (rc < 0)
			return rc;
	}
	/* put the operands before the "--" directly in front of those behind it */
	while (kept > 1)
		argv[--i] = argv[--kept];
	*ret_first = i;
	return 0;
}

static void help_rows(const struct rein_opt *o, unsigned width)
{
	for (; o && o->name; o++) {
		char left[80];

		snprintf(left, sizeof(left), "%c%c%s --%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			 takes_value(o) ? " " : "", takes_value(o) ? o->arg : "");
		rein_fold_row(stdout, width, 33, left, o->help);
	}
}

void rein_opts_help(const struct rein_verb *verb)
{
	const unsigned width = rein_fold_width(stdout);
	char line[512];

	snprintf(line, sizeof(line), "Usage: rein %s [options]%s%s", verb->name, *verb->args ? " " : "", verb->args);
	rein_fold(stdout, width, 0, 12, line);
	snprintf(line, sizeof(line), "%s.", verb->summary);
	putchar('\n');
	rein_fold(stdout, width, 0, 0, line);
	putchar('\n');
	if (verb->opts && verb->opts->name) {
		printf("Options:\n");
		help_rows(verb->opts, width);
		printf("\n");
	}
	printf("Common:\n");
	help_rows(rein_common_opts, width);
}
