/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed tree heads. They are lines of the log like any other (and leaves of the tree), so that
 * one write and one fdatasync make events and head durable together:
 *
 *	head    the tree of all lines before this one, signed
 *	start   the same as the first line of a segment, with the tree's peaks and the public key,
 *	        so that the segment can be checked alone
 *	rotate  the same; signed by the old key, and later heads are signed by the new one
 */
#ifndef REIN_RECORD_HEAD_H
#define REIN_RECORD_HEAD_H

#include "base/buf.h"
#include "record/merkle.h"

enum rein_head_type {
	REIN_HEAD_NONE = 0,
	REIN_HEAD_HEAD,
	REIN_HEAD_START,
	REIN_HEAD_ROTATE,
};

#define REIN_KEY_ID 8 /* first bytes of SHA-256 of the public key */

struct rein_head {
	enum rein_head_type type;
	uint64_t time_ns;
	uint64_t n; /* lines before this one */
	struct rein_hash root;
	uint64_t segment;	  /* START */
	struct rein_merkle peaks; /* START: peaks.n == n */
	uint8_t pub[32];	  /* START: the key in use; ROTATE: the next key */
	uint8_t key[REIN_KEY_ID]; /* who signed */
	uint8_t sig[64];
};

struct rein_key {
	bool loaded;
	uint8_t sk[64]; /* seed and public key, as libsodium keeps them */
	uint8_t id[REIN_KEY_ID];
};

void rein_key_id(const uint8_t pub[32], uint8_t id[REIN_KEY_ID]);
static inline const uint8_t *rein_key_pub(const struct rein_key *k)
{
	return k->sk + 32;
}
/* Key file: 0600, hexadecimal. Making one never replaces an existing file. */
int rein_key_load(int dirfd, const char *name, struct rein_key *ret, struct rein_err *err);
int rein_key_make(int dirfd, const char *name, struct rein_key *ret, struct rein_err *err);
/* Over text that begins with a context of its own ("rein-webhook-v1\n"): never a head's. */
void rein_key_sign(const struct rein_key *key, struct rein_str text, uint8_t sig[64]);
/* The secret under which redacted values are hashed; made on first use, 0600. */
int rein_key_redact(int dirfd, bool create, uint8_t ret[32], struct rein_err *err);

/* A small secret file: written aside, synced, linked into place; the first writer wins. */
int rein_secret_write(int dirfd, const char *name, const uint8_t *p, size_t n,
		      struct rein_err *err);
int rein_random(uint8_t *p, size_t n, struct rein_err *err);

/* Everything the signature covers: the line up to its last member. */
void rein_head_body(const struct rein_head *h, struct rein_buf *b);
void rein_hex_member(struct rein_buf *b, const char *key, const uint8_t *p, size_t n);
/* Appends the line without newline; signs it. */
void rein_head_format(struct rein_head *h, const struct rein_key *key, struct rein_buf *b);
/* NONE when the line is an event. A line that claims to be a head and is not one: -REIN_E_INVALID. */
int rein_head_parse(struct rein_str line, struct rein_head *ret, struct rein_err *err);
bool rein_head_signed_by(struct rein_str line, const struct rein_head *h, const uint8_t pub[32]);

void rein_hex(const uint8_t *p, size_t n, char *out); /* 2n + 1 bytes */
bool rein_unhex(const char *s, size_t n, uint8_t *out); /* n bytes from 2n lower-case digits */

#endif
