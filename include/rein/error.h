/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error every call of librein can fill in. Plain data of a fixed size: it lives on the
 * caller's stack, cannot fail on out-of-memory and crosses a pipe whole.
 *
 *	struct rein_txn *txn = NULL;
 *	struct rein_err err = {0};
 *
 *	if (rein_txn_begin(NULL, &txn, &err) < 0)
 *		fprintf(stderr, "%s\n", err.msg);
 *
 * Calls return 0 or a negative code; the same code, positive, is in err.code.
 */
#ifndef REIN_ERROR_H
#define REIN_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(REIN_BUILD)
#define REIN_API __attribute__((visibility("default")))
#else
#define REIN_API
#endif

enum rein_code {
	REIN_OK = 0,
#define X(code, name, http, exit) code,
#include <rein/codes.def>
#undef X
	REIN_E__MAX
};

#define REIN_ERR_MSG_MAX 480

struct rein_err {
	int code;		    /* enum rein_code */
	int sys;		    /* errno, or 0 */
	char msg[REIN_ERR_MSG_MAX]; /* one sentence, ready to print, already escaped */
};

REIN_API const char *rein_code_name(int code); /* wire name, "ok" for 0 */
REIN_API int rein_code_http(int code);
REIN_API int rein_code_exit(int code); /* the CLI's exit status for it */

#ifdef __cplusplus
}
#endif
#endif
