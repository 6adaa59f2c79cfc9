/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a repository's files say, a path taken from them is one line of them and no more. */
#include <assert.h>
#include <limits.h>
#include <stdint.h>

#include "sandbox/gitdir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void one_line(struct rein_str text, struct rein_str s)
{
	assert(s.n > 0 && s.n < PATH_MAX && s.p >= text.p && s.p + s.n <= text.p + text.n);
	assert(!memchr(s.p, '\n', s.n) && !memchr(s.p, '\0', s.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct rein_str text = {(const char *)data, n}, s;
	char value[64];

	if (rein_gitdir_parse_link(text, &s))
		one_line(text, s);
	if (rein_gitdir_parse_path(text, &s))
		one_line(text, s);
	memset(value, 'x', sizeof(value));
	if (rein_gitdir_parse_worktree(text, value, sizeof(value))) {
		size_t len = strnlen(value, sizeof(value));

		assert(len > 0 && len < sizeof(value) && !strchr(value, '\n'));
	}
	return 0;
}
