/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only door to the heap, so that tests can make any allocation fail. All return NULL on
 * failure (or when the size overflows); rein_free accepts NULL.
 */
#ifndef REIN_BASE_ALLOC_H
#define REIN_BASE_ALLOC_H

#include <stddef.h>

void *rein_alloc(size_t size) __attribute__((malloc, warn_unused_result)); /* zeroed */
void *rein_calloc(size_t n, size_t size) __attribute__((malloc, warn_unused_result));
void *rein_realloc(void *p, size_t n, size_t size) __attribute__((warn_unused_result));
char *rein_strdup(const char *s) __attribute__((malloc, warn_unused_result));
char *rein_strndup(const char *s, size_t n) __attribute__((malloc, warn_unused_result));
char *rein_asprintf(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), warn_unused_result));
/* "/" and "a" are "/a"; with nothing behind it a directory is itself. */
char *rein_path_join(const char *dir, const char *rest) __attribute__((warn_unused_result));
void rein_free(void *p);

/* Test hook: the n-th allocation from now (1 = next) and all after it fail; 0 disarms. */
void rein_fault_alloc(unsigned long n);

/*
 * Make room for one more element in a growing array: (v, n, cap) stay consistent on failure.
 * Evaluates to 0, or -1 when out of memory.
 */
#define rein_grow(v, n, cap) rein_grow_((void **)&(v), (n), &(cap), sizeof(*(v)))
int rein_grow_(void **v, size_t n, size_t *cap, size_t size);

#endif
