/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor's half of the plan: is this block of memory one? After a yes every offset leads to a
 * terminated string or a whole array inside the block, every path is absolute and every kind known.
 * Linked into the executor: no heap, no system call.
 */
#include "sandbox/plan.h"

#include <string.h>

/* An array of n elements at offset, wholly inside and aligned; n is checked against max first. */
static bool array_ok(const struct rein_plan *p, uint32_t at, uint32_t n, uint32_t max, size_t size,
		     size_t align)
{
	if (n > max || at % align)
		return false;
	return n == 0 || (at >= sizeof(*p) && at <= p->size && (p->size - at) / size >= n);
}

/* The block ends with a NUL, so that any offset inside begins a terminated string. */
static bool string_ok(const struct rein_plan *p, uint64_t at)
{
	return at >= sizeof(*p) && at < p->size;
}

static bool path_ok(const struct rein_plan *p, uint32_t at)
{
	const char *s = (const char *)p + at;

	return string_ok(p, at) && s[0] == '/' && strnlen(s, REIN_PLAN_PATHLEN + 1) <= REIN_PLAN_PATHLEN;
}

static bool mount_ok(const struct rein_plan *p, const struct rein_plan_mount *m)
{
	if (m->flags & ~(uint32_t)REIN_MOUNT_FLAGS || !path_ok(p, m->target))
		return false;
	if (m->flags & (REIN_MOUNT_GIVEN | REIN_MOUNT_LENT) && m->kind != REIN_MOUNT_OVERLAY)
		return false;
	switch (m->kind) {
	case REIN_MOUNT_OVERLAY:
		return path_ok(p, m->source) && path_ok(p, m->upper) && path_ok(p, m->work) &&
		       (!m->mask || path_ok(p, m->mask));
	case REIN_MOUNT_BIND:
		return path_ok(p, m->source);
	case REIN_MOUNT_TEXT:
		return string_ok(p, m->source);
	case REIN_MOUNT_PRIVATE:
		return string_ok(p, m->source) && ((const char *)p)[m->source] &&
		       !strchr((const char *)p + m->source, '/') &&
		       ((const char *)p)[m->source] != '.';
	default:
		return m->kind > REIN_MOUNT_NONE && m->kind < REIN_MOUNT__MAX;
	}
}

static bool batch_ok(const struct rein_plan *p, const struct rein_plan_batch *b)
{
	return b->socket < REIN_SOCKET__MAX && !(b->flags & ~(uint32_t)REIN_BATCH_FLAGS) && b->size &&
	       array_ok(p, b->at, b->size, 65536, 1, sizeof(uint32_t));
}

static bool words_ok(const struct rein_plan *p, uint32_t at, uint32_t n)
{
	const uint64_t *words;

	/* One more than n: the array ends with a zero. */
	if (n >= REIN_PLAN_WORDS ||
	    !array_ok(p, at, n + 1, REIN_PLAN_WORDS, sizeof(*words), sizeof(*words)))
		return false;
	words = (const uint64_t *)((const char *)p + at);
	for (uint32_t i = 0; i < n; i++)
		if (!string_ok(p, words[i]))
			return false;
	return words[n] == 0;
}

bool rein_plan_valid(const void *memory, size_t size)
{
	const struct rein_plan *p = memory;
	uint32_t kept = 0, lent = 0;

	if (size < sizeof(*p) || size > REIN_PLAN_MAX || p->magic != REIN_PLAN_MAGIC ||
	    p->size != size || ((const char *)memory)[size - 1] != 0)
		return false;
	if (p->flags & ~(uint32_t)REIN_PLAN_FLAGS || p->tty_mask > 7 || p->nargv == 0 ||
	    p->nrlimits > REIN_PLAN_RLIMITS || p->umask > 0777)
		return false;
	if (!array_ok(p, p->mounts, p->nmounts, REIN_PLAN_MOUNTS, sizeof(struct rein_plan_mount),
		      sizeof(uint32_t)) ||
	    !array_ok(p, p->filter, p->nfilter, BPF_MAXINSNS, sizeof(struct sock_filter),
		      sizeof(uint32_t)) ||
	    !words_ok(p, p->argv, p->nargv) || !words_ok(p, p->envp, p->nenvp))
		return false;
	if (!array_ok(p, p->batches, p->nbatches, REIN_PLAN_BATCHES, sizeof(struct rein_plan_batch),
		      sizeof(uint32_t)))
		return false;
	for (uint32_t i = 0; i < p->nbatches; i++)
		if (!batch_ok(p, &rein_plan_batches(p)[i]))
			return false;
	if (p->nfilter == 0 || !path_ok(p, p->cwd) || !string_ok(p, p->hostname) ||
	    !string_ok(p, p->search))
		return false;
	for (uint32_t i = 0; i < p->nmounts; i++) {
		const struct rein_plan_mount *m = &rein_plan_mounts(p)[i];

		if (!mount_ok(p, m))
			return false;
		kept += m->kind == REIN_MOUNT_OVERLAY || m->kind == REIN_MOUNT_BIND;
		lent += (m->flags & (REIN_MOUNT_GIVEN | REIN_MOUNT_LENT)) != 0;
	}
	if (p->flags & REIN_PLAN_PIVOT &&
	    (p->nmounts == 0 || rein_plan_mounts(p)[0].kind != REIN_MOUNT_OVERLAY))
		return false;
	return kept <= REIN_PLAN_KEPT && lent <= 1;
}
