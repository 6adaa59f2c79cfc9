/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alert-crash REIN RECORD_FILL: `rein audit alerts` is killed at every call that changes something,
 * and every such call fails once with ENOSPC or EIO; then it runs again undisturbed. Every time, each
 * alert must have been delivered at least once (a command wrote its id down), be in the record
 * exactly once, and the record must be whole.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../crash/trace.h"

#define ALERTS 4 /* agents in the made-up history */

static const char *rein, *fill;
static char *top, *env[3];

static void run(const char *const *argv, struct lab_result *ret)
{
	lab_run(&(struct lab_cmd){.argv = argv, .cwd = top, .env = (const char *const *)env}, ret);
}

static void must(const char *const *argv)
{
	struct lab_result r;

	run(argv, &r);
	if (r.status != 0)
		lab_die("%s %s: status %d: %s", argv[0], argv[1], r.status, r.err.p ? r.err.p : "");
	lab_result_done(&r);
}

static char *slurp(const char *name)
{
	char *path = lab_format("%s/%s", top, name), chunk[4096];
	struct lab_text t = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	lab_text_add(&t, "", 0);
	while (fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0)
		lab_text_add(&t, chunk, (size_t)n);
	if (fd >= 0)
		close(fd);
	free(path);
	return t.p;
}

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		n++;
	return n;
}

static void fresh(void)
{
	const char *const wipe[] = {"/bin/rm", "-rf", "state", "delivered", NULL};
	const char *const copy[] = {"/bin/cp", "-a", "before", "state", NULL};

	must(wipe);
	must(copy);
}

/* The ids of all alerts of the record, each once. */
static bool settled(const char *what, unsigned long at, const char *call)
{
	const char *const again[] = {rein, "audit", "alerts", NULL};
	const char *const verify[] = {rein, "audit", "verify", "--all", NULL};
	char *log, *got;
	bool ok = true;
	unsigned n = 0;

	must(again);
	must(verify);
	log = slurp("state/audit/00000001.log");
	got = slurp("delivered");
	for (const char *p = strstr(log, "\"alert\":\""); p; p = strstr(p + 1, "\"alert\":\""), n++) {
		char id[32];

		snprintf(id, sizeof(id), "%.16s", p + 9);
		if (!strstr(got, id) || count(log, id) != 1) {
			printf("%s at call %lu (%s): alert %s is %u times in the record, %u times delivered\n", what, at,
			       call, id, count(log, id), count(got, id));
			ok = false;
		}
	}
	if (n != ALERTS) {
		printf("%s at call %lu (%s): %u alerts in the record\n", what, at, call, n);
		ok = false;
	}
	free(log);
	free(got);
	return ok;
}

static unsigned long each(const char *what, struct trace_fault f)
{
	const char *const alerts[] = {rein, "audit", "alerts", NULL};
	unsigned long bad = 0;

	for (f.at = 1;; f.at++) {
		struct trace_result r = {0};

		fresh();
		trace_run(&(struct lab_cmd){.argv = alerts, .cwd = top, .env = (const char *const *)env}, &f, &r);
		if (r.r.status == 0 && r.hit && f.err == 0)
			lab_die("a killed program cannot succeed");
		if (!settled(what, f.at, r.call ? r.call : "end"))
			bad++;
		lab_result_done(&r.r);
		if (!r.hit)
			break;
	}
	printf("%s: %lu calls, %lu bad\n", what, f.at - 1, bad);
	if (f.at < 20)
		lab_die("%s: only %lu calls were seen", what, f.at - 1);
	return bad;
}

int main(int argc, char **argv)
{
	char *policy, *text;
	int fd;
	unsigned long bad = 0;

	if (argc != 3)
		lab_die("alert-crash REIN RECORD_FILL");
	trace_init();
	rein = realpath(argv[1], NULL);
	fill = realpath(argv[2], NULL);
	if (!rein || !fill)
		lab_die_errno("%s or %s", argv[1], argv[2]);
	top = lab_tmpdir("alert-crash", NULL);
	env[0] = lab_format("HOME=%s", top);
	env[1] = lab_format("REIN_STATE=%s/state", top);
	policy = lab_format("%s/.config/rein/policy.yaml", top);
	must((const char *const[]){"/bin/mkdir", "-p", ".config/rein", NULL});
	text = lab_format("version: 1\nalerts:\n  - {id: agent.new, when: {type: request}, first: agent, "
			  "command: \"cat >>%s/delivered\"}\n  - {id: violations.many, off: true}\n", top);
	fd = open(policy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		lab_die_errno("write %s", policy);
	close(fd);
	must((const char *const[]){fill, "before", "40", "1", NULL});
	bad += each("killed", (struct trace_fault){.classes = CALL_CHANGE, .alone = true});
	if (lab_full()) {
		bad += each("no room", (struct trace_fault){.classes = CALL_SPACE, .err = 28, .alone = true});
		bad += each("bad disk", (struct trace_fault){.classes = CALL_SYNC | CALL_ALTER, .err = 5, .alone = true});
	}
	lab_remove(top);
	return bad != 0;
}
