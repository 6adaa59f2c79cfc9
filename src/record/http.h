/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending a text over HTTP: one POST, no redirects followed, everything bounded in time and size. It
 * lives in a module of its own (libcurl brings thirty libraries along) that is loaded when there is
 * something to send.
 */
#ifndef REIN_RECORD_HTTP_H
#define REIN_RECORD_HTTP_H

#include "base/buf.h"

struct rein_http_post {
	const char *url;
	const char *const *header; /* "Name: value", ends with NULL */
	struct rein_str body;
	uint64_t connect_ns, total_ns;
};

struct rein_http_answer {
	long status;	     /* 0: there was none */
	uint64_t retry_ns; /* the server asks to wait so long; 0: it does not */
};

struct rein_http_ops {
	unsigned abi;
	/* 0 only for a status of 200 to 299; *ret is always filled. */
	int (*post)(const struct rein_http_post *p, struct rein_http_answer *ret, struct rein_err *err);
};

#define REIN_HTTP_ABI	 1
#define REIN_HTTP_SYMBOL "rein_http_module"

/* Loads the module; the answer stays valid until the process ends. */
int rein_http_load(const struct rein_http_ops **ret, struct rein_err *err);

#endif
