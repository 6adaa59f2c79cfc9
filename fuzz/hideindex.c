/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index file with a right checksum and anything else in it: what is accepted is one tree, whose
 * every string and match lies inside the file.
 */
#include <assert.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/str.h"
#include "sandbox/hideindex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_tree(const struct rein_hideindex *x, size_t n)
{
	uint32_t children = 0;

	for (uint32_t i = 0; i < x->ndirs; i++) {
		const struct rein_hidedir *d = &x->dirs[i];

		assert(strlen(x->strings + d->path) < n);
		for (uint32_t c = 0; c < d->nchild; c++)
			assert(x->dirs[d->first_child + c].parent == i);
		children += d->nchild;
		for (uint32_t m = 0; m < d->nmatch; m++)
			assert(strlen(x->strings + x->matches[d->first_match + m].name) < n);
	}
	assert(children + 1 == x->ndirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const size_t rules_at = 16, nstrings_at = 36, real_at = 40;
	auto_free char *copy = rein_alloc(n ? n : 1);
	struct rein_hideindex x = {0};
	uint64_t rules;
	uint32_t nstrings, real;

	if (n < 48)
		return rein_hideindex_parse(data, n, 0, "", &x) ? 1 : 0;
	if (!copy)
		return 0;
	memcpy(copy, data, n);
	assert(!rein_hideindex_parse(copy, n, 0, "/not/the/tree", &x));
	rein_hideindex_seal(copy, n);
	memcpy(&rules, copy + rules_at, sizeof(rules));
	memcpy(&nstrings, copy + nstrings_at, sizeof(nstrings));
	memcpy(&real, copy + real_at, sizeof(real));
	/* the tree's own name, if there is one where the file says */
	if (nstrings > n || real >= nstrings || copy[n - 1] != '\0')
		assert(!rein_hideindex_parse(copy, n, rules, "x", &x));
	else if (rein_hideindex_parse(copy, n, rules, copy + n - nstrings + real, &x))
		check_tree(&x, n);
	return 0;
}
