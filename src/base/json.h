/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON into a buffer. Commas are kept by the writer; nesting is the caller's.
 *
 *	struct rein_json j = {.b = &buf};
 *	rein_json_open(&j, '{');
 *	rein_json_key(&j, "id"); rein_json_str(&j, STR("7f3k"));
 *	rein_json_close(&j, '}');
 *
 * Bytes that are not UTF-8 become U+FFFD in the string; rein_json_path adds a second member
 * "<key>_hex" with the exact bytes when that happens, so that no file name is lost.
 */
#ifndef REIN_BASE_JSON_H
#define REIN_BASE_JSON_H

#include "base/buf.h"

struct rein_json {
	struct rein_buf *b;
	bool comma; /* a value was written at this level */
};

void rein_json_open(struct rein_json *j, char bracket);	 /* '{' or '[' */
void rein_json_close(struct rein_json *j, char bracket); /* '}' or ']' */
void rein_json_key(struct rein_json *j, const char *key);
void rein_json_str(struct rein_json *j, struct rein_str s);
void rein_json_cstr(struct rein_json *j, const char *s); /* NULL writes null */
void rein_json_u64(struct rein_json *j, uint64_t v);
void rein_json_i64(struct rein_json *j, int64_t v);
void rein_json_double(struct rein_json *j, double v);
void rein_json_bool(struct rein_json *j, bool v);
void rein_json_null(struct rein_json *j);
/* key + value in one, for the common kinds */
void rein_json_kstr(struct rein_json *j, const char *key, const char *s);
void rein_json_ku64(struct rein_json *j, const char *key, uint64_t v);
void rein_json_ki64(struct rein_json *j, const char *key, int64_t v);
void rein_json_kbool(struct rein_json *j, const char *key, bool v);
void rein_json_path(struct rein_json *j, const char *key, const char *path);

#endif
