/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser of env files accepts, written out quoted, is read as the same. */
#include <assert.h>
#include <stdint.h>

#include "base/buf.h"
#include "sandbox/env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void quoted(struct rein_buf *b, const char *var)
{
	static const char from[] = "\n\t\r\"\\$", to[] = "ntr\"\\$";
	size_t name = strcspn(var, "=");

	assert(name > 0 && var[name] == '=');
	rein_buf_add(b, var, name + 1);
	rein_buf_char(b, '"');
	for (const char *s = var + name + 1; *s; s++) {
		const char *c = strchr(from, *s);

		if (c)
			rein_buf_char(b, '\\');
		rein_buf_char(b, c ? to[c - from] : *s);
	}
	rein_buf_cstr(b, "\"\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	auto_strlist struct rein_strlist l = {0}, again = {0};
	auto_buf struct rein_buf b = REIN_BUF((size_t)64 << 20);
	struct rein_err err = {0};

	if (rein_env_parse_file((struct rein_str){(const char *)data, n}, "f", &l, &err) < 0) {
		assert(strstr(err.msg, "line "));
		return 0;
	}
	for (size_t i = 0; i < l.n; i++) {
		size_t name = strcspn(l.v[i], "=");

		quoted(&b, l.v[i]);
		(void)rein_env_is_secret((struct rein_str){l.v[i], name}, l.v[i] + name + 1);
	}
	assert(!b.failed);
	assert(rein_env_parse_file((struct rein_str){b.n ? b.p : "", b.n}, "g", &again, &err) == 0);
	assert(again.n == l.n);
	for (size_t i = 0; i < l.n; i++)
		assert(rein_streq(l.v[i], again.v[i]));
	return 0;
}
