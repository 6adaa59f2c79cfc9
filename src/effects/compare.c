/* SPDX-License-Identifier: Apache-2.0 */
/* Content and attributes of a pair. */
#include "effects/compare.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "model/change.h"
#include "sys/attr.h"
#include "sys/file.h"

static int same_link(const struct rein_pair *p)
{
	char a[4097], b[4097];
	ssize_t n = readlinkat(p->upper, p->upper_name, a, sizeof(a));
	ssize_t m = readlinkat(p->real, p->real_name, b, sizeof(b));

	return n >= 0 && n == m && memcmp(a, b, (size_t)n) == 0;
}

int rein_pair_same(const struct rein_pair *p, const struct rein_fp *up, const struct rein_fp *real,
		   struct rein_err *err)
{
	auto_close int a = -1, b = -1;

	if (S_ISLNK(up->mode))
		return same_link(p);
	if (!S_ISREG(up->mode))
		return up->rdev == real->rdev;
	if (up->size != real->size)
		return 0;
	/* the access time is evidence: see escaped() in scan.c */
	a = rein_open_quiet(p->upper, p->upper_name);
	b = rein_open_quiet(p->real, p->real_name);
	if (a < 0 || b < 0) {
		/* our own file, kept from us by its mode: come again with the right to it */
		if (errno != EACCES || up->uid == geteuid())
			return rein_err_errno(err, "compare '%s'", p->upper_name);
		return up->mtime_ns == real->mtime_ns;
	}
	return rein_file_same_data(a, b, err);
}

static uint8_t what_of(unsigned differ)
{
	return (uint8_t)((differ & REIN_ATTR_MODE ? REIN_WHAT_MODE : 0) |
			 (differ & REIN_ATTR_OWNER ? REIN_WHAT_OWNER : 0) |
			 (differ & REIN_ATTR_MTIME ? REIN_WHAT_TIMES : 0) |
			 (differ & REIN_ATTR_XATTR ? REIN_WHAT_XATTR : 0));
}

int rein_pair_attrs(const struct rein_pair *p, uint8_t *ret, struct rein_err *err)
{
	auto_(rein_attrs_done) struct rein_attrs x = {0}, y = {0};

	if (rein_attrs_read(p->upper, p->upper_name, &x, err) < 0 ||
	    rein_attrs_read(p->real, p->real_name, &y, err) < 0)
		return -err->code;
	*ret = what_of(rein_attrs_differ(&x, &y));
	return 0;
}
