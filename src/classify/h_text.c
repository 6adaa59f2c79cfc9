/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that make one text of another: what comes out is known when what goes in is. */
#include "classify/handlers.h"

static int b64(int c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static bool decode_base64(struct ctx *cx, struct rein_str s, struct rein_str *ret)
{
	struct sbuf out = {.a = cx->a};
	unsigned acc = 0, bits = 0;

	for (size_t i = 0; i < s.n; i++) {
		int v = b64((unsigned char)s.p[i]);

		if (s.p[i] == '\n' || s.p[i] == '=' || s.p[i] == ' ')
			continue;
		if (v < 0)
			return false;
		acc = acc << 6 | (unsigned)v;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			sbuf_char(&out, (char)(acc >> bits));
			acc &= (1u << bits) - 1;
		}
	}
	*ret = sbuf_view(&out);
	return true;
}

static bool decode_hex(struct ctx *cx, struct rein_str s, struct rein_str *ret)
{
	struct sbuf out = {.a = cx->a};
	int half = -1;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		int v = c >= '0' && c <= '9'   ? c - '0'
			: c >= 'a' && c <= 'f' ? c - 'a' + 10
			: c >= 'A' && c <= 'F' ? c - 'A' + 10
					       : -1;

		if (c == '\n' || c == ' ')
			continue;
		if (v < 0)
			return false;
		if (half < 0) {
			half = v;
		} else {
			sbuf_char(&out, (char)(half << 4 | v));
			half = -1;
		}
	}
	*ret = sbuf_view(&out);
	return true;
}

/* base64 -d, xxd -r -p, base32 -d, uudecode …: what comes out was encoded */
struct data h_decode(struct ctx *cx, struct call *c)
{
	struct data in = c->io->in, d;
	bool hex = str_is(rein_str(c->top->name), "xxd");
	struct rein_str text;

	call_base(cx, c);
	call_effects(cx, c);
	if (c->ops.n && !str_is(c->ops.v[0].s, "-"))
		in = file_data(cx, &c->ops.v[0]);
	d = data_unknown(in.taint | cx->seen);
	if (!(c->acts & ACT_DECODE)) {
		rummage_encode(cx, c);
		return d;
	}
	d.taint |= TAINT_DECODED;
	if (in.known && (hex ? decode_hex(cx, in.text, &text) : decode_base64(cx, in.text, &text)) &&
	    is_literal(text)) {
		d.text = text;
		d.known = true;
	}
	return d;
}

struct data h_rev(struct ctx *cx, struct call *c)
{
	struct data in = c->io->in;
	struct sbuf out = {.a = cx->a};

	call_effects(cx, c);
	if (c->ops.n || !in.known)
		return data_unknown(in.taint | cx->seen | TAINT_DECODED);
	for (size_t i = in.text.n; i-- > 0;)
		if (in.text.p[i] != '\n')
			sbuf_char(&out, in.text.p[i]);
	sbuf_char(&out, '\n');
	return (struct data){.text = sbuf_view(&out),
			     .known = true,
			     .taint = in.taint | TAINT_DECODED};
}

static size_t tr_set(struct rein_str s, unsigned char *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n && n < max; i++) {
		if (i + 2 < s.n && s.p[i + 1] == '-' && s.p[i + 2] > s.p[i]) {
			for (int c = (unsigned char)s.p[i]; c <= (unsigned char)s.p[i + 2] && n < max;
			     c++)
				out[n++] = (unsigned char)c;
			i += 2;
		} else {
			out[n++] = (unsigned char)s.p[i];
		}
	}
	return n;
}

struct data h_tr(struct ctx *cx, struct call *c)
{
	struct data in = c->io->in;
	unsigned char from[256], to[256];
	size_t n, m;
	struct sbuf out = {.a = cx->a};

	if (!in.known || c->n_got || c->ops.n != 2 || !is_literal(c->ops.v[0].s) ||
	    !is_literal(c->ops.v[1].s) || str_has(c->ops.v[0].s, "[:") ||
	    str_has(c->ops.v[0].s, "\\"))
		return data_unknown(in.taint | (in.known ? TAINT_DECODED : 0));
	n = tr_set(c->ops.v[0].s, from, sizeof(from));
	m = tr_set(c->ops.v[1].s, to, sizeof(to));
	for (size_t i = 0; i < in.text.n; i++) {
		char ch = in.text.p[i];

		for (size_t k = 0; k < n && m; k++)
			if (from[k] == (unsigned char)in.text.p[i])
				ch = (char)to[k < m ? k : m - 1];
		sbuf_char(&out, ch);
	}
	return (struct data){.text = sbuf_view(&out),
			     .known = true,
			     .taint = in.taint | TAINT_DECODED};
}

/* What basename and dirname are given, without the slashes at its end. */
static bool path_given(const struct call *c, struct rein_str *ret)
{
	if (c->ops.n != 1 || !is_literal(c->ops.v[0].s))
		return false;
	*ret = c->ops.v[0].s;
	while (ret->n > 1 && ret->p[ret->n - 1] == '/')
		ret->n--;
	return true;
}

struct data h_basename(struct ctx *cx, struct call *c)
{
	struct rein_str s;

	(void)cx;
	if (!path_given(c, &s))
		return data_unknown(c->ops.n ? c->ops.v[0].taint : 0);
	return data_known(str_base(s));
}

struct data h_dirname(struct ctx *cx, struct call *c)
{
	struct rein_str s, base;

	(void)cx;
	if (!path_given(c, &s))
		return data_unknown(c->ops.n ? c->ops.v[0].taint : 0);
	base = str_base(s);
	if (base.n == s.n)
		return data_known(STR("."));
	s.n -= base.n + (s.n - base.n > 1);
	return data_known(s);
}

struct data h_seq(struct ctx *cx, struct call *c)
{
	(void)cx;
	(void)c;
	return data_unknown(TAINT_NUMBER);
}
