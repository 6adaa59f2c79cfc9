/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network gate's price: throughput of one and of many streams, time to connect and to get a first
 * answer, each straight over loopback and from inside a box through the gate, in turn.
 *
 *	bench-net --title T [--rounds N] [--seconds S] [--json FILE] -- rein run ... (up to the command)
 *
 * The server is ours, on a port of 127.0.0.1; a box reaches it as host.rein.internal. A machine's own
 * congestion control may pace what it sends (bbr does), and then loopback alone is slow and a second hop
 * costs nothing: server and client use the one that boxes have, so that both ways are measured with the same.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"

#define BLOCK	   (256u << 10)
#define MANY	   50
#define CONGESTION "reno"

extern char **environ;

static char block[BLOCK];

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

/* --- the server: 's' sends until the other end closes, 'r' takes what comes, 'p' answers each byte --- */

static _Noreturn void serve_one(int fd)
{
	char what = 0, byte;
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (read(fd, &what, 1) != 1)
		_exit(0);
	if (what == 's')
		while (write(fd, block, sizeof(block)) > 0)
			;
	if (what == 'r')
		while (read(fd, block, sizeof(block)) > 0)
			;
	if (what == 'p') {
		byte = 'p';
		while (write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1)
			;
	}
	_exit(0);
}

/* What a socket sends with; whatever is taken from a listener sends as the listener would. */
static void congestion(int fd, char name[16])
{
	socklen_t n = 15;

	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &n) < 0)
		die("congestion control");
	name[n] = '\0';
}

static pid_t serve(uint16_t *port, char control[16])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid;

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 512) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		die("server");
	*port = ntohs(at.sin_port);
	/* refused: the result says what it was measured with */
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, CONGESTION, sizeof(CONGESTION) - 1);
	congestion(fd, control);
	pid = fork();
	if (pid != 0) {
		close(fd);
		return pid;
	}
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int c = accept(fd, NULL, NULL);

		if (c >= 0 && fork() == 0)
			serve_one(c);
		if (c >= 0)
			close(c);
	}
}

/* --- the client, inside or outside: prints one number, and what is sent with where it runs --- */

static void resolve(const char *host, const char *port, struct sockaddr_storage *to, socklen_t *n)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;

	if (getaddrinfo(host, port, &hints, &found) != 0)
		die("resolve");
	memcpy(to, found->ai_addr, found->ai_addrlen);
	*n = found->ai_addrlen;
	freeaddrinfo(found);
}

static int dial(const struct sockaddr_storage *to, socklen_t n, char what)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, CONGESTION, sizeof(CONGESTION) - 1);
	if (fd < 0 || connect(fd, (const struct sockaddr *)to, n) < 0)
		die("connect");
	if (what && write(fd, &what, 1) != 1)
		die("write");
	return fd;
}

static double stream(const struct sockaddr_storage *to, socklen_t n, unsigned streams, double seconds)
{
	struct pollfd fds[MANY];
	uint64_t bytes = 0, start, end;

	for (unsigned i = 0; i < streams; i++)
		fds[i] = (struct pollfd){.fd = dial(to, n, 's'), .events = POLLIN};
	start = rein_mono_ns();
	end = start + (uint64_t)(seconds * 1e9);
	while (rein_mono_ns() < end) {
		if (poll(fds, streams, 1000) <= 0)
			die("poll");
		for (unsigned i = 0; i < streams; i++)
			if (fds[i].revents) {
				ssize_t k = read(fds[i].fd, block, sizeof(block));

				if (k <= 0)
					die("read");
				bytes += (uint64_t)k;
			}
	}
	return (double)bytes * 8 / (double)(rein_mono_ns() - start);
}

static double upload(const struct sockaddr_storage *to, socklen_t n, double seconds)
{
	uint64_t bytes = 0, start, end;
	int fd = dial(to, n, 'r');

	start = rein_mono_ns();
	end = start + (uint64_t)(seconds * 1e9);
	while (rein_mono_ns() < end) {
		ssize_t k = write(fd, block, sizeof(block));

		if (k <= 0)
			die("write");
		bytes += (uint64_t)k;
	}
	return (double)bytes * 8 / (double)(rein_mono_ns() - start);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Median of `count` connects, each with its first answer; in microseconds. */
static double connects(const struct sockaddr_storage *to, socklen_t n, unsigned count)
{
	double *v = rein_calloc(count, sizeof(*v)), median;
	char byte;

	if (!v)
		die("memory");
	for (unsigned i = 0; i < count; i++) {
		uint64_t start = rein_mono_ns();
		int fd = dial(to, n, 'p');

		if (read(fd, &byte, 1) != 1)
			die("read");
		v[i] = (double)(rein_mono_ns() - start) / 1000;
		close(fd);
	}
	qsort(v, count, sizeof(*v), by_value);
	median = v[count / 2];
	rein_free(v);
	return median;
}

static int client(const char *host, const char *port, const char *what, double amount)
{
	auto_close int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_storage to;
	char control[16];
	socklen_t n;
	double value;

	resolve(host, port, &to, &n);
	congestion(fd, control);
	if (rein_streq(what, "one"))
		value = stream(&to, n, 1, amount);
	else if (rein_streq(what, "up"))
		value = upload(&to, n, amount);
	else if (rein_streq(what, "many"))
		value = stream(&to, n, MANY, amount);
	else
		value = connects(&to, n, (unsigned)amount);
	printf("%.3f %s\n", value, control);
	return 0;
}

/* --- comparing --- */

static double run(char **argv, char control[16])
{
	posix_spawn_file_actions_t files;
	int out[2], status;
	char text[64] = "";
	size_t at = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		die("pipe");
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out[1], 1);
	if (posix_spawnp(&pid, argv[0], &files, NULL, argv, environ) != 0)
		die(argv[0]);
	close(out[1]);
	while ((n = read(out[0], text + at, sizeof(text) - 1 - at)) > 0)
		at += (size_t)n;
	close(out[0]);
	if (waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "bench-net: %s failed\n", argv[0]);
		exit(1);
	}
	if (sscanf(text, "%*f %15s", control) != 1)
		die(argv[0]);
	return strtod(text, NULL);
}

struct result {
	const char *name, *what, *unit;
	double amount;
	double bare[64], gate[64];
};

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static char self[4096];

static double measure(const struct result *r, char **box, unsigned nbox, const char *port, char control[16])
{
	char *argv[128], amount[32];
	unsigned n = 0;

	snprintf(amount, sizeof(amount), "%g", r->amount);
	for (unsigned i = 0; i < nbox && n < 100; i++)
		argv[n++] = box[i];
	argv[n++] = self;
	argv[n++] = (char *)(uintptr_t) "--client";
	argv[n++] = (char *)(uintptr_t)(nbox ? "host.rein.internal" : "127.0.0.1");
	argv[n++] = (char *)(uintptr_t)port;
	argv[n++] = (char *)(uintptr_t)r->what;
	argv[n++] = amount;
	argv[n] = NULL;
	return run(argv, control);
}

int main(int argc, char **argv)
{
	struct result v[] = {
		{.name = "one stream", .what = "one", .unit = "Gbit/s", .amount = 2},
		{.name = "one stream, sent", .what = "up", .unit = "Gbit/s", .amount = 2},
		{.name = "50 streams", .what = "many", .unit = "Gbit/s", .amount = 2},
		{.name = "connect and first answer", .what = "connect", .unit = "us", .amount = 1000},
	};
	const char *title = "network", *json = NULL;
	unsigned rounds = 5, at = 1;
	double seconds = 2;
	char port[16], rule[64], **box;
	char server_cc[16], box_cc[16], client_cc[16]; /* the last sends next to nothing */
	uint16_t number;
	unsigned nbox = 0;
	pid_t server;
	FILE *f;

	if (argc == 6 && rein_streq(argv[1], "--client"))
		return client(argv[2], argv[3], argv[4], strtod(argv[5], NULL));
	for (; at + 1 < (unsigned)argc && !rein_streq(argv[at], "--"); at += 2) {
		if (rein_streq(argv[at], "--title"))
			title = argv[at + 1];
		else if (rein_streq(argv[at], "--rounds"))
			rounds = (unsigned)strtoul(argv[at + 1], NULL, 10);
		else if (rein_streq(argv[at], "--seconds"))
			seconds = strtod(argv[at + 1], NULL);
		else if (rein_streq(argv[at], "--json"))
			json = argv[at + 1];
	}
	if (rounds == 0 || rounds > 64 || at >= (unsigned)argc)
		return 2;
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		die("self");
	server = serve(&number, server_cc);
	snprintf(port, sizeof(port), "%u", number);
	snprintf(rule, sizeof(rule), "host.rein.internal:%u", number);
	box = rein_calloc((size_t)argc + 8, sizeof(*box));
	if (!box)
		die("memory");
	for (unsigned i = at + 1; i < (unsigned)argc; i++)
		box[nbox++] = argv[i];
	box[nbox++] = (char *)(uintptr_t) "--allow-host";
	box[nbox++] = rule;
	box[nbox++] = (char *)(uintptr_t) "--";
	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
			if (v[i].unit[0] == 'G')
				v[i].amount = seconds;
			v[i].bare[round] = measure(&v[i], NULL, 0, port, client_cc);
			v[i].gate[round] = measure(&v[i], box, nbox, port, box_cc);
		}
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	f = json ? fopen(json, "we") : NULL;
	if (json && !f)
		die(json);
	printf("%s, median of %u; congestion control: server %s, gate to box %s\n%-28s %12s %12s %8s\n", title,
	       rounds, server_cc, box_cc, "", "loopback", "gate", "");
	if (f)
		fprintf(f,
			"{\"title\": \"%s\", \"rounds\": %u, \"congestion\": {\"server\": \"%s\", \"gate\": \"%s\"}, "
			"\"network\": [",
			title, rounds, server_cc, box_cc);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		double bare = median(v[i].bare, rounds), gate = median(v[i].gate, rounds);

		printf("%-28s %9.1f %s %9.1f %s %7.0f %%\n", v[i].name, bare, v[i].unit, gate, v[i].unit,
		       100 * gate / bare);
		if (f)
			fprintf(f, "%s{\"name\": \"%s\", \"unit\": \"%s\", \"loopback\": %.3f, \"gate\": %.3f}",
				i ? ", " : "", v[i].name, v[i].unit, bare, gate);
	}
	if (f) {
		fprintf(f, "]}\n");
		fclose(f);
	}
	rein_free(box);
	return 0;
}
