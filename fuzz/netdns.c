/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: DNS messages, as a question of the box's and as an answer from outside. What is
 * answered to a question must be readable as its answer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/net/dns.h"
#include "sandbox/net/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct rein_addr a = rein_addr_v4(0x64400101);
	struct rein_dns_answer answer = {.address = &a, .ttl = 1, .blocked = "no"};
	struct rein_dns_question q;
	struct rein_dns_reply r;
	uint8_t out[1024];
	char name[REIN_NET_NAME];
	size_t k;

	if (rein_dns_read_question(data, n, &q) == 0) {
		if (q.end > n || (q.name[0] && (!rein_name_normal(q.name, strlen(q.name), name) ||
						strcmp(name, q.name) != 0)))
			abort();
		k = rein_dns_write_answer(data, n, &q, &answer, out, sizeof(out));
		if (k && q.name[0] && (q.type == REIN_DNS_A || q.type == REIN_DNS_AAAA) &&
		    (!rein_dns_read_reply(out, k, q.name, q.type, q.id, &r) || r.n != 1))
			abort();
	}
	if (n >= 2 && rein_dns_read_reply(data, n, "www.example.org", REIN_DNS_A,
					  (uint16_t)(data[0] << 8 | data[1]), &r) &&
	    r.n > REIN_DNS_ADDRESSES)
		abort();
	return 0;
}
