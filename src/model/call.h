/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program an action would start, with its words as the program gets them. A byte REIN_WORD_ANY
 * in a word stands for text nobody knows before it runs, REIN_WORD_STAR and REIN_WORD_ONE for what a
 * file name pattern will become; no other word holds these bytes.
 */
#ifndef REIN_MODEL_CALL_H
#define REIN_MODEL_CALL_H

#include "base/str.h"

#define REIN_WORD_ANY  '\001'
#define REIN_WORD_STAR '\002'
#define REIN_WORD_ONE  '\003'

#define REIN_VERDICT_CALLS 256

struct rein_call {
	const struct rein_str *words; /* words[0] is the program, without its directory if trusted */
	size_t n;
	uint32_t start, end; /* bytes of words[0] in the text */
};

#endif
