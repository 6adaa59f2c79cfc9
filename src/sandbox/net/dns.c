/* SPDX-License-Identifier: Apache-2.0 */
/* See dns.h. Every read is checked against the end of the message; a name's pointers only go back. */
#include "sandbox/net/dns.h"

#include <string.h>

#include "base/str.h"
#include "sandbox/net/rule.h"

#define HEADER 12
#define QR     0x8000u
#define TC     0x0200u
#define RD     0x0100u
#define RA     0x0080u

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, (uint16_t)(v >> 16));
	put16(p + 2, (uint16_t)v);
}

/*
 * The name at `at` as text with dots. Returns where the message goes on, or 0. *odd: it has bytes no
 * host name has (text is then unusable). Pointers must lead backwards, so that there is an end.
 */
static size_t read_name(const uint8_t *m, size_t n, size_t at, char *text, bool *odd)
{
	size_t len = 0, next = 0, before = at;

	*odd = false;
	for (;;) {
		uint8_t c;

		if (at >= n)
			return 0;
		c = m[at];
		if ((c & 0xc0) == 0xc0) {
			size_t to;

			if (at + 2 > n)
				return 0;
			to = get16(m + at) & 0x3fff;
			if (!next)
				next = at + 2;
			if (to >= before)
				return 0;
			before = at = to;
			continue;
		}
		if (c & 0xc0)
			return 0;
		at++;
		if (c == 0)
			break;
		if (at + c > n || len + c + 1 > 254)
			return 0;
		for (size_t i = 0; i < c; i++) {
			char b = (char)m[at + i];

			*odd |= b == '.' || b <= ' ' || b > '~';
			text[len++] = b;
		}
		text[len++] = '.';
		at += c;
	}
	text[len ? len - 1 : 0] = 0;
	return next ? next : at;
}

static void find_edns(const uint8_t *m, size_t n, struct rein_dns_question *q)
{
	size_t at = q->end;
	unsigned extra = get16(m + 10);

	if (get16(m + 6) || get16(m + 8))
		return; /* a question with answers in it */
	for (unsigned i = 0; i < extra && i < 8; i++) {
		char text[REIN_NET_NAME];
		bool odd;

		at = read_name(m, n, at, text, &odd);
		if (!at || at + 10 > n)
			return;
		if (get16(m + at) == REIN_DNS_OPT) {
			uint16_t size = get16(m + at + 2);

			q->edns = true;
			q->udp_size = size < REIN_DNS_UDP ? REIN_DNS_UDP
				      : size > REIN_DNS_MAX ? REIN_DNS_MAX
							    : size;
		}
		at += 10 + (size_t)get16(m + at + 8);
		if (at > n)
			return;
	}
}

int rein_dns_read_question(const uint8_t *m, size_t n, struct rein_dns_question *ret)
{
	char text[REIN_NET_NAME];
	bool odd;
	size_t at;

	memset(ret, 0, sizeof(*ret));
	ret->udp_size = REIN_DNS_UDP;
	if (n < HEADER || get16(m + 2) & QR)
		return -1;
	ret->id = get16(m);
	ret->recurse = get16(m + 2) & RD;
	ret->end = HEADER;
	if (get16(m + 2) & 0x7800)
		return REIN_DNS_NOTIMP;
	if (get16(m + 4) != 1)
		return REIN_DNS_FORMERR;
	at = read_name(m, n, HEADER, text, &odd);
	if (!at || at + 4 > n)
		return REIN_DNS_FORMERR;
	ret->type = get16(m + at);
	ret->class = get16(m + at + 2);
	ret->end = at + 4;
	if (odd || !rein_name_normal(text, strlen(text), ret->name))
		ret->name[0] = 0;
	find_edns(m, n, ret);
	return ret->class == 1 ? REIN_DNS_OK : REIN_DNS_NOTIMP;
}

/* Labels of a normal name; the room was checked by its length. */
static size_t put_name(const char *name, uint8_t *to)
{
	size_t at = 0;

	while (*name) {
		size_t n = strcspn(name, ".");

		to[at++] = (uint8_t)n;
		memcpy(to + at, name, n);
		at += n;
		name += n + (name[n] == '.');
	}
	to[at++] = 0;
	return at;
}

/* A record whose owner is the question's name. */
static size_t put_record(uint8_t *to, uint16_t type, uint32_t ttl, const void *data, size_t n)
{
	put16(to, 0xc000 | HEADER);
	put16(to + 2, type);
	put16(to + 4, 1);
	put32(to + 6, ttl);
	put16(to + 10, (uint16_t)n);
	memcpy(to + 12, data, n);
	return 12 + n;
}

static size_t put_edns(uint8_t *to, const char *blocked)
{
	size_t n = blocked ? strlen(blocked) : 0;

	n = n > 200 ? 200 : n;
	memset(to, 0, 11);
	put16(to + 1, REIN_DNS_OPT);
	put16(to + 3, REIN_DNS_MAX);
	if (!blocked)
		return 11;
	put16(to + 9, (uint16_t)(6 + n));
	put16(to + 11, 15); /* extended error */
	put16(to + 13, (uint16_t)(2 + n));
	put16(to + 15, 15); /* blocked */
	memcpy(to + 17, blocked, n);
	return 17 + n;
}

size_t rein_dns_write_answer(const uint8_t *question, size_t n, const struct rein_dns_question *q,
			     const struct rein_dns_answer *a, uint8_t *to, size_t max)
{
	uint8_t name[256];
	size_t at = q->end;

	/* question, one record, EDNS: all of it fits or nothing is written */
	if (q->end < HEADER || q->end > n || q->end + 12 + 256 + 220 > max)
		return 0;
	memcpy(to, question, q->end);
	put16(to + 2, (uint16_t)(QR | RA | (q->recurse ? RD : 0) | a->rcode));
	put16(to + 4, q->end > HEADER);
	put16(to + 6, 0);
	put16(to + 8, 0);
	put16(to + 10, 0);
	if (a->rcode == REIN_DNS_OK && a->address) {
		bool four = q->type == REIN_DNS_A;

		at += put_record(to + at, q->type, a->ttl, a->address->b + (four ? 12 : 0),
				 four ? 4 : 16);
		put16(to + 6, 1);
	} else if (a->rcode == REIN_DNS_OK && a->pointer && strlen(a->pointer) < 254) {
		at += put_record(to + at, REIN_DNS_PTR, a->ttl, name, put_name(a->pointer, name));
		put16(to + 6, 1);
	}
	if (q->edns) {
		at += put_edns(to + at, a->blocked);
		put16(to + 10, 1);
	}
	return at;
}

size_t rein_dns_write_question(const char *name, uint16_t type, uint16_t id, uint8_t *to, size_t max)
{
	size_t at = HEADER;

	if (strlen(name) > 253 || max < HEADER + 255 + 4 + 11)
		return 0;
	memset(to, 0, HEADER);
	put16(to, id);
	put16(to + 2, RD);
	put16(to + 4, 1);
	put16(to + 10, 1);
	at += put_name(name, to + at);
	put16(to + at, type);
	put16(to + at + 2, 1);
	at += 4;
	memset(to + at, 0, 11);
	put16(to + at + 1, REIN_DNS_OPT);
	put16(to + at + 3, 1232);
	return at + 11;
}

/* One record of a reply. */
struct record {
	char owner[REIN_NET_NAME];
	uint16_t type, class;
	uint32_t ttl;
	size_t data, n, next;
};

static bool read_record(const uint8_t *m, size_t n, size_t at, struct record *r)
{
	char text[REIN_NET_NAME];
	bool odd;

	at = read_name(m, n, at, text, &odd);
	if (!at || at + 10 > n)
		return false;
	if (odd || !rein_name_normal(text, strlen(text), r->owner))
		r->owner[0] = 0;
	r->type = get16(m + at);
	r->class = get16(m + at + 2);
	r->ttl = get32(m + at + 4);
	r->n = get16(m + at + 8);
	r->data = at + 10;
	r->next = r->data + r->n;
	return r->next <= n;
}

/* Take what belongs to `want`; a CNAME changes it. True if it did. */
static bool follow(const uint8_t *m, size_t n, size_t at, unsigned count, uint16_t type, char *want,
		   struct rein_dns_reply *ret)
{
	struct record r;

	for (unsigned i = 0; i < count && read_record(m, n, at, &r); i++, at = r.next) {
		char text[REIN_NET_NAME];
		bool odd;

		if (r.class != 1 || !r.owner[0] || !rein_streq(r.owner, want))
			continue;
		ret->ttl = r.ttl < ret->ttl ? r.ttl : ret->ttl;
		if (r.type == REIN_DNS_CNAME && read_name(m, n, r.data, text, &odd) && !odd &&
		    rein_name_normal(text, strlen(text), want))
			return true;
		if (r.type != type || r.n != (type == REIN_DNS_A ? 4u : 16u) ||
		    ret->n == REIN_DNS_ADDRESSES)
			continue;
		if (type == REIN_DNS_A)
			ret->v[ret->n++] = rein_addr_v4(get32(m + r.data));
		else
			memcpy(ret->v[ret->n++].b, m + r.data, 16);
	}
	return false;
}

bool rein_dns_read_reply(const uint8_t *m, size_t n, const char *name, uint16_t type, uint16_t id,
			 struct rein_dns_reply *ret)
{
	char want[REIN_NET_NAME], text[REIN_NET_NAME];
	bool odd;
	size_t at;

	memset(ret, 0, sizeof(*ret));
	ret->ttl = UINT32_MAX;
	if (n < HEADER || get16(m) != id || !(get16(m + 2) & QR) || get16(m + 4) != 1)
		return false;
	at = read_name(m, n, HEADER, text, &odd);
	if (!at || at + 4 > n || odd || !rein_name_normal(text, strlen(text), want) ||
	    !rein_streq(want, name) || get16(m + at) != type || get16(m + at + 2) != 1)
		return false;
	at += 4;
	ret->rcode = (enum rein_dns_rcode)(m[3] & 15);
	ret->truncated = get16(m + 2) & TC;
	for (int hops = 0; hops < 16; hops++)
		if (!follow(m, n, at, get16(m + 6), type, want, ret))
			break;
	return true;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool reverse6(const char *name, struct rein_addr *ret)
{
	for (int i = 31; i >= 0; i--, name += 2) {
		int v = hex(name[0]);

		if (v < 0 || name[1] != '.')
			return false;
		ret->b[i / 2] = (uint8_t)(i % 2 ? v : ret->b[i / 2] | v << 4);
	}
	return rein_streq(name, "ip6.arpa");
}

static bool reverse4(const char *name, struct rein_addr *ret)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++) {
		unsigned byte = 0, digits = 0;

		for (; *name >= '0' && *name <= '9' && digits < 3; name++, digits++)
			byte = byte * 10 + (unsigned)(*name - '0');
		if (!digits || byte > 255 || *name++ != '.')
			return false;
		v |= byte << 8 * i;
	}
	*ret = rein_addr_v4(v);
	return rein_streq(name, "in-addr.arpa");
}

bool rein_dns_reverse(const char *name, struct rein_addr *ret)
{
	return strlen(name) == 72 ? reverse6(name, ret) : reverse4(name, ret);
}
