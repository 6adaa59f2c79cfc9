/* SPDX-License-Identifier: Apache-2.0 */
/* Of what is taken for an index, the times it remembers change nothing, and the modes do; and it has the names it says. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/gitindex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool count(void *arg, const char *name)
{
	(void)name;
	++*(uint64_t *)arg;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	enum { FIRST = 12, MODE = FIRST + 24 }; /* the first entry; its mode behind two times, device and number */
	uint8_t said[REIN_GITINDEX_DIGEST], again[REIN_GITINDEX_DIGEST];
	uint64_t names = 0;
	char *copy;

	/* (one of version 4 may cut more than there is: then it has none) */
	if (rein_gitindex_names((struct rein_str){(const char *)data, n}, count, &names))
		assert(names == ((uint64_t)data[8] << 24 | (uint64_t)data[9] << 16 | (uint64_t)data[10] << 8 | data[11]));
	if (!rein_gitindex_digest((struct rein_str){(const char *)data, n}, said) || !data[11])
		return 0;
	copy = malloc(n);
	assert(copy);
	memcpy(copy, data, n);
	memset(copy + FIRST, 0x5a, 24);
	assert(rein_gitindex_digest((struct rein_str){copy, n}, again) && memcmp(said, again, sizeof(said)) == 0);
	copy[MODE + 3] ^= 1;
	assert(rein_gitindex_digest((struct rein_str){copy, n}, again) && memcmp(said, again, sizeof(said)) != 0);
	free(copy);
	return 0;
}
