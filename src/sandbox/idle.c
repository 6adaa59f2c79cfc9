/* SPDX-License-Identifier: Apache-2.0 */
/* See idle.h. */
#include "sandbox/idle.h"

#include "base/clock.h"

/* Ten looks per period, but neither a busy loop nor a late answer. */
uint32_t rein_idle_interval_ms(uint64_t limit_ns)
{
	uint64_t ms = limit_ns / 10 / 1000000;

	return ms < 20 ? 20 : ms > 1000 ? 1000 : (uint32_t)ms;
}

bool rein_idle_sample(struct rein_idle *i, uint64_t limit_ns, const struct rein_box_note *note)
{
	uint64_t now = rein_mono_ns();

	if (note->written == i->written && note->cpu_ns >= i->cpu_ns &&
	    note->cpu_ns - i->cpu_ns < limit_ns / 100)
		return now - i->since_ns >= limit_ns;
	*i = (struct rein_idle){now, note->cpu_ns, note->written};
	return false;
}
