/* SPDX-License-Identifier: Apache-2.0 */
/* The heap, with a switch that makes allocations fail on command. */
#define REIN_ALLOC_IMPL
#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long fault_at;

void rein_fault_alloc(unsigned long n)
{
	fault_at = n;
}

static int fault(void)
{
	if (!fault_at)
		return 0;
	if (fault_at == 1)
		return 1;
	fault_at--;
	return 0;
}

void *rein_alloc(size_t size)
{
	return fault() ? NULL : calloc(1, size ? size : 1);
}

void *rein_calloc(size_t n, size_t size)
{
	return fault() ? NULL : calloc(n ? n : 1, size ? size : 1);
}

void *rein_realloc(void *p, size_t n, size_t size)
{
	if (fault() || (size && n > SIZE_MAX / size))
		return NULL;
	return realloc(p, n && size ? n * size : 1);
}

char *rein_strndup(const char *s, size_t n)
{
	char *p = rein_alloc(n + 1);

	if (p)
		memcpy(p, s, n);
	return p;
}

char *rein_strdup(const char *s)
{
	return rein_strndup(s, strlen(s));
}

char *rein_asprintf(const char *fmt, ...)
{
	va_list ap;
	char *p = NULL;
	int n;

	if (fault())
		return NULL;
	va_start(ap, fmt);
	n = vasprintf(&p, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : p;
}

char *rein_path_join(const char *dir, const char *rest)
{
	return *rest ? rein_asprintf("%s/%s", strcmp(dir, "/") ? dir : "", rest) : rein_strdup(dir);
}

void rein_free(void *p)
{
	free(p);
}

int rein_grow_(void **v, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap * 2 : 16;
	void *p;

	if (n < *cap)
		return 0;
	p = rein_realloc(*v, want, size);
	if (!p)
		return -1;
	*v = p;
	*cap = want;
	return 0;
}
