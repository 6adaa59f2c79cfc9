/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the first bytes of a TLS connection. Once it is decided, more bytes change nothing;
 * and what is not TLS is never waited for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/net/rule.h"
#include "sandbox/net/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char name[REIN_NET_NAME] = "", part[REIN_NET_NAME] = "", normal[REIN_NET_NAME];
	enum rein_tls_result whole = rein_tls_hello(data, n, name), half;

	if (whole == REIN_TLS_NAMED && !rein_name_normal(name, strlen(name), normal))
		abort();
	half = rein_tls_hello(data, n / 2, part);
	if (half != REIN_TLS_MORE && half != whole)
		abort();
	if (half == REIN_TLS_NAMED && strcmp(name, part) != 0)
		abort();
	if (n && data[0] != 22 && whole != REIN_TLS_BAD)
		abort();
	return 0;
}
