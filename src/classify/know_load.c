/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML to tables. Strict: an unknown key, role, action, handler or level is an error with file and
 * line, so that a slip in a knowledge file cannot silently turn into "harmless".
 */
#include "classify/know_load.h"

#include <stdlib.h>
#include <yaml.h>

#include "model/effect_fact.h"

struct loader {
	struct know_tables *t;
	yaml_document_t doc;
	const char *file;
	struct rein_err *err;
};

static int bad(struct loader *l, const yaml_node_t *at, const char *what, const char *text)
{
	return rein_err_set(l->err, REIN_E_INVALID, "%s:%zu:%zu: %s '%s'", l->file,
			    at ? at->start_mark.line + 1 : 0, at ? at->start_mark.column + 1 : 0,
			    what, text);
}

static void *grow(struct arena *a, void *old, size_t n, size_t *cap, size_t size)
{
	void *fresh;

	if (n < *cap)
		return old;
	*cap = *cap ? *cap * 2 : 16;
	fresh = arena_alloc(a, *cap * size);
	if (n)
		memcpy(fresh, old, n * size);
	return fresh;
}

#define PUSH(t, list, ...)                                                                         \
	do {                                                                                       \
		(t)->list = grow((t)->a, (t)->list, (t)->n_##list, &(t)->cap_##list,               \
				 sizeof(*(t)->list));                                              \
		(t)->list[(t)->n_##list++] = (__VA_ARGS__);                                        \
	} while (0)

static yaml_node_t *node(struct loader *l, int id)
{
	return yaml_document_get_node(&l->doc, id);
}

static const char *scalar(const yaml_node_t *n)
{
	return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

static char *dup_n(struct loader *l, const char *s, size_t n)
{
	return arena_dup(l->t->a, s, n);
}

static int find_name(const char *const *names, size_t n, const char *s, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && strlen(names[i]) == len && !memcmp(names[i], s, len))
			return (int)i;
	return -1;
}

static const char *const role_names[] = {
#define X(c, n) n,
	KNOW_ROLES(X)
#undef X
};
static const char *const act_names[] = {
#define X(c, n) n,
	KNOW_ACTS(X)
#undef X
};
static const char *const handler_names[] = {
#define X(n) #n,
	KNOW_HANDLERS(X)
#undef X
};
static const char *const kind_names[] = {
#define X(c, n) n,
	REIN_FACT_KINDS(X)
#undef X
};
static const char *const level_names[] = {"none", "safe", "risky", "dangerous", "destructive"};
static const char *const reach_names[] = {"none", "read-only", "contained", "compensable",
					  "irreversible"};
static const char *const style_names[] = {"gnu", "single", "none", "posix"};

#define FIND(table, s) find_name(table, sizeof(table) / sizeof((table)[0]), (s), strlen(s))

static const char *skip_space(const char *s)
{
	return s + strspn(s, " \t\n");
}

/* "role" or "act" words after the colon of an option. */
static int option_words(struct loader *l, const yaml_node_t *at, struct know_opt *o, const char *s,
			size_t n)
{
	while (n) {
		const char *comma = memchr(s, ',', n);
		size_t len = comma ? (size_t)(comma - s) : n;
		int k = find_name(role_names, ROLE__MAX, s, len);

		if (k >= 0) {
			o->role = (uint8_t)k;
		} else {
			k = find_name(act_names, ACT_BIT__MAX, s, len);
			if (k < 0)
				return bad(l, at, "unknown role or action", dup_n(l, s, len));
			o->acts |= 1u << k;
		}
		s += len + (comma ? 1 : 0);
		n -= len + (comma ? 1 : 0);
	}
	return 0;
}

struct opts {
	struct know_opt *v;
	size_t n, cap;
};

/* One token: -o|--output=:write,risky ; "=" takes a value, "=?" only an attached one. */
static int option(struct loader *l, const yaml_node_t *at, struct opts *out, const char *s,
		  size_t n)
{
	struct know_opt o = {0};
	const char *colon = memchr(s, ':', n), *eq;
	size_t names = colon ? (size_t)(colon - s) : n;

	if (colon && option_words(l, at, &o, colon + 1, n - names - 1) < 0)
		return -l->err->code;
	eq = memchr(s, '=', names);
	if (eq) {
		o.arg = eq + 1 < s + names && eq[1] == '?' ? 2 : 1;
		names = (size_t)(eq - s);
	}
	o.key = dup_n(l, s, memchr(s, '|', names) ? (size_t)((const char *)memchr(s, '|', names) - s)
						  : names);
	while (names) {
		const char *bar = memchr(s, '|', names);
		size_t len = bar ? (size_t)(bar - s) : names;

		o.name = dup_n(l, s, len);
		if (o.name[0] != '-' && o.name[0] != '+')
			return bad(l, at, "option without a dash", o.name);
		out->v = grow(l->t->a, out->v, out->n, &out->cap, sizeof(*out->v));
		out->v[out->n++] = o;
		s += len + (bar ? 1 : 0);
		names -= len + (bar ? 1 : 0);
	}
	return 0;
}

static int options(struct loader *l, const yaml_node_t *at, struct know_cmd *c, const char *s)
{
	struct opts out = {(struct know_opt *)c->opts, c->n_opts, c->n_opts};

	for (s = skip_space(s); *s; s = skip_space(s)) {
		size_t len = strcspn(s, " \t\n");

		if (option(l, at, &out, s, len) < 0)
			return -l->err->code;
		s += len;
	}
	c->opts = out.v;
	c->n_opts = out.n;
	return 0;
}

static int roles(struct loader *l, const yaml_node_t *at, struct know_cmd *c, const char *s)
{
	uint8_t v[16];
	size_t n = 0;
	uint8_t *copy;

	c->star = -1;
	for (s = skip_space(s); *s; s = skip_space(s)) {
		size_t len = strcspn(s, " \t\n"), name = len;
		int k;

		if (n == sizeof(v))
			return bad(l, at, "too many operands", s);
		if (s[len - 1] == '*') {
			c->star = (int)n;
			name--;
		}
		k = find_name(role_names, ROLE__MAX, s, name);
		if (k < 0)
			return bad(l, at, "unknown role", dup_n(l, s, name));
		v[n++] = (uint8_t)k;
		s += len;
	}
	copy = arena_alloc(l->t->a, n + 1);
	memcpy(copy, v, n);
	c->args = copy;
	c->n_args = n;
	return 0;
}

static int pick(struct loader *l, const yaml_node_t *at, const char *const *names, size_t n,
		const char *what, uint8_t *ret)
{
	const char *s = scalar(at);
	int k = s ? find_name(names, n, s, strlen(s)) : -1;

	if (k < 0)
		return bad(l, at, what, s ? s : "(not a word)");
	*ret = (uint8_t)k;
	return 0;
}

static int example(struct loader *l, const yaml_node_t *at, const char *program, const char *s)
{
	struct know_example e = {.program = program};
	size_t len = strcspn(s, " /");
	int k = find_name(level_names, REIN_LEVEL__MAX, s, len);

	if (k < 0)
		return bad(l, at, "example without a level", s);
	e.level = (uint8_t)k;
	s += len;
	if (*s == '/') {
		len = strcspn(++s, " ");
		k = find_name(reach_names, REIN_REACH__MAX, s, len);
		if (k < 0)
			return bad(l, at, "unknown reach", s);
		e.reach = (uint8_t)k;
		s += len;
	}
	s = skip_space(s);
	e.command = dup_n(l, s, strlen(s));
	PUSH(l->t, examples, e);
	return 0;
}

static int command(struct loader *l, const yaml_node_t *val, struct know_cmd *c,
		   const char *program);

struct cmds {
	struct know_cmd *v;
	size_t n, cap;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct know_cmd *)a)->name, ((const struct know_cmd *)b)->name);
}

/* "a b c": spec (or "a|b|c") makes three entries of one specification. */
static int named(struct loader *l, const yaml_node_t *key, const yaml_node_t *val,
		 struct cmds *out, const char *program)
{
	struct know_cmd c = {.star = -1};
	const char *names = scalar(key);

	if (!names)
		return bad(l, key, "name is not a word", "");
	names += strspn(names, "| ");
	if (command(l, val, &c, program ? program : dup_n(l, names, strcspn(names, "| "))) < 0)
		return -l->err->code;
	while (*names) {
		size_t len = strcspn(names, "| ");

		c.name = dup_n(l, names, len);
		out->v = grow(l->t->a, out->v, out->n, &out->cap, sizeof(*out->v));
		out->v[out->n++] = c;
		names += len;
		names += strspn(names, "| ");
	}
	return 0;
}

static int subs(struct loader *l, const yaml_node_t *map, struct know_cmd *c, const char *program)
{
	struct cmds out = {0};

	if (map->type != YAML_MAPPING_NODE)
		return bad(l, map, "sub must be a mapping in", program);
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++)
		if (named(l, node(l, p->key), node(l, p->value), &out, program) < 0)
			return -l->err->code;
	qsort(out.v, out.n, sizeof(*out.v), by_name);
	for (size_t i = 1; i < out.n; i++)
		if (!strcmp(out.v[i - 1].name, out.v[i].name))
			return bad(l, map, "sub-command twice:", out.v[i].name);
	c->subs = out.v;
	c->n_subs = out.n;
	return 0;
}

/* The short form: a level, a reach, and roles of operands. */
static int shorthand(struct loader *l, const yaml_node_t *at, struct know_cmd *c)
{
	const char *s = skip_space(scalar(at));
	size_t len = strcspn(s, " ");
	int k;

	c->any = true;
	k = find_name(level_names, REIN_LEVEL__MAX, s, len);
	if (k < 0)
		return bad(l, at, "unknown level", s);
	c->level = k == REIN_LEVEL_SAFE ? 0 : (uint8_t)k;
	s = skip_space(s + len);
	len = strcspn(s, " ");
	k = len ? find_name(reach_names, REIN_REACH__MAX, s, len) : -1;
	if (k >= 0) {
		c->reach = (uint8_t)k;
		s = skip_space(s + len);
	}
	return roles(l, at, c, *s ? s : "data*");
}

static int says(struct loader *l, const yaml_node_t *map, struct know_cmd *c)
{
	if (map->type != YAML_MAPPING_NODE)
		return bad(l, map, "says must be a mapping", "");
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++) {
		const char *flag = scalar(node(l, p->key)), *why = scalar(node(l, p->value));
		bool found = false;

		for (size_t i = 0; flag && why && i < c->n_opts; i++) {
			struct know_opt *o = (struct know_opt *)&c->opts[i];

			if (strcmp(o->name, flag))
				continue;
			o->why = dup_n(l, why, strlen(why));
			found = true;
		}
		if (!found)
			return bad(l, map, "says about an option that is not there:",
				   flag ? flag : "");
	}
	return 0;
}

static int examples(struct loader *l, const yaml_node_t *seq, const char *program)
{
	if (seq->type != YAML_SEQUENCE_NODE)
		return bad(l, seq, "examples must be a list in", program);
	for (yaml_node_item_t *i = seq->data.sequence.items.start;
	     i < seq->data.sequence.items.top; i++) {
		const yaml_node_t *n = node(l, *i);

		if (!scalar(n))
			return bad(l, n, "example is not a line", program);
		if (example(l, n, program, scalar(n)) < 0)
			return -l->err->code;
	}
	return 0;
}

static bool truth(const yaml_node_t *n)
{
	return scalar(n) && !strcmp(scalar(n), "true");
}

static int attribute(struct loader *l, const char *key, const yaml_node_t *val,
		     struct know_cmd *c, const char *program)
{
	const char *s = scalar(val);
	uint8_t v = 0;
	int rc = 0;

	if (!strcmp(key, "level"))
		rc = pick(l, val, level_names, REIN_LEVEL__MAX, "unknown level", &c->level);
	else if (!strcmp(key, "mutate"))
		rc = pick(l, val, level_names, REIN_LEVEL__MAX, "unknown level", &c->mutate);
	else if (!strcmp(key, "reach"))
		rc = pick(l, val, reach_names, REIN_REACH__MAX, "unknown reach", &c->reach);
	else if (!strcmp(key, "kind")) {
		rc = pick(l, val, kind_names, REIN_FACT__MAX, "unknown kind", &v);
		c->kind = (uint8_t)(v + 1);
	} else if (!strcmp(key, "handler"))
		rc = pick(l, val, handler_names, HANDLE__MAX, "unknown handler", &c->handler);
	else if (!strcmp(key, "style"))
		rc = pick(l, val, style_names, 4, "unknown style", &c->style);
	else if (!strcmp(key, "opts") && s)
		rc = options(l, val, c, s);
	else if (!strcmp(key, "args") && s)
		rc = roles(l, val, c, s);
	else if (!strcmp(key, "sub"))
		rc = subs(l, val, c, program);
	else if (!strcmp(key, "examples"))
		rc = examples(l, val, program);
	else if (!strcmp(key, "any"))
		c->any = truth(val);
	else if (!strcmp(key, "proxy"))
		c->proxy = truth(val);
	else if (!strcmp(key, "partial"))
		c->partial = truth(val);
	else if (!strcmp(key, "sub_any"))
		c->sub_any = truth(val);
	else if (!strcmp(key, "lang") && s)
		c->lang = dup_n(l, s, strlen(s));
	else if (!strcmp(key, "why") && s)
		c->why = dup_n(l, s, strlen(s));
	else if (!strcmp(key, "note") && s)
		c->note = dup_n(l, s, strlen(s));
	else if (strcmp(key, "says") != 0)
		rc = bad(l, val, "unknown key", key);
	return rc;
}

static int command(struct loader *l, const yaml_node_t *val, struct know_cmd *c,
		   const char *program)
{
	if (val->type == YAML_SCALAR_NODE)
		return shorthand(l, val, c);
	if (val->type != YAML_MAPPING_NODE)
		return bad(l, val, "not a specification:", program);
	for (yaml_node_pair_t *p = val->data.mapping.pairs.start; p < val->data.mapping.pairs.top;
	     p++) {
		const char *key = scalar(node(l, p->key));

		if (!key || attribute(l, key, node(l, p->value), c, program) < 0)
			return l->err->code ? -l->err->code : bad(l, val, "bad key in", program);
	}
	for (yaml_node_pair_t *p = val->data.mapping.pairs.start; p < val->data.mapping.pairs.top;
	     p++)
		if (!strcmp(scalar(node(l, p->key)), "says") && says(l, node(l, p->value), c) < 0)
			return -l->err->code;
	if (c->level == REIN_LEVEL_SAFE)
		c->level = 0;
	return 0;
}

static int programs(struct loader *l, const yaml_node_t *map)
{
	struct cmds out = {l->t->cmds, l->t->n_cmds, l->t->cap_cmds};

	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++)
		if (named(l, node(l, p->key), node(l, p->value), &out, NULL) < 0)
			return -l->err->code;
	l->t->cmds = out.v;
	l->t->n_cmds = out.n;
	l->t->cap_cmds = out.cap;
	return 0;
}

/* class: list of "pattern" or "pattern: why" entries. */
static int listed(struct loader *l, const yaml_node_t *map, const char *const *classes, size_t n,
		  void (*push)(struct loader *, const char *, uint8_t, const char *))
{
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *key = node(l, p->key), *seq = node(l, p->value);
		const char *s = scalar(key);
		int cls = s ? find_name(classes, n, s, strlen(s)) : -1;

		if (cls < 0 || seq->type != YAML_SEQUENCE_NODE)
			return bad(l, key, "unknown class or not a list:", s ? s : "");
		for (yaml_node_item_t *i = seq->data.sequence.items.start;
		     i < seq->data.sequence.items.top; i++) {
			const yaml_node_t *it = node(l, *i);
			const char *why = NULL, *pat = scalar(it);

			if (it->type == YAML_MAPPING_NODE && it->data.mapping.pairs.start < it->data.mapping.pairs.top) {
				pat = scalar(node(l, it->data.mapping.pairs.start->key));
				why = scalar(node(l, it->data.mapping.pairs.start->value));
			}
			if (!pat || !*pat || strlen(pat) > UINT8_MAX)
				return bad(l, it, "not a pattern in", s);
			push(l, dup_n(l, pat, strlen(pat)), (uint8_t)cls,
			     why ? dup_n(l, why, strlen(why)) : NULL);
		}
	}
	return 0;
}

static void push_path(struct loader *l, const char *pat, uint8_t cls, const char *why)
{
	struct know_path k = {.pattern = pat, .cls = cls, .why = why, .shelf = KNOW_SHELVES - 1};
	size_t n = strlen(pat);

	k.len = (uint8_t)n;
	k.kind = pat[0] == '/'		 ? KPATH_ABS
		 : pat[n - 1] == '/'	 ? KPATH_DIR
		 : strchr(pat, '/')	 ? KPATH_SUFFIX
		 : strchr(pat, '*')	 ? KPATH_GLOB
					 : KPATH_NAME;
	for (size_t i = 0, len; i < n; i += len + 1) {
		len = strcspn(pat + i, "/");
		if (memchr(pat + i, '*', len))
			continue;
		k.parts |= know_part_bit(pat + i, len);
		if (len)
			k.shelf = (uint8_t)__builtin_ctzll(know_part_bit(pat + i, len));
		k.starts |= know_start_bit(pat + i, len);
		k.ends |= know_end_bit(pat + i, len);
	}
	PUSH(l->t, paths, k);
}

static void push_env(struct loader *l, const char *pat, uint8_t cls, const char *why)
{
	PUSH(l->t, envs, (struct know_env){pat, why, cls, (uint8_t)strlen(pat)});
}

static int verbs(struct loader *l, const yaml_node_t *map)
{
	static const char *const classes[] = {NULL,	"read", "noun", "create",
					      "change", "delete", "exec", "danger"};

	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++) {
		const char *key = scalar(node(l, p->key)), *s = scalar(node(l, p->value));
		int cls = key ? FIND(classes, key) : -1;

		if (cls < 0 || !s)
			return bad(l, node(l, p->key), "unknown class of verbs", key ? key : "");
		for (s = skip_space(s); *s; s = skip_space(s)) {
			size_t len = strcspn(s, " \t\n");

			PUSH(l->t, verbs, (struct know_verb){dup_n(l, s, len), (uint8_t)cls});
			s += len;
		}
	}
	return 0;
}

static int document(struct loader *l)
{
	static const char *const path_classes[] = {NULL,    "secret",	"not-secret", "persist",
						   "system", "regenerable", "precious", "log",
						   "agent",  "ci"};
	static const char *const env_classes[] = {NULL, "harmless", "exec", "secret", "config"};
	yaml_node_t *root = yaml_document_get_root_node(&l->doc);

	if (!root || root->type != YAML_MAPPING_NODE)
		return bad(l, root, "not a mapping:", l->file);
	for (yaml_node_pair_t *p = root->data.mapping.pairs.start;
	     p < root->data.mapping.pairs.top; p++) {
		const char *key = scalar(node(l, p->key));
		const yaml_node_t *val = node(l, p->value);
		int rc;

		if (!key || val->type != YAML_MAPPING_NODE)
			return bad(l, val, "not a mapping:", key ? key : "");
		if (!strcmp(key, "programs"))
			rc = programs(l, val);
		else if (!strcmp(key, "paths"))
			rc = listed(l, val, path_classes, 10, push_path);
		else if (!strcmp(key, "environment"))
			rc = listed(l, val, env_classes, 5, push_env);
		else if (!strcmp(key, "verbs"))
			rc = verbs(l, val);
		else
			rc = bad(l, val, "unknown section", key);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int know_load(struct know_tables *t, const char *path, const char *text, size_t n,
	      struct rein_err *err)
{
	struct loader l = {.t = t, .file = path, .err = err};
	yaml_parser_t parser;
	int rc;

	if (!yaml_parser_initialize(&parser))
		return rein_err_nomem(err);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
	if (!yaml_parser_load(&parser, &l.doc)) {
		rc = rein_err_set(err, REIN_E_INVALID, "%s:%zu:%zu: %s", path,
				  parser.problem_mark.line + 1, parser.problem_mark.column + 1,
				  parser.problem ? parser.problem : "cannot be read");
		yaml_parser_delete(&parser);
		return rc;
	}
	rc = document(&l);
	yaml_document_delete(&l.doc);
	yaml_parser_delete(&parser);
	return rc;
}

static int verb_order(const void *a, const void *b)
{
	return strcmp(((const struct know_verb *)a)->word, ((const struct know_verb *)b)->word);
}

/* Only what lies on the shelves of its own components is compared with a path, on that of its first byte with a name. */
static int shelve(struct know_tables *t, size_t n, unsigned (*shelf)(const struct know_tables *, size_t),
		  const uint16_t **ret_shelved, const uint16_t **ret_shelves, struct rein_err *err)
{
	uint16_t *shelves = arena_alloc(t->a, (KNOW_SHELVES + 1) * sizeof(*shelves));
	uint16_t *shelved = arena_alloc(t->a, (n + 1) * sizeof(*shelved));
	uint16_t at = 0;

	if (n > UINT16_MAX)
		return rein_err_set(err, REIN_E_INVALID, "more than %u patterns", UINT16_MAX);
	for (size_t s = 0; s < KNOW_SHELVES; s++) {
		shelves[s] = at;
		for (size_t i = 0; i < n; i++)
			if (shelf(t, i) == s)
				shelved[at++] = (uint16_t)i;
	}
	shelves[KNOW_SHELVES] = at;
	*ret_shelves = shelves;
	*ret_shelved = shelved;
	return 0;
}

static unsigned path_shelf(const struct know_tables *t, size_t i)
{
	return t->paths[i].shelf;
}

static unsigned env_shelf(const struct know_tables *t, size_t i)
{
	return know_env_shelf(t->envs[i].pattern[0]);
}

int know_finish(struct know_tables *t, struct know *ret, struct rein_err *err)
{
	if (t->n_cmds)
		qsort(t->cmds, t->n_cmds, sizeof(*t->cmds), by_name);
	if (t->n_verbs)
		qsort(t->verbs, t->n_verbs, sizeof(*t->verbs), verb_order);
	for (size_t i = 1; i < t->n_cmds; i++)
		if (!strcmp(t->cmds[i - 1].name, t->cmds[i].name))
			return rein_err_set(err, REIN_E_INVALID,
					    "program '%s' is described twice: keep one",
					    t->cmds[i].name);
	for (size_t i = 1; i < t->n_verbs; i++)
		if (!strcmp(t->verbs[i - 1].word, t->verbs[i].word))
			return rein_err_set(err, REIN_E_INVALID, "verb '%s' is in two classes",
					    t->verbs[i].word);
	*ret = (struct know){.cmds = t->cmds,	    .n_cmds = t->n_cmds,   .paths = t->paths,
			     .n_paths = t->n_paths, .envs = t->envs,	   .n_envs = t->n_envs,
			     .verbs = t->verbs,	    .n_verbs = t->n_verbs, .examples = t->examples,
			     .n_examples = t->n_examples};
	if (shelve(t, t->n_paths, path_shelf, &ret->shelved, &ret->shelves, err) < 0)
		return -err->code;
	return shelve(t, t->n_envs, env_shelf, &ret->env_shelved, &ret->env_shelves, err);
}
