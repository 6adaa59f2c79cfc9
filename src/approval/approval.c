/* SPDX-License-Identifier: Apache-2.0 */
/* See approval.h. */
#include "approval/approval.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"

void rein_person_done(struct rein_person *p)
{
	rein_free(p->name);
	rein_strlist_done(&p->groups);
	*p = (struct rein_person){0};
}

/* A group the system has no name for is nobody's approver. */
static int add_group(struct rein_person *p, gid_t gid)
{
	const struct group *g = getgrgid(gid);

	return !g || rein_strlist_has(&p->groups, g->gr_name) ? 0 : rein_strlist_add(&p->groups, g->gr_name);
}

int rein_person_self(struct rein_person *ret, struct rein_err *err)
{
	auto_(rein_person_done) struct rein_person p = {0};
	const struct passwd *pw = getpwuid(getuid());
	auto_free gid_t *list = NULL;
	int n = getgroups(0, NULL);

	p.name = pw ? rein_strdup(pw->pw_name) : rein_asprintf("%u", (unsigned)getuid());
	list = rein_calloc((size_t)(n < 0 ? 0 : n) + 1, sizeof(*list));
	if (!p.name || !list)
		return rein_err_nomem(err);
	n = n < 0 ? n : getgroups(n, list);
	if (n < 0)
		return rein_err_errno(err, "getgroups");
	list[n] = getgid();
	for (int i = 0; i <= n; i++)
		if (add_group(&p, list[i]) < 0)
			return rein_err_nomem(err);
	*ret = p;
	p = (struct rein_person){0};
	return 0;
}

static int add(const struct rein_demand *d, uint64_t now_ns, struct rein_reviews *to)
{
	struct rein_review *x;

	if (d->minimum <= 1 && !d->n_approvers && !d->expires_ns)
		return 0;
	x = rein_reviews_add(to);
	if (!x)
		return -1;
	x->minimum = d->minimum;
	x->until_ns = d->expires_ns ? rein_ns_after(now_ns, d->expires_ns) : 0;
	for (size_t i = 0; i < d->n_approvers; i++)
		if (rein_strlist_add(&x->by, d->approvers[i]) < 0)
			return -1;
	return 0;
}

int rein_review_of(const struct rein_decision *d, uint64_t now_ns, struct rein_reviews *to, struct rein_err *err)
{
	auto_(rein_reviews_done) struct rein_reviews all = {0};

	if (add(&d->demand, now_ns, &all) < 0)
		return rein_err_nomem(err);
	for (size_t i = 0; i < d->n_also; i++)
		if (add(&d->also[i], now_ns, &all) < 0)
			return rein_err_nomem(err);
	return rein_reviews_join(to, &all) < 0 ? rein_err_nomem(err) : 0;
}

static bool is_one_of(const struct rein_person *p, const struct rein_strlist *by)
{
	for (size_t i = 0; i < by->n; i++)
		if (rein_streq(by->v[i], p->name) || rein_strlist_has(&p->groups, by->v[i]))
			return true;
	return !by->n;
}

static int check(const struct rein_review *r, const struct rein_person *p, uint64_t now_ns, struct rein_err *err)
{
	auto_buf struct rein_buf names = REIN_BUF(4096);

	if (r->until_ns && now_ns > r->until_ns)
		return rein_err_set(err, REIN_E_DENIED, "nobody approved it in the time its rule gives");
	for (size_t i = 0; i < r->by.n; i++) {
		rein_buf_cstr(&names, i ? ", " : "");
		rein_buf_escaped(&names, rein_str(r->by.v[i]));
	}
	if (r->minimum > 1)
		return rein_err_set(err, REIN_E_APPROVAL,
				    "%u people have to approve it%s%s, and whoever answers here is one", r->minimum,
				    r->by.n ? ", of " : "", names.p ? names.p : "");
	if (!is_one_of(p, &r->by))
		return rein_err_set(err, REIN_E_APPROVAL, "only these may approve it: %s; '%s' is neither one of them "
				    "nor in a group of that name", names.p ? names.p : "", p->name);
	return 0;
}

int rein_reviews_check(const struct rein_reviews *r, const struct rein_person *p, uint64_t now_ns,
		       struct rein_err *err)
{
	for (size_t i = 0; i < r->n; i++)
		if (check(&r->v[i], p, now_ns, err) < 0)
			return -err->code;
	return 0;
}

int rein_reviews_check_self(const struct rein_reviews *r, struct rein_err *err)
{
	auto_(rein_person_done) struct rein_person p = {0};

	if (!r->n)
		return 0;
	if (rein_person_self(&p, err) < 0)
		return -err->code;
	return rein_reviews_check(r, &p, rein_now_ns(), err);
}
