/* SPDX-License-Identifier: Apache-2.0 */
/* Events in the formats others read. Appends one line (with newline) an event. */
#ifndef REIN_RECORD_EXPORT_H
#define REIN_RECORD_EXPORT_H

#include "base/buf.h"
#include "model/event.h"

struct rein_export {
	const char *name;
	void (*begin)(struct rein_buf *b); /* or NULL */
	void (*event)(struct rein_buf *b, uint64_t line, struct rein_str text,
		      const struct rein_event *ev);
};

/* jsonl csv cef syslog ocsf; NULL when there is no such format. */
const struct rein_export *rein_export_format(const char *name);
extern const char rein_export_names[];
/* OCSF severity 1..6 and the plain word for it. */
unsigned rein_event_severity(const struct rein_event *ev);

#endif
