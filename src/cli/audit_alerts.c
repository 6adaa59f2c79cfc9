/* SPDX-License-Identifier: Apache-2.0 */
/* rein audit alerts: look at what is new, deliver what waits, show what does. */
#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/audit.h"
#include "engine/alerts.h"
#include "engine/policyload.h"
#include "record/outbox.h"

static void print_entry(const struct rein_outbox_entry *e, bool json, struct rein_json *j)
{
	char when[32], next[32];

	rein_audit_time(e->created_ns, REIN_AUDIT_DATE | REIN_AUDIT_CLOCK, when, sizeof(when));
	rein_audit_time(e->next_ns, REIN_AUDIT_CLOCK, next, sizeof(next));
	if (!json) {
		printf("%s  %s  %-20s", e->id, when, e->to);
		if (e->attempts)
			printf("  %llu failed, next %s: %s", (unsigned long long)e->attempts, next,
			       e->why);
		putchar('\n');
		return;
	}
	rein_json_open(j, '{');
	rein_json_kstr(j, "id", e->id);
	rein_json_kstr(j, "to", e->to);
	rein_json_ku64(j, "created_ns", e->created_ns);
	rein_json_ku64(j, "attempts", e->attempts);
	rein_json_ku64(j, "next_ns", e->next_ns);
	rein_json_kstr(j, "why", e->why);
	rein_json_close(j, '}');
}

static int list(struct rein_audit *a)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	auto_free char *path = rein_asprintf("%s/audit", a->state);
	auto_close int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct rein_json j = {.b = &b};
	struct rein_outbox o = {0};

	if (fd >= 0 && rein_outbox_read(fd, &o, &a->err) < 0)
		return rein_audit_fail(a);
	rein_json_open(&j, '[');
	for (size_t i = 0; i < o.n; i++)
		print_entry(&o.v[i], a->json, &j);
	rein_json_close(&j, ']');
	if (a->json)
		puts(b.p);
	else if (!o.n)
		rein_audit_note(a, "no alert waits to be delivered");
	rein_outbox_done(&o);
	return 0;
}

/* As if every rule had fired: whom it would call, and does that work? */
static int test(struct rein_audit *a, const struct rein_deliver_opts *o)
{
	auto_free char *path = rein_asprintf("%s/audit", a->state);
	auto_close int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct rein_deliver_queue q = {.audit_fd = fd, .opts = o};
	uint64_t now = rein_now_ns();

	if (fd < 0)
		return rein_err_set(&a->err, REIN_E_NOTFOUND,
				    "there is no record yet: run something first");
	for (size_t i = 0; i < o->nrule; i++) {
		struct rein_alert x = {.rule = &o->rule[i], .time_ns = now};

		snprintf(x.id, sizeof(x.id), "%016llx", (unsigned long long)(now + i));
		snprintf(x.text, sizeof(x.text), "%s: this is a test, nothing happened",
			 x.rule->name);
		if (x.rule->to_stderr)
			fprintf(stderr, "rein: alert %s\n", x.text);
		if (rein_deliver_queue(&q, &x, &a->err) < 0)
			return -a->err.code;
	}
	return 0;
}

static void print_result(const struct rein_audit *a, int fired, const struct rein_deliver_result *d)
{
	auto_buf struct rein_buf b = REIN_BUF(4096);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_ku64(&j, "fired", (uint64_t)fired);
	rein_json_ku64(&j, "delivered", d->delivered);
	rein_json_ku64(&j, "given_up", d->given_up);
	rein_json_ku64(&j, "waiting", d->waiting);
	rein_json_kstr(&j, "why", d->why);
	rein_json_close(&j, '}');
	if (a->json)
		puts(b.p);
	else if (fired || d->delivered || d->given_up || d->waiting)
		fprintf(stderr, "rein: %d alert%s, %u delivered, %u given up, %u waiting%s%s\n",
			fired, fired == 1 ? "" : "s", d->delivered, d->given_up, d->waiting,
			d->why[0] ? ": " : "", d->why);
}

int rein_audit_alerts(struct rein_audit *a)
{
	auto_free char *cwd = getcwd(NULL, 0), *project = cwd ? rein_policy_project(cwd) : NULL;
	struct rein_policy_sources from = {.project = project};
	struct rein_deliver_result d = {0};
	struct rein_policy *p = NULL;
	struct rein_deliver_opts o = {0};
	int rc;

	if (a->list)
		return list(a);
	rc = rein_policy_load(&from, &p, &a->err);
	if (rc == 0 && a->test) {
		o.rule = rein_policy_alerts(p, &o.nrule);
		o.webhook = rein_policy_webhooks(p, &o.nwebhook);
		rc = test(a, &o);
	}
	if (rc == 0)
		rc = rein_engine_alerts_now(a->state, p, a->wait_ns, stderr, &d, &a->err);
	rein_policy_free(p);
	if (rc < 0)
		return rein_audit_fail(a);
	print_result(a, rc, &d);
	/* Somebody was to be called and was not. */
	if (d.waiting || d.given_up)
		return rein_code_exit(REIN_E_FAILED);
	return 0;
}
