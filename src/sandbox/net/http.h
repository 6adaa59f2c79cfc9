/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a plain HTTP/1 connection: heads and where bodies end, so that every request is seen,
 * not only the first (RFC 9112). Strict: whatever two programs could read differently is refused.
 * Pure, no heap.
 */
#ifndef REIN_SANDBOX_NET_HTTP_H
#define REIN_SANDBOX_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/net.h"

#define REIN_HTTP_HEAD 32768

enum rein_http_result {
	REIN_HTTP_BAD = 0,
	REIN_HTTP_MORE,
	REIN_HTTP_OK,
};

enum rein_http_framing {
	REIN_HTTP_NO_BODY = 0,
	REIN_HTTP_LENGTH,
	REIN_HTTP_CHUNKED,
};

struct rein_http_head {
	size_t n; /* bytes, with the empty line */
	struct rein_str method, target;
	char host[REIN_NET_NAME]; /* normal; "" if there is none */
	uint16_t port;		  /* in Host or the target; 0: none */
	enum rein_http_framing framing;
	uint64_t length;
	bool upgrade; /* the connection may become something else */
	bool another; /* a field names another method or target, which some servers obey */
};

/* Does a connection that begins so speak HTTP/1? MORE: the first line is not complete. */
enum rein_http_result rein_http_looks(const char *p, size_t n);
enum rein_http_result rein_http_head(const char *p, size_t n, struct rein_http_head *ret);
/* Is the empty line there? *seen: of the same bytes, searched before; 0 at first. */
bool rein_http_head_ends(const char *p, size_t n, size_t *seen);
bool rein_http_reads(struct rein_str method); /* GET, HEAD */
/*
 * The path of a target, if it can be read in one way only: no "." or ".." or empty parts, nothing encoded
 * that would be one of these or end them. False: it cannot, or there is none.
 */
bool rein_http_path(struct rein_str target, struct rein_str *ret);

/* What follows a head. */
struct rein_http_body {
	enum {
		REIN_BODY_DONE = 0,
		REIN_BODY_DATA, /* left bytes, then done */
		REIN_BODY_SIZE, /* of a chunk, in hexadecimal */
		REIN_BODY_EXTENSION,
		REIN_BODY_SIZE_LF,
		REIN_BODY_CHUNK, /* left bytes, then its line end */
		REIN_BODY_CHUNK_CR,
		REIN_BODY_CHUNK_LF,
		REIN_BODY_TRAILER, /* at the start of a line */
		REIN_BODY_TRAILER_LINE,
		REIN_BODY_TRAILER_LF,
		REIN_BODY_END_LF,
		REIN_BODY_BAD,
	} state;
	uint64_t left;
	unsigned digits, trailer;
};
struct rein_http_body rein_http_body(const struct rein_http_head *h);
/* How many of n bytes belong to it; the state says whether it ended, or is BAD. */
size_t rein_http_body_take(struct rein_http_body *b, const char *p, size_t n);

#endif
