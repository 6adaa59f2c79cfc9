/* SPDX-License-Identifier: Apache-2.0 */
/* Connections through the gate, one event at a time. What boxes can and cannot reach is asked in tests/net. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sandbox/net/gate/gate.h"

static const struct rein_gate_config config;
static struct gate g;
static struct meters meters;
static struct rein_net_rule rule = {.name = "*"};
static int program, server; /* the far ends of the flow */
static struct flow *f;

/* Everything allocated for one round of events is freed at its end; here that is the end of a test. */
static int make(void **unused)
{
	int a[2], b[2];

	(void)unused;
	meters = (struct meters){0};
	g = (struct gate){.config = &config, .rules = &rule, .nrules = 1, .meters = &meters, .max_flows = 4};
	g.now_ns = rein_mono_ns();
	g.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (g.epoll < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, a) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b) < 0)
		return -1;
	program = a[0];
	server = b[0];
	flow_relay(&g, a[1], b[1]);
	f = g.flows;
	return f ? 0 : -1;
}

static int clear(void **unused)
{
	(void)unused;
	flow_done(&g);
	for (size_t i = 0; i < g.ngarbage; i++)
		rein_free(g.garbage[i]);
	rein_free(g.garbage);
	book_done(&g);
	close(g.epoll);
	close(program);
	close(server);
	return 0;
}

static void say(int to, const char *text)
{
	assert_int_equal(write(to, text, strlen(text)), strlen(text));
	f->up.dry = f->down.dry = false; /* as the event says */
	flow_pump(&g, f);
}

/* [G4] */
static void no_more_than_the_limit(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 2 * g.max_flows; i++) {
		int a[2], b[2];
		char byte;

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a), 0);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b), 0);
		flow_relay(&g, a[1], b[1]);
		assert_true(g.nflows <= g.max_flows);
		/* the first of them is there already */
		assert_int_equal(recv(a[0], &byte, 1, MSG_DONTWAIT), i + 1 < g.max_flows ? -1 : 0);
		close(a[0]);
		close(b[0]);
	}
}

/* A program that was refused and goes on sending has its turn, and then others have theirs. */
static void who_floods_after_a_refusal_waits_his_turn(void **unused)
{
	char bytes[8192] = "";
	int large = 1 << 20, left = 0;
	size_t sent = 0;
	ssize_t n;

	(void)unused;
	setsockopt(program, SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
	while ((n = write(program, bytes, sizeof(bytes))) > 0)
		sent += (size_t)n;
	assert_true(sent > 150000);
	f->closing = true;
	f->until_ns = g.now_ns + REIN_NS_PER_S;
	flow_pump(&g, f);
	assert_int_equal(ioctl(f->client.fd, FIONREAD, &left), 0);
	assert_true(left > 0 && (size_t)left < sent);
	assert_true(f->busy && g.busy);
	for (int i = 0; i < 16 && g.busy; i++)
		flow_again(&g);
	assert_false(g.busy);
	assert_int_equal(ioctl(f->client.fd, FIONREAD, &left), 0);
	assert_int_equal(left, 0);
	shutdown(program, SHUT_WR);
	flow_pump(&g, f);
	assert_true(f->dead);
}

static void ask_for_upgrade(void)
{
	f->rule = 0;
	f->port = 80;
	f->look = LOOK_HEAD;
	say(program, "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
	assert_int_equal(f->look, LOOK_ANSWER);
}

/* The server's yes may come in pieces. */
static void an_answer_in_pieces(void **unused)
{
	char got[64];

	(void)unused;
	ask_for_upgrade();
	assert_true(read(server, got, sizeof(got)) > 0);
	say(server, "HTTP/1");
	assert_int_equal(f->look, LOOK_ANSWER);
	say(server, ".");
	say(server, "1 10");
	assert_false(f->answered);
	say(server, "1 Switching Protocols\r\n\r\n");
	assert_int_equal(f->look, LOOK_AWAY);
	while (read(server, got, sizeof(got)) > 0)
		;
	say(program, "\001raw");
	assert_int_equal(read(server, got, sizeof(got)), 4);
}

static void a_no_in_pieces(void **unused)
{
	char got[2048];
	ssize_t n;

	(void)unused;
	ask_for_upgrade();
	say(server, "HTTP/1.");
	say(program, "\001raw\r\n");
	assert_int_equal(f->look, LOOK_ANSWER);
	say(server, "1 100 Continue\r\n\r\n");
	assert_true(f->closing || f->dead);
	n = read(server, got, sizeof(got));
	assert_true(n > 0 && !memchr(got, 1, (size_t)n));
}

/* Byte by byte: judged as a whole, and not read from its beginning for each. */
static void a_head_in_bytes(void **unused)
{
	static const char head[] = "GET / HTTP/1.1\r\nHost: a.test\r\nX: 1\r\n\r\n";
	char byte[2] = "", got[256];

	(void)unused;
	f->rule = 0;
	f->port = 80;
	f->look = LOOK_HEAD;
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(head) - 1; i++) {
			byte[0] = head[i];
			say(program, byte);
			assert_int_equal(f->requests, round + (i == sizeof(head) - 2));
			assert_true(i == sizeof(head) - 2 || f->head_next > i + 1);
		}
		assert_int_equal(read(server, got, sizeof(got)), sizeof(head) - 1);
	}
	/* what can be none is told early all the same */
	say(program, "SSH-2.0-x\r\n");
	assert_true(f->closing || f->dead);
}

/* What ends in the middle of a head is refused at once, not when its time is over. */
static void half_a_head(void **unused)
{
	(void)unused;
	f->rule = 0;
	f->port = 80;
	f->look = LOOK_HEAD;
	say(program, "GET / HTTP/1.1\r\nHost");
	assert_false(f->closing || f->dead);
	shutdown(program, SHUT_WR);
	say(server, "");
	assert_true(f->closing || f->dead);
	assert_int_equal(g.book.refusals[0].why, REIN_WHY_NOT_HTTP);
}

/* A budget of a window is there again when the window is over, whole, and not before. */
static void a_window_of_time(void **unused)
{
	bool over;

	(void)unused;
	meters.sent.budget = (struct rein_net_budget){.bytes = 10, .window_ns = REIN_NS_PER_S};
	assert_int_equal(meter_allow(&g, 0, true, 64, &over), 10);
	meter_count(&g, 0, true, 10);
	g.now_ns += REIN_NS_PER_S - 1;
	assert_int_equal(meter_allow(&g, 0, true, 64, &over), 0);
	assert_true(over);
	assert_int_equal(meter_allow(&g, 0, false, 64, &over), 64);
	g.now_ns++;
	assert_int_equal(meter_allow(&g, 0, true, 64, &over), 10);
	assert_false(over);
	meter_count(&g, 0, true, 4);
	assert_int_equal(meter_allow(&g, 0, true, 64, &over), 6);
}

/* Of the box and of the rule, sent alone and both ways together: the smallest holds. */
static void budgets_together(void **unused)
{
	bool over;

	(void)unused;
	meters.all.budget.bytes = 20;
	g.total.all.budget.bytes = 30;
	g.total.sent.budget.bytes = 12;
	assert_int_equal(meter_allow(&g, 0, true, 64, &over), 12);
	assert_int_equal(meter_allow(&g, 0, false, 64, &over), 20);
	meter_count(&g, 0, true, 7);
	assert_int_equal(meter_allow(&g, 0, true, 64, &over), 5);
	assert_int_equal(meter_allow(&g, 0, false, 64, &over), 13);
	meter_count(&g, 0, false, 13);
	assert_int_equal(meter_allow(&g, 0, true, 64, &over), 0);
	assert_true(over);
	meters.all.used = 0; /* as another rule's */
	assert_int_equal(meter_allow(&g, 0, false, 64, &over), 10);
	assert_int_equal(meter_allow(&g, -1, true, 64, &over), 64); /* published */
	assert_false(over);
}

static void ask(const char *request)
{
	f->rule = 0;
	f->port = 80;
	f->look = LOOK_HEAD;
	say(program, request);
}

static const char *heard(void)
{
	static char got[4096];
	ssize_t n = read(program, got, sizeof(got) - 1);

	got[n > 0 ? n : 0] = 0;
	return got;
}

#define GET    "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
#define TUNNEL "CONNECT b.test:1 HTTP/1.1\r\nHost: a.test\r\n\r\n"

/* A refusal is said where it is the answer to what was refused, not for another one and not within one. */
static void a_refusal_is_said_in_its_place(void **unused)
{
	(void)unused;
	ask(GET);
	say(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	assert_non_null(strstr(heard(), "\r\n\r\nok"));
	say(program, TUNNEL);
	assert_true(f->closing);
	assert_non_null(strstr(heard(), "403"));
}

static void a_refusal_is_no_answer_to_the_request_before(void **unused)
{
	(void)unused;
	ask(GET TUNNEL);
	assert_true(f->dead);
	assert_string_equal(heard(), "");
	assert_int_equal(g.book.nrefusals, 1);
}

static void a_refusal_is_no_part_of_an_answer(void **unused)
{
	(void)unused;
	ask(GET);
	say(server, "HTTP/1.1 200 OK\r\n\r\nbegun");
	meters.all.budget.bytes = meters.all.used;
	say(server, "more");
	assert_true(f->dead);
	assert_string_equal(heard(), "HTTP/1.1 200 OK\r\n\r\nbegun");
	assert_int_equal(g.book.refusals[0].why, REIN_WHY_BUDGET);
}

static void refuse_a_body(const char *go_on)
{
	ask("POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
	say(server, go_on);
	assert_string_equal(heard(), go_on);
	meters.sent.budget.bytes = meters.sent.used;
	say(program, "body");
	assert_int_equal(f->closing, strstr(go_on, "100") != NULL);
	assert_int_equal(strstr(heard(), "403") != NULL, f->closing);
}

static void a_refusal_of_a_body_after_a_word(void **unused)
{
	(void)unused;
	refuse_a_body("HTTP/1.1 100 Continue\r\n\r\n");
}

static void a_refusal_of_a_body_after_an_answer(void **unused)
{
	(void)unused;
	refuse_a_body("HTTP/1.1 200 OK\r\n\r\n");
}

/* The end of the box is seen whatever went wrong before. */
static void a_maker_that_is_gone(void **unused)
{
	struct watch w = {.fd = -1};
	int pair[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	close(pair[1]);
	gate_watch(&g, &w, pair[0], EPOLLIN, publish_made);
	errno = EAGAIN;
	publish_made(&g, &w, EPOLLIN);
	assert_int_equal(w.fd, -1);
}

/* A socket that came when there was no room for it is one connection lost, not all that follow. */
static void a_socket_without_room(void **unused)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {(char[]){"s"}, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct watch w = {.fd = -1};
	struct rlimit was, none;
	int pair[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(c), &program, sizeof(program));
	assert_int_equal(sendmsg(pair[1], &msg, 0), 1);
	gate_watch(&g, &w, pair[0], EPOLLIN, publish_made);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	publish_made(&g, &w, EPOLLIN);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(w.fd, pair[0]);
	gate_close(&g, &w);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_floods_after_a_refusal_waits_his_turn, make, clear),
		cmocka_unit_test_setup_teardown(no_more_than_the_limit, make, clear),
		cmocka_unit_test_setup_teardown(an_answer_in_pieces, make, clear),
		cmocka_unit_test_setup_teardown(a_no_in_pieces, make, clear),
		cmocka_unit_test_setup_teardown(a_head_in_bytes, make, clear),
		cmocka_unit_test_setup_teardown(half_a_head, make, clear),
		cmocka_unit_test_setup_teardown(a_window_of_time, make, clear),
		cmocka_unit_test_setup_teardown(budgets_together, make, clear),
		cmocka_unit_test_setup_teardown(a_refusal_is_said_in_its_place, make, clear),
		cmocka_unit_test_setup_teardown(a_refusal_is_no_answer_to_the_request_before, make, clear),
		cmocka_unit_test_setup_teardown(a_refusal_is_no_part_of_an_answer, make, clear),
		cmocka_unit_test_setup_teardown(a_refusal_of_a_body_after_a_word, make, clear),
		cmocka_unit_test_setup_teardown(a_refusal_of_a_body_after_an_answer, make, clear),
		cmocka_unit_test_setup_teardown(a_maker_that_is_gone, make, clear),
		cmocka_unit_test_setup_teardown(a_socket_without_room, make, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
