/* SPDX-License-Identifier: Apache-2.0 */
/* See noway.h. */
#include "sandbox/net/noway.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"

/*
 * No route: all that leads elsewhere. No port: names, where the machine asks a server of its own for them
 * (127.0.0.53), which is not there in the box.
 */
static bool counts(const char *group, size_t ngroup, const char *name, size_t n)
{
	static const struct {
		const char *group, *name;
	} wanted[] = {{"Ip", "OutNoRoutes"}, {"Udp", "NoPorts"}, {"", "Ip6OutNoRoutes"}, {"", "Udp6NoPorts"}};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (strlen(wanted[i].group) == ngroup && memcmp(wanted[i].group, group, ngroup) == 0 &&
		    strlen(wanted[i].name) == n && memcmp(wanted[i].name, name, n) == 0)
			return true;
	return false;
}

/* "Ip: A B C" above "Ip: 1 2 3" */
static unsigned long long add_pair(const char *names, const char *values, size_t ngroup)
{
	const char *group = names, *n = names + ngroup + 1, *v = values + ngroup + 1;
	unsigned long long sum = 0;

	while (*n == ' ' && *v == ' ') {
		size_t length = strcspn(++n, " \n");

		v++;
		if (counts(group, ngroup, n, length))
			sum += strtoull(v, NULL, 10);
		n += length;
		v += strcspn(v, " \n");
	}
	return sum;
}

uint32_t rein_noway_parse(const char *text)
{
	unsigned long long sum = 0;

	while (*text) {
		size_t word = strcspn(text, ": \t\n");
		const char *next = strchr(text, '\n');

		if (!next)
			break;
		next++;
		if (text[word] == ':' && strncmp(text, next, word + 1) == 0) {
			sum += add_pair(text, next, word);
			next += strcspn(next, "\n");
			next += *next == '\n';
		} else if (counts("", 0, text, word)) {
			sum += strtoull(text + word, NULL, 10);
		}
		text = next;
	}
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

void rein_noway_open(struct rein_noway *w, pid_t pid)
{
	static const char *const names[] = {"snmp", "snmp6"};

	for (size_t i = 0; i < ARRAY_SIZE(w->fds); i++) {
		char path[48];

		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, names[i]);
		w->fds[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
}

uint32_t rein_noway_count(const struct rein_noway *w)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(w->fds); i++) {
		char text[16384];
		ssize_t n = w->fds[i] < 0 ? 0 : pread(w->fds[i], text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = 0;
		sum += rein_noway_parse(text);
	}
	return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

void rein_noway_close(struct rein_noway *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(w->fds); i++) {
		rein_closep_(&w->fds[i]);
		w->fds[i] = -1;
	}
}
