/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser of mount tables accepts, written out again, is read as the same. */
#include <assert.h>
#include <stdint.h>

#include "base/buf.h"
#include "sandbox/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void escaped(struct rein_buf *b, const char *s)
{
	for (; *s; s++)
		if (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\\')
			rein_buf_printf(b, "\\%03o", (unsigned)*s);
		else
			rein_buf_char(b, *s);
	rein_buf_char(b, ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct rein_mounts m = {0}, again = {0};
	struct rein_err err = {0};
	auto_buf struct rein_buf b = REIN_BUF((size_t)64 << 20);

	if (rein_mounts_parse((const char *)data, n, &m, &err) < 0)
		return 0;
	for (size_t i = 0; i < m.n; i++) {
		assert(m.v[i].point[0] == '/');
		rein_buf_printf(&b, "%u %u %u:%u ", m.v[i].id, m.v[i].parent, m.v[i].major,
				m.v[i].minor);
		escaped(&b, m.v[i].root);
		escaped(&b, m.v[i].point);
		rein_buf_cstr(&b, m.v[i].ro ? "ro - " : "rw - ");
		escaped(&b, m.v[i].fstype);
		rein_buf_cstr(&b, "none rw\n");
	}
	assert(!b.failed && rein_mounts_parse(b.n ? b.p : "", b.n, &again, &err) == 0);
	assert(again.n == m.n);
	for (size_t i = 0; i < m.n; i++)
		assert(rein_streq(m.v[i].point, again.v[i].point) && m.v[i].ro == again.v[i].ro &&
		       rein_streq(m.v[i].fstype, again.v[i].fstype));
	rein_mounts_done(&m);
	rein_mounts_done(&again);
	return 0;
}
