/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The syntax tree of a shell script, as bash reads it. Every node carries the bytes of the original
 * text it came from; text that was itself computed (eval, bash -c "…", back quotes) carries the
 * range of the word that held it.
 */
#ifndef REIN_CLASSIFY_SYNTAX_H
#define REIN_CLASSIFY_SYNTAX_H

#include <stdint.h>

#include "classify/arena.h"

struct range {
	uint32_t start, end;
};

enum part_kind {
	PART_LIT,    /* unquoted: globs, braces and tildes are alive */
	PART_QUOTED, /* literal bytes */
	PART_DQ,     /* "…": sub */
	PART_PARAM,  /* $x ${x…} */
	PART_CMD,    /* $(…) `…` */
	PART_ARITH,  /* $((…)) $[…]: sub */
	PART_PROC,   /* <(…) >(…) =(…) */
	PART_EXTGLOB, /* @(…) and friends: text */
};

enum param_op {
	OP_NONE,
	OP_DEFAULT,   /* - :- */
	OP_ASSIGN,    /* = := */
	OP_ERROR,     /* ? :? */
	OP_ALT,	      /* + :+ */
	OP_LENGTH,    /* ${#x} */
	OP_PREFIX,    /* # ## */
	OP_SUFFIX,    /* % %% */
	OP_REPLACE,   /* / // /# /% */
	OP_SUBSTR,    /* :off:len */
	OP_CASE,      /* ^ ^^ , ,, */
	OP_TRANSFORM, /* @Q @P … */
	OP_NAMES,     /* ${!x*} ${!x@} */
};

struct word;
struct node;

struct param {
	struct rein_str name;
	struct word *index; /* ${x[…]} */
	struct word *arg, *arg2;
	enum param_op op;
	char how;      /* the operator's first byte, '@' letter, or '/' '#' '%' of a replacement */
	bool colon;    /* :- and not - */
	bool twice;    /* ## %% // ^^ ,, */
	bool indirect; /* ${!x} */
};

struct part {
	enum part_kind kind;
	struct range at;
	struct rein_str text;
	struct part *sub;
	struct param *param;
	struct node *cmd;
	char dir; /* PART_PROC: '<' '>' '=' */
	struct part *next;
};

struct word {
	struct part *first;
	struct range at;
	struct word *next;
};

struct assign {
	struct rein_str name;
	struct word *index;
	struct word *value; /* NULL: empty, or an array */
	struct assign *items; /* array elements, name empty; index may be set */
	bool is_array, append;
	struct range at;
	struct assign *next;
};

enum redir_op {
	REDIR_IN,
	REDIR_OUT,
	REDIR_APPEND,
	REDIR_CLOBBER,
	REDIR_RDWR,
	REDIR_DUP_IN,
	REDIR_DUP_OUT,
	REDIR_BOTH,
	REDIR_BOTH_APPEND,
	REDIR_HEREDOC,
	REDIR_HERESTR,
};

struct redir {
	enum redir_op op;
	int fd;			/* -1: the operator's default */
	struct rein_str fdvar;	/* {name}> */
	struct word *target;	/* file, word of <<<, body of << */
	struct rein_str delim;	/* heredoc */
	bool strip, raw;	/* <<-, quoted delimiter */
	struct range at;
	struct redir *next, *pending;
};

enum node_kind {
	NODE_SIMPLE,
	NODE_PIPE,  /* kids */
	NODE_AND_OR, /* kids joined by && and || */
	NODE_SEQ,   /* kids */
	NODE_BG,    /* a */
	NODE_NOT,   /* a */
	NODE_TIME,  /* a */
	NODE_GROUP, /* a */
	NODE_SUBSHELL,
	NODE_IF,     /* a cond, b then, c else */
	NODE_LOOP,   /* a cond, b body (while, until) */
	NODE_FOR,    /* name, words, b */
	NODE_SELECT, /* name, words, b */
	NODE_CFOR,   /* expr, b */
	NODE_CASE,   /* words (one), arms */
	NODE_FUNC,   /* name, b */
	NODE_COND,   /* [[ ]]: words */
	NODE_ARITH,  /* (( )): words (one) */
	NODE_COPROC, /* name, a */
};

struct case_arm {
	struct word *patterns;
	struct node *body;
	struct case_arm *next;
};

struct node {
	enum node_kind kind;
	struct range at;
	struct node *a, *b, *c;
	struct node *kids, *next;
	struct assign *assigns;
	struct word *words;
	struct redir *redirs;
	struct case_arm *arms;
	struct rein_str name;
	bool has_in; /* FOR: an explicit word list */
	bool until;
	bool err_too; /* pipeline element: |& after it */
};

struct script {
	struct node *root;  /* what could be parsed, also after an error */
	const char *error;  /* NULL: all of it is good bash */
	uint32_t error_at;
	bool odd; /* bytes or constructs we read differently than bash may */
};

struct parse_limits {
	unsigned depth;
};

/*
 * Parse text. When at is not NULL the text is not part of the original and every range is *at;
 * else offsets are counted from base.
 */
void shell_parse(struct arena *a, struct rein_str text, uint32_t base, const struct range *at,
		 bool extglob, struct script *ret);
/*
 * The same, but every command of the list is given away as soon as its line and the here-documents it announced
 * are read: as bash runs it. What comes after the one for which each() said false is not read. No root.
 */
void shell_parse_each(struct arena *a, struct rein_str text, const struct range *at, bool extglob,
		      bool (*each)(void *arg, struct node *n), void *arg, struct script *ret);
/* A word's parts from text read as inside double quotes (here-document bodies, prompts). */
struct word *shell_parse_dq(struct arena *a, struct rein_str text, const struct range *at);

/* The escape at s, as in $'…': appends its bytes, returns how many were read; *stop at a NUL. */
size_t shell_ansi_escape(const char *s, size_t n, struct sbuf *out, bool *stop);

#endif
