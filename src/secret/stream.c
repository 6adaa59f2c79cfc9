/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets in a text that comes in pieces: windows that overlap by the longest secret. */
#include "base/auto.h"
#include "base/buf.h"
#include "secret/secret.h"

#define WINDOW ((size_t)1 << 20)

struct rein_secret_stream {
	enum rein_secret_want want;
	rein_secret_fn *fn;
	void *arg;
	size_t n, base;	   /* bytes in the window; where it begins in the whole */
	size_t told, edge; /* everything before was told; hits from here on wait for more */
	bool stopped;
	char window[WINDOW];
};

int rein_secret_stream_new(enum rein_secret_want want, rein_secret_fn *fn, void *arg, struct rein_secret_stream **ret,
			   struct rein_err *err)
{
	struct rein_secret_stream *s = rein_alloc(sizeof(*s));

	if (!s)
		return rein_err_nomem(err);
	s->want = want;
	s->fn = fn;
	s->arg = arg;
	*ret = s;
	return 0;
}

static bool on_hit(void *arg, const struct rein_secret_hit *h)
{
	struct rein_secret_stream *s = arg;
	struct rein_secret_hit whole = {s->base + h->at, h->n, h->kind};

	if (h->at >= s->edge)
		return false;
	if (whole.at < s->told)
		return true;
	s->told = whole.at + whole.n;
	s->stopped = !s->fn(s->arg, &whole);
	return !s->stopped;
}

static void look(struct rein_secret_stream *s, bool last)
{
	size_t keep = last || s->n < REIN_SECRET_CARRY ? 0 : REIN_SECRET_CARRY;

	/* what begins in the last part may go on in what has not come yet, what marks it may stand before it */
	s->edge = s->n - (last ? 0 : keep / 2);
	rein_secret_each((struct rein_str){s->window, s->n}, s->want, on_hit, s);
	if (s->told < s->base + s->edge)
		s->told = s->base + s->edge;
	memmove(s->window, s->window + s->n - keep, keep);
	s->base += s->n - keep;
	s->n = keep;
}

void rein_secret_stream_feed(struct rein_secret_stream *s, struct rein_str p)
{
	while (p.n && !s->stopped) {
		size_t n = p.n < WINDOW - s->n ? p.n : WINDOW - s->n;

		memcpy(s->window + s->n, p.p, n);
		s->n += n;
		p.p += n;
		p.n -= n;
		if (s->n == WINDOW)
			look(s, false);
	}
}

void rein_secret_stream_end(struct rein_secret_stream *s)
{
	if (!s)
		return;
	if (!s->stopped)
		look(s, true);
	explicit_bzero(s->window, s->n);
	rein_free(s);
}
