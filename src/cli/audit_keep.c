/* SPDX-License-Identifier: Apache-2.0 */
/* rein audit prune, hold, release, anchor, rotate-key, rebuild, accept-loss: upkeep. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/audit.h"
#include "cli/ui.h"
#include "record/anchor.h"
#include "record/index.h"
#include "record/prune.h"
#include "record/tail.h"

static void print_pruned(const struct rein_audit *a, const struct rein_prune_result *r)
{
	auto_buf struct rein_buf b = REIN_BUF(4096);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_ku64(&j, "segments", r->segments);
	rein_json_ku64(&j, "bytes", r->bytes);
	rein_json_ku64(&j, "first_line", r->first_line);
	rein_json_kbool(&j, "held", r->held);
	rein_json_kbool(&j, "dry_run", a->dry_run);
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

int rein_audit_prune(struct rein_audit *a)
{
	struct rein_prune_options o = {
		.dry_run = a->dry_run, .keep_segments = 1, .keep_ns = a->keep_ns, .keep_bytes = a->keep_bytes};
	struct rein_prune_result res;
	struct rein_record *r = NULL;
	int rc;

	rc = rein_audit_open(a, &r);
	if (rc)
		return rc;
	if (!o.keep_ns && !o.keep_bytes)
		rein_record_retention(r, &o.keep_ns, &o.keep_bytes);
	if (!o.keep_ns && !o.keep_bytes) {
		rein_record_close(r);
		return rein_audit_usage(a, "say what to keep: --keep-age 90d or --keep-size 1G",
					NULL);
	}
	rc = rein_record_prune(r, &o, &res, &a->err);
	rein_record_close(r);
	if (rc < 0)
		return rein_audit_fail(a);
	if (a->json)
		print_pruned(a, &res);
	else if (!a->quiet)
		printf("%s %u segment%s (%llu bytes); the record now begins at line %llu%s\n",
		       a->dry_run ? "would remove" : "removed", res.segments, res.segments == 1 ? "" : "s",
		       (unsigned long long)res.bytes, (unsigned long long)res.first_line,
		       res.held ? "; a legal hold keeps the rest" : "");
	return 0;
}

static void print_hold(const struct rein_hold *h)
{
	auto_buf struct rein_buf reason = REIN_BUF(1 << 16);
	char since[32], until[32];

	rein_buf_escaped(&reason, rein_str(h->reason));
	rein_audit_time(h->since_ns, REIN_AUDIT_DATE | REIN_AUDIT_CLOCK, since, sizeof(since));
	rein_audit_time(h->until_ns, REIN_AUDIT_DATE | REIN_AUDIT_CLOCK, until, sizeof(until));
	printf("%s  %s to %s  %s\n", h->id, h->since_ns ? since : "the beginning",
	       h->until_ns ? until : "further notice", reason.p ? reason.p : "");
}

static int list_holds(struct rein_audit *a)
{
	auto_buf struct rein_buf b = REIN_BUF(64u << 20);
	struct rein_json j = {.b = &b};
	auto_free struct rein_hold *h = NULL;
	size_t n = 0;

	if (rein_record_list_holds(a->state, &h, &n, &a->err) < 0)
		return rein_audit_fail(a);
	rein_json_open(&j, '[');
	for (size_t i = 0; i < n; i++) {
		if (!a->json)
			print_hold(&h[i]);
		rein_json_open(&j, '{');
		rein_json_kstr(&j, "id", h[i].id);
		rein_json_ku64(&j, "since_ns", h[i].since_ns);
		rein_json_ku64(&j, "until_ns", h[i].until_ns);
		rein_json_kstr(&j, "reason", h[i].reason);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	if (a->json)
		rein_json_out(&b);
	else if (!n)
		rein_audit_note(a, "nothing is held");
	return 0;
}

int rein_audit_hold(struct rein_audit *a)
{
	struct rein_record *r = NULL;
	int rc;

	if (a->list)
		return list_holds(a);
	if (!a->reason)
		return rein_audit_usage(a, "a hold needs a reason: --reason TEXT", NULL);
	rc = rein_audit_open(a, &r);
	if (rc)
		return rc;
	rc = rein_record_hold(r, a->filter.since_ns, a->filter.until_ns, a->reason, &a->err);
	if (rc == 0)
		printf(a->json ? "{\"id\":\"%s\"}\n" : "held: %s\n", rein_record_last_id(r));
	rein_record_close(r);
	return rc < 0 ? rein_audit_fail(a) : 0;
}

int rein_audit_release(struct rein_audit *a)
{
	struct rein_record *r = NULL;
	int rc;

	if (a->nrest != 1 || !a->reason)
		return rein_audit_usage(a, "release needs the id of a hold and --reason TEXT",
					NULL);
	rc = rein_audit_open(a, &r);
	if (rc)
		return rc;
	rc = rein_record_release(r, a->rest[0], a->reason, &a->err);
	rein_record_close(r);
	return rc < 0 ? rein_audit_fail(a) : rein_audit_done(a, "release");
}

int rein_audit_rebuild(struct rein_audit *a)
{
	const struct rein_index_ops *ops;
	struct rein_index *x = NULL;
	uint64_t began = rein_mono_ns();

	if (rein_index_load(&ops, &a->err) < 0 || ops->open(a->state, true, &x, &a->err) < 0)
		return rein_audit_fail(a);
	if (a->json)
		printf("{\"lines\":%llu}\n", (unsigned long long)ops->lines(x));
	else if (!a->quiet)
		printf("indexed %llu lines in %.1f s\n", (unsigned long long)ops->lines(x),
		       (double)(rein_mono_ns() - began) / 1e9);
	ops->close(x);
	return 0;
}

int rein_audit_rotate_key(struct rein_audit *a)
{
	struct rein_record *r = NULL;
	int rc = rein_audit_open(a, &r);

	if (rc)
		return rc;
	rc = rein_record_rotate_key(r, &a->err);
	rein_record_close(r);
	return rc < 0 ? rein_audit_fail(a) : rein_audit_done(a, "rotate-key");
}

int rein_audit_anchor(struct rein_audit *a)
{
	struct rein_record *r = NULL;
	int rc;

	if (!a->output && !a->command && !a->syslog && !a->webhook)
		return rein_audit_usage(a,
					"say where: --output FILE, --command CMD, --webhook URL or "
					"--syslog",
					NULL);
	rc = rein_audit_open(a, &r);
	if (rc)
		return rc;
	rc = rein_record_anchor_now(r,
				    &(struct rein_anchor_to){.path = a->output,
							     .command = a->command,
							     .webhook = a->webhook,
							     .use_syslog = a->syslog},
				    &a->err);
	rein_record_close(r);
	return rc < 0 ? rein_audit_fail(a) : rein_audit_done(a, "anchor");
}

int rein_audit_accept_loss(struct rein_audit *a)
{
	if (!a->reason)
		return rein_audit_usage(a, "say why: --reason TEXT", NULL);
	return rein_record_accept_loss(a->state, a->reason, &a->err) < 0 ? rein_audit_fail(a)
									 : rein_audit_done(a, "accept-loss");
}
