/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a stream of HTTP requests, read whole and in pieces. Both must find the same heads
 * and bodies: a difference is a request somebody did not see. A path that is called plain is so after
 * decoding, too; a credential that is put in leaves the request what it was, and one that is taken out of an
 * answer is gone, however it comes in pieces. Also the packets, rules and credentials of the gate as text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/net/credential.h"
#include "sandbox/net/gate/packet.h"
#include "sandbox/net/http.h"
#include "sandbox/net/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int digit(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Decoded once more than it should be, it still leads where it seemed to. */
static void check_path(struct rein_str target)
{
	struct rein_str path;
	char text[65536];
	size_t n = 0;

	if (!rein_http_path(target, &path) || path.n + 4 > sizeof(text))
		return;
	if (path.p != target.p || path.n > target.n || path.p[0] != '/')
		abort();
	for (size_t i = 0; i < path.n; i++, n++) {
		text[n] = path.p[i];
		if (path.p[i] == '%') {
			text[n] = (char)(digit(path.p[i + 1]) << 4 | digit(path.p[i + 2]));
			i += 2;
		}
	}
	text[n++] = '/';
	text[n] = 0;
	if (strlen(text) != n || strstr(text, "/../") || strstr(text, "/./") || strchr(text, '\\') ||
	    (strstr(text, "//") && strstr(text, "//") != text + n - 2))
		abort();
}

static const char secret[] = "real-S3cr3t-0123", placeholder[] = "hold-P1ace9-4567";

/* The second one could be a length. */
static const struct rein_net_credential *credential(int i)
{
	static struct rein_net_credential c[2] = {{.header = "*", .n = sizeof(secret) - 1}, {.header = "*", .n = 8}};

	memcpy(c[0].secret, secret, sizeof(secret) - 1);
	memcpy(c[0].placeholder, placeholder, sizeof(placeholder) - 1);
	memcpy(c[1].secret, "13579246", 8);
	memcpy(c[1].placeholder, "00000004", 8);
	return &c[i];
}

static void check_put(const char *head, const struct rein_http_head *h)
{
	static char copy[REIN_HTTP_HEAD + 65536];
	struct rein_http_head again;

	for (int i = 0; i < 4; i++) {
		const struct rein_net_credential *c = credential(i / 2);
		bool may = i % 2;
		enum rein_credential_result r;

		memcpy(copy, head, h->n);
		r = rein_credential_put(c, copy, h->n, may);
		if (r == REIN_CREDENTIAL_MISPLACED)
			continue;
		if (r == REIN_CREDENTIAL_ABSENT ? memcmp(copy, head, h->n) != 0 : !may)
			abort();
		if (memmem(copy, h->n, c->placeholder, c->n) ||
		    rein_http_head(copy, h->n, &again) != REIN_HTTP_OK || again.n != h->n ||
		    again.framing != h->framing || again.length != h->length || strcmp(again.host, h->host) != 0 ||
		    again.upgrade != h->upgrade)
			abort();
	}
}

/* As the gate does it: what could be a beginning is kept back until more is there. */
static void check_mask(const uint8_t *data, size_t n)
{
	static struct rein_credential_forms forms;
	struct rein_err err = {0};
	char *all = malloc(n + 1);
	size_t clear = 0, have = 0;

	if (!forms.n[0] && rein_credential_forms(credential(0), &forms, &err) < 0)
		abort();
	if (!all)
		return;
	while (have < n) {
		size_t some = n - have < 1 + have % 7 ? n - have : 1 + have % 7, keep;

		memcpy(all + have, data + have, some);
		have += some;
		keep = rein_credential_mask(&forms, all + clear, have - clear);
		if (keep > have - clear)
			abort();
		clear = have - keep;
	}
	if (memmem(all, n, secret, sizeof(secret) - 1))
		abort();
	free(all);
}

/* How far the requests go, and how many there are, when at most `step` bytes are seen at once. */
static size_t walk(const char *p, size_t n, size_t step, unsigned *requests)
{
	size_t at = 0;

	*requests = 0;
	for (;;) {
		struct rein_http_head h;
		struct rein_http_body b;

		if (rein_http_head(p + at, n - at, &h) != REIN_HTTP_OK)
			return at;
		if (h.n > n - at || h.method.p < p || h.target.p + h.target.n > p + n)
			abort();
		check_path(h.target);
		check_put(p + at, &h);
		at += h.n;
		b = rein_http_body(&h);
		while (at < n && b.state != REIN_BODY_DONE) {
			size_t some = n - at < step ? n - at : step, k;

			k = rein_http_body_take(&b, p + at, some);
			if (k > some || (k < some && b.state != REIN_BODY_DONE && b.state != REIN_BODY_BAD))
				abort();
			at += k;
			if (b.state == REIN_BODY_BAD)
				return at;
		}
		if (b.state != REIN_BODY_DONE)
			return at;
		++*requests;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	unsigned many, few;
	struct packet packet;
	struct rein_net_rule rule;
	static struct rein_net_credential parsed;
	struct rein_credential_from from;
	struct rein_err err = {0};
	char text[256];

	if (n > 65536)
		return 0;
	if (walk((const char *)data, n, n + 1, &few) != walk((const char *)data, n, 1, &many) || few != many)
		abort();
	if (few && rein_http_looks((const char *)data, n) == REIN_HTTP_BAD && data[0] >= 'A' && data[0] <= 'Z')
		abort();
	packet_read(data, n, &packet);
	check_mask(data, n);
	if (n < sizeof(text)) {
		memcpy(text, data, n);
		text[n] = 0;
		if (rein_rule_parse(text, &rule, &err) == 0 && rule.first > rule.last)
			abort();
		if (rein_credential_parse(text, &parsed, &from, &err) == 0 &&
		    (!parsed.nplaces || parsed.nplaces > REIN_CREDENTIAL_PLACES || !parsed.header[0] || !from.kind))
			abort();
	}
	return 0;
}
