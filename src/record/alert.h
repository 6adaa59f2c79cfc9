/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts: rules over the record (model/alert.h) that call a person.
 *
 * The engine is pure: events go in, alerts come out. The runner reads the record from where it
 * stopped and hands each alert on; only when whoever takes it has it safely (in the outbox) is the
 * alert recorded and the place moved: after a crash an alert may come twice, never not at all. The
 * same rule and key is silent for `cooldown`; what was swallowed is counted in the next.
 */
#ifndef REIN_RECORD_ALERT_H
#define REIN_RECORD_ALERT_H

#include "base/buf.h"
#include "base/err.h"
#include "model/alert.h"
#include "model/event.h"

struct rein_alert {
	const struct rein_alert_rule *rule;
	char id[17];   /* of rule, key and line: the same if delivered again */
	char key[64];  /* which agent, session, host … */
	char event[17], action[33], agent[64], session[64]; /* of the event that set it off */
	uint64_t line, time_ns, count, swallowed;
	char text[256]; /* one sentence */
};

struct rein_alerts;
typedef int rein_alert_fn(void *arg, const struct rein_alert *a, struct rein_err *err);

int rein_alerts_new(const struct rein_alert_rule *rule, size_t n, struct rein_alerts **ret,
		    struct rein_err *err);
void rein_alerts_free(struct rein_alerts *a);
/* fire may be NULL: the event is only learned from. */
int rein_alerts_feed(struct rein_alerts *a, uint64_t line, const struct rein_event *ev,
		     rein_alert_fn *fire, void *arg, struct rein_err *err);
/*
 * Could an event, as it is before it is redacted, set off one of the rules or be remembered by it? Told by what is
 * never redacted: its type, the decision, numbers, whether it has the field. Yes where that does not tell.
 */
bool rein_alerts_concern(const struct rein_alert_rule *rule, size_t n, const struct rein_event *ev);

/*
 * All new lines of the record. fire takes each alert, durably; it then is recorded, unless it was
 * already (a crash). Returns how many were fired. budget: read at most about so many bytes, 0 for any
 * number; more to read is -REIN_E_BUSY and nothing is done. So is another process that looks already; and, where fire
 * is NULL, anything that there would be to take.
 */
int rein_alerts_run(const char *state_dir, const struct rein_alert_rule *rule, size_t n,
		    uint64_t budget, rein_alert_fn *fire, void *arg, struct rein_err *err);
void rein_alert_json(const struct rein_alert *a, struct rein_buf *b);

#endif
