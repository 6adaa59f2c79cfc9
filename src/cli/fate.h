/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of what a run did: its options say so, else the person at the terminal, else the policy; and nobody
 * gets more than the policy lets him have.
 */
#ifndef REIN_CLI_FATE_H
#define REIN_CLI_FATE_H

#include "cli/opts.h"
#include "engine/engine.h"

enum rein_fate { REIN_FATE_ASK = 0, REIN_FATE_COMMIT, REIN_FATE_DISCARD, REIN_FATE_HOLD };

/* As options fill it. */
struct rein_fate_args {
	int decision;	/* enum rein_fate */
	int on_failure; /* 1 commit, 2 discard, 3 hold */
	bool approve;	/* what the policy would ask about or hold */
};

/* Is there somebody who can be asked? */
bool rein_fate_has_person(const struct rein_common *common);
/*
 * Decide, asking where somebody is to be asked; a yes to what the policy objects to is on the record. rest has room
 * for REIN_TX_ID_MAX + 1 bytes: what a person left out is held under that id.
 */
int rein_fate_decide(struct rein_engine *e, const struct rein_fate_args *a, const struct rein_common *common,
		     struct rein_run *r, char *rest, enum rein_fate *ret, struct rein_err *err);

/* It did not come to its own end: nobody has a choice. */
bool rein_fate_is_forced(const struct rein_run *r);
/* The policy refuses what it did. */
bool rein_fate_is_thrown_away(const struct rein_judgement *j);
/* Whichever of the two judgements keeps the effects back; NULL: neither does. */
const struct rein_decision *rein_fate_objection(const struct rein_judgement *j);

#endif
