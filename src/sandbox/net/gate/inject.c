/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets into requests, and out of answers. A placeholder that the gate can read and that is not
 * on its way to where it belongs is a refusal: whoever sends it elsewhere would have sent the
 * secret.
 *
 * Of an answer the end is kept back while it could be the beginning of a secret, but not for long:
 * it may as well be the end of an answer, and somebody waits for it.
 */
#include "sandbox/net/gate/gate.h"

#include "base/alloc.h"
#include "base/clock.h"

#define KEEP_NS (REIN_NS_PER_S / 10)

static bool is_for(const struct flow *f, const struct rein_net_credential *c)
{
	return f->name && rein_credential_is_for(c, f->name->text, f->port);
}

int inject_open(struct gate *g, struct rein_err *err)
{
	g->forms = rein_calloc(g->ncredentials + 1, sizeof(*g->forms));
	if (!g->forms)
		return rein_err_nomem(err);
	for (size_t i = 0; i < g->ncredentials; i++)
		if (rein_credential_forms(&g->credentials[i], &g->forms[i], err) < 0)
			return -err->code;
	return 0;
}

void inject_close(struct gate *g)
{
	for (size_t i = 0; g->forms && i < g->ncredentials; i++)
		rein_credential_forms_done(&g->forms[i]);
	rein_free(g->forms);
}

bool inject_here(const struct gate *g, const struct flow *f)
{
	for (size_t i = 0; i < g->ncredentials; i++)
		if (is_for(f, &g->credentials[i]))
			return true;
	return false;
}

const char *inject(const struct gate *g, const struct flow *f, char *head, size_t n)
{
	bool put = false;

	for (size_t i = 0; i < g->ncredentials; i++) {
		const struct rein_net_credential *c = &g->credentials[i];
		bool may = is_for(f, c) && (f->inner || c->plain);

		switch (rein_credential_put(c, head, n, may)) {
		case REIN_CREDENTIAL_MISPLACED:
			return c->name;
		case REIN_CREDENTIAL_PUT:
			put = true;
			break;
		case REIN_CREDENTIAL_ABSENT:
			break;
		}
	}
	if (put && f->host)
		f->host->secrets++;
	return NULL;
}

void inject_mask(struct gate *g, struct flow *f)
{
	struct lane *l = &f->down;
	size_t keep = 0;

	for (size_t i = 0; i < g->ncredentials && !l->eof; i++) {
		const struct rein_net_credential *c = &g->credentials[i];
		size_t k = is_for(f, c)
				   ? rein_credential_mask(&g->forms[i], (char *)l->buf + l->clear,
							  l->n - l->clear)
				   : 0;

		keep = k > keep ? k : keep;
	}
	l->clear = l->n - keep;
	f->kept_ns = keep ? g->now_ns + KEEP_NS : 0;
	g->keeping |= keep != 0;
}

void inject_let_go(struct flow *f)
{
	f->down.clear = f->down.n;
	f->kept_ns = 0;
}
