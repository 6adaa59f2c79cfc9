/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One D-Bus call over the manager's private socket: no bus, no library, two messages. The encoding is
 * that of the D-Bus specification, little endian; every value is aligned to its own size, counted from
 * the start of the message.
 */
#include "sandbox/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"

#define PATIENCE_NS (2 * REIN_NS_PER_S)

static void align(struct rein_buf *b, size_t to)
{
	while (b->n % to && !b->failed)
		rein_buf_char(b, '\0');
}

static void put_u32(struct rein_buf *b, uint32_t v)
{
	align(b, 4);
	rein_buf_le32(b, v);
}

static void put_string(struct rein_buf *b, const char *s)
{
	put_u32(b, (uint32_t)strlen(s));
	rein_buf_add(b, s, strlen(s) + 1);
}

static void put_signature(struct rein_buf *b, const char *s)
{
	rein_buf_char(b, (char)strlen(s));
	rein_buf_add(b, s, strlen(s) + 1);
}

static void patch_u32(struct rein_buf *b, size_t at, size_t v)
{
	uint32_t le = (uint32_t)v;

	if (!b->failed)
		memcpy(b->p + at, &le, sizeof(le));
}

/* The length of an array stands before it; its elements begin at their own alignment. */
static size_t open_array(struct rein_buf *b, size_t element, size_t *from)
{
	size_t at;

	put_u32(b, 0);
	at = b->n - 4;
	align(b, element);
	*from = b->n;
	return at;
}

static void header_string(struct rein_buf *b, char code, const char *type, const char *value)
{
	align(b, 8);
	rein_buf_char(b, code);
	put_signature(b, type);
	if (*type == 'g')
		put_signature(b, value);
	else
		put_string(b, value);
}

/* StartTransientUnit(name, mode, properties, auxiliary units) */
static void put_body(struct rein_buf *b, const char *unit)
{
	size_t from, at, inner_from, inner;

	put_string(b, unit);
	put_string(b, "fail");
	at = open_array(b, 8, &from);
	put_string(b, "Description");
	put_signature(b, "s");
	put_string(b, "Rein: limits of one box");
	align(b, 8);
	put_string(b, "Delegate");
	put_signature(b, "b");
	put_u32(b, 1);
	align(b, 8);
	put_string(b, "PIDs");
	put_signature(b, "au");
	inner = open_array(b, 4, &inner_from);
	put_u32(b, (uint32_t)getpid());
	patch_u32(b, inner, b->n - inner_from);
	patch_u32(b, at, b->n - from);
	at = open_array(b, 8, &from);
	patch_u32(b, at, 0);
}

static void put_call(struct rein_buf *b, const char *unit)
{
	auto_buf struct rein_buf body = REIN_BUF(4096);
	size_t at, from;

	put_body(&body, unit);
	rein_buf_add(b, "l\1\0\1", 4); /* little endian, a call, no flags, protocol 1 */
	rein_buf_le32(b, (uint32_t)body.n);
	rein_buf_le32(b, 1); /* serial */
	at = open_array(b, 8, &from);
	header_string(b, 1, "o", "/org/freedesktop/systemd1");
	header_string(b, 2, "s", "org.freedesktop.systemd1.Manager");
	header_string(b, 3, "s", "StartTransientUnit");
	header_string(b, 6, "s", "org.freedesktop.systemd1");
	header_string(b, 8, "g", "ssa(sv)a(sa(sv))");
	patch_u32(b, at, b->n - from);
	align(b, 8);
	rein_buf_add(b, body.p, body.n);
	b->failed |= body.failed;
}

static int connect_manager(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	auto_close int fd = -1;
	int n;

	if (geteuid() == 0)
		n = snprintf(sa.sun_path, sizeof(sa.sun_path), "/run/systemd/private");
	else if (runtime)
		n = snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/systemd/private", runtime);
	else
		n = snprintf(sa.sun_path, sizeof(sa.sun_path), "/run/user/%u/systemd/private",
			     (unsigned)geteuid());
	if (n < 0 || (size_t)n >= sizeof(sa.sun_path))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -1;
	return take_fd(&fd);
}

static bool send_all(int fd, const void *p, size_t n)
{
	return send(fd, p, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static ssize_t receive(int fd, char *to, size_t max)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, PATIENCE_NS / 1000000) == 1 ? recv(fd, to, max, 0) : -1;
}

static bool authenticate(int fd)
{
	char line[64], id[16], answer[256];
	size_t n = 0;

	/* one zero byte first, then the user id's digits in hexadecimal */
	snprintf(id, sizeof(id), "%u", (unsigned)geteuid());
	line[n++] = '\0';
	n += (size_t)snprintf(line + n, sizeof(line) - n, "AUTH EXTERNAL ");
	for (const char *p = id; *p; p++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%02x", (unsigned)*p);
	n += (size_t)snprintf(line + n, sizeof(line) - n, "\r\n");
	return send_all(fd, line, n) && receive(fd, answer, sizeof(answer)) > 2 &&
	       memcmp(answer, "OK", 2) == 0 && send_all(fd, "BEGIN\r\n", 7);
}

static uint32_t number_at(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v)); /* we asked in our own byte order, and are answered in it */
	return v;
}

enum { ANSWER = 2, ERROR = 3 };

/* How long the message is that begins here, 0: not known yet. */
static size_t message_size(const char *p, size_t n)
{
	return n < 16 ? 0 : 16 + ((size_t)number_at(p + 12) + 7) / 8 * 8 + number_at(p + 4);
}

/*
 * The type of the answer to our call, the only one there is; 0: none came. Signals may stand before it, several
 * in one piece, and a piece may end in the middle of one.
 */
static int await_answer(int fd)
{
	char buf[16384];
	size_t have = 0;

	for (;;) {
		size_t size = message_size(buf, have);
		ssize_t n;

		if (size && size <= have) {
			if (buf[1] == ANSWER || buf[1] == ERROR)
				return buf[1];
			memmove(buf, buf + size, have - size);
			have -= size;
			continue;
		}
		if (size > sizeof(buf) || (n = receive(fd, buf + have, sizeof(buf) - have)) <= 0)
			return 0;
		have += (size_t)n;
	}
}

/* The call is answered before it is carried out. */
static bool arrived(const char *unit)
{
	const struct timespec a_while = {.tv_nsec = 2000000};
	uint64_t end = rein_mono_ns() + PATIENCE_NS;

	while (rein_mono_ns() < end) {
		auto_close int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
		char text[4096];
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = '\0';
		if (strstr(text, unit))
			return true;
		nanosleep(&a_while, NULL);
	}
	return false;
}

bool rein_scope_enter(char *why, size_t size)
{
	auto_buf struct rein_buf call = REIN_BUF(8192);
	auto_close int fd = -1;
	char unit[64];
	int answer;

	if (access("/run/systemd/system", F_OK) < 0) {
		snprintf(why, size, "this process may make no control groups and there is no systemd");
		return false;
	}
	fd = connect_manager();
	if (fd < 0 || !authenticate(fd)) {
		snprintf(why, size, "no systemd manager answers (for a user: loginctl enable-linger)");
		return false;
	}
	snprintf(unit, sizeof(unit), "rein-%d.scope", (int)getpid());
	put_call(&call, unit);
	if (call.failed || !send_all(fd, call.p, call.n)) {
		snprintf(why, size, "systemd could not be asked for a scope");
		return false;
	}
	answer = await_answer(fd);
	if (answer != ANSWER) {
		snprintf(why, size, answer == ERROR ? "systemd refused a scope" : "systemd did not answer when asked for a scope");
		return false;
	}
	if (!arrived(unit)) {
		snprintf(why, size, "systemd did not move this process into its scope");
		return false;
	}
	return true;
}
