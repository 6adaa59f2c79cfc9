/* SPDX-License-Identifier: Apache-2.0 */
/* See inlet.h. */
#include "sandbox/inlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/auto.h"

int rein_inlet_open(struct rein_inlet *i, struct rein_err *err)
{
	auto_close int from = -1, to = -1;
	int fds[2];

	*i = (struct rein_inlet)REIN_INLET_INIT;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return rein_err_errno(err, "pipe for the command's input");
	from = fds[0];
	to = fds[1];
	i->given = fcntl(from, F_DUPFD_CLOEXEC, 10);
	i->stop = eventfd(0, EFD_CLOEXEC);
	if (i->given < 0 || i->stop < 0 || fcntl(to, F_SETFL, O_NONBLOCK) < 0)
		return rein_err_errno(err, "pipe for the command's input");
	i->to = take_fd(&to);
	return 0;
}

/* False: told to stop, or nobody reads any more. */
static bool put(const struct rein_inlet *i, const char *p, size_t n)
{
	while (n) {
		struct pollfd fds[2] = {{.fd = i->to, .events = POLLOUT},
					{.fd = i->stop, .events = POLLIN}};
		ssize_t done;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return false;
		if (fds[1].revents)
			return false;
		done = write(i->to, p, n);
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		p += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

static void *serve(void *arg)
{
	struct rein_inlet *i = arg;
	char chunk[4096];

	for (;;) {
		/* the pipe's own entry tells when nobody reads it */
		struct pollfd fds[3] = {{.fd = 0, .events = POLLIN},
					{.fd = i->stop, .events = POLLIN},
					{.fd = i->to}};
		ssize_t n;

		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents || fds[2].revents)
			break;
		if (!fds[0].revents)
			continue;
		n = read(0, chunk, sizeof(chunk));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		/* EIO: a terminal whose foreground we are not in */
		if (n <= 0 || !put(i, chunk, (size_t)n))
			break;
	}
	close(take_fd(&i->to));
	return NULL;
}

int rein_inlet_start(struct rein_inlet *i, struct rein_err *err)
{
	sigset_t all, old;
	int rc;

	if (i->given < 0)
		return 0;
	close(take_fd(&i->given));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&i->thread, NULL, serve, i);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return rein_err_set(err, REIN_E_FAILED, "no thread for the command's input");
	i->running = true;
	return 0;
}

void rein_inlet_end(struct rein_inlet *i)
{
	const uint64_t one = 1;

	if (i->running) {
		if (write(i->stop, &one, sizeof(one)) < 0)
			pthread_cancel(i->thread);
		pthread_join(i->thread, NULL);
	}
	rein_closep_(&i->given);
	rein_closep_(&i->to);
	rein_closep_(&i->stop);
	*i = (struct rein_inlet)REIN_INLET_INIT;
}
