/* SPDX-License-Identifier: Apache-2.0 */
/* rein-scan.so: vectorscan's runtime and the set it was given when Rein was built. */
#include <hs/hs_runtime.h>
#include <pthread.h>

#include "base/auto.h"
#include "secret/internal.h"

#define BLOCK ((size_t)1 << 30)

extern const unsigned char rein_scan_db[];
extern const size_t rein_scan_db_n;

static hs_database_t *db;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	if (hs_deserialize_database((const char *)rein_scan_db, rein_scan_db_n, &db) != HS_SUCCESS)
		db = NULL;
}

struct told {
	rein_scan_fn *fn;
	void *arg;
};

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *arg)
{
	struct told *t = arg;

	(void)from;
	(void)flags;
	t->fn(t->arg, id, (size_t)to);
	return 0;
}

static int scan(const char *text, size_t n, rein_scan_fn *fn, void *arg)
{
	struct told t = {fn, arg};
	hs_scratch_t *scratch = NULL;
	hs_error_t rc;

	pthread_once(&once, load);
	if (!db || n >= BLOCK || hs_alloc_scratch(db, &scratch) != HS_SUCCESS)
		return -1;
	rc = hs_scan(db, text, (unsigned)n, 0, scratch, on_match, &t);
	hs_free_scratch(scratch);
	return rc == HS_SUCCESS ? 0 : -1;
}

__attribute__((visibility("default"))) extern const struct rein_scan_module rein_scan_module;
const struct rein_scan_module rein_scan_module = {REIN_SCAN_ABI, scan};
