/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders of people to boxes, as files each box's supervisor looks for twice a second, and at once when
 * it gets SIGURG: STATE/orders. (Watching by inotify would cost each box its descriptor's close, which
 * waits for the kernel to forget it: 0.1 to 20 ms.)
 *
 *	stop-all		every box ends, nothing new begins
 *	stop-agent-HEX		the same for one agent
 *	kill-ID			this box ends
 *	pause-ID		this box stands still while the file is there
 *	safe-agent-HEX		new boxes of this agent change nothing ("safe-all": of everybody)
 *
 * and beside them .changing, a lock: whoever changes what is real holds it, shared, from its last look at the
 * orders to its end, so that whoever gave one can wait for those who looked before.
 *
 * Each holds who gave it, when and why. stop and safe outlive the boxes: a person takes them back. Where
 * the state cannot be written any more, stop-all goes to a memory file system, /dev/shm/rein-UID.
 */
#ifndef REIN_SANDBOX_ORDERS_H
#define REIN_SANDBOX_ORDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum rein_order {
	REIN_ORDER_NONE = 0,
	REIN_ORDER_PAUSE,
	REIN_ORDER_KILL,
	REIN_ORDER_STOP,
};

enum rein_order_kind { REIN_ORDERS_STOP, REIN_ORDERS_KILL, REIN_ORDERS_PAUSE, REIN_ORDERS_SAFE };

struct rein_order_text {
	char who[64];
	char when[32];
	char why[256];
	bool of_agent; /* it was given for one agent: only by that name it is taken back */
};

/* Where orders are looked for; state_dir tells states apart in the memory file system. */
struct rein_orders {
	int state_fd;
	const char *state_dir;
};

/* whom: an agent for STOP and SAFE (NULL: everybody), a box for the others. */
int rein_orders_give(const struct rein_orders *o, enum rein_order_kind kind, const char *whom,
		     const char *why, struct rein_err *err);
/* 1: taken back, 0: there was none. */
int rein_orders_take_back(const struct rein_orders *o, enum rein_order_kind kind, const char *whom,
			  struct rein_err *err);
bool rein_orders_has(const struct rein_orders *o, enum rein_order_kind kind, const char *whom,
		     struct rein_order_text *ret);
/* Of everybody, or of this agent. */
bool rein_orders_apply(const struct rein_orders *o, enum rein_order_kind kind, const char *agent,
		       struct rein_order_text *ret);

/* Before the last look: held until the descriptor is closed. Or negative. */
int rein_orders_hold(const struct rein_orders *o, struct rein_err *err);
/* After an order was given: has everybody who looked before ended? Waited for 10 s at most. */
bool rein_orders_settled(const struct rein_orders *o);

/* For a supervisor: what the orders for this box come to now. */
enum rein_order rein_orders_read(const struct rein_orders *o, const char *id, const char *agent,
				 struct rein_order_text *ret);
/* All agents an order of this kind is in force for; "" is everybody. Calls fn for each. */
void rein_orders_each(const struct rein_orders *o, enum rein_order_kind kind,
		      void (*fn)(void *arg, const char *whom, const struct rein_order_text *t), void *arg);

#endif
