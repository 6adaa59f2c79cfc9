/* SPDX-License-Identifier: Apache-2.0 */
/* Events joined to actions. */
#include "cli/past.h"

#include <unistd.h>

#include "base/auto.h"
#include "policy/policy.h"
#include "record/event.h"
#include "record/tail.h"

static uint64_t hash(struct rein_str s)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211ull;
	return h;
}

static int rehash(struct rein_pasts *p)
{
	size_t slots = p->slots ? p->slots * 2 : 1024;
	size_t *slot = rein_calloc(slots, sizeof(*slot));

	if (!slot)
		return -1;
	for (size_t i = 0; i < p->n; i++) {
		size_t k = hash(rein_str(p->v[i].action)) & (slots - 1);

		while (slot[k])
			k = (k + 1) & (slots - 1);
		slot[k] = i + 1;
	}
	rein_free(p->slot);
	p->slot = slot;
	p->slots = slots;
	return 0;
}

/* The action's entry, made when there is none; NULL: out of memory. */
static struct rein_past *entry(struct rein_pasts *p, struct rein_str action)
{
	struct rein_past *x;
	size_t k;

	if (p->n * 2 >= p->slots && rehash(p) < 0)
		return NULL;
	for (k = hash(action) & (p->slots - 1); p->slot[k]; k = (k + 1) & (p->slots - 1))
		if (rein_str_eq(rein_str(p->v[p->slot[k] - 1].action), action))
			return &p->v[p->slot[k] - 1];
	if (rein_grow(p->v, p->n, p->cap) < 0)
		return NULL;
	x = &p->v[p->n];
	*x = (struct rein_past){.action = rein_strndup(action.p, action.n)};
	if (!x->action)
		return NULL;
	p->slot[k] = ++p->n;
	return x;
}

static bool keep(char **to, struct rein_str s)
{
	if (*to || !s.n)
		return true;
	*to = rein_strndup(s.p, s.n);
	return *to != NULL;
}

static bool word(struct rein_str s, const char *w)
{
	return rein_str_eq(s, rein_str(w));
}

static int on_event(struct rein_pasts *p, const struct rein_event *ev, struct rein_err *err)
{
	struct rein_past *x;

	if (!ev->action.n || (ev->type != REIN_EV_REQUEST && ev->type != REIN_EV_DECISION && ev->type != REIN_EV_APPROVAL))
		return 0;
	x = entry(p, ev->action);
	if (!x || !keep(&x->kind, ev->kind) || !keep(&x->command, ev->command) || !keep(&x->cwd, ev->cwd) ||
	    !keep(&x->agent, ev->agent))
		return rein_err_nomem(err);
	if (!x->time_ns)
		x->time_ns = ev->time_ns;
	if (ev->type == REIN_EV_APPROVAL) {
		x->approved += word(ev->decision, "approve");
		x->refused += word(ev->decision, "deny");
	}
	if (ev->type != REIN_EV_DECISION || x->has_decision) /* the first is the one about the text */
		return 0;
	for (int d = 0; d < REIN_DECIDE__MAX; d++)
		if (word(ev->decision, rein_decide_name(d))) {
			x->decided = (enum rein_decide)d;
			x->has_decision = true;
		}
	return keep(&x->rule, ev->rule) ? 0 : rein_err_nomem(err);
}

static int on_line(void *arg, const struct rein_line *line, struct rein_err *err)
{
	struct rein_event_read r;
	struct rein_err ignored = {0};
	int rc;

	if (rein_event_parse(line->text, &r, &ignored) < 0)
		return 0; /* a head, or what `rein audit verify` would complain about */
	rc = on_event(arg, &r.ev, err);
	rein_event_read_done(&r);
	return rc;
}

int rein_pasts_read(const char *state_dir, struct rein_pasts *ret, struct rein_err *err)
{
	auto_free char *dir = rein_asprintf("%s/audit", state_dir);

	if (!dir)
		return rein_err_nomem(err);
	if (access(dir, F_OK) < 0)
		return 0;
	return rein_record_lines(state_dir, on_line, ret, err);
}

void rein_pasts_done(struct rein_pasts *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct rein_past *x = &p->v[i];
		char *all[] = {x->action, x->kind, x->command, x->cwd, x->agent, x->rule};

		for (size_t k = 0; k < ARRAY_SIZE(all); k++)
			rein_free(all[k]);
	}
	rein_free(p->v);
	rein_free(p->slot);
	*p = (struct rein_pasts){0};
}
