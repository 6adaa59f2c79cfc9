/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the policy. A policy file is read into nodes (yaml.c), nodes into structs by
 * tables of fields (field.c, schema.c), structs are joined over layers (policy.c) and matched
 * (match.c, call.c, fit.c, decide.c, effects.c).
 */
#ifndef REIN_POLICY_INTERNAL_H
#define REIN_POLICY_INTERNAL_H

#include "base/auto.h"
#include "model/event.h"
#include "policy/policy.h"

#define WORD_LONG    4096 /* of a word no more is compared: no path and no name of a program is longer */
#define POLICY_BYTES (4u << 20) /* one file */
#define POLICY_DEPTH 12
#define POLICY_KEYS  2000 /* of one map */
#define POLICY_NODES 400000
#define POLICY_RULES 20000 /* all layers together */

/* pool.c: memory that lives as long as the policy */
struct chunk;
struct pool {
	struct chunk *last;
};
void *pool_alloc(struct pool *p, size_t n); /* zeroed; NULL: out of memory */
char *pool_dup(struct pool *p, const char *s, size_t n);
void pool_done(struct pool *p);

/* yaml.c */
enum node_kind { NODE_SCALAR = 1, NODE_LIST, NODE_MAP };
struct node {
	enum node_kind kind;
	bool quoted; /* a scalar in quotes: text, whatever it looks like */
	unsigned line, column;
	const char *text; /* SCALAR */
	struct node *kids, *last; /* LIST: the items; MAP: key, value, key, value … */
	struct node *next;
	size_t n; /* kids */
};

struct source {
	struct pool *pool;
	const char *file;
	enum rein_layer layer;
	struct rein_err *err;
	rein_policy_word_fn *word; /* or NULL */
	struct rein_policy *policy; /* for remarks, where there is a word */
};

int yaml_read(struct source *src, struct rein_str text, struct node **ret);
extern struct node policy_builtin_tree[]; /* what reading rein_policy_builtin gives; made while building */
int bad(const struct source *src, const struct node *at, const char *fmt, ...) REIN_PRINTF(3, 4);

/* Values as the schema knows them. */
struct strs {
	const char **v;
	size_t n;
};

enum cmp_op { CMP_NONE = 0, CMP_LT, CMP_LE, CMP_EQ, CMP_NE, CMP_GE, CMP_GT };
struct cmp {
	enum cmp_op op;
	uint64_t n;
};

enum tri { TRI_UNSET = 0, TRI_NO, TRI_YES };

struct span { /* of a day, in minutes; from > to: over midnight */
	bool set;
	int from, to;
};

struct common { /* what a rule of either kind has */
	const char *id, *message, *instead;
	struct strs approvers;
	uint64_t minimum, expires_ns;
	uint64_t share; /* percent of agents it is enforced for, + 1; 0: all */
	int decide;	/* enum rein_decide + 1; 0: not given */
	int mode;	/* enum mode; 0: as the file */
	enum tri off;
	/* not from the file's own text */
	const char *file;
	enum rein_layer layer;
	unsigned line;
	unsigned weight; /* how specific its conditions are */
	bool inert;	 /* [P3]: of a project nobody trusts, and loosens */
	bool replaced;	 /* a later layer has the same id */
};

enum mode { MODE_UNSET = 0, MODE_ENFORCE, MODE_ADVISORY };

struct who { /* conditions on circumstances, for both kinds of rule */
	struct strs agent, role, environment;
	struct cmp trust;
	struct span time;
	uint32_t days;
	uint32_t level, reach; /* bits 1 << enum */
};

struct rule {
	struct common c;
	struct who who;
	uint32_t kind, effect, operation; /* bits 1 << enum */
	struct strs program, subcommand, flags, arguments;
	struct strs path, except, host, sql, method, name;
	enum tri complete, secret;
	/* compiled */
	uint64_t program_bits; /* one bit a literal name; all: a pattern */
	bool on_calls, on_facts;
};

struct effect_rule {
	struct common c;
	struct who who;
	uint32_t change, type; /* bits 1 << enum */
	struct strs path, except, host;
	struct cmp count, share, lines, bytes, status;
	enum tri untracked, secret, killed, programs, forgot;
};

struct environment {
	const char *name;
	int tier; /* enum env_tier; 0: not given */
	struct strs approvers;
	uint64_t minimum, wait_ns;
	unsigned line;
};
enum env_tier { ENV_UNSET = 0, ENV_AUTO, ENV_NOTIFY, ENV_APPROVE };

struct profile {
	const char *name;
	struct rein_policy_limits limits;
	unsigned line;
};

struct test {
	const char *action, *kind, *rule, *agent, *role, *environment, *time, *dialect, *content;
	uint64_t trust; /* + 1 */
	int expect;	/* enum rein_decide + 1 */
	const char *file;
	unsigned line;
	enum rein_layer layer;
};

struct alert_when {
	int type; /* index in rein_event_types + 1 */
	const char *agent, *session, *user, *level, *decision, *result, *rule, *path, *text;
};

struct alert {
	const char *id, *reaches, *command;
	struct alert_when when, then;
	uint64_t count, within_ns, quiet_ns;
	int by, first, number; /* index in their names + 1 */
	struct strs to;
	enum tri off;
	/* not from the file's own text */
	struct rein_alert_rule rule;
	const char *file;
	unsigned line;
};

struct webhook {
	const char *name, *url, *secret_file;
	uint64_t per_minute;
	enum tri off;
	bool replaced; /* a later layer has the same name */
	const char *file;
	unsigned line;
};

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n, cap;                                                                     \
	}

struct defaults { /* enum rein_decide + 1 by reach; 0: not given */
	int by_reach[REIN_REACH__MAX];
};

/* One file as it was read. */
struct document {
	uint64_t version;
	int mode;
	const char *environment;
	struct {
		struct strs writable, readonly, shown, hidden, scratch, canary;
	} workspace;
	struct {
		int mode; /* enum rein_policy_net + 1 */
		struct strs allow, deny, ports, credentials;
		const char *sent, *all; /* SIZE[/DURATION], checked */
		uint64_t rate;
		bool own_sent, own_all, own_rate; /* said by the command line's own layer */
	} network;
	struct {
		const char *profile;
		VEC(struct profile) profiles;
		struct rein_policy_limits own;
		struct rein_policy_limits most; /* [P3]: what a project says; over no profile, only under it */
	} limits;
	VEC(struct environment) environments;
	struct defaults defaults[REIN_LEVEL__MAX];
	VEC(struct rule) rules;
	VEC(struct effect_rule) effects;
	int on_failure; /* enum rein_policy_failure + 1 */
	uint64_t warm_ns;
	struct strs validate, foreign_validate; /* the latter: those of the former that an untrusted project brings */
	VEC(struct alert) alerts;
	VEC(struct webhook) webhooks;
	VEC(struct test) tests;
};

/* field.c: maps to structs and back, by tables */
enum field_type {
	F_STR,	    /* const char * */
	F_STRS,	    /* struct strs; one word stands for a list of one */
	F_TRI,	    /* enum tri */
	F_U64,	    /* uint64_t */
	F_PERCENT,  /* uint64_t, + 1 */
	F_DURATION, /* uint64_t, ns */
	F_SIZE,	    /* uint64_t, bytes */
	F_CMP,	    /* struct cmp */
	F_CMP_SIZE, /* the same; the number may be 64K */
	F_CMP_PERCENT,
	F_BITS,	  /* uint32_t, 1 << index in names; ">= name" for ordered ones */
	F_CHOICE, /* int, index in names + 1 */
	F_SPAN,	  /* struct span, "22:00-06:00" */
	F_DAYS,	  /* uint32_t, "mon-fri" or a list */
	F_MAP,	  /* the same struct or one inside it, by `sub` */
	F_LIST,	  /* VEC of maps, by `sub` */
	F_NAMED,  /* VEC of maps keyed by a name that goes into their first member */
};

struct table;
struct field {
	const char *name;
	enum field_type type;
	size_t offset;
	const char *const *names; /* ends with NULL; empty names are never given */
	const struct table *sub;
};

struct table {
	const struct field *fields; /* ends with a NULL name */
	size_t size;
	/* sees the finished element; may be NULL */
	int (*check)(const struct source *src, const struct node *at, void *element);
};

int field_read_map(struct source *src, const struct node *map, const struct table *t, void *to);
void field_format_map(struct rein_buf *b, const struct table *t, const void *from, unsigned indent);
/* The name in the list that was probably meant, or NULL. */
const char *nearest(const char *word, const char *const *names);

/* schema.c */
int schema_read(struct source *src, const struct node *root, struct document *ret);
void schema_format(const struct document *d, struct rein_buf *b);
void document_done(struct document *d); /* the arrays; strings are the pool's */

struct rein_policy {
	struct pool pool;
	rein_policy_word_fn *word;
	struct document all; /* joined */
	struct rein_policy_settings settings;
	bool sealed, broken, loose_mode;
	char why[REIN_ERR_MSG_MAX]; /* broken */
	VEC(const struct rule *) live;	 /* rules that speak */
	VEC(const struct effect_rule *) live_effects;
	VEC(struct rein_alert_rule) alerts;
	VEC(struct rein_webhook) webhooks;
	unsigned remarks_n;
	struct remark {
		const char *file, *text;
		unsigned line;
		struct remark *next;
	} *remarks, *last_remark;
};

/* policy.c */
void remark(struct rein_policy *p, const char *file, unsigned line, const char *fmt, ...) REIN_PRINTF(4, 5);

/* alerts.c */
extern const struct table alert_table, webhook_table;
int alerts_join(struct rein_policy *p, const struct source *src, const struct document *d, bool free_hand);
int alerts_seal(struct rein_policy *p, struct rein_err *err);

/* match.c */
enum match { MATCH_NO = 0, MATCH_MAYBE, MATCH_YES };

struct place { /* where relative patterns and paths stand */
	const char *workspace, *home;
};

enum match match_word(const struct strs *patterns, struct rein_str word); /* holes in word: maybe */
bool match_name(const struct strs *patterns, const char *name); /* NULL never matches */
/* path: absolute and normal, holes as bytes of call.h; tree: all below counts as well. */
enum match match_path(const struct strs *patterns, const char *path, bool tree, const struct place *at);
bool match_host(const struct strs *patterns, const char *host);
bool match_cmp(const struct cmp *c, uint64_t n);
/* target made absolute and normal into out; false: not known where it is */
bool path_absolute(const char *target, struct rein_str cwd, const struct place *at, char *out, size_t max);
bool path_unsure(const char *path); /* some of it is only known when it runs */
bool match_who(const struct who *w, const struct rein_verdict_facts *f, const char *environment);
uint64_t name_bit(struct rein_str name);
bool is_pattern(const char *s);

/* decide.c */
bool common_advisory(const struct rein_policy *p, const struct common *c, const char *agent);
/* One more who has to be asked besides; of a rule: if it wants more than that. */
void decision_add(struct rein_decision *ret, const struct rein_demand *d);
void decision_also(struct rein_decision *ret, const struct common *c);
void decision_from(const struct rein_policy *p, const struct common *c, enum rein_decide decide,
		   const char *agent, struct rein_decision *ret);
void decision_deny(struct rein_decision *ret, const char *rule, const char *reason);
void set_reason(struct rein_decision *ret, const char *fmt, ...) REIN_PRINTF(2, 3);
const struct environment *find_environment(const struct rein_policy *p, const char *name);
uint64_t announced_ns(const struct environment *e);
void limits_shown(const struct rein_policy *p, struct rein_policy_limits *to);

#endif
