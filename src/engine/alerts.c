/* SPDX-License-Identifier: Apache-2.0 */
/* From the policy's rules to the record's alert engine, and who delivers. */
#include "engine/alerts.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "engine/policyload.h"
#include "sys/detach.h"

#define BUDGET_BYTES                                                                               \
	(4u << 20) /* of log, read before the caller's end; more is left to the other process */
#define LINGER_NS (60 * REIN_NS_PER_S)

struct taker {
	struct rein_deliver_queue queue;
	FILE *say;
};

static int take(void *arg, const struct rein_alert *a, struct rein_err *err)
{
	struct taker *t = arg;
	int rc = rein_deliver_queue(&t->queue, a, err);

	if (rc == 0 && a->rule->to_stderr && t->say)
		fprintf(t->say, "rein: alert %s\n", a->text);
	return rc;
}

static struct rein_deliver_opts options(const struct rein_policy *p, uint64_t wait_ns)
{
	struct rein_deliver_opts o = {.wait_ns = wait_ns};

	o.rule = rein_policy_alerts(p, &o.nrule);
	o.webhook = rein_policy_webhooks(p, &o.nwebhook);
	return o;
}

static int look(const char *state_dir, const struct rein_deliver_opts *o, uint64_t budget,
		FILE *say, struct rein_err *err)
{
	auto_free char *audit = rein_asprintf("%s/audit", state_dir);
	auto_close int fd = audit ? open(audit, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct taker t = {.queue = {.audit_fd = fd, .opts = o}, .say = say};

	if (!audit)
		return rein_err_nomem(err);
	return fd < 0 ? 0 : rein_alerts_run(state_dir, o->rule, o->nrule, budget, take, &t, err);
}

static void leave_behind(const char *state_dir, const struct rein_deliver_opts *o)
{
	struct rein_deliver_result ignored_result;
	struct rein_err ignored = {0};

	if (rein_detach("rein-alerts", NULL, 0) <= 0)
		return;
	look(state_dir, o, 0, NULL, &ignored);
	rein_deliver(state_dir, o, &ignored_result, &ignored);
	_exit(0);
}

static void alerts(const struct rein_engine *e, const struct rein_policy *p, FILE *say)
{
	struct rein_deliver_opts o = options(p, LINGER_NS);
	struct rein_err err = {0};
	int rc;

	if (!o.nrule)
		return;
	rc = look(e->state.dir, &o, BUDGET_BYTES, say, &err);
	if (rc < 0 && err.code != REIN_E_BUSY && say)
		fprintf(say, "rein: alerts: %s\n", err.msg);
	if (say)
		fflush(say);
	if ((rc < 0 && err.code == REIN_E_BUSY) || rein_deliver_due(e->state.dir))
		leave_behind(e->state.dir, &o);
}

void rein_engine_alerts(const struct rein_engine *e, const struct rein_policy *p, FILE *say)
{
	auto_free char *cwd = p ? NULL : getcwd(NULL, 0), *project = cwd ? rein_policy_project(cwd) : NULL;
	struct rein_policy_sources from = {.project = project};
	struct rein_policy *own = NULL;
	struct rein_err ignored = {0};

	/* A policy that cannot be read says so when the next command runs. */
	if (!p && rein_policy_load(&from, &own, &ignored) < 0 && !own)
		return;
	alerts(e, p ? p : own, say);
	rein_policy_free(own);
}

int rein_engine_alerts_now(const char *state_dir, const struct rein_policy *p, uint64_t wait_ns,
			   FILE *say, struct rein_deliver_result *ret, struct rein_err *err)
{
	struct rein_deliver_opts o = options(p, wait_ns);
	int fired = look(state_dir, &o, 0, say, err);
	int rc = fired < 0 ? fired : rein_deliver(state_dir, &o, ret, err);

	return rc < 0 ? rc : fired;
}
