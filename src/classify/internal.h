/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the classifier. A command is carried out in the abstract: words become
 * fields whose unknown stretches are holes, streams and files carry their text when it is known and
 * where it came from when it is not, and every effect becomes a fact.
 */
#ifndef REIN_CLASSIFY_INTERNAL_H
#define REIN_CLASSIFY_INTERNAL_H

#include <rein/classify.h>

#include "base/auto.h"
#include "base/err.h"
#include "classify/grammar.h"
#include "classify/know.h"
#include "classify/syntax.h"
#include "model/action.h"
#include "model/sqlreport.h"
#include "model/verdict.h"

/* Bytes with a meaning inside values; the parser lets no such byte through from the text. */
#define HOLE	  '\001' /* any text, also none */
#define GLOB_STAR '\002'
#define GLOB_ONE  '\003' /* ? and [...] */

/* Where unknown bytes come from. */
enum taint {
	TAINT_NET = 1 << 0,	/* downloaded */
	TAINT_SECRET = 1 << 1,	/* holds credentials */
	TAINT_DECODED = 1 << 2, /* was encoded */
	TAINT_FILE = 1 << 3,	/* contents of a file here */
	TAINT_INPUT = 1 << 4,	/* somebody's standard input */
	TAINT_ENV = 1 << 5,	/* environment variable we do not know */
	TAINT_NUMBER = 1 << 6,	/* digits only */
	TAINT_NAMES = 1 << 7,	/* nothing but names of files below the workspace, as listed there */
	TAINT_FAR = 1 << 8,	/* contents of a file outside the workspace */
	TAINT_KEYS = 1 << 9,	/* names of files that were chosen because they hold credentials */
	TAINT_STORE = 1 << 10,	/* what a database holds */
};

struct field {
	struct rein_str s;
	struct range at;
	uint16_t taint;
	bool multi;  /* may be no word at all, or many */
	bool quoted; /* some part was quoted */
};

struct fields {
	struct field *v;
	size_t n, cap;
};

struct data {
	struct rein_str text;
	bool known; /* text is all of it */
	uint16_t taint;
};

struct io {
	struct data in;
	bool piped; /* standard input is not the terminal */
	bool doubtful; /* a file it is to read from may not be there */
};

struct value {
	struct rein_str s;
	uint16_t taint;
	bool absent; /* on some way it was never set; of an array: it has no such item */
	bool several; /* of an array: may be none or many, and behind it nobody knows which is which */
	struct value *next;
};

/* One way in which an array may be filled. */
struct items {
	struct value *first;
	struct items *next;
};

struct var {
	struct rein_str name;
	struct value *vals; /* what it may hold; NULL and set: empty. Of an array: the first item of each list */
	unsigned n_vals;
	struct items *lists; /* array */
	bool is_array, is_set, exported, nameref, lower, upper;
	struct var *next;
};

struct func {
	struct rein_str name;
	struct node *body;
	bool called;
	bool gone;     /* the shell that knew it has ended */
	bool doubtful; /* defined on one way only */
	unsigned shell; /* which one knows it */
	unsigned active;
	struct func *next;
};

/* A variable that is a function's own until it returns. */
struct local {
	struct rein_str name;
	struct var was;
	bool doubtful; /* made so on one way only */
	struct local *next;
};

struct vfile {
	struct rein_str path;
	struct data data;
	bool executable;
	struct vfile *next;
};

struct alias {
	struct rein_str name, text;
	struct alias *next;
};

struct frame { /* positional parameters */
	struct field *v;
	size_t n;
	bool known;
	struct field zero;
};

/* Behind a word that may be none or several nobody knows which is which. */
void frame_cut(struct frame *f);

struct undo;
struct sink_index;

/* What the patterns said about a path: one command asks about the same path several times. */
struct path_memo {
	struct rein_str path;
	unsigned want;
	const struct know_path *classes[KPATH__MAX];
};

#define CX_PATHS 32

struct env_memo {
	struct rein_str name;
	const struct know_env *found;
};

#define CX_ENVS 8

/*
 * What may turn out one way or another is tried in rounds, one for every combination; the same thing
 * turns out the same way throughout a round.
 */
struct choice {
	struct rein_str name;
	bool presence; /* whether it is set, not which value it has */
	unsigned n, stride;
};

/* Variables that ${x:=word} set: that outlives the command whose words or assignments did it. */
struct lasting {
	struct rein_str name, s;
	uint16_t taint;
	struct value *vals; /* what it held before */
	unsigned n_vals;
	bool is_set;
	struct lasting *next;
};

#define VAR_BUCKETS 64
#define CX_CHOICES  12
#define CX_VALUES   8  /* of a variable that are tried one by one */
#define CX_ROUNDS   16 /* and with each of them, whether another is set */
#define CX_FDS	    32

struct ctx {
	struct arena *a;
	struct rein_classifier *owner;
	const struct rein_action *act;

	struct rein_fact *facts;
	size_t n_facts;
	struct rein_fact worst;
	enum rein_level weakest; /* of the facts that are kept, once there is no room for more */
	bool has_worst;
	enum rein_level level;
	enum rein_reach reach;
	bool incomplete;
	const char *incomplete_why;

	struct rein_str cwd, home, workspace;
	bool cwd_unknown;

	struct var *vars[VAR_BUCKETS];
	struct func *funcs;
	struct alias *aliases;
	struct vfile *files;
	struct path_memo paths[CX_PATHS];
	struct env_memo envs[CX_ENVS];
	struct sink_index *sinks; /* codesink.c */
	struct data fds[CX_FDS];
	bool fd_open[CX_FDS];
	struct rein_str fd_path[CX_FDS]; /* where it writes to */
	unsigned next_fd;
	struct frame *frame;
	unsigned shell, shells; /* which of the shells that are started one by another; how many there were */
	unsigned functions;	/* that are being called */
	bool declared;		/* what this command declares is set already */
	struct local *locals, *locals_before; /* of those that called */
	struct undo *undo;
	struct lasting *lasting;
	struct choice choices[CX_CHOICES];
	unsigned n_choices, first_choice;

	unsigned steps, depth, cond, dry, remote, round, rounds, bg;
	unsigned loops, sets; /* loops around; how often a variable was set */
	unsigned parse_depth;
	size_t sql_bytes;   /* given to the grammar so far */
	size_t value_bytes; /* of variables so far */
	size_t work;
	unsigned privileged;
	bool lastpipe, extglob;
	unsigned own; /* what is looked at is said to a service there: its files are judged by what became of them */
	bool by_socket; /* a request goes through a socket that may be anybody's, whatever its host is called */
	bool own_store; /* the client of a database that is looked at speaks to one there */
	bool fetched; /* a tree was downloaded: a repository, an archive */
	bool over; /* the budget is used up: nothing more is looked at */
	const char *program;
	uint32_t call; /* 1 + index of the call being looked at */
	struct rein_call *calls;
	size_t n_calls;
	bool calls_lost;
	struct range at;
	void (*trace)(void *arg, const struct field *argv, size_t n);
	void *trace_arg;
	uint16_t seen; /* taint of what the current program read */
	unsigned pipes;
};

/* classify.c */
typedef void (*trace_fn)(void *arg, const struct field *argv, size_t n);
/* For tests: run text and tell about every command that would be executed. False: not analysed in full. */
bool rein_classify_trace(struct rein_classifier *c, struct rein_str text, trace_fn fn, void *arg);
const struct know_cmd *know_find(struct ctx *cx, struct rein_str name);
const struct know *cx_extra(struct ctx *cx); /* what the user added, or NULL */
rein_sql_fn *cx_sql(struct ctx *cx);	     /* the grammar, or NULL */
bool cx_step(struct ctx *cx); /* false: over the budget, already recorded */
bool cx_work(struct ctx *cx, size_t n); /* likewise, for what takes about n nanoseconds within a step */
void cx_incomplete(struct ctx *cx, struct range at, const char *why);

/* fact.c */
struct rein_fact *fact(struct ctx *cx, enum rein_fact_kind kind, enum rein_level level,
		       enum rein_reach reach, struct range at, const char *target,
		       const char *reason);
const char *cx_printf(struct ctx *cx, const char *fmt, ...) REIN_PRINTF(2, 3);
const char *show(struct ctx *cx, struct rein_str s); /* holes as $…, globs as * */
/* What is found between the two counts by itself. apart_end: was there nothing but reading? */
struct apart {
	enum rein_level level;
	enum rein_reach reach;
	bool incomplete;
};
struct apart apart_begin(struct ctx *cx);
bool apart_end(struct ctx *cx, const struct apart *before);
void effect_read(struct ctx *cx, const struct field *f);
void effect_write(struct ctx *cx, const struct field *f, bool append);
void effect_make(struct ctx *cx, const struct field *f);
void effect_modify(struct ctx *cx, const struct field *f);
void effect_delete(struct ctx *cx, const struct field *f, bool recursive);
void effect_attr(struct ctx *cx, const struct field *f, bool recursive, bool bad_mode);
void effect_device(struct ctx *cx, const struct field *f);
void effect_upload(struct ctx *cx, const struct field *f);
void effect_send(struct ctx *cx, const struct data *d, struct range at);
void effect_name(struct ctx *cx, const struct field *f); /* of a program whose contents nobody looked at */
void effect_script(struct ctx *cx, const struct field *f, const char *lang);
void effect_env(struct ctx *cx, struct rein_str name, const struct field *value, struct range at);
void effect_code(struct ctx *cx, const struct data *d, const char *lang, struct range at);
bool env_is_secret(struct ctx *cx, struct rein_str name);

/* path.c */
enum place {
	PLACE_WORKSPACE,
	PLACE_WORKSPACE_ROOT, /* all of it */
	PLACE_REGEN,	      /* can be built again */
	PLACE_PRECIOUS,	      /* .git and the like */
	PLACE_TMP,
	PLACE_TMP_ROOT,
	PLACE_HOME,
	PLACE_HOME_ROOT,
	PLACE_OTHER, /* some other absolute path */
	PLACE_SYSTEM,
	PLACE_SYSTEM_ROOT,
	PLACE_DEVICE,
	PLACE_NULL, /* /dev/null, /dev/tty, descriptors */
	PLACE_PROC,
	PLACE_NET, /* /dev/tcp */
	PLACE_UNKNOWN,
	PLACE_DATA, /* not a path at all: stdin "-" */
};

struct spot {
	enum place place;
	struct rein_str path; /* absolute and normal when known */
	const struct know_path *secret, *persist, *agent, *ci;
	bool log, holes, globs;
};

struct spot path_spot(struct ctx *cx, struct rein_str s);
struct rein_str path_resolve(struct ctx *cx, struct rein_str s);
unsigned names_taint(struct ctx *cx, const struct field *starts, size_t n); /* of a listing that begins there */
bool names_own(struct ctx *cx, const struct field *f); /* one of such a listing, used where it was made */
bool is_far(const struct spot *s);

/* pathmatch.c: the first pattern of each wanted class that matches; a user's own come first. */
void path_classes(struct ctx *cx, struct rein_str path, unsigned want, const struct know_path *ret[KPATH__MAX]);

/* vfile.c */
struct vfile *vfile_find(struct ctx *cx, struct rein_str path);
void vfile_put(struct ctx *cx, struct rein_str path, struct data d, bool append);
struct data file_data(struct ctx *cx, const struct field *f);

/* value.c */
struct rounds {
	unsigned round, rounds, first_choice;
};
struct rounds rounds_begin(struct ctx *cx);
bool rounds_next(struct ctx *cx); /* false: every combination was tried, or enough of them */
void rounds_end(struct ctx *cx, struct rounds old);
void rounds_expand(struct ctx *cx, const struct word *w); /* in every way, for what runs meanwhile */
void expand_word(struct ctx *cx, const struct word *w, struct fields *out);
struct field expand_one(struct ctx *cx, const struct word *w); /* no splitting, no globbing */
struct var *var_find(struct ctx *cx, struct rein_str name);
struct var *var_make(struct ctx *cx, struct rein_str name);
void var_set(struct ctx *cx, struct rein_str name, struct rein_str s, uint16_t taint, bool append);
void var_unset(struct ctx *cx, struct rein_str name);
/* What it holds now, or what it held before: its loop may not have been run. */
void var_or_before(struct ctx *cx, struct rein_str name, const struct var *was);
/* In a function: this name is its own from now on, and what it was before when it returns. */
void var_local(struct ctx *cx, struct rein_str name);
void var_locals_end(struct ctx *cx, struct local *mark);
void var_touch(struct ctx *cx, struct var *v); /* before changing: remembered for the subshell's end */
/* The items of an array in this round; NULL: it has none, or is no array. */
struct value *var_items(struct ctx *cx, const struct var *v);
void var_array(struct ctx *cx, struct rein_str name, const struct fields *items);
void run_assign(struct ctx *cx, const struct assign *as);
/* declare.c */
bool declares(const struct fields *argv);
/* All words of a command; those of a declaration as assignments. */
void declare_expand(struct ctx *cx, const struct word *w, struct fields *to);
/* Set what a declaration sets, in its first round. False: it is left to the builtin. */
bool declare_run(struct ctx *cx, const struct node *n, const struct fields *argv);
void assign_values(struct ctx *cx, const struct word *value, struct fields *to);
void assign_all(struct ctx *cx, struct rein_str name, const struct fields *all, bool append);
void fields_push(struct ctx *cx, struct fields *out, struct field f);
struct field field_of(struct ctx *cx, const char *s, struct range at);
static inline struct field field_with(const struct field *f, struct rein_str s) /* a part of it, or instead of it */
{
	struct field v = *f;

	v.s = s;
	return v;
}
struct undo *undo_mark(struct ctx *cx);
void undo_to(struct ctx *cx, struct undo *mark);
void undo_push_cwd(struct ctx *cx);
struct field field_from_data(struct ctx *cx, const struct data *d, struct range at);

/* stream.c */
struct data data_known(struct rein_str s);
struct data data_unknown(unsigned taint);
struct data data_join(struct ctx *cx, struct data a, struct data b);
void run_redirs(struct ctx *cx, struct redir *r, struct io *io, struct fields *out);
struct data deliver(struct ctx *cx, const struct fields *out, struct data d); /* what was printed, to where it goes */

/* exec.c */
bool path_is_tool(struct ctx *cx, struct rein_str p);
/* A simple command of the shell's; words that another program starts. */
struct data exec_simple(struct ctx *cx, struct field *v, size_t n, struct io *io);
struct data exec_argv(struct ctx *cx, struct field *v, size_t n, struct io *io);

/* run.c */
struct data run_node(struct ctx *cx, struct node *n, struct io *io);
struct data run_list(struct ctx *cx, struct node *n, struct io *io);
struct data run_subshell(struct ctx *cx, struct node *n, struct io *io);
struct data run_script(struct ctx *cx, struct rein_str text, const struct range *fixed, struct io *io,
		       struct script *ret); /* fixed: NULL, or where all of it stands */
/* Text that another shell runs: what that sets, defines or changes to ends with it. */
struct data run_text(struct ctx *cx, struct rein_str text, struct range at, struct io *io);
/* Text that this one runs: eval, trap, source. */
struct data run_here(struct ctx *cx, struct rein_str text, struct range at, struct io *io);
void run_uncalled(struct ctx *cx);
/* What bash expands once more when it takes a word for a name or a number: a[$(cmd)]. */
void run_index(struct ctx *cx, struct rein_str s, struct range at);

/* One call of a known program: args.c reads it, call.c says what it does. */
struct got {
	const struct know_opt *opt;
	struct field val; /* when opt->arg */
	struct range at;
	size_t word; /* where in argv it stands */
};

struct call {
	const struct know_cmd *top, *cmd; /* program; deepest sub-command */
	const struct know_cmd *chain[8];
	size_t n_chain;
	struct field *argv;
	size_t argc;
	size_t word; /* of argv, being read */
	struct got *got;
	size_t n_got, cap_got;
	struct fields ops;
	size_t *op_at; /* index in argv of each operand */
	size_t rest;   /* index in argv where an inner command starts, argc: none */
	size_t dashdash; /* number of operands before "--"; (size_t)-1: none */
	uint32_t acts;
	struct field unknown; /* first unknown option */
	size_t unknown_at[24], n_unknown; /* where in argv they stand */
	bool has_unknown, unknown_sub, hole_opt;
	bool odd_letter; /* one of them is a letter that need not only say how to show something */
	struct range sub_at;
	struct io *io;
};

/* args.c */
void args_read(struct ctx *cx, struct call *c); /* from argv to options, operands, sub-command */
const struct got *call_opt(const struct call *c, const char *name);
bool call_has(const struct call *c, const char *name);
bool call_word(const struct call *c, const char *word); /* among its words, alone or with =value; listed or not */
bool has_cmd_role(const struct know_cmd *cmd);

/* call.c */
struct data run_known(struct ctx *cx, const struct know_cmd *cmd, struct field *v, size_t n,
		      struct io *io);
void call_base(struct ctx *cx, struct call *c);	   /* the program's own level, unknown options */
struct data exec_rest(struct ctx *cx, struct call *c, size_t from);

/* note.c */
static inline bool cmd_notes(const struct know_cmd *cmd, const char *note)
{
	return cmd->note && !strcmp(cmd->note, note);
}
enum rein_level note_level(const struct call *c, enum rein_level level); /* the program's own, among these words */
void note_effects(struct ctx *cx, struct call *c, struct data *ret);

/* carry.c */
bool carry_line(struct ctx *cx, struct rein_str s); /* "rm -rf x": several words, the first of them a program's name */
void carry_shell(struct ctx *cx, const struct field *v, size_t n, bool changes); /* changes: not only to look at something */
void carry_call(struct ctx *cx, struct call *c, uint8_t handler);

/* role.c */
void call_effects(struct ctx *cx, struct call *c); /* options and operands by their roles */
void role_effect(struct ctx *cx, struct call *c, enum know_role role, const struct field *f);
enum know_role operand_role(const struct call *c, size_t i, size_t n); /* of operand i of n */

/* h_wrap.c: -o Name=value of ssh and of what calls it */
void ssh_setting(struct ctx *cx, struct call *c, const struct got *g);

typedef struct data (*handler_fn)(struct ctx *cx, struct call *c);
extern const handler_fn handlers[HANDLE__MAX];

/* verbs.c */
int verb_class(struct ctx *cx, struct rein_str word);
/* Returns the class of the verb that counted; 0: none is known. */
int verbs_effect(struct ctx *cx, const char *program, const struct field *ops, size_t n, bool known, bool dry);

/* reveal.c */
void reveal_service(struct ctx *cx, const struct call *c);

/* rummage.c */
void rummage_search(struct ctx *cx, const struct call *c);
void rummage_encode(struct ctx *cx, const struct call *c);
void rummage_print(struct ctx *cx, uint16_t taint, struct range at);
void rummage_filter(struct ctx *cx, const struct call *c);
void rummage_scan(struct ctx *cx, const struct call *c);
void rummage_values(struct ctx *cx, const struct field *v, size_t n);
void rummage_processes(struct ctx *cx, const struct call *c);
void rummage_store(struct ctx *cx, const struct data *d, const struct field *to);
void rummage_tree(struct ctx *cx, const struct field *f);
bool rummage_names(struct ctx *cx, const struct field *name, const struct field *starts, size_t n);
void rummage_words(struct ctx *cx, const struct call *c);
void rummage_sent(struct ctx *cx, const struct field *f);

/* hint.c: what the names say of options and variables that are not listed */
void hint_options(struct ctx *cx, struct call *c, bool reads); /* reads: the program is only known to read */
bool hint_shows(struct ctx *cx, const struct call *c); /* nothing unlisted beside an option that asks but how to show it */
void hint_words(struct ctx *cx, struct call *c); /* of a program that works in the workspace */
void hint_variable(struct ctx *cx, struct rein_str name, const struct field *value, struct range at);

/* tame.c */
bool env_is_tame(struct ctx *cx, struct rein_str name, struct rein_str value);

/* protect.c */
bool protect_setting(struct ctx *cx, struct rein_str key, struct rein_str value, struct range at); /* true: said */
void protect_config(struct ctx *cx, const struct call *c);
void protect_service(struct ctx *cx, const struct call *c);

/* code.c, sql.c, http.c */
void code_scan(struct ctx *cx, const char *lang, struct rein_str text, struct range at);
void awk_scan(struct ctx *cx, struct rein_str text, struct range at);
void sed_scan(struct ctx *cx, struct rein_str text, struct range at);
/* dialect: a name or that of a client; NULL: any */
/* A client that is the database itself: what it works on is a file of this machine. */
bool sql_is_file(const char *client);
void sql_scan(struct ctx *cx, struct rein_str text, struct range at, const char *dialect, bool mapped,
	      bool readonly);
void http_scan(struct ctx *cx, struct rein_str method, struct rein_str url, struct rein_str body,
	       bool has_body, struct range at);
bool host_is_metadata(struct rein_str host);
bool host_is_here(struct rein_str host); /* this machine, from within or without a box */

/* server.c */
bool server_is_tmp(struct ctx *cx, struct rein_str path); /* a socket in the box's own /tmp */
bool server_is_own(struct ctx *cx, const struct call *c); /* certainly the box's own, and a box without a network */
bool server_changes(struct rein_str text);		  /* may what a client is told lead it to another? */
/* A host that is none of those that packages come from: an address of numbers, a name that looks like another. */
bool url_is_odd(struct rein_str url);
/* Not encrypted, and not this machine. */
bool url_is_plain(struct rein_str url);
/* What a request carries beside its body: a token of one service that goes to another. */
void http_token(struct ctx *cx, const struct field *value, struct rein_str url);
/* The container engine's own socket: who talks to it is root here. */
bool is_engine_socket(struct rein_str path);

/* small */
static inline bool str_is(struct rein_str s, const char *t)
{
	return s.n == strlen(t) && !memcmp(s.p, t, s.n);
}
static inline bool str_starts(struct rein_str s, const char *t)
{
	size_t n = strlen(t);

	return s.n >= n && !memcmp(s.p, t, n);
}
static inline bool str_ends(struct rein_str s, const char *t)
{
	size_t n = strlen(t);

	return s.n >= n && !memcmp(s.p + s.n - n, t, n);
}
static inline struct rein_str str_from(struct rein_str s, size_t i)
{
	return i >= s.n ? (struct rein_str){"", 0} : (struct rein_str){s.p + i, s.n - i};
}
static inline struct rein_str str_to(struct rein_str s, size_t n)
{
	return (struct rein_str){s.p, n < s.n ? n : s.n};
}
/* str.c */
bool has_hole(struct rein_str s);
bool is_literal(struct rein_str s); /* no holes, no globs */
bool glob_fits(struct rein_str glob, struct rein_str s); /* can it be s, as a whole? a hole is any text */
bool str_in(struct rein_str s, const char *list); /* space-separated words */
/* The same where it is asked often: lengths are compared first. WORD() makes an entry of a static table. */
#define WORD(text) {text, sizeof(text) - 1}
static inline bool str_among(struct rein_str s, const struct rein_str *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].n == s.n && !memcmp(v[i].p, s.p, s.n))
			return true;
	return false;
}
bool str_segment(struct rein_str s, const char *list); /* a part between - _ : is one of these words */
bool str_has(struct rein_str s, const char *what);
bool str_has_ci(struct rein_str s, const char *what);
struct rein_str str_base(struct rein_str s);
/* host:path: a colon before any slash */
static inline bool names_host(struct rein_str s)
{
	const char *colon = s.n ? memchr(s.p, ':', s.n) : NULL;

	return colon && !memchr(s.p, '/', (size_t)(colon - s.p));
}

#endif
