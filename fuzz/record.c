/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers of the record on any bytes: what is accepted as an event or a head is written again as
 * the same bytes; a text after redaction holds no secret any more; no proof is ever believed that
 * was not signed.
 */
#include <assert.h>
#include <stdint.h>

#include "base/auto.h"
#include "record/event.h"
#include "record/head.h"
#include "record/proof.h"
#include "record/redact.h"
#include "record/shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void event_is_stable(struct rein_str line)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	struct rein_event_read r;
	struct rein_err err = {0};

	if (rein_event_parse(line, &r, &err) < 0) {
		assert(err.msg[0]);
		return;
	}
	assert(rein_event_format(&r.ev, &b, &err) == 0);
	assert(b.n == line.n && memcmp(b.p, line.p, line.n) == 0);
	rein_event_read_done(&r);
}

static void head_is_stable(struct rein_str line)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	struct rein_head h;
	struct rein_err err = {0};

	if (rein_head_parse(line, &h, &err) < 0 || h.type == REIN_HEAD_NONE)
		return;
	rein_head_body(&h, &b);
	rein_hex_member(&b, "sig", h.sig, 64);
	rein_buf_char(&b, '}');
	assert(b.n == line.n && memcmp(b.p, line.p, line.n) == 0);
}

static void redaction_is_final(struct rein_str text)
{
	static struct rein_redactor *r;
	auto_buf struct rein_buf once = REIN_BUF(64u << 20), twice = REIN_BUF(64u << 20);
	struct rein_err err = {0};
	unsigned found;

	if (!r)
		assert(rein_redactor_new((const uint8_t *)"0123456789abcdef0123456789abcdef", &r, &err) == 0);
	found = rein_redact(r, text, false, &once);
	assert(!once.failed);
	if (!found) {
		assert(once.n == text.n && (text.n == 0 || memcmp(once.p, text.p, text.n) == 0));
		return;
	}
	/* Redacting again may only find what the first mark put together anew; never a prefix token. */
	rein_redact(r, (struct rein_str){once.p, once.n}, false, &twice);
	assert(!twice.failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct rein_str s = {(const char *)data, n};
	struct rein_shape shape;
	struct rein_err err = {0};

	event_is_stable(s);
	head_is_stable(s);
	redaction_is_final(s);
	rein_shape_of(s, &shape);
	assert(shape.n <= REIN_SHAPE_FEATURES);
	rein_proof_check(s, NULL, &err);
	return 0;
}
