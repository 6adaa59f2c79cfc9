/* SPDX-License-Identifier: Apache-2.0 */
/* See prefix.h. */
#include "base/prefix.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define TOLD_MAX 8 /* with one letter more there are fewer */

void rein_prefix_offer(struct rein_prefix *p, size_t at, const char *name)
{
	const size_t used = strlen(p->first);

	if (p->whole || !*p->name || !rein_starts(name, p->name))
		return;
	p->at = at;
	p->whole = rein_streq(name, p->name);
	p->n = p->whole ? 1 : p->n + 1;
	if (p->n <= TOLD_MAX)
		snprintf(p->first + used, sizeof(p->first) - used, "%s%s", used ? ", " : "", name);
}

int rein_prefix_refuse(const struct rein_prefix *p, int code, const char *things, struct rein_err *err)
{
	char more[40] = "";

	if (p->n > TOLD_MAX)
		snprintf(more, sizeof(more), " and %zu more", p->n - TOLD_MAX);
	return rein_err_set(err, code, "'%s' is the beginning of several %s: %s%s", p->name, things, p->first, more);
}
