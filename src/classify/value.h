/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that make fields of words. */
#ifndef REIN_CLASSIFY_VALUE_H
#define REIN_CLASSIFY_VALUE_H

#include "classify/internal.h"

struct builder {
	struct ctx *cx;
	struct fields *out;
	struct sbuf text;
	struct range at;
	uint16_t taint;
	bool open;   /* a field exists even if it is empty */
	bool quoted, multi;
	bool split;  /* words are split and globbed */
	bool operand; /* inside ${x-word}: literal text there is split as well */
};

struct pval {
	struct rein_str s;
	uint16_t taint;
	bool set, unknown; /* unknown: nobody said whether it is set */
};

/* var.c */
void val_change_case(struct ctx *cx, struct rein_str *s, bool upper);
bool val_is_set_round(struct ctx *cx, struct rein_str name); /* of one that may be or not */
struct value *val_pick_round(struct ctx *cx, struct rein_str name, struct value *vals, unsigned n);

/* param.c */
struct pval val_param_value(struct ctx *cx, struct rein_str name);
/* What a program that is started now finds, as far as it is known; false: no such variable. */
bool val_exported(struct ctx *cx, struct rein_str name, struct rein_str *ret);
bool val_is_all(const struct param *m);
void val_put_param(struct builder *b, const struct param *m, bool quoted);

/* paramop.c */
bool val_number(struct rein_str s, long *ret);
bool val_index(struct rein_str s, long *ret); /* likewise, where 010 would be eight: not looked into */
void val_apply_op(struct ctx *cx, struct pval *v, const struct param *m);

/* arith.c */
void val_put_arith(struct builder *b, const struct part *p, bool quoted);

/* brace.c */
struct part *val_part_copy(struct ctx *cx, const struct part *p, struct rein_str text);
void val_expand_braces(struct ctx *cx, const struct part *parts, struct range at,
			  struct fields *out, unsigned *budget);

/* value.c */
void val_expand_parts(struct builder *b, const struct part *p, bool quoted);
void val_finish(struct builder *b);
struct rein_str val_ifs(struct ctx *cx);
void val_put_quoted(struct builder *b, struct rein_str s, uint16_t taint);
void val_put_value(struct builder *b, struct rein_str s, uint16_t taint, bool quoted);
void val_expand_plain(struct ctx *cx, const struct word *w, struct fields *out);

#endif
