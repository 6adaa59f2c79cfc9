/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about programs, as tables. The same structures hold what was compiled in from
 * knowledge/ at build time and what a user's file added at run time; docs/knowledge.md describes the
 * language both are written in.
 */
#ifndef REIN_CLASSIFY_KNOW_H
#define REIN_CLASSIFY_KNOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a word of a command line is. X(constant, name in the YAML) */
#define KNOW_ROLES(X)                                                                              \
	X(NONE, "none")                                                                            \
	X(DATA, "data")	    /* inert text, numbers, names */                                      \
	X(READ, "read")	    /* path that is read */                                               \
	X(WRITE, "write")   /* path that is created or overwritten */                             \
	X(APPEND, "append") /* path that grows */                                                 \
	X(MAKE, "make")	    /* path that is created if absent, never overwritten */               \
	X(DELETE, "delete") /* path that is removed */                                            \
	X(MODIFY, "modify") /* path changed in place */                                           \
	X(ATTR, "attr")	    /* path whose mode or owner changes */                                \
	X(MOVE, "move")	    /* path that disappears here */                                       \
	X(DEVICE, "device") /* raw device or filesystem that is overwritten */                    \
	X(CWD, "cwd")	    /* directory the rest happens in */                                   \
	X(CMD, "cmd")	    /* the rest is a command */                                           \
	X(SHELL, "shell")   /* shell code in one word */                                          \
	X(PROG, "prog")	    /* a command that gets executed, in one word */                       \
	X(SCRIPT, "script") /* file whose contents get executed */                                \
	X(CODE, "code")	    /* source text in the program's own language */                       \
	X(CONFIG, "config") /* file that can make the program execute things */                   \
	X(ENV, "env")	    /* NAME=value for the inner command */                                \
	X(URL, "url")	    /* fetched */                                                         \
	X(HOST, "host")	    /* connected to */                                                    \
	X(UPLOAD, "upload") /* path whose contents leave the machine */                           \
	X(REMOTE, "remote") /* [user@]host:path or a local path; the last one is written */       \
	X(SQL, "sql")	    /* SQL text */                                                        \
	X(METHOD, "method") /* HTTP method */                                                     \
	X(BODY, "body")	    /* HTTP body; @file reads */                                          \
	X(TARGET, "target") /* make target, script name, service name */                          \
	X(OUTPREFIX, "outprefix")

enum know_role {
#define X(c, n) ROLE_##c,
	KNOW_ROLES(X)
#undef X
	ROLE__MAX
};

/* What an option does besides carrying a value. */
#define KNOW_ACTS(X)                                                                               \
	X(SAFE, "query")      /* prints something and exits: the rest does not happen */          \
	X(DRY, "dry")	      /* shows what would be done */                                      \
	X(REC, "recursive")                                                                        \
	X(FORCE, "force")                                                                          \
	X(RISKY, "risky")                                                                          \
	X(DANGER, "dangerous")                                                                     \
	X(DESTROY, "destructive")                                                                  \
	X(SHIFT, "shift")     /* takes the place of the first operand */                          \
	X(INPLACE, "inplace") /* read operands are changed in place */                            \
	X(TDIR, "tdir")	      /* names the target: the other operands are sources */              \
	X(STDIN, "stdin")     /* the program comes from standard input */                         \
	X(RDONLY, "readonly") /* this form only reads: the base level does not apply */           \
	X(OUTSTD, "stdout")   /* result goes to standard output: operands are not written */      \
	X(KEEP, "keep")	      /* limits the damage: destructive becomes risky */                  \
	X(DECODE, "decode")                                                                        \
	X(LISTEN, "listen")                                                                        \
	X(DELOP, "deletes")   /* operands are deleted */                                          \
	X(MUTATE, "mutates")  /* the command changes something: at least its `mutate` level */    \
	X(GLOBALEND, "end")

enum know_act_bit {
#define X(c, n) ACT_BIT_##c,
	KNOW_ACTS(X)
#undef X
	ACT_BIT__MAX
};
enum know_act {
#define X(c, n) ACT_##c = 1u << ACT_BIT_##c,
	KNOW_ACTS(X)
#undef X
};

/* Programs whose argument grammar needs code. */
#define KNOW_HANDLERS(X)                                                                           \
	X(none) X(echo) X(printf) X(cat) X(cd) X(eval) X(source) X(exec) X(export) X(unset)        \
	X(read) X(mapfile) X(trap) X(alias) X(set) X(shift) X(shopt) X(hash) X(test) X(shell) X(env)        \
	X(sudo) X(su) X(xargs) X(parallel) X(find) X(fd) X(ssh) X(multicall) X(watch) X(flock)     \
	X(script) X(npx) X(interp) X(awk) X(sed) X(tar) X(dd) X(rm) X(cp) X(mv) X(ln) X(chmod)     \
	X(tee) X(decode) X(tr) X(rev) X(mktemp) X(pwd) X(basename) X(dirname) X(curl) X(wget)      \
	X(http) X(nc) X(socat) X(git) X(sql) X(redis) X(mongo) X(verbs) X(docker) X(kubectl)       \
	X(make) X(npmrun) X(java) X(fzf) X(vim) X(gh) X(printenv) X(crontab) X(dns) X(seq)         \
	X(ansible) X(kill) X(cmake) X(bwrap)

enum know_handler {
#define X(n) HANDLE_##n,
	KNOW_HANDLERS(X)
#undef X
	HANDLE__MAX
};

enum know_style {
	STYLE_GNU,    /* -abc clusters, --long, abbreviations */
	STYLE_SINGLE, /* -long, -long=value, -long value; no clusters */
	STYLE_NONE,   /* every word is an operand */
	STYLE_POSIX,  /* as GNU, options end at the first operand */
};

struct know_opt {
	const char *name; /* with its dashes */
	const char *key;  /* the first of its names: code asks for this one */
	uint8_t arg;	  /* 0 none, 1 required, 2 only attached */
	uint8_t role;	  /* of the value */
	uint32_t acts;
	const char *why;
};

struct know_cmd {
	const char *name;
	uint8_t level, reach; /* of running it at all; 0: by its effects */
	uint8_t mutate;	      /* level with a "mutates" option or an operand where `op` says so */
	uint8_t kind;	      /* enum rein_fact_kind + 1 for the base level, 0: exec */
	uint8_t handler, style;
	bool any;      /* no option that is not listed executes or writes */
	bool partial;  /* sub-commands may be abbreviated */
	bool proxy;    /* an unknown first operand is a command */
	bool sub_any;  /* an unknown sub-command is no more than the base level */
	const char *lang;
	const char *why;
	const char *note; /* a word for the handler, or when the base level holds (see call_base) */
	const struct know_opt *opts;
	size_t n_opts;
	const uint8_t *args; /* roles of operands */
	size_t n_args;
	int star; /* index in args that repeats, -1: none */
	const struct know_cmd *subs; /* sorted by name */
	size_t n_subs;
};

struct know_example {
	const char *program;
	uint8_t level, reach; /* reach 0: any */
	const char *command;
};

enum know_path_class {
	KPATH_SECRET = 1,
	KPATH_NOTSECRET, /* exception to the above */
	KPATH_PERSIST,	 /* runs by itself later */
	KPATH_SYSTEM,
	KPATH_REGEN, /* can be built again */
	KPATH_PRECIOUS,
	KPATH_LOG,
	KPATH_AGENT, /* configuration of agents and guards */
	KPATH_CI,
	KPATH__MAX
};

enum know_path_kind { KPATH_NAME, KPATH_GLOB, KPATH_SUFFIX, KPATH_DIR, KPATH_ABS };

struct know_path {
	const char *pattern; /* absolute, "a/b" suffix at a component, or a name; '*' inside names */
	const char *why;
	uint64_t parts;	 /* know_part_bit() of its components without '*' */
	uint64_t starts, ends; /* know_start_bit() and know_end_bit() of the same */
	uint8_t cls;
	uint8_t kind; /* enum know_path_kind */
	uint8_t len;
	uint8_t shelf; /* the bit of its last component without '*', or KNOW_SHELVES - 1 */
};

#define KNOW_SHELVES 65

/* The bit of a component in either case: paths without it cannot hold the component. */
static inline uint64_t know_part_bit(const char *p, size_t n)
{
	return n ? 1ull << (((p[0] | 32u) * 7u + (p[n - 1] | 32u) * 3u + n) & 63) : 0;
}

/* The bit of what a component begins with, and of what it ends with. */
static inline uint64_t know_start_bit(const char *p, size_t n)
{
	return n ? 1ull << ((p[0] * 5u + (n > 1 ? p[1] * 3u : 0)) & 63) : 0;
}

static inline uint64_t know_end_bit(const char *p, size_t n)
{
	return n ? 1ull << (p[n - 1] & 63) : 0;
}

enum know_env_class {
	KENV_HARMLESS = 1,
	KENV_EXEC,   /* its value is run or loaded */
	KENV_SECRET,
	KENV_CONFIG, /* changes what a program does */
};

struct know_env {
	const char *pattern;
	const char *why;
	uint8_t cls, len;
};

/* By what a pattern begins with; those that begin with '*' are on the last one. */
static inline unsigned know_env_shelf(char first)
{
	return first == '*' ? KNOW_SHELVES - 1 : (unsigned char)first & 63;
}

enum know_verb_class {
	VERB_READ = 1,
	VERB_NOUN, /* names a group of things: reads when no verb follows */
	VERB_CREATE,
	VERB_CHANGE,
	VERB_DELETE,
	VERB_EXEC,
	VERB_DANGER,
};

struct know_verb {
	const char *word;
	uint8_t cls;
};

struct know {
	const struct know_cmd *cmds; /* sorted by name */
	size_t n_cmds;
	const struct know_path *paths;
	size_t n_paths;
	const uint16_t *shelved; /* indices of paths, shelf by shelf */
	const uint16_t *shelves; /* where each shelf begins, and the end: KNOW_SHELVES + 1 */
	const struct know_env *envs;
	size_t n_envs;
	const uint16_t *env_shelved, *env_shelves; /* likewise, by know_env_shelf() */
	const struct know_verb *verbs; /* sorted by word */
	size_t n_verbs;
	const struct know_example *examples;
	size_t n_examples;
};

extern const struct know know_builtin;

#endif
