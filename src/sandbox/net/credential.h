/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that the gate puts in. The box holds a placeholder; where a request to the right host
 *carries it in the right header, the gate puts the secret in its place, and takes it out again
 *where the answer repeats it. Both have the same length, so nothing else moves.
 *
 *	NAME=env:VARIABLE,host=HOST[:PORT][,host=…][,header=HEADER][,format=TEXT][,plain]
 *	NAME=file:PATH,…
 *
 * NAME is the box's variable. header: Authorization unless said, "*" for any but those that frame;
 *format: the whole value, with
 * {} for the secret; plain: also without TLS.
 */
#ifndef REIN_SANDBOX_NET_CREDENTIAL_H
#define REIN_SANDBOX_NET_CREDENTIAL_H

#include "base/err.h"
#include "base/str.h"
#include "model/net.h"

enum rein_credential_source { REIN_CREDENTIAL_NONE = 0, REIN_CREDENTIAL_ENV, REIN_CREDENTIAL_FILE };

struct rein_credential_from {
	enum rein_credential_source kind;
	char name[1024]; /* of the variable or the file */
};

/* All but the secret, which is not in the text. */
int rein_credential_parse(const char *text, struct rein_net_credential *ret,
			  struct rein_credential_from *from, struct rein_err *err);
/* Take the secret, and draw a placeholder that looks like it. */
int rein_credential_set(struct rein_net_credential *c, struct rein_str secret,
			struct rein_err *err);

bool rein_credential_is_for(const struct rein_net_credential *c, const char *host, uint16_t port);

enum rein_credential_result {
	REIN_CREDENTIAL_ABSENT = 0,
	REIN_CREDENTIAL_PUT,
	REIN_CREDENTIAL_MISPLACED, /* it is where it must not be */
};

/*
 * Look for the placeholder in a whole head of a request, which the caller has parsed, and put the
 * secret in its place; may: this connection leads where it may go. A head in which it is misplaced
 * must not be used any more.
 */
enum rein_credential_result rein_credential_put(const struct rein_net_credential *c, char *head,
						size_t n, bool may);
/*
 * The way back. An answer may repeat a secret as it is, or in base64 with something before it: what
 * of it does not depend on its neighbours is known, whichever of the three ways it lies.
 */
#define REIN_CREDENTIAL_FORMS 4

struct rein_credential_forms {
	char *from[REIN_CREDENTIAL_FORMS],
		*to[REIN_CREDENTIAL_FORMS]; /* of the same length, not terminated */
	size_t n[REIN_CREDENTIAL_FORMS];
};

int rein_credential_forms(const struct rein_net_credential *c, struct rein_credential_forms *ret,
			  struct rein_err *err);
void rein_credential_forms_done(struct rein_credential_forms *f);
/* Replace them in p[0 .. n). Returns how many bytes at the end could be the beginning of one more.
 */
size_t rein_credential_mask(const struct rein_credential_forms *f, char *p, size_t n);

#endif
