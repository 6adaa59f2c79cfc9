/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that stay outside: the victim, a terminal, and a watch over what is left behind. */
#include "escape.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

enum { MAX_DOORS = 16 };

struct door {
	char name[200];
	int fd;
	bool datagrams;
};

static struct door doors[MAX_DOORS];
static size_t ndoors;
static FILE *victim_log;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void add_door(const char *name, int fd, bool datagrams)
{
	if (ndoors == MAX_DOORS)
		die("too many doors");
	snprintf(doors[ndoors].name, sizeof(doors[ndoors].name), "%s", name);
	doors[ndoors].fd = fd;
	doors[ndoors++].datagrams = datagrams;
}

/* "@name" is abstract. */
static void listen_unix(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t n = strlen(path);

	if (n >= sizeof(sun.sun_path))
		die("socket path too long");
	memcpy(sun.sun_path, path, n);
	if (path[0] == '@')
		sun.sun_path[0] = 0;
	else
		unlink(path);
	if (bind(fd, (struct sockaddr *)&sun, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0 ||
	    listen(fd, 8) < 0)
		die(path);
	if (path[0] != '@')
		chmod(path, 0666);
	add_door(path, fd, false);
}

static int listen_inet(int type, const char *name)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(sin);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sin, n) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 8) < 0) ||
	    getsockname(fd, (struct sockaddr *)&sin, &n) < 0)
		die(name);
	add_door(name, fd, type == SOCK_DGRAM);
	return ntohs(sin.sin_port);
}

/* The same port on ::1, where there is one. */
static void listen_inet6(int port)
{
	struct sockaddr_in6 sin = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 || listen(fd, 8) < 0) {
		close(fd);
		return;
	}
	add_door("tcp6", fd, false);
}

static void note(const char *what, const char *detail)
{
	fprintf(victim_log, "%s %s\n", what, detail);
	fflush(victim_log);
}

static void answer(const struct door *d)
{
	char buf[64];

	if (d->datagrams) {
		if (recv(d->fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
			note("datagram", d->name);
		return;
	}
	close(accept4(d->fd, NULL, NULL, SOCK_CLOEXEC));
	note("connection", d->name);
}

/* What an attacker could have turned without a signal. */
static void own_state(char *to, size_t n)
{
	struct rlimit files = {0};
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	syscall(SYS_sched_getaffinity, 0, sizeof(cpus), &cpus);
	getrlimit(RLIMIT_NOFILE, &files);
	snprintf(to, n, "nice %d io %ld files %llu cpus %d", getpriority(PRIO_PROCESS, 0),
		 syscall(SYS_ioprio_get, 1, 0), (unsigned long long)files.rlim_cur, CPU_COUNT(&cpus));
}

static void serve(int signals, int until)
{
	struct pollfd fds[MAX_DOORS + 2];

	for (;;) {
		struct signalfd_siginfo si;

		for (size_t i = 0; i < ndoors; i++)
			fds[i] = (struct pollfd){.fd = doors[i].fd, .events = POLLIN};
		fds[ndoors] = (struct pollfd){.fd = signals, .events = POLLIN};
		fds[ndoors + 1] = (struct pollfd){.fd = until, .events = POLLIN};
		if (poll(fds, ndoors + 2, -1) < 0)
			continue;
		for (size_t i = 0; i < ndoors; i++)
			if (fds[i].revents)
				answer(&doors[i]);
		if (fds[ndoors].revents && read(signals, &si, sizeof(si)) == sizeof(si))
			note("signal", strsignal((int)si.ssi_signo));
		if (fds[ndoors + 1].revents)
			return;
	}
}

/*
 * victim LOG SCENE TAG SOCKET...: listens everywhere, writes the scene when it is ready, and ends
 * when standard input does. LOG stays empty if nobody ever got through.
 */
int victim_main(int argc, char **argv)
{
	char before[128], after[128], fresh[PATH_MAX], secret[] = "SECRET in memory";
	sigset_t all;
	int signals, tcp, udp;
	FILE *f;

	if (argc < 3)
		return 2;
	victim_log = fopen(argv[0], "ae");
	if (!victim_log)
		die(argv[0]);
	for (int i = 3; i < argc; i++)
		listen_unix(argv[i]);
	tcp = listen_inet(SOCK_STREAM, "tcp");
	listen_inet6(tcp);
	udp = listen_inet(SOCK_DGRAM, "udp");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signals = signalfd(-1, &all, SFD_CLOEXEC);
	own_state(before, sizeof(before));
	snprintf(fresh, sizeof(fresh), "%s.new", argv[1]);
	f = fopen(fresh, "we");
	if (!f || fprintf(f, "%s %d %d %d %p\n", argv[2], (int)getpid(), tcp, udp, (void *)secret) < 0 ||
	    fclose(f) != 0 || rename(fresh, argv[1]) < 0)
		die(argv[1]);
	serve(signals, STDIN_FILENO);
	own_state(after, sizeof(after));
	if (strcmp(before, after) != 0)
		note("changed to", after);
	if (strcmp(secret, "SECRET in memory") != 0)
		note("memory", "overwritten");
	return 0;
}

static void pump(int from, pid_t pid, int slave, int *status)
{
	char buf[4096];
	ssize_t n;
	bool over = false;

	for (;;) {
		struct pollfd p = {.fd = from, .events = POLLIN};

		/* Our own open slave keeps the master alive: the end is the command's. */
		if (poll(&p, 1, over ? 0 : 50) > 0 && (n = read(from, buf, sizeof(buf))) > 0) {
			if (write(STDOUT_FILENO, buf, (size_t)n) < 0)
				exit(1);
			continue;
		}
		if (over)
			break;
		over = waitpid(pid, status, WNOHANG) == pid;
	}
	(void)slave;
}

/* terminal CMD...: on a new terminal as its controlling one. Afterwards nobody may have typed. */
int terminal_main(int argc, char **argv)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	int master, slave, status = 0, typed = 0;
	pid_t pid;

	(void)argc;
	if (openpty(&master, &slave, NULL, NULL, &size) < 0)
		die("openpty");
	fcntl(master, F_SETFD, FD_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		login_tty(slave);
		execvp(argv[0], argv);
		die(argv[0]);
	}
	pump(master, pid, slave, &status);
	if (ioctl(slave, FIONREAD, &typed) < 0 || typed > 0)
		printf("not ok - %d bytes were typed into the terminal outside\n", typed);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * watch CMD...: whatever the command leaves behind becomes our child. 99 if there is such a process
 * a second after the command has ended.
 */
int watch_main(int argc, char **argv)
{
	int status = 0, left;
	pid_t pid, got;

	(void)argc;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		die("subreaper");
	pid = fork();
	if (pid == 0) {
		execvp(argv[0], argv);
		die(argv[0]);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("wait");
	for (int i = 0; i < 100;) { /* a second of waiting, however many there are */
		got = waitpid(-1, &left, WNOHANG);
		if (got < 0 && errno == ECHILD)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (got == 0) {
			usleep(10000);
			i++;
		}
	}
	fprintf(stderr, "watch: a process was left behind\n");
	return 99;
}

/* swap A B MILLISECONDS: exchange the two names as fast as can be; an even number of times. */
int swap_main(int argc, char **argv)
{
	struct timespec now, end;
	long ms = strtol(argv[2], NULL, 10);

	(void)argc;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += ms % 1000 * 1000000;
	end.tv_sec += ms / 1000 + end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	do {
		for (int i = 0; i < 2; i++)
			if (renameat2(AT_FDCWD, argv[0], AT_FDCWD, argv[1], RENAME_EXCHANGE) < 0)
				die("exchange");
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	return 0;
}
