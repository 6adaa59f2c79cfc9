/* SPDX-License-Identifier: Apache-2.0 */
/* From the policy's rules to the record's alert engine, and who delivers. */
#include "engine/alerts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "engine/policyload.h"
#include "sys/detach.h"

#define BUDGET_BYTES                                                                               \
	(4u << 20) /* of log, read before the caller's end; more is left to the other process */
#define MEANWHILE_BYTES (64u << 10) /* while a command runs, and its terminal wants attention */
#define LINGER_NS (60 * REIN_NS_PER_S)
#define LOOK_NS (60 * REIN_NS_PER_S) /* somebody who died before he looked is not waited for longer */

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

/* Nobody has looked for a while. */
static bool is_due(const struct rein_engine *e)
{
	struct stat st;

	return fstatat(e->state.fd, "audit/alerts.cursor", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       rein_now_ns() - (uint64_t)st.st_mtim.tv_sec * REIN_NS_PER_S > LOOK_NS;
}

static void alerts(const struct rein_engine *e, const struct rein_policy *p, bool anything, FILE *say)
{
	struct rein_deliver_opts o = options(p, LINGER_NS);
	struct rein_err err = {0};
	int rc;

	if (!o.nrule)
		return;
	rc = anything || is_due(e) ? look(e->state.dir, &o, BUDGET_BYTES, say, &err) : 0;
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
	alerts(e, p ? p : own, true, say);
	rein_policy_free(own);
}

void rein_engine_alerts_meanwhile(const struct rein_engine *e, struct rein_run *r)
{
	struct rein_err ignored = {0};

	if (r->trail.alerting &&
	    rein_alerts_run(e->state.dir, r->trail.alert, r->trail.nalert, MEANWHILE_BYTES, NULL, NULL, &ignored) == 0)
		r->trail.alerting = false;
}

void rein_engine_alerts_after(const struct rein_engine *e, const struct rein_run *r, FILE *say)
{
	if (r->policy)
		alerts(e, r->policy, r->trail.alerting, say);
}

int rein_engine_alerts_now(const char *state_dir, const struct rein_policy *p, uint64_t wait_ns,
			   FILE *say, struct rein_deliver_result *ret, struct rein_err *err)
{
	struct rein_deliver_opts o = options(p, wait_ns);
	int fired = look(state_dir, &o, 0, say, err);
	int rc = fired < 0 ? fired : rein_deliver(state_dir, &o, ret, err);

	return rc < 0 ? rc : fired;
}
