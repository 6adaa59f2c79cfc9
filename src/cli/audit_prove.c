/* SPDX-License-Identifier: Apache-2.0 */
/* rein audit verify, prove: is the record whole, and what can be shown from it elsewhere. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/audit.h"
#include "record/proof.h"
#include "record/tail.h"

static void print_verified(const struct rein_audit *a, const struct rein_verify_result *v,
			   bool whole, double seconds)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	struct rein_json j = {.b = &b};
	char root[65], key[65];

	rein_record_hex(v->head.root, 32, root);
	rein_record_hex(v->head.pub, 32, key);
	if (!a->json) {
		if (!whole)
			return;
		printf("whole: %llu lines (%llu events) in %u segment%s, verified in %.2f s\n",
		       (unsigned long long)v->lines, (unsigned long long)v->events, v->segments,
		       v->segments == 1 ? "" : "s", seconds);
		printf("head:  %llu lines, root %s\n", (unsigned long long)v->head.n, root);
		printf("key:   %s\n", key);
		if (v->first)
			printf("note:  lines before %llu were pruned, which is recorded\n",
			       (unsigned long long)v->first);
		if (v->tail)
			printf("note:  %llu line%s at the end not yet under a signed head\n",
			       (unsigned long long)v->tail, v->tail == 1 ? "" : "s");
		if (v->anchors)
			printf("note:  %llu heads kept elsewhere fit\n",
			       (unsigned long long)v->anchors);
		if (v->loss_accepted)
			printf("note:  the record itself says that an earlier one was lost\n");
		return;
	}
	rein_json_open(&j, '{');
	rein_json_kbool(&j, "whole", whole);
	if (!whole)
		rein_json_kstr(&j, "problem", a->err.msg);
	rein_json_ku64(&j, "lines", v->lines);
	rein_json_ku64(&j, "events", v->events);
	rein_json_ku64(&j, "segments", v->segments);
	rein_json_ku64(&j, "first", v->first);
	rein_json_ku64(&j, "tail", v->tail);
	rein_json_ku64(&j, "signatures", v->signatures);
	rein_json_ku64(&j, "anchors", v->anchors);
	rein_json_ku64(&j, "head", v->head.n);
	rein_json_kstr(&j, "root", root);
	rein_json_kstr(&j, "key", key);
	rein_json_kbool(&j, "loss_accepted", v->loss_accepted);
	rein_json_close(&j, '}');
	puts(b.p);
}

int rein_audit_verify(struct rein_audit *a)
{
	struct rein_verify_options o = {.incremental = a->incremental,
					.all_signatures = a->all,
					.all_events = a->all,
					.anchor = a->anchor,
					.archive = a->archive != NULL};
	struct rein_verify_result v;
	uint64_t began = rein_mono_ns();
	uint8_t pinned[32];
	int rc;

	if (a->key) {
		if (strlen(a->key) != 64 || !rein_record_unhex(a->key, 32, pinned))
			return rein_audit_usage(a, "a key is 64 hexadecimal digits, not", a->key);
		o.pinned = pinned;
	}
	if (a->nrest > 1 || (a->nrest && a->archive))
		return rein_audit_usage(a, "verify takes the record, an archive or one proof, not also", a->rest[a->nrest - 1]);
	if (a->nrest == 1) /* a proof made by: rein audit prove */
		return rein_proof_check_file(a->rest[0], o.pinned, &a->err) < 0
			       ? rein_audit_fail(a)
			       : (puts(a->json ? "{\"holds\":true}" : "the proof holds"), 0);
	rc = rein_record_verify(a->archive ? a->archive : a->state, &o, &v, &a->err);
	if (rc < 0 && a->err.code != REIN_E_INVALID) /* it could not be looked at, which says nothing about it */
		return rein_audit_fail(a);
	print_verified(a, &v, rc == 0, (double)(rein_mono_ns() - began) / 1e9);
	if (rc < 0 && !a->json)
		fprintf(stderr, "rein: the record is NOT whole\n      %s\n", a->err.msg);
	return rc < 0 ? rein_code_exit(a->err.code) : 0;
}

int rein_audit_prove(struct rein_audit *a)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);

	if (a->nrest < 1 || a->nrest > 2)
		return rein_audit_usage(a, "prove needs an event (id or line), or two sizes", NULL);
	if (rein_proof_write(a->state, a->rest[0], a->nrest > 1 ? a->rest[1] : NULL, &b, &a->err) <
	    0)
		return rein_audit_fail(a);
	fwrite(b.p, 1, b.n, stdout);
	return 0;
}
