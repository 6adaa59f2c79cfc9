/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate as rein sees it: started beside the box, given the box's sockets, listened to, ended.
 *
 *	rein_gate_start -> (the box runs) -> rein_gate_attach -> rein_gate_read … -> rein_gate_end
 *
 * A gate that ends by itself leaves the box without any network: its sockets end with it.
 */
#ifndef REIN_SANDBOX_NET_START_H
#define REIN_SANDBOX_NET_START_H

#include "base/err.h"
#include "model/box.h"
#include "sandbox/net/wire.h"

struct rein_gate {
	int control; /* -1: there is none */
	int pidfd;
	int published[2 * REIN_NET_PUBLISH]; /* listeners on the host, until they are given away */
	uint16_t inside[2 * REIN_NET_PUBLISH];
	uint32_t npublished;
	struct rein_net_report report;
	size_t told; /* refusals that whoever watches knows of */
	char *bundle; /* TLS is looked into: what the box is to trust, as PEM */
};

/* Where the box finds what it is to trust. */
#define REIN_GATE_BUNDLE "/run/rein/ca-certificates.pem"

#define REIN_GATE_INIT {.control = -1, .pidfd = -1}

/* Does the specification need one? */
bool rein_gate_wanted(const struct rein_box_spec *spec);
/* Does it look into TLS? Then the bundle is there when it has started. */
bool rein_gate_inspects(const struct rein_net_policy *p);
/* Could the ports be published now? Said before anything is told or asked; who starts publishes them. */
int rein_gate_ports_free(const struct rein_net_policy *p, struct rein_err *err);
/* box_program: rein-gate lies beside it. */
int rein_gate_start(const struct rein_box_spec *spec, const char *box_program, struct rein_gate *ret,
		    struct rein_err *err);
/* The box's sockets, by enum rein_net_fd; they stay the caller's. */
int rein_gate_attach(struct rein_gate *g, uint32_t has, bool held, const int *fds, size_t n,
		     struct rein_err *err);
/* Take what it has to tell. False: it has ended. */
bool rein_gate_read(struct rein_gate *g);
/* The same, and w (or NULL) is told of what was refused since the last time; over: the box is dead. */
bool rein_gate_hear(struct rein_gate *g, const struct rein_box_watch *w, bool over);
/* The box is dead: hear the rest and end it. The report stays, the caller's; the bundle does not. */
void rein_gate_end(struct rein_gate *g);

#endif
