/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who looks for a network where there is none is told so by errors of programs that try for a minute first. The
 * kernel counts such calls, in each network namespace by itself: how often a command found no way out.
 */
#ifndef REIN_SANDBOX_NET_NOWAY_H
#define REIN_SANDBOX_NET_NOWAY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rein_noway {
	int fds[2]; /* the counters of IPv4 and of IPv6, of a namespace that may be gone; -1: not known */
};

#define REIN_NOWAY_INIT {{-1, -1}}

/* Of the network namespace that this process is in. */
void rein_noway_open(struct rein_noway *w, pid_t pid);
/* How often. What is not known counts as never. */
uint32_t rein_noway_count(const struct rein_noway *w);
void rein_noway_close(struct rein_noway *w);

/* One file's text: the lines of pairs of /proc/net/snmp, or those of /proc/net/snmp6. */
uint32_t rein_noway_parse(const char *text);

#endif
