/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the classifier says about an action: how bad it could be, where its effects go, which effects
 * are expected and which bytes say so. Everything points into memory of the classifier that made it
 * and stays valid until that classifier is used again.
 */
#ifndef REIN_MODEL_VERDICT_H
#define REIN_MODEL_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/call.h"
#include "model/effect_fact.h"

#define REIN_VERDICT_FACTS 96 /* kept per verdict; the worst ones survive */

struct rein_verdict {
	enum rein_level level;
	enum rein_reach reach;
	bool complete; /* every byte was understood; false is never safe */
	const struct rein_fact *facts; /* in the order of the text */
	size_t n_facts;
	const struct rein_fact *worst; /* what decided the level; NULL when safe without effects */
	const struct rein_call *calls; /* every program that would start, in the order found */
	size_t n_calls;
	bool calls_lost; /* there were more, or some could not be told */
	uint32_t text_bytes;	       /* length of the text the ranges point into */
};

#endif
