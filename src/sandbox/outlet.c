/* SPDX-License-Identifier: Apache-2.0 */
/* See outlet.h. */
#include "sandbox/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"

/* A pipe that polls writable takes this much without blocking. */
#define CHUNK 4096

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int open_pipe(struct rein_outlet *o, int number, struct rein_err *err)
{
	int fds[2], high;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return rein_err_errno(err, "pipe for the command's output");
	high = fcntl(fds[1], F_DUPFD_CLOEXEC, 10); /* clear of the numbers the executor expects */
	close(fds[1]);
	if (high < 0) {
		close(fds[0]);
		return rein_err_errno(err, "pipe for the command's output");
	}
	o->from[number - 1] = fds[0];
	o->given[number] = high;
	return 0;
}

int rein_outlet_open(struct rein_outlet *o, uint64_t limit, unsigned terminals, struct rein_err *err)
{
	*o = (struct rein_outlet){
		.from = {-1, -1}, .given = {-1, -1, -1}, .stop = -1, .limit = limit};
	if (!limit)
		return 0;
	for (int fd = 1; fd <= 2; fd++) {
		if (terminals & 1u << fd || fcntl(fd, F_GETFD) < 0)
			continue;
		if (fd == 2 && o->given[1] >= 0 && same_file(1, 2))
			o->given[2] = o->given[1];
		else if (open_pipe(o, fd, err) < 0)
			return -err->code;
	}
	o->stop = eventfd(0, EFD_CLOEXEC);
	return o->stop < 0 ? rein_err_errno(err, "eventfd") : 0;
}

/* False: told to stop, or nobody takes it any more. */
static bool put(const struct rein_outlet *o, int fd, const char *p, size_t n)
{
	while (n) {
		struct pollfd fds[2] = {{.fd = fd, .events = POLLOUT}, {.fd = o->stop, .events = POLLIN}};
		ssize_t done;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return false;
		if (fds[1].revents)
			return false;
		if (!fds[0].revents)
			continue;
		done = write(fd, p, n);
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		p += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

/* One chunk of one stream. False: this stream has ended. */
static bool carry(struct rein_outlet *o, int number)
{
	char chunk[CHUNK];
	ssize_t n = read(o->from[number - 1], chunk, sizeof(chunk));
	uint64_t before, allowed;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	before = atomic_fetch_add(&o->carried, (uint64_t)n);
	allowed = before < o->limit ? o->limit - before : 0;
	/* over the limit: the main loop sees the count and ends the box; until then it is not read */
	return put(o, number, chunk, allowed < (uint64_t)n ? allowed : (size_t)n) &&
	       allowed >= (uint64_t)n;
}

static void *serve(void *arg)
{
	struct rein_outlet *o = arg;

	for (;;) {
		struct pollfd fds[3] = {{.fd = o->from[0], .events = POLLIN},
					{.fd = o->from[1], .events = POLLIN},
					{.fd = o->stop, .events = POLLIN}};

		if (o->from[0] < 0 && o->from[1] < 0)
			return NULL;
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[2].revents)
			return NULL;
		for (int i = 0; i < 2; i++) {
			bool over = atomic_load(&o->carried) > o->limit;

			if (!fds[i].revents || carry(o, i + 1))
				continue;
			/* kept open when it is over: the command blocks instead of seeing a closed pipe */
			if (!over && atomic_load(&o->carried) > o->limit)
				return NULL;
			close(o->from[i]);
			o->from[i] = -1;
		}
	}
}

int rein_outlet_start(struct rein_outlet *o, struct rein_err *err)
{
	sigset_t all, old;
	int rc;

	if (o->given[2] >= 0 && o->given[2] != o->given[1])
		close(o->given[2]);
	if (o->given[1] >= 0)
		close(o->given[1]);
	o->given[1] = o->given[2] = -1;
	if (!o->limit || (o->from[0] < 0 && o->from[1] < 0))
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&o->thread, NULL, serve, o);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return rein_err_set(err, REIN_E_FAILED, "no thread for the command's output");
	o->running = true;
	return 0;
}

/* Everything was brought out; false: not within that time. */
static bool drained(struct rein_outlet *o, int ms)
{
	struct timespec until;

	if (ms == REIN_OUTLET_DRAIN)
		return pthread_join(o->thread, NULL) == 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	return ms && pthread_clockjoin_np(o->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

void rein_outlet_end(struct rein_outlet *o, int drain_ms)
{
	const uint64_t one = 1;

	if (o->running && !drained(o, drain_ms)) {
		if (write(o->stop, &one, sizeof(one)) < 0)
			pthread_cancel(o->thread);
		pthread_join(o->thread, NULL);
	}
	o->running = false;
	for (int i = 0; i < 2; i++) {
		rein_closep_(&o->from[i]);
		o->from[i] = -1;
	}
	if (o->given[2] == o->given[1])
		o->given[2] = -1;
	for (int i = 1; i < 3; i++) {
		rein_closep_(&o->given[i]);
		o->given[i] = -1;
	}
	rein_closep_(&o->stop);
	o->stop = -1;
}
