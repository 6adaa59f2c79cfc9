/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See tls.h. The handshake message is put together from its records first; then it is read with a
 * cursor that fails for good at the first byte that is missing.
 */
#include "sandbox/net/tls.h"

#include <stdbool.h>
#include <string.h>

#include "sandbox/net/rule.h"

enum { RECORD_HANDSHAKE = 22, CLIENT_HELLO = 1, EXTENSION_NAME = 0, NAME_HOST = 0 };

struct cursor {
	const uint8_t *p;
	size_t n;
	bool failed;
};

static const uint8_t *take(struct cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if (c->failed || c->n < n) {
		c->failed = true;
		return NULL;
	}
	c->p += n;
	c->n -= n;
	return p;
}

static size_t number(struct cursor *c, size_t bytes)
{
	const uint8_t *p = take(c, bytes);
	size_t v = 0;

	for (size_t i = 0; p && i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

/* What follows its own length. */
static struct cursor vector(struct cursor *c, size_t bytes)
{
	size_t n = number(c, bytes);
	const uint8_t *p = take(c, n);

	return p ? (struct cursor){p, n, false} : (struct cursor){.failed = true};
}

/* Exactly one host name, or it is no hello of ours. */
static enum rein_tls_result read_names(struct cursor e, char name[REIN_NET_NAME])
{
	struct cursor list = vector(&e, 2), host;

	if (number(&list, 1) != NAME_HOST)
		return REIN_TLS_BAD;
	host = vector(&list, 2);
	if (host.failed || list.failed || list.n || e.n ||
	    !rein_name_normal((const char *)host.p, host.n, name))
		return REIN_TLS_BAD;
	return REIN_TLS_NAMED;
}

static enum rein_tls_result read_hello(struct cursor c, char name[REIN_NET_NAME])
{
	enum rein_tls_result result = REIN_TLS_NAMELESS;
	struct cursor extensions;

	take(&c, 2 + 32); /* version, random */
	vector(&c, 1);	  /* session */
	vector(&c, 2);	  /* ciphers */
	vector(&c, 1);	  /* compression */
	if (c.failed)
		return REIN_TLS_BAD;
	if (!c.n)
		return REIN_TLS_NAMELESS;
	extensions = vector(&c, 2);
	if (c.failed || c.n)
		return REIN_TLS_BAD;
	while (extensions.n) {
		size_t type = number(&extensions, 2);
		struct cursor e = vector(&extensions, 2);

		if (extensions.failed || e.failed)
			return REIN_TLS_BAD;
		if (type != EXTENSION_NAME)
			continue;
		/* A second one: who knows which the server takes. */
		if (result != REIN_TLS_NAMELESS)
			return REIN_TLS_BAD;
		result = read_names(e, name);
		if (result == REIN_TLS_BAD)
			return REIN_TLS_BAD;
	}
	return result;
}

enum rein_tls_result rein_tls_hello(const uint8_t *p, size_t n, char name[REIN_NET_NAME])
{
	uint8_t message[4 + REIN_TLS_HELLO];
	size_t have = 0, want = 4;

	while (have < want) {
		size_t length, part;

		if (n && p[0] != RECORD_HANDSHAKE)
			return REIN_TLS_BAD;
		if (n > 1 && p[1] != 3)
			return REIN_TLS_BAD;
		if (n < 5)
			return REIN_TLS_MORE;
		length = (size_t)p[3] << 8 | p[4];
		if (length == 0 || length > 16384)
			return REIN_TLS_BAD;
		p += 5;
		n -= 5;
		part = n < length ? n : length;
		part = part < sizeof(message) - have ? part : sizeof(message) - have;
		memcpy(message + have, p, part);
		have += part;
		if (have >= 1 && message[0] != CLIENT_HELLO)
			return REIN_TLS_BAD;
		if (have >= 4) {
			want = 4 + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
			if (want > sizeof(message))
				return REIN_TLS_BAD;
		}
		if (have >= want)
			break;
		if (part < length)
			return REIN_TLS_MORE;
		p += length;
		n -= length;
	}
	return read_hello((struct cursor){message + 4, want - 4, false}, name);
}
