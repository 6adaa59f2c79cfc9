/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports. jsonl is the canonical line with its line number; csv has the fields people filter by;
 * cef is ArcSight's common event format; syslog is RFC 5424 with structured data; ocsf maps onto
 * the Open Cybersecurity Schema Framework 1.3 by the table below.
 */
#include "record/export.h"

#include <arpa/inet.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "record/event.h"

const char rein_export_names[] = "jsonl csv cef syslog ocsf";

/* --- what an event is in other people's words ----------------------------------------------- */

static const struct {
	unsigned short class_uid; /* category is its thousands */
	unsigned char activity;	  /* of the class; 99: other */
	const char *class_name;
} ocsf[REIN_EV__MAX] = {
	[REIN_EV_REQUEST] = {6003, 99, "API Activity"},
	/* Authorize Session (3003) is about privileges given at login: not what these are */
	[REIN_EV_DECISION] = {6003, 99, "API Activity"},
	[REIN_EV_APPROVAL] = {6003, 99, "API Activity"},
	[REIN_EV_ESCALATION] = {6003, 99, "API Activity"},
	[REIN_EV_RUN_START] = {1007, 1, "Process Activity"},
	[REIN_EV_RUN_END] = {1007, 2, "Process Activity"},
	[REIN_EV_EFFECTS] = {1001, 3, "File System Activity"},
	[REIN_EV_COMMIT] = {1001, 3, "File System Activity"},
	[REIN_EV_DISCARD] = {1001, 99, "File System Activity"},
	[REIN_EV_ROLLBACK] = {1001, 99, "File System Activity"},
	[REIN_EV_UNDO] = {1001, 3, "File System Activity"},
	[REIN_EV_REDO] = {1001, 3, "File System Activity"},
	[REIN_EV_CONFLICT] = {1001, 99, "File System Activity"},
	[REIN_EV_VIOLATION] = {2004, 1, "Detection Finding"},
	[REIN_EV_NETWORK] = {4001, 1, "Network Activity"}, /* 5 when refused */
	[REIN_EV_LIMIT] = {2004, 1, "Detection Finding"},
	[REIN_EV_POLICY] = {3004, 3, "Entity Management"},
	[REIN_EV_ADMIN] = {3004, 99, "Entity Management"},
	[REIN_EV_OVERRIDE] = {2004, 1, "Detection Finding"},
	[REIN_EV_STOP] = {6002, 4, "Application Lifecycle"},
	[REIN_EV_TOKEN] = {3004, 99, "Entity Management"},
	[REIN_EV_TRUST] = {3004, 3, "Entity Management"},
	[REIN_EV_BREAKER] = {6002, 99, "Application Lifecycle"},
	[REIN_EV_SNAPSHOT] = {1001, 99, "File System Activity"},
	[REIN_EV_ALERT] = {2004, 1, "Detection Finding"},
	[REIN_EV_REPAIR] = {6002, 99, "Application Lifecycle"},
	[REIN_EV_PRUNE] = {6002, 99, "Application Lifecycle"},
	[REIN_EV_HOLD] = {6002, 99, "Application Lifecycle"},
	[REIN_EV_RELEASE] = {6002, 99, "Application Lifecycle"},
	[REIN_EV_EXPORT] = {6002, 99, "Application Lifecycle"},
};

static bool is(struct rein_str s, const char *word)
{
	return rein_str_eq(s, rein_str(word));
}

unsigned rein_event_severity(const struct rein_event *ev)
{
	static const struct {
		const char *word;
		unsigned severity;
	} levels[] = {{"safe", 1}, {"risky", 2}, {"dangerous", 4}, {"destructive", 5}};
	unsigned s = 1;

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (is(ev->level, levels[i].word))
			s = levels[i].severity;
	if (ev->type == REIN_EV_VIOLATION || ev->type == REIN_EV_OVERRIDE ||
	    ev->type == REIN_EV_STOP)
		s = s < 4 ? 4 : s;
	if (ev->type == REIN_EV_ALERT || ev->type == REIN_EV_LIMIT || ev->type == REIN_EV_REPAIR)
		s = s < 3 ? 3 : s;
	return s;
}

static const char *severity_name(unsigned s)
{
	static const char *const names[] = {"Unknown", "Informational", "Low",
					    "Medium",  "High",		"Critical"};

	return names[s < 6 ? s : 0];
}

static bool failed(const struct rein_event *ev)
{
	return ev->result.n && !is(ev->result, "ok") && !is(ev->result, "held");
}

/* --- jsonl ---------------------------------------------------------------------------------- */

static void jsonl(struct rein_buf *b, uint64_t line, struct rein_str text,
		  const struct rein_event *ev)
{
	(void)ev;
	rein_buf_printf(b, "{\"line\":%llu,", (unsigned long long)line);
	rein_buf_add(b, text.p + 1, text.n - 1);
	rein_buf_char(b, '\n');
}

/*
 * How many bytes here drive a terminal, on which such a file is looked at, and are nothing that its format has a way to
 * say: 0, 1, or 2 in UTF-8. What they were is in the other formats.
 */
static size_t control_at(struct rein_str s, size_t i)
{
	unsigned char c = (unsigned char)s.p[i];

	if (c < 0x20 || c == 0x7f)
		return 1;
	return c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xa0 ? 2 : 0;
}

/* --- csv ------------------------------------------------------------------------------------ */

static void csv_text(struct rein_buf *b, struct rein_str s)
{
	/* A cell that begins like a formula is run by spreadsheets: an apostrophe stops that. */
	bool formula = s.n && strchr("=+-@\t\r", s.p[0]) && s.p[0];

	rein_buf_char(b, '"');
	if (formula)
		rein_buf_char(b, '\'');
	for (size_t i = 0; i < s.n; i++) {
		const size_t control = s.p[i] && strchr("\n\r\t", s.p[i]) ? 0 : control_at(s, i);

		if (s.p[i] == '"')
			rein_buf_char(b, '"');
		rein_buf_char(b, control ? ' ' : s.p[i]);
		i += control > 1;
	}
	rein_buf_char(b, '"');
}

static void csv_begin(struct rein_buf *b)
{
	rein_buf_cstr(b, "line,time,type,id,action,host,user,agent,session,task,kind,command,cwd,"
			 "level,reach,decision,rule,reason,approvers,txn,created,modified,deleted,"
			 "renamed,result,status,duration_ms,detail\r\n");
}

static void csv(struct rein_buf *b, uint64_t line, struct rein_str text,
		const struct rein_event *ev)
{
	char time[REIN_EVENT_TIME_LEN + 1];
	const struct rein_str first[] = {ev->id,       ev->action,  ev->host,  ev->user,
					 ev->agent,    ev->session, ev->task,  ev->kind,
					 ev->command,  ev->cwd,	    ev->level, ev->reach,
					 ev->decision, ev->rule,    ev->reason};
	auto_buf struct rein_buf list = REIN_BUF(1 << 16);

	(void)text;
	rein_event_time(ev->time_ns, time);
	rein_buf_printf(b, "%llu,%s,%s", (unsigned long long)line, time,
			rein_event_type_name(ev->type));
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		rein_buf_char(b, ',');
		csv_text(b, first[i]);
	}
	for (size_t i = 0; i < ev->napprover; i++) {
		rein_buf_cstr(&list, i ? " " : "");
		rein_buf_str(&list, ev->approver[i]);
	}
	rein_buf_char(b, ',');
	csv_text(b, (struct rein_str){list.p ? list.p : "", list.n});
	rein_buf_char(b, ',');
	csv_text(b, ev->txn);
	rein_buf_printf(b, ",%llu,%llu,%llu,%llu,", (unsigned long long)ev->effects.created,
			(unsigned long long)ev->effects.modified,
			(unsigned long long)ev->effects.deleted,
			(unsigned long long)ev->effects.renamed);
	csv_text(b, ev->result);
	rein_buf_char(b, ',');
	if (ev->has_status)
		rein_buf_printf(b, "%lld", (long long)ev->status);
	rein_buf_printf(b, ",%llu,", (unsigned long long)(ev->duration_ns / 1000000));
	csv_text(b, ev->detail);
	rein_buf_cstr(b, "\r\n");
}

/* --- cef ------------------------------------------------------------------------------------ */

static void cef_text(struct rein_buf *b, struct rein_str s, const char *special)
{
	for (size_t i = 0; i < s.n; i++) {
		const char c = s.p[i];
		const size_t control = control_at(s, i);

		if (c == '\n' || c == '\r')
			rein_buf_cstr(b, "\\n");
		else if (!control && strchr(special, c))
			rein_buf_printf(b, "\\%c", c);
		else
			rein_buf_char(b, control ? ' ' : c);
		i += control > 1;
	}
}

static void cef_pair(struct rein_buf *b, const char *key, struct rein_str v)
{
	if (!v.n)
		return;
	rein_buf_printf(b, " %s=", key);
	cef_text(b, v, "\\=");
}

static void cef(struct rein_buf *b, uint64_t line, struct rein_str text,
		const struct rein_event *ev)
{
	static const unsigned scale[] = {0, 2, 4, 6, 8, 10};
	unsigned sev = rein_event_severity(ev);

	(void)text;
	rein_buf_printf(b, "CEF:0|Rein|rein|%s|%s|", REIN_VERSION, rein_event_type_name(ev->type));
	cef_text(b, ev->detail.n ? ev->detail : rein_str(rein_event_type_name(ev->type)), "\\|");
	rein_buf_printf(b, "|%u|rt=%llu cn1Label=line cn1=%llu", scale[sev < 6 ? sev : 0],
			(unsigned long long)(ev->time_ns / 1000000), (unsigned long long)line);
	cef_pair(b, "externalId", ev->id);
	cef_pair(b, "dvchost", ev->host);
	cef_pair(b, "suser", ev->user);
	cef_pair(b, "sproc", ev->command);
	cef_pair(b, "act", ev->decision);
	cef_pair(b, "outcome", ev->result);
	cef_pair(b, "reason", ev->reason);
	if (ev->agent.n)
		rein_buf_cstr(b, " cs1Label=agent");
	cef_pair(b, "cs1", ev->agent);
	if (ev->level.n)
		rein_buf_cstr(b, " cs2Label=level");
	cef_pair(b, "cs2", ev->level);
	if (ev->rule.n)
		rein_buf_cstr(b, " cs3Label=rule");
	cef_pair(b, "cs3", ev->rule);
	if (ev->txn.n)
		rein_buf_cstr(b, " cs4Label=transaction");
	cef_pair(b, "cs4", ev->txn);
	if (ev->effects.npath)
		cef_pair(b, "filePath", ev->effects.path[0]);
	if (ev->effects.npeer)
		cef_pair(b, "dhost", ev->effects.peer[0]);
	rein_buf_char(b, '\n');
}

/* --- syslog --------------------------------------------------------------------------------- */

static void sd_pair(struct rein_buf *b, const char *key, struct rein_str v)
{
	if (!v.n)
		return;
	rein_buf_printf(b, " %s=\"", key);
	for (size_t i = 0; i < v.n; i++) {
		const char c = v.p[i];
		const size_t control = control_at(v, i);

		if (c == '"' || c == '\\' || c == ']')
			rein_buf_char(b, '\\');
		rein_buf_char(b, control ? ' ' : c);
		i += control > 1;
	}
	rein_buf_char(b, '"');
}

static void header_word(struct rein_buf *b, struct rein_str s, size_t most)
{
	if (!s.n)
		rein_buf_char(b, '-');
	for (size_t i = 0; i < s.n && i < most; i++)
		rein_buf_char(b, s.p[i] > 32 && s.p[i] < 127 ? s.p[i] : '_');
}

static void syslog_line(struct rein_buf *b, uint64_t line, struct rein_str text,
			const struct rein_event *ev)
{
	static const unsigned level[] = {6, 6, 5, 4, 3, 2}; /* by severity */
	unsigned sev = rein_event_severity(ev);
	char time[REIN_EVENT_TIME_LEN + 1], num[24];

	(void)text;
	rein_event_time(ev->time_ns, time);
	time[26] = 'Z'; /* RFC 5424 allows microseconds */
	time[27] = '\0';
	rein_buf_printf(b, "<%u>1 %s ", 13 * 8 + level[sev < 6 ? sev : 0], time);
	header_word(b, ev->host, 255);
	rein_buf_printf(b, " rein %llu %s [rein@32473", (unsigned long long)ev->pid,
			rein_event_type_name(ev->type));
	snprintf(num, sizeof(num), "%llu", (unsigned long long)line);
	sd_pair(b, "line", rein_str(num));
	sd_pair(b, "id", ev->id);
	sd_pair(b, "action", ev->action);
	sd_pair(b, "user", ev->user);
	sd_pair(b, "agent", ev->agent);
	sd_pair(b, "session", ev->session);
	sd_pair(b, "level", ev->level);
	sd_pair(b, "reach", ev->reach);
	sd_pair(b, "decision", ev->decision);
	sd_pair(b, "rule", ev->rule);
	sd_pair(b, "txn", ev->txn);
	sd_pair(b, "result", ev->result);
	rein_buf_cstr(b, "] ");
	rein_buf_escaped(b, ev->detail.n ? ev->detail : ev->command);
	rein_buf_char(b, '\n');
}

/* --- ocsf ----------------------------------------------------------------------------------- */

static void kstr(struct rein_json *j, const char *key, struct rein_str s)
{
	if (!s.n)
		return;
	rein_json_key(j, key);
	rein_json_str(j, s);
}

static void object(struct rein_json *j, const char *key)
{
	rein_json_key(j, key);
	rein_json_open(j, '{');
}

static void ocsf_who(struct rein_json *j, const struct rein_event *ev)
{
	char uid[24];

	object(j, "actor");
	object(j, "user");
	kstr(j, "name", ev->user.n ? ev->user : STR("unknown"));
	snprintf(uid, sizeof(uid), "%llu", (unsigned long long)ev->uid);
	rein_json_kstr(j, "uid", uid);
	rein_json_close(j, '}');
	if (ev->agent.n)
		kstr(j, "app_name", ev->agent);
	if (ev->session.n) {
		object(j, "session");
		kstr(j, "uid", ev->session);
		rein_json_close(j, '}');
	}
	rein_json_close(j, '}');
	object(j, "device");
	kstr(j, "hostname", ev->host.n ? ev->host : STR("unknown"));
	rein_json_ku64(j, "type_id", 0);
	rein_json_close(j, '}');
}

static unsigned ocsf_activity(const struct rein_event *ev)
{
	if (ev->type == REIN_EV_NETWORK && (is(ev->decision, "deny") || is(ev->result, "refused")))
		return 5;
	return ocsf[ev->type].activity;
}

/* "host:port", "address:port", "[address]:port" or any of them alone. */
static void ocsf_endpoint(struct rein_json *j, const char *key, struct rein_str peer)
{
	char text[300], *host = text, *colon;
	struct in6_addr ignored;
	uint64_t port = 0;

	snprintf(text, sizeof(text), "%.*s", (int)peer.n, peer.p ? peer.p : "");
	colon = strrchr(text, ':');
	if (colon && (text[0] == '[' || strchr(text, ':') == colon) &&
	    rein_parse_u64(colon + 1, 65535, &port))
		*colon = '\0';
	if (*host == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		host++;
	}
	object(j, key);
	rein_json_kstr(j,
		       inet_pton(AF_INET, host, &ignored) == 1 ||
				       inet_pton(AF_INET6, host, &ignored) == 1
			       ? "ip"
			       : "hostname",
		       *host ? host : "unknown");
	if (port)
		rein_json_ku64(j, "port", port);
	rein_json_close(j, '}');
}

static void ocsf_file(struct rein_json *j, struct rein_str path)
{
	size_t at = path.n;

	while (at && path.p[at - 1] != '/')
		at--;
	object(j, "file");
	kstr(j, "name", at < path.n ? (struct rein_str){path.p + at, path.n - at} : STR("/"));
	kstr(j, "path", path);
	rein_json_ku64(j, "type_id", 0);
	rein_json_close(j, '}');
}

static void ocsf_what(struct rein_json *j, const struct rein_event *ev)
{
	unsigned class_uid = ocsf[ev->type].class_uid;

	if (class_uid == 1007) {
		object(j, "process");
		kstr(j, "cmd_line", ev->command);
		rein_json_ku64(j, "pid", ev->pid);
		rein_json_close(j, '}');
		if (ev->has_status)
			rein_json_ki64(j, "exit_code", ev->status);
	} else if (class_uid == 1001) {
		/* one of them; all are in the record */
		ocsf_file(j, ev->effects.npath ? ev->effects.path[0]
			     : ev->cwd.n       ? ev->cwd
					       : STR("(transaction)"));
	} else if (class_uid == 4001) {
		ocsf_endpoint(j, "dst_endpoint",
			      ev->effects.npeer ? ev->effects.peer[0] : STR("unknown"));
	} else if (class_uid == 2004) {
		object(j, "finding_info");
		kstr(j, "uid", ev->id);
		kstr(j, "title",
		     ev->detail.n ? ev->detail : rein_str(rein_event_type_name(ev->type)));
		rein_json_close(j, '}');
	} else if (class_uid == 6003) {
		object(j, "api");
		kstr(j, "operation", ev->kind.n ? ev->kind : STR("command"));
		rein_json_close(j, '}');
		object(j, "src_endpoint");
		kstr(j, "hostname", ev->host);
		rein_json_close(j, '}');
	} else if (class_uid == 3004) {
		object(j, "entity");
		kstr(j, "name", ev->rule.n ? ev->rule : rein_str(rein_event_type_name(ev->type)));
		rein_json_close(j, '}');
	} else if (class_uid == 6002) {
		object(j, "app");
		rein_json_kstr(j, "name", "rein");
		rein_json_kstr(j, "vendor_name", "Rein");
		rein_json_close(j, '}');
	}
}

static void ocsf_disposition(struct rein_json *j, const struct rein_event *ev)
{
	static const struct {
		const char *decision;
		unsigned id;
		const char *name;
		unsigned action;
		const char *action_name;
	} t[] = {
		{"allow", 1, "Allowed", 1, "Allowed"},	  {"deny", 2, "Blocked", 2, "Denied"},
		{"hold", 3, "Quarantined", 1, "Allowed"}, {"ask", 14, "Delayed", 0, "Unknown"},
		{"defer", 14, "Delayed", 0, "Unknown"},	  {"approve", 8, "Approved", 1, "Allowed"}};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		if (is(ev->decision, t[i].decision)) {
			rein_json_ku64(j, "disposition_id", t[i].id);
			rein_json_kstr(j, "disposition", t[i].name);
			rein_json_ku64(j, "action_id", t[i].action);
			rein_json_kstr(j, "action", t[i].action_name);
		}
}

static void ocsf_line(struct rein_buf *b, uint64_t line, struct rein_str text,
		      const struct rein_event *ev)
{
	struct rein_json j = {.b = b};
	unsigned class_uid = ocsf[ev->type].class_uid, sev = rein_event_severity(ev);

	(void)text;
	rein_json_open(&j, '{');
	rein_json_ku64(&j, "category_uid", class_uid / 1000);
	rein_json_ku64(&j, "class_uid", class_uid);
	rein_json_kstr(&j, "class_name", ocsf[ev->type].class_name);
	rein_json_ku64(&j, "activity_id", ocsf_activity(ev));
	rein_json_kstr(&j, "activity_name", rein_event_type_name(ev->type));
	rein_json_ku64(&j, "type_uid", class_uid * 100u + ocsf_activity(ev));
	rein_json_ku64(&j, "severity_id", sev);
	rein_json_kstr(&j, "severity", severity_name(sev));
	rein_json_ku64(&j, "time", ev->time_ns / 1000000);
	rein_json_ku64(&j, "status_id", !ev->result.n ? 0 : failed(ev) ? 2 : 1);
	rein_json_kstr(&j, "status",
		       !ev->result.n ? "Unknown"
		       : failed(ev)  ? "Failure"
				     : "Success");
	kstr(&j, "status_detail", ev->result);
	kstr(&j, "message", ev->detail.n ? ev->detail : ev->command);
	if (ev->duration_ns)
		rein_json_ku64(&j, "duration", ev->duration_ns / 1000000);
	ocsf_disposition(&j, ev);
	object(&j, "metadata");
	rein_json_kstr(&j, "version", "1.3.0");
	kstr(&j, "uid", ev->id);
	kstr(&j, "correlation_uid", ev->action);
	rein_json_ku64(&j, "sequence", line);
	rein_json_key(&j, "profiles");
	rein_json_open(&j, '[');
	rein_json_cstr(&j, "host");
	rein_json_cstr(&j, "security_control");
	rein_json_close(&j, ']');
	object(&j, "product");
	rein_json_kstr(&j, "name", "rein");
	rein_json_kstr(&j, "vendor_name", "Rein");
	rein_json_kstr(&j, "version", REIN_VERSION);
	rein_json_close(&j, '}');
	rein_json_close(&j, '}');
	ocsf_who(&j, ev);
	ocsf_what(&j, ev);
	object(&j, "unmapped");
	kstr(&j, "command", ev->command);
	kstr(&j, "level", ev->level);
	kstr(&j, "reach", ev->reach);
	kstr(&j, "decision", ev->decision);
	kstr(&j, "rule", ev->rule);
	kstr(&j, "reason", ev->reason);
	kstr(&j, "txn", ev->txn);
	kstr(&j, "task", ev->task);
	rein_json_close(&j, '}');
	rein_json_close(&j, '}');
	rein_buf_char(b, '\n');
}

const struct rein_export *rein_export_format(const char *name)
{
	static const struct rein_export all[] = {
		{"jsonl", NULL, jsonl},	       {"csv", csv_begin, csv},	  {"cef", NULL, cef},
		{"syslog", NULL, syslog_line}, {"ocsf", NULL, ocsf_line},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (rein_streq(all[i].name, name))
			return &all[i];
	return NULL;
}
