/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan's bytes: everything that was decided, laid out as plan.h says. What is mounted is found in
 * plan_items.c.
 */
#include "sandbox/plan.h"

#include <linux/seccomp.h>

#include "base/auto.h"
#include "base/buf.h"
#include "sandbox/net/netlink.h"
#include "sandbox/plan_items.h"
#include "sys/umask.h"

/* Append a string, return its offset. */
static uint32_t put(struct rein_buf *b, const char *s)
{
	uint32_t at = (uint32_t)b->n;

	if (!s)
		return 0;
	rein_buf_add(b, s, strlen(s) + 1);
	return at;
}

static void put_words(struct rein_buf *b, uint32_t at, char **words)
{
	for (uint64_t i = 0; words[i]; i++) {
		uint64_t offset = put(b, words[i]);

		if (b->failed)
			return;
		memcpy(b->p + at + i * sizeof(offset), &offset, sizeof(offset));
	}
}

/* Room for n bytes of zeroes, aligned to 8; returns the offset. */
static uint32_t reserve(struct rein_buf *b, size_t n)
{
	static const char zero[4096];
	uint32_t at;

	rein_buf_add(b, zero, (8 - b->n % 8) % 8);
	at = (uint32_t)b->n;
	for (; n; n -= n < sizeof(zero) ? n : sizeof(zero))
		rein_buf_add(b, zero, n < sizeof(zero) ? n : sizeof(zero));
	return at;
}

static uint32_t count(char **words)
{
	uint32_t n = 0;

	while (words && words[n])
		n++;
	return n;
}

static const char *search_path(char **envp)
{
	for (; envp && *envp; envp++)
		if (rein_starts(*envp, "PATH="))
			return *envp + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

static void put_mounts(struct rein_buf *b, const struct rein_planitems *l, uint32_t at, uint32_t *n)
{
	for (size_t i = 0; i < l->n && !b->failed; i++) {
		const struct rein_planitem *it = &l->v[i];
		struct rein_plan_mount m = {.kind = it->kind, .flags = it->flags};

		if (it->dropped)
			continue;
		m.target = put(b, it->target);
		m.source = put(b, it->source);
		m.upper = put(b, it->upper);
		m.work = put(b, it->work);
		m.mask = put(b, it->mask);
		if (!b->failed)
			memcpy(b->p + at + (*n)++ * sizeof(m), &m, sizeof(m));
	}
}

/* What gives the box's network namespace its routes and rules, in this order. */
static const struct {
	enum rein_netlink_set set;
	uint32_t socket, flags;
} batches[] = {
	{REIN_NETLINK_ROUTE4, REIN_SOCKET_ROUTE, 0},
	{REIN_NETLINK_ROUTE6, REIN_SOCKET_ROUTE, REIN_BATCH_OPTIONAL},
	{REIN_NETLINK_LARGE, REIN_SOCKET_ROUTE, REIN_BATCH_OPTIONAL},
	{REIN_NETLINK_RULES, REIN_SOCKET_RULES, 0},
	{REIN_NETLINK_LOG_BIND, REIN_SOCKET_LOG, REIN_BATCH_OPTIONAL},
	{REIN_NETLINK_QUEUE_BIND, REIN_SOCKET_QUEUE, REIN_BATCH_OPTIONAL},
	/* The older target first: asking for an expression the kernel lacks costs 15 ms. */
	{REIN_NETLINK_HOLD_COMPAT, REIN_SOCKET_RULES, REIN_BATCH_OPTIONAL | REIN_BATCH_HOLD},
	{REIN_NETLINK_HOLD, REIN_SOCKET_RULES, REIN_BATCH_OPTIONAL | REIN_BATCH_HOLD},
};

static void put_batch(struct rein_buf *b, uint32_t at, uint32_t i)
{
	struct rein_plan_batch x = {.socket = batches[i].socket, .flags = batches[i].flags};

	x.at = reserve(b, 0);
	x.answers = rein_netlink_put(b, batches[i].set);
	x.size = (uint32_t)b->n - x.at;
	if (!b->failed)
		memcpy(b->p + at + i * sizeof(x), &x, sizeof(x));
}

static int lay_out(const struct rein_planitems *l, const struct rein_box_spec *spec,
		   const struct rein_plan_setup *setup, struct rein_buf *b, struct rein_err *err)
{
	static char *no_words[] = {NULL};
	char **envp = spec->envp ? spec->envp : no_words;
	struct rein_plan p = {
		.magic = REIN_PLAN_MAGIC,
		.flags = setup->flags,
		.uid = setup->uid,
		.gid = setup->gid,
		.tty_mask = setup->tty_mask,
		.sample_ms = setup->sample_ms,
		.caps = spec->caps,
		.nrlimits = setup->nrlimits,
		.umask = rein_umask(),
		.window = setup->window,
		.nargv = count(spec->argv),
		.nenvp = count(envp),
		.nfilter = setup->nfilter,
	};

	memcpy(p.rlimits, setup->rlimits, sizeof(p.rlimits));
	memcpy(p.termios, setup->termios, sizeof(p.termios));
	reserve(b, sizeof(p));
	p.mounts = reserve(b, l->n * sizeof(struct rein_plan_mount));
	p.nbatches = setup->flags & REIN_PLAN_GATE ? ARRAY_SIZE(batches) : 0;
	p.batches = reserve(b, p.nbatches * sizeof(struct rein_plan_batch));
	p.argv = reserve(b, (p.nargv + 1) * sizeof(uint64_t));
	p.envp = reserve(b, (p.nenvp + 1) * sizeof(uint64_t));
	p.filter = reserve(b, 0);
	rein_buf_add(b, setup->filter, setup->nfilter * sizeof(*setup->filter));
	for (uint32_t i = 0; i < p.nbatches; i++)
		put_batch(b, p.batches, i);
	put_mounts(b, l, p.mounts, &p.nmounts);
	put_words(b, p.argv, spec->argv);
	put_words(b, p.envp, envp);
	p.cwd = put(b, spec->cwd);
	p.search = put(b, search_path(envp));
	p.hostname = put(b, l->hostname);
	p.size = (uint32_t)b->n;
	if (b->failed)
		return rein_err_set(err, REIN_E_LIMIT,
				    "out of memory, or the command line, environment and paths are "
				    "together over %u MiB", REIN_PLAN_MAX >> 20);
	memcpy(b->p, &p, sizeof(p));
	if (!rein_plan_valid(b->p, b->n))
		return rein_err_set(err, REIN_E_LIMIT,
				    "the box is too large: at most %u mounts, %u of them copied or "
				    "copy-on-write, and absolute paths below %u bytes",
				    REIN_PLAN_MOUNTS, REIN_PLAN_KEPT, REIN_PLAN_PATHLEN);
	return 0;
}

int rein_plan_build(const struct rein_box_spec *spec, const struct rein_plan_setup *setup,
		    struct rein_plan **ret, struct rein_err *err)
{
	auto_(rein_planitems_done_) struct rein_planitems l = {0};
	auto_(rein_mounts_done) struct rein_mounts read = {0};
	const struct rein_mounts *mounts = spec->mounts ? spec->mounts : &read;
	auto_buf struct rein_buf b = REIN_BUF(REIN_PLAN_MAX - 1);

	if (!spec->argv || !spec->argv[0] || !spec->cwd)
		return rein_err_set(err, REIN_E_USAGE, "no command to run");
	if (!spec->mounts && rein_mounts_read(NULL, &read, err) < 0)
		return -err->code;
	if (rein_planitems_find_(&l, spec, setup, mounts, err) < 0 || lay_out(&l, spec, setup, &b, err) < 0)
		return -err->code;
	*ret = (struct rein_plan *)rein_buf_take(&b);
	return 0;
}

int rein_plan_build_guest(char **argv, char **envp, const char *cwd, const struct rein_plan_setup *setup,
			  struct rein_plan **ret, struct rein_err *err)
{
	/* a plan has a filter; this one is never installed, and if it were nothing would run */
	static const struct sock_filter nothing = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS};
	const struct rein_box_spec spec = {.argv = argv, .envp = envp, .cwd = cwd};
	const struct rein_planitems none = {.hostname = "box"}; /* it has its name already */
	struct rein_plan_setup guest = {.tty_mask = setup->tty_mask, .window = setup->window,
					.filter = &nothing, .nfilter = 1};
	auto_buf struct rein_buf b = REIN_BUF(REIN_PLAN_MAX - 1);

	memcpy(guest.termios, setup->termios, sizeof(guest.termios));
	if (!argv || !argv[0] || !cwd)
		return rein_err_set(err, REIN_E_USAGE, "no command to run");
	if (lay_out(&none, &spec, &guest, &b, err) < 0)
		return -err->code;
	*ret = (struct rein_plan *)rein_buf_take(&b);
	return 0;
}
