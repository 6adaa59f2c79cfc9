/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pool.h. A thread of the pool's own starts its boxes and takes away those that are of no use any more,
 * so that nobody waits for either; and they die with it, not with whoever asked for them. The kernel tells of
 * changes to our mounts: a file of theirs that was open becomes urgent, proc(5).
 */
#include "sandbox/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "sandbox/launch.h"
#include "sandbox/situation.h"

#define SITUATION_MAX ((size_t)128 << 10)
/* After a command there is its commit: a new box is made when that had its time. */
#define PATIENCE_NS (3 * 1000000ull)

struct ready {
	struct rein_box *box;
	int mounts; /* opened before it was started */
	struct rein_buf born;
};

struct rein_pool {
	char *program;
	pid_t process;
	pthread_t thread;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t wake;
	unsigned want, n, nstale;
	uint64_t given;
	bool ending;
	struct ready v[REIN_POOL_MAX];	   /* oldest first */
	struct ready stale[REIN_POOL_MAX]; /* to be taken away */
};

static void let_go(struct ready *r)
{
	rein_box_close(take_ptr(r->box));
	rein_closep_(&r->mounts);
	rein_buf_done(&r->born);
}

static bool start_one(const struct rein_pool *p, struct ready *ret)
{
	struct ready r = {.mounts = open("/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC), .born = REIN_BUF(SITUATION_MAX)};
	struct rein_err ignored = {0};

	if (r.mounts >= 0 && rein_situation(&r.born) &&
	    rein_box_open_early(REIN_NET_NONE, p->program, &r.box, &ignored) == 0) {
		*ret = r;
		return true;
	}
	let_go(&r);
	return false;
}

/* With the lock; given back without it meanwhile. False: one could not be started, so try later. */
static bool keep_up(struct rein_pool *p)
{
	while (!p->ending && (p->nstale || p->n < p->want)) {
		struct ready r;
		bool started = false, bury = p->nstale;

		if (bury)
			r = p->stale[--p->nstale];
		pthread_mutex_unlock(&p->lock);
		if (bury)
			let_go(&r);
		else
			started = start_one(p, &r);
		pthread_mutex_lock(&p->lock);
		if (started)
			p->v[p->n++] = r;
		else if (!bury)
			return false;
	}
	return true;
}

static void rest(struct rein_pool *p, uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ns;
	until.tv_sec += until.tv_nsec / (long)REIN_NS_PER_S;
	until.tv_nsec %= (long)REIN_NS_PER_S;
	while (!p->ending && pthread_cond_timedwait(&p->wake, &p->lock, &until) != ETIMEDOUT)
		;
}

static void *attend(void *arg)
{
	struct rein_pool *p = arg;

	pthread_mutex_lock(&p->lock);
	keep_up(p);
	while (!p->ending) {
		pthread_cond_wait(&p->wake, &p->lock);
		rest(p, PATIENCE_NS);
		keep_up(p);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int begin(struct rein_pool *p)
{
	pthread_condattr_t clock;
	sigset_t all, old;
	int rc;

	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&p->wake, &clock);
	pthread_condattr_destroy(&clock);
	/* signals are for the threads of whoever we serve */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&p->thread, NULL, attend, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int rein_pool_new(unsigned n, const char *box_program, struct rein_pool **ret, struct rein_err *err)
{
	struct rein_pool *p;
	int rc;

	if (n > REIN_POOL_MAX)
		return rein_err_set(err, REIN_E_USAGE, "%u boxes at once, of at most %d", n, REIN_POOL_MAX);
	p = rein_alloc(sizeof(*p));
	if (!p)
		return rein_err_nomem(err);
	*p = (struct rein_pool){.program = rein_strdup(box_program), .process = getpid(), .want = n};
	rc = p->program ? begin(p) : ENOMEM;
	if (rc != 0) {
		rein_free(p->program);
		rein_free(p);
		errno = rc;
		return rein_err_errno(err, "thread of the pool");
	}
	*ret = p;
	return 0;
}

static bool mounts_moved(const struct ready *r)
{
	struct pollfd fd = {.fd = r->mounts, .events = POLLPRI};

	return poll(&fd, 1, 0) != 0;
}

/* [P1] */
static bool as_new(const struct ready *r, const struct rein_buf *now)
{
	return !mounts_moved(r) && r->born.n == now->n && memcmp(r->born.p, now->p, now->n) == 0 &&
	       rein_box_lives(r->box);
}

/* Those it will be given; a new one finds out for itself that there are none. */
static bool has_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			return false;
	return true;
}

/* With the lock. */
static struct rein_box *oldest(struct rein_pool *p, enum rein_net net, const struct rein_buf *now)
{
	struct rein_box *box = NULL;

	while (p->n && !box) {
		struct ready *r = &p->v[0];

		if (as_new(r, now)) {
			if (!rein_box_fits(r->box, net))
				return NULL; /* for another network: it waits on */
			box = take_ptr(r->box);
		}
		if (p->nstale == REIN_POOL_MAX)
			let_go(&p->stale[--p->nstale]);
		p->stale[p->nstale++] = *r;
		memmove(p->v, p->v + 1, --p->n * sizeof(p->v[0]));
	}
	return box;
}

struct rein_box *rein_pool_take(struct rein_pool *p, enum rein_net net)
{
	auto_buf struct rein_buf now = REIN_BUF(SITUATION_MAX);
	struct rein_box *box;

	if (!p || p->process != getpid() || !has_streams() || !rein_situation(&now))
		return NULL;
	pthread_mutex_lock(&p->lock);
	box = oldest(p, net, &now);
	p->given += box != NULL;
	pthread_mutex_unlock(&p->lock);
	return box;
}

void rein_pool_fill(struct rein_pool *p)
{
	if (!p || p->process != getpid())
		return;
	pthread_mutex_lock(&p->lock);
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

unsigned rein_pool_ready(struct rein_pool *p)
{
	unsigned n;

	pthread_mutex_lock(&p->lock);
	n = p->n;
	pthread_mutex_unlock(&p->lock);
	return n;
}

uint64_t rein_pool_given(struct rein_pool *p)
{
	uint64_t given;

	pthread_mutex_lock(&p->lock);
	given = p->given;
	pthread_mutex_unlock(&p->lock);
	return given;
}

void rein_pool_free(struct rein_pool *p)
{
	if (!p || p->process != getpid())
		return; /* a copy of another process's: neither thread nor boxes are ours */
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	for (unsigned i = 0; i < p->n; i++)
		let_go(&p->v[i]);
	for (unsigned i = 0; i < p->nstale; i++)
		let_go(&p->stale[i]);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	rein_free(p->program);
	rein_free(p);
}
