/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much may pass: budgets of the box and of each rule, in all or per window of time, and the
 * bandwidth as a bucket that holds a tenth of a second. Asked before bytes are taken, told what was
 * taken, so that a budget is kept to the byte.
 */
#include "sandbox/net/gate/gate.h"

#include "base/clock.h"

static void cap(struct gate *g, struct meter *m, size_t *want)
{
	uint64_t left;

	if (!m->budget.bytes)
		return;
	if (m->budget.window_ns && g->now_ns - m->since_ns >= m->budget.window_ns) {
		m->since_ns = g->now_ns;
		m->used = 0;
	}
	left = m->used < m->budget.bytes ? m->budget.bytes - m->used : 0;
	*want = left < *want ? (size_t)left : *want;
}

static void refill(struct gate *g)
{
	uint64_t rate = g->config->rate, most = rate / 10 + 1;
	uint64_t passed = g->now_ns - g->rate_ns;
	uint64_t more;

	passed = passed > REIN_NS_PER_S ? REIN_NS_PER_S : passed;
	more = (uint64_t)((__uint128_t)rate * passed / REIN_NS_PER_S);
	if (!more)
		return;
	g->rate_ns = g->now_ns;
	g->rate_left = g->rate_left + more > most ? most : g->rate_left + more;
}

size_t meter_allow(struct gate *g, int rule, bool up, size_t want, bool *over)
{
	*over = false;
	if (rule < 0)
		return want;
	cap(g, &g->total.all, &want);
	cap(g, &g->meters[rule].all, &want);
	if (up) {
		cap(g, &g->total.sent, &want);
		cap(g, &g->meters[rule].sent, &want);
	}
	*over = want == 0;
	if (g->config->rate && want) {
		refill(g);
		want = g->rate_left < want ? (size_t)g->rate_left : want;
	}
	return want;
}

void meter_count(struct gate *g, int rule, bool up, size_t n)
{
	if (rule < 0)
		return;
	g->total.all.used += n;
	g->meters[rule].all.used += n;
	if (up) {
		g->total.sent.used += n;
		g->meters[rule].sent.used += n;
	}
	if (g->config->rate)
		g->rate_left -= n < g->rate_left ? n : g->rate_left;
}
