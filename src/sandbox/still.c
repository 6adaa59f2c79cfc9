/* SPDX-License-Identifier: Apache-2.0 */
/* See still.h. */
#include "sandbox/still.h"

#include "base/auto.h"
#include "base/clock.h"

#define LOOK_NS	    (20 * 1000000ull)
#define PATIENCE_NS (5 * REIN_NS_PER_S) /* thousands of processes need their turn to stop */
/* who waited in the kernel may be seen on its way to a stop; so often, nobody is by accident */
#define MOVED_MAX   10

void rein_still_begin(struct rein_still *s, uint64_t now)
{
	rein_still_done(s);
	*s = (struct rein_still){.since_ns = now, .next_ns = now + LOOK_NS};
}

enum rein_stillness rein_still_look(struct rein_still *s, pid_t box, uint64_t now)
{
	uint64_t begun = rein_clock_ns(CLOCK_THREAD_CPUTIME_ID), spent;
	auto_close int proc = rein_census_open(box);
	struct rein_stances is = {0};
	bool still = proc < 0 || rein_census_is_still(proc, &is); /* not there yet, or gone */

	if (still && s->stood)
		still = !rein_stances_moved(&s->was, &is, now - s->since_ns < PATIENCE_NS ? 1 : 0);
	rein_stances_done(&s->was);
	s->was = is;
	/* looking itself must not become the load; waiting for a processor is none */
	spent = rein_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
	s->next_ns = now + (20 * spent > LOOK_NS ? 20 * spent : LOOK_NS);
	s->stood |= still;
	if (still)
		return REIN_STILL_YES;
	/* whoever it is, it is not to profit from how long it takes to look at the others */
	if (s->stood)
		s->next_ns = now + LOOK_NS;
	s->moved += s->stood;
	s->never = s->moved > MOVED_MAX || (!s->stood && now - s->since_ns > PATIENCE_NS);
	return s->never ? REIN_STILL_NEVER : REIN_STILL_AGAIN;
}

void rein_still_done(struct rein_still *s)
{
	rein_stances_done(&s->was);
}
