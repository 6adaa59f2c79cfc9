/* SPDX-License-Identifier: Apache-2.0 */
/* The deliverer: passes over the outbox until nothing is due or the time is over. */
#include "record/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/internal.h"
#include "record/outbox.h"
#include "record/spawn.h"
#include "record/webhook.h"
#include "sys/file.h"

#define MINUTE_NS  (60 * REIN_NS_PER_S)
#define BACKOFF_NS (15 * MINUTE_NS)
#define GIVE_UP_NS (24 * 60 * MINUTE_NS)
#define ASKED_NS   (60 * MINUTE_NS) /* longest pause a server may ask for */
#define COMMAND_NS (30 * REIN_NS_PER_S)
#define DESKTOP_NS (5 * REIN_NS_PER_S)
#define WEBHOOKS   64

/* How a webhook fares; the same in outbox/pace between processes. */
struct pace {
	char name[64];
	uint64_t minute, sent; /* in that minute */
	uint64_t blocked_ns;   /* it failed: nothing before this */
};

struct run {
	int audit_fd, box_fd;
	const char *state_dir;
	const struct rein_deliver_opts *o;
	struct rein_deliver_result *ret;
	struct pace pace[WEBHOOKS];
	size_t npace;
	bool keep_pauses;
};

/* --- pace ------------------------------------------------------------------------------------ */

static struct pace *pace_of(struct run *r, const char *name)
{
	for (size_t i = 0; i < r->npace; i++)
		if (rein_streq(r->pace[i].name, name))
			return &r->pace[i];
	if (r->npace == WEBHOOKS)
		return &r->pace[WEBHOOKS - 1];
	snprintf(r->pace[r->npace].name, sizeof(r->pace[0].name), "%s", name);
	return &r->pace[r->npace++];
}

static void pace_read(struct run *r)
{
	auto_buf struct rein_buf b = REIN_BUF(65536);
	struct rein_err ignored = {0};
	char *save = NULL;

	if (rein_file_read(r->box_fd, "pace", &b, &ignored) < 0 || !b.n)
		return;
	for (char *l = strtok_r(b.p, "\n", &save); l && r->npace < WEBHOOKS;
	     l = strtok_r(NULL, "\n", &save)) {
		struct pace p = {0};
		unsigned long long minute, sent, blocked;

		if (sscanf(l, "%63s %llu %llu %llu", p.name, &minute, &sent, &blocked) != 4)
			continue;
		p.minute = minute;
		p.sent = sent;
		p.blocked_ns = r->keep_pauses ? blocked : 0; /* somebody asks: now */
		r->pace[r->npace++] = p;
	}
}

static void pace_write(struct run *r)
{
	auto_buf struct rein_buf b = REIN_BUF(65536);
	struct rein_err ignored = {0};

	for (size_t i = 0; i < r->npace; i++)
		rein_buf_printf(&b, "%s %llu %llu %llu\n", r->pace[i].name,
				(unsigned long long)r->pace[i].minute,
				(unsigned long long)r->pace[i].sent,
				(unsigned long long)r->pace[i].blocked_ns);
	/* A pace that is lost is a delivery too early, no more. */
	if (!b.failed && b.n)
		rein_file_replace(r->box_fd, "pace", (struct rein_str){b.p, b.n}, REIN_SYNC_NONE,
				  &ignored);
}

/* 1, 2, 4 … seconds, a quarter more or less by chance of the name, so that many do not come at
 * once. */
static uint64_t backoff(uint64_t attempts, const char *file)
{
	uint64_t ns = attempts < 10 ? REIN_NS_PER_S << attempts : BACKOFF_NS;
	unsigned chance = 0;

	for (; *file; file++)
		chance = chance * 31 + (unsigned char)*file;
	ns = ns < BACKOFF_NS ? ns : BACKOFF_NS;
	return ns / 4 * (3 + chance % 3);
}

/* --- destinations ---------------------------------------------------------------------------- */

static const struct rein_webhook *webhook_named(const struct rein_deliver_opts *o, const char *name)
{
	for (size_t i = 0; i < o->nwebhook; i++)
		if (rein_streq(o->webhook[i].name, name))
			return &o->webhook[i];
	return NULL;
}

static const struct rein_alert_rule *rule_named(const struct rein_deliver_opts *o, const char *name)
{
	for (size_t i = 0; i < o->nrule; i++)
		if (rein_streq(o->rule[i].name, name))
			return &o->rule[i];
	return NULL;
}

static bool has_desktop(void)
{
	return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

int rein_deliver_queue(struct rein_deliver_queue *q, const struct rein_alert *a,
		       struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(65536);
	char to[REIN_OUTBOX_TO];
	uint64_t now = rein_now_ns();
	int rc = 0;

	rein_alert_json(a, &b);
	rein_buf_char(&b, '\n');
	if (b.failed)
		return rein_err_nomem(err);
	for (size_t i = 0; rc == 0 && i < a->rule->nwebhook; i++) {
		if (!webhook_named(q->opts, a->rule->webhook[i]))
			continue; /* turned off */
		snprintf(to, sizeof(to), "webhook:%s", a->rule->webhook[i]);
		rc = rein_outbox_put(q->audit_fd, a->id, to, now, (struct rein_str){b.p, b.n}, err);
		q->queued += rc == 0;
	}
	if (rc == 0 && a->rule->command) {
		snprintf(to, sizeof(to), "command:%s", a->rule->name);
		rc = rein_outbox_put(q->audit_fd, a->id, to, now, (struct rein_str){b.p, b.n}, err);
		q->queued += rc == 0;
	}
	if (rc == 0 && a->rule->desktop && has_desktop()) {
		rc = rein_outbox_put(q->audit_fd, a->id, "desktop", now, rein_str(a->text), err);
		q->queued += rc == 0;
	}
	/* A full outbox must not stop the record of the alert; whoever looks sees both. */
	if (rc < 0 && err->code == REIN_E_LIMIT)
		rc = 0;
	return rc;
}

enum outcome { SENT, LATER, LOST };

static enum outcome fail(struct run *r, struct rein_outbox_entry *e, const char *why,
			 uint64_t pause_ns, uint64_t now)
{
	struct rein_err ignored = {0};

	snprintf(r->ret->why, sizeof(r->ret->why), "%s", why);
	snprintf(e->why, sizeof(e->why), "%s", why);
	if (now > e->created_ns && now - e->created_ns > GIVE_UP_NS)
		return LOST;
	e->next_ns = now + (pause_ns ? pause_ns : backoff(e->attempts, e->file));
	e->attempts++;
	rein_outbox_again(r->audit_fd, e, &ignored);
	return LATER;
}

static enum outcome to_webhook(struct run *r, struct rein_outbox_entry *e)
{
	const struct rein_webhook *w = webhook_named(r->o, e->to + strlen("webhook:"));
	struct pace *p;
	struct rein_err err = {0};
	uint64_t now = rein_now_ns(), asked = 0;
	enum outcome out;

	if (!w) {
		snprintf(e->why, sizeof(e->why), "the policy has no such webhook any more");
		return LOST;
	}
	p = pace_of(r, w->name);
	if (p->minute != now / MINUTE_NS) {
		p->minute = now / MINUTE_NS;
		p->sent = 0;
	}
	if (p->sent >= w->per_minute) {
		e->next_ns = (p->minute + 1) * MINUTE_NS;
		return LATER;
	}
	/* One that just failed is not asked again for every entry. */
	if (now < p->blocked_ns) {
		e->next_ns = p->blocked_ns;
		return LATER;
	}
	if (rein_webhook_send(r->audit_fd, w, e->id, e->body, &asked, &err) == 0) {
		p->sent++;
		p->blocked_ns = 0;
		pace_write(r);
		return SENT;
	}
	out = fail(r, e, err.msg, asked < ASKED_NS ? asked : ASKED_NS, rein_now_ns());
	p->blocked_ns = e->next_ns;
	pace_write(r);
	return out;
}

static enum outcome to_command(struct run *r, struct rein_outbox_entry *e)
{
	const struct rein_alert_rule *rule = rule_named(r->o, e->to + strlen("command:"));
	struct rein_err err = {0};

	if (!rule || !rule->command) {
		snprintf(e->why, sizeof(e->why), "the policy has no such command any more");
		return LOST;
	}
	if (rein_spawn_shell(rule->command, e->body, COMMAND_NS, &err) == 0)
		return SENT;
	return fail(r, e, err.msg, 0, rein_now_ns());
}

static enum outcome to_desktop(struct run *r, struct rein_outbox_entry *e)
{
	auto_free char *text = rein_strndup(e->body.p, e->body.n);
	char *argv[] = {(char *)(uintptr_t) "notify-send",
			(char *)(uintptr_t) "--app-name=Rein",
			(char *)(uintptr_t) "--urgency=critical",
			(char *)(uintptr_t) "--",
			(char *)(uintptr_t) "Rein",
			text,
			NULL};
	struct rein_err err = {0};

	(void)r;
	/* A desktop without the tool, or somebody else's, is no reason to repeat it for a day. */
	if (!text || !has_desktop() ||
	    rein_spawn_fed(argv, (struct rein_str){"", 0}, DESKTOP_NS, &err) < 0) {
		snprintf(e->why, sizeof(e->why), "%.190s",
			 err.code ? err.msg : "there is no desktop");
		return LOST;
	}
	return SENT;
}

static const struct {
	const char *prefix;
	enum outcome (*send)(struct run *r, struct rein_outbox_entry *e);
} destinations[] = {
	{"webhook:", to_webhook},
	{"command:", to_command},
	{"desktop", to_desktop},
};

static enum outcome send_one(struct run *r, struct rein_outbox_entry *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(destinations); i++)
		if (rein_starts(e->to, destinations[i].prefix))
			return destinations[i].send(r, e);
	return LOST;
}

/* That nobody was reached is an event, too. */
static int record_lost(struct run *r, const struct rein_outbox_entry *e, struct rein_err *err)
{
	struct rein_event ev = {
		.type = REIN_EV_ALERT, .result = STR("undelivered"), .detail = rein_str(e->why)};
	struct rein_record *log = NULL;
	int rc = rein_record_open(r->state_dir, NULL, &log, err);

	rein_event_add_extra(&ev, "alert", e->id);
	rein_event_add_extra(&ev, "to", e->to);
	if (rc == 0)
		rc = rein_record_append(log, &ev, true, err);
	rein_record_close(log);
	return rc;
}

/* --- heads for a webhook --------------------------------------------------------------------- */

struct anchored {
	uint64_t n, attempts, next_ns;
};

static struct anchored anchored_read(int box_fd)
{
	auto_buf struct rein_buf b = REIN_BUF(256);
	struct rein_err ignored = {0};
	unsigned long long n, attempts, next;

	if (rein_file_read(box_fd, "anchored", &b, &ignored) < 0 || !b.n ||
	    sscanf(b.p, "%llu %llu %llu", &n, &attempts, &next) != 3)
		return (struct anchored){0};
	return (struct anchored){n, attempts, next};
}

static void anchored_write(int box_fd, const struct anchored *a)
{
	char text[80];
	struct rein_err ignored = {0};

	snprintf(text, sizeof(text), "%llu %llu %llu\n", (unsigned long long)a->n,
		 (unsigned long long)a->attempts, (unsigned long long)a->next_ns);
	rein_file_replace(box_fd, "anchored", rein_str(text), REIN_SYNC_ORDERED, &ignored);
}

static int published(int audit_fd, struct rein_published *ret, struct rein_err *err)
{
	auto_close int fd = openat(audit_fd, "head", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? rein_err_errno(err, "open the record's head")
		      : rein_published_read(fd, ret, err);
}

/* The newest head covers all before it, so only that one is sent. Returns when to look again, 0:
 * never. */
static uint64_t send_head(struct run *r)
{
	struct rein_record_config c;
	struct rein_published pub;
	struct rein_err err = {0};
	struct anchored a;
	struct rein_webhook w = {.name = "anchor"};
	uint64_t now = rein_now_ns();
	char id[24];

	if (rein_record_config_read(r->audit_fd, &c, &err) < 0 || !c.anchor_webhook[0] ||
	    published(r->audit_fd, &pub, &err) < 0 || !pub.present)
		return 0;
	a = anchored_read(r->box_fd);
	if (pub.head.n < a.n)
		a = (struct anchored){0}; /* another log */
	if (pub.head.n == a.n)
		return 0;
	if (r->keep_pauses && now < a.next_ns)
		return a.next_ns;
	w.url = c.anchor_webhook;
	w.secret_file = c.anchor_secret[0] ? c.anchor_secret : NULL;
	snprintf(id, sizeof(id), "head-%llu", (unsigned long long)pub.head.n);
	if (rein_webhook_send(r->audit_fd, &w, id, pub.line, NULL, &err) == 0) {
		a = (struct anchored){.n = pub.head.n, .next_ns = now + MINUTE_NS};
		r->ret->delivered++;
	} else {
		snprintf(r->ret->why, sizeof(r->ret->why), "%.190s", err.msg);
		a.next_ns = now + backoff(a.attempts++, id);
		r->ret->waiting++;
	}
	anchored_write(r->box_fd, &a);
	return pub.head.n == a.n ? 0 : a.next_ns;
}

/* --- passes ---------------------------------------------------------------------------------- */

/* What a killed process left while writing an entry. */
static void sweep(int box_fd)
{
	int fd = openat(box_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	time_t old = time(NULL) - 3600;

	if (!d)
		return;
	for (struct dirent *e; (e = readdir(d));) {
		size_t n = strlen(e->d_name);
		struct stat st;

		if (n > 4 && rein_streq(e->d_name + n - 4, ".new") &&
		    fstatat(box_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime < old)
			unlinkat(box_fd, e->d_name, 0);
	}
}

/* Everything that is due, once. *ret_next: when the next is, 0: nothing waits. */
static int pass(struct run *r, uint64_t *ret_next, struct rein_err *err)
{
	struct rein_outbox o;
	uint64_t next = 0;
	int rc;

	r->ret->waiting = 0;
	next = send_head(r);
	if (rein_outbox_read(r->audit_fd, &o, err) < 0)
		return -err->code;
	rc = 0;
	for (size_t i = 0; rc == 0 && i < o.n; i++) {
		struct rein_outbox_entry *e = &o.v[i];
		enum outcome out = LATER;

		if (!r->keep_pauses || e->next_ns <= rein_now_ns())
			out = send_one(r, e);
		if (out == LATER) {
			r->ret->waiting++;
			next = !next || e->next_ns < next ? e->next_ns : next;
			continue;
		}
		if (out == LOST)
			rc = record_lost(r, e, err);
		r->ret->delivered += out == SENT;
		r->ret->given_up += out == LOST;
		if (out == LOST && e->why[0])
			snprintf(r->ret->why, sizeof(r->ret->why), "%s", e->why);
		if (rc == 0)
			rc = rein_outbox_remove(r->audit_fd, e, err);
	}
	rein_outbox_done(&o);
	*ret_next = next;
	return rc;
}

static int passes(struct run *r, struct rein_err *err)
{
	uint64_t began = rein_mono_ns(), next = 0;
	int rc = pass(r, &next, err);

	while (rc == 0 && r->o->wait_ns && next) {
		uint64_t now = rein_now_ns(), spent = rein_mono_ns() - began;
		uint64_t pause = next > now ? next - now : 1000000;
		struct timespec ts = {(time_t)(pause / REIN_NS_PER_S),
				      (long)(pause % REIN_NS_PER_S)};

		if (spent + pause > r->o->wait_ns)
			break; /* for the next command's end, or a timer */
		r->keep_pauses = true;
		nanosleep(&ts, NULL);
		rc = pass(r, &next, err);
	}
	return rc;
}

static int only_count(struct run *r, struct rein_err *err)
{
	struct rein_outbox o;

	if (rein_outbox_read(r->audit_fd, &o, err) < 0)
		return -err->code;
	r->ret->waiting = (unsigned)o.n;
	snprintf(r->ret->why, sizeof(r->ret->why), "another process delivers");
	rein_outbox_done(&o);
	return 0;
}

static bool wants_heads(int audit_fd)
{
	struct rein_record_config c;
	struct rein_err ignored = {0};

	return rein_record_config_read(audit_fd, &c, &ignored) == 0 && c.anchor_webhook[0];
}

int rein_deliver(const char *state_dir, const struct rein_deliver_opts *o,
		 struct rein_deliver_result *ret, struct rein_err *err)
{
	auto_close int audit = rein_record_dir(state_dir, false, err), box = -1, lock = -1;
	struct run r = {.audit_fd = audit,
			.o = o,
			.ret = ret,
			.state_dir = state_dir,
			.keep_pauses = o->wait_ns != 0};
	int rc;

	*ret = (struct rein_deliver_result){0};
	if (audit < 0)
		return err->code == REIN_E_NOTFOUND ? 0 : -err->code;
	rc = rein_outbox_dir(audit, wants_heads(audit), &box, err);
	if (rc <= 0)
		return rc;
	lock = openat(box, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0)
		return rein_err_errno(err, "lock the outbox");
	r.box_fd = box;
	if (flock(lock, LOCK_EX | LOCK_NB) < 0)
		return only_count(&r, err);
	sweep(box);
	pace_read(&r);
	return passes(&r, err);
}

bool rein_deliver_due(const char *state_dir)
{
	struct rein_err ignored = {0};
	auto_close int audit = rein_record_dir(state_dir, false, &ignored), box = -1;
	struct rein_outbox o;
	uint64_t now = rein_now_ns();
	bool due = false;

	if (audit < 0)
		return false;
	if (rein_outbox_dir(audit, false, &box, &ignored) > 0 &&
	    rein_outbox_read(audit, &o, &ignored) == 0) {
		for (size_t i = 0; i < o.n && !due; i++)
			due = o.v[i].next_ns <= now;
		rein_outbox_done(&o);
	}
	if (!due && wants_heads(audit)) {
		struct anchored a = box < 0 ? (struct anchored){0} : anchored_read(box);
		struct rein_published pub;

		due = now >= a.next_ns && published(audit, &pub, &ignored) == 0 && pub.present &&
		      pub.head.n != a.n;
	}
	return due;
}
