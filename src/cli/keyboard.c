/* SPDX-License-Identifier: Apache-2.0 */
/* The person's terminal when the command is done with it: a question, one key, and a screen that shows both. */
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"

static volatile sig_atomic_t came;

static void on_signal(int sig)
{
	came = sig;
}

/* Who is told to end while a question stands there ends afterwards: a terminal must not be left without echo. */
static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

struct caught {
	struct sigaction old[ARRAY_SIZE(ending)];
	sigset_t mask; /* with which a key is waited for; otherwise they are blocked, so that none comes in between */
};

static void catch_signals(struct caught *c)
{
	struct sigaction on = {.sa_handler = on_signal}; /* without SA_RESTART: the wait must end */
	sigset_t block;

	came = 0;
	sigemptyset(&block);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		sigaddset(&block, ending[i]);
	pthread_sigmask(SIG_BLOCK, &block, &c->mask);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
		sigaction(ending[i], NULL, &c->old[i]);
		if (c->old[i].sa_handler != SIG_IGN)
			sigaction(ending[i], &on, NULL);
	}
}

static void let_signals_be(const struct caught *c)
{
	pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		sigaction(ending[i], &c->old[i], NULL);
	if (came)
		raise(came);
}

/* false: the time is over. */
static bool wait_key(int tty, uint64_t until_ns, const sigset_t *mask)
{
	for (;;) {
		struct pollfd p = {.fd = tty, .events = POLLIN};
		const uint64_t now = rein_mono_ns();
		const struct timespec left = {(time_t)((until_ns - now) / REIN_NS_PER_S),
					      (long)((until_ns - now) % REIN_NS_PER_S)};
		int n;

		if (until_ns && now >= until_ns)
			return false;
		n = ppoll(&p, 1, until_ns ? &left : NULL, mask);
		if (came || n > 0 || (n < 0 && errno != EINTR))
			return true; /* reading tells what is wrong */
	}
}

/*
 * A command may have asked the terminal for its name or its colours. The answers come as if somebody had typed them,
 * also when the command has long ended, and with letters in them: of a colour that it has set itself, the letters it
 * wants. But an answer comes in one piece, and a person's key alone.
 */
#define ALONE_MS 40

static bool more_comes(int tty)
{
	struct pollfd p = {.fd = tty, .events = POLLIN};
	int n;

	do
		n = poll(&p, 1, ALONE_MS);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

static void drop_company(int tty)
{
	char dropped[256];

	while (more_comes(tty) && read(tty, dropped, sizeof(dropped)) > 0)
		;
}

/* The one key of these bytes; a script may have typed Enter behind it. */
static bool is_one_key(const char *p, ssize_t n)
{
	return n == 1 || (n == 2 && (p[1] == '\r' || p[1] == '\n'));
}

/* 0: the time is over; 'k': there is nobody to answer. */
static int take_key(int tty, uint64_t until_ns, const sigset_t *mask)
{
	for (;;) {
		char c[256];
		ssize_t n;

		if (!wait_key(tty, until_ns, mask))
			return '\0';
		if (came)
			return 'k';
		n = read(tty, c, sizeof(c));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 'k';
		if (is_one_key(c, n) && !more_comes(tty))
			return (unsigned char)c[0];
		drop_company(tty);
	}
}

int rein_ui_key(const char *question)
{
	return rein_ui_key_until(question, 0);
}

int rein_ui_key_until(const char *question, uint64_t until_ns)
{
	auto_close int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	struct caught signals;
	struct termios old, raw;
	int c;

	fflush(stderr);
	if (tty < 0 || tcgetattr(tty, &old) < 0)
		return 'k';
	raw = old;
	/* without ISIG ^C is a key, and an answer */
	raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	catch_signals(&signals);
	/* flush first, then ask: what is typed after the question counts. A flush may cut an answer in two */
	tcsetattr(tty, TCSAFLUSH, &raw);
	drop_company(tty);
	fputs(question, stderr);
	c = take_key(tty, until_ns, &signals.mask);
	tcsetattr(tty, TCSANOW, &old);
	fprintf(stderr, "%c\n", c >= ' ' && c < 0x7f ? c : '-');
	let_signals_be(&signals);
	return c;
}

/*
 * What every terminal understands or passes over. In this order: an unfinished string ends, which would swallow what we
 * say; the other screen goes (47, because 1049 puts the cursor elsewhere, even on this one); then the looks of letters,
 * the part of the screen that is written to (which moves the cursor, so that it is kept), and what else makes text or
 * keys something else.
 */
static const char screen_back[] = "\x1b\\"
				  "\x1b[?47l"
				  "\x1b[0m\x1b(B\x0f"
				  "\x1b" "7\x1b[r\x1b[?6l\x1b[?69l\x1b" "8"
				  "\x1b[2;4;20l\x1b[?7;25h"
				  "\x1b[?5;9;1000;1001;1002;1003;1004;1005;1006;1015;2026;9001l"
				  "\x1b[<99u\x1b[>4m";

void rein_ui_screen_back(void)
{
	const char *term = getenv("TERM");

	if (isatty(STDERR_FILENO) && term && *term && !rein_streq(term, "dumb"))
		fputs(screen_back, stderr);
}
