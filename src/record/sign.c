/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signing heads and checking them: the only file that needs libsodium. Ed25519 needs no start-up of
 * the library (no random numbers, no choice of implementation), so none is made.
 */
#include <sodium.h>
#include <string.h>

#include "base/auto.h"
#include "record/head.h"

static const char context[] = "rein-head-v1\n"; /* keeps a head's signature from meaning anything else */

int rein_key_make(int dirfd, const char *name, struct rein_key *ret, struct rein_err *err)
{
	uint8_t seed[32];

	if (rein_random(seed, sizeof(seed), err) < 0)
		return -err->code;
	crypto_sign_ed25519_seed_keypair(ret->sk + 32, ret->sk, seed);
	explicit_bzero(seed, sizeof(seed));
	rein_key_id(rein_key_pub(ret), ret->id);
	if (rein_secret_write(dirfd, name, ret->sk, 64, err) < 0)
		return -err->code;
	ret->loaded = true;
	return 0;
}

void rein_head_format(struct rein_head *h, const struct rein_key *key, struct rein_buf *b)
{
	auto_buf struct rein_buf msg = REIN_BUF(8192);

	memcpy(h->key, key->id, REIN_KEY_ID);
	rein_buf_cstr(&msg, context);
	rein_head_body(h, &msg);
	if (msg.failed) {
		b->failed = true;
		return;
	}
	crypto_sign_ed25519_detached(h->sig, NULL, (const unsigned char *)msg.p, msg.n, key->sk);
	rein_buf_add(b, msg.p + sizeof(context) - 1, msg.n - (sizeof(context) - 1));
	rein_hex_member(b, "sig", h->sig, 64);
	rein_buf_char(b, '}');
}

bool rein_head_signed_by(struct rein_str line, const struct rein_head *h, const uint8_t pub[32])
{
	auto_buf struct rein_buf msg = REIN_BUF(8192);
	uint8_t id[REIN_KEY_ID];
	size_t tail = strlen(",\"sig\":\"") + 128 + 2;

	rein_key_id(pub, id);
	if (memcmp(id, h->key, REIN_KEY_ID) != 0 || line.n < tail)
		return false;
	rein_buf_cstr(&msg, context);
	rein_buf_add(&msg, line.p, line.n - tail);
	return !msg.failed && crypto_sign_ed25519_verify_detached(
				      h->sig, (const unsigned char *)msg.p, msg.n, pub) == 0;
}

void rein_key_sign(const struct rein_key *key, struct rein_str text, uint8_t sig[64])
{
	crypto_sign_ed25519_detached(sig, NULL, (const unsigned char *)text.p, text.n, key->sk);
}
