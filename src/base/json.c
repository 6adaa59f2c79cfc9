/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON writer. Output is always valid UTF-8 and valid JSON, whatever the bytes. */
#include "base/json.h"

#include <math.h>

static void sep(struct rein_json *j)
{
	if (j->comma)
		rein_buf_char(j->b, ',');
	j->comma = true;
}

void rein_json_open(struct rein_json *j, char bracket)
{
	sep(j);
	rein_buf_char(j->b, bracket);
	j->comma = false;
}

void rein_json_close(struct rein_json *j, char bracket)
{
	rein_buf_char(j->b, bracket);
	j->comma = true;
}

static void text(struct rein_buf *b, struct rein_str s)
{
	size_t from = 0; /* start of the run that needs no escape */

	rein_buf_char(b, '"');
	for (size_t i = 0; i < s.n;) {
		unsigned char c = (unsigned char)s.p[i];
		size_t len = c < 0x80 ? 1 : rein_utf8_len(s.p + i, s.n - i);

		if (len && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
			i += len;
			continue;
		}
		rein_buf_add(b, s.p + from, i - from);
		if (!len)
			rein_buf_cstr(b, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			rein_buf_printf(b, "\\%c", c);
		else if (c == '\n')
			rein_buf_cstr(b, "\\n");
		else if (c == '\t')
			rein_buf_cstr(b, "\\t");
		else if (c == '\r')
			rein_buf_cstr(b, "\\r");
		else
			rein_buf_printf(b, "\\u%04x", c);
		i += len ? len : 1;
		from = i;
	}
	rein_buf_add(b, s.p + from, s.n - from);
	rein_buf_char(b, '"');
}

void rein_json_key(struct rein_json *j, const char *key)
{
	sep(j);
	text(j->b, rein_str(key));
	rein_buf_char(j->b, ':');
	j->comma = false;
}

void rein_json_str(struct rein_json *j, struct rein_str s)
{
	sep(j);
	text(j->b, s);
}

void rein_json_cstr(struct rein_json *j, const char *s)
{
	if (s)
		rein_json_str(j, rein_str(s));
	else
		rein_json_null(j);
}

void rein_json_u64(struct rein_json *j, uint64_t v)
{
	sep(j);
	rein_buf_u64(j->b, v);
}

void rein_json_i64(struct rein_json *j, int64_t v)
{
	sep(j);
	rein_buf_printf(j->b, "%lld", (long long)v);
}

void rein_json_double(struct rein_json *j, double v)
{
	sep(j);
	if (isfinite(v))
		rein_buf_printf(j->b, "%.6g", v);
	else
		rein_buf_cstr(j->b, "null");
}

void rein_json_bool(struct rein_json *j, bool v)
{
	sep(j);
	rein_buf_cstr(j->b, v ? "true" : "false");
}

void rein_json_null(struct rein_json *j)
{
	sep(j);
	rein_buf_cstr(j->b, "null");
}

void rein_json_kstr(struct rein_json *j, const char *key, const char *s)
{
	rein_json_key(j, key);
	rein_json_cstr(j, s);
}

void rein_json_ku64(struct rein_json *j, const char *key, uint64_t v)
{
	rein_json_key(j, key);
	rein_json_u64(j, v);
}

void rein_json_ki64(struct rein_json *j, const char *key, int64_t v)
{
	rein_json_key(j, key);
	rein_json_i64(j, v);
}

void rein_json_kbool(struct rein_json *j, const char *key, bool v)
{
	rein_json_key(j, key);
	rein_json_bool(j, v);
}

void rein_json_path(struct rein_json *j, const char *key, const char *path)
{
	size_t n = strlen(path);
	size_t bad = 0;

	rein_json_kstr(j, key, path);
	for (size_t i = 0; i < n;) {
		size_t len = rein_utf8_len(path + i, n - i);

		bad += len == 0;
		i += len ? len : 1;
	}
	if (!bad)
		return;
	sep(j);
	rein_buf_printf(j->b, "\"%s_hex\":\"", key);
	for (size_t i = 0; i < n; i++)
		rein_buf_printf(j->b, "%02x", (unsigned char)path[i]);
	rein_buf_char(j->b, '"');
}
