/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports. The sections are told once, to a small writer with two faces (Markdown and HTML); JSON
 * has the same numbers without the words.
 */
#include "record/report.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "record/event.h"
#include "record/head.h"
#include "record/report_out.h"

void rein_report_esc(struct rein_report_out *o, const char *s)
{
	for (; *s; s++) {
		const char *e = NULL;

		if (o->html)
			e = *s == '<'	? "&lt;"
			    : *s == '>' ? "&gt;"
			    : *s == '&' ? "&amp;"
			    : *s == '"' ? "&quot;"
					: NULL;
		else if (*s == '|' || *s == '`' || *s == '*' || *s == '_' || *s == '<' || *s == '[')
			rein_buf_char(o->b, '\\');
		if (e)
			rein_buf_cstr(o->b, e);
		else
			rein_buf_char(o->b, (unsigned char)*s < 0x20 ? ' ' : *s);
	}
}

static void heading(struct rein_report_out *o, const char *text)
{
	rein_buf_cstr(o->b, o->html ? "<h2>" : "\n## ");
	rein_report_esc(o, text);
	rein_buf_cstr(o->b, o->html ? "</h2>\n" : "\n\n");
}

static void para(struct rein_report_out *o, const char *text)
{
	rein_buf_cstr(o->b, o->html ? "<p>" : "");
	rein_report_esc(o, text);
	rein_buf_cstr(o->b, o->html ? "</p>\n" : "\n\n");
}

/* A figure: digits with their commas, perhaps a percent sign. Not a time, not a hash. */
static bool is_figure(const char *s)
{
	return *s >= '0' && *s <= '9' && !s[strspn(s, "0123456789,. %")];
}

/* A head that begins with '#' stands over figures. */
static void cells(struct rein_report_out *o, const char *tag, const char *const *cell)
{
	rein_buf_cstr(o->b, o->html ? "<tr>" : "|");
	for (unsigned i = 0; i < o->columns; i++) {
		bool figure = cell[i][0] == '#' || is_figure(cell[i]);
		/* long ones may break anywhere, short ones (a name, a time) never */
		const char *kind = figure ? " class=\"n\"" : strlen(cell[i]) > 28 ? " class=\"w\"" : "";

		if (o->html)
			rein_buf_printf(o->b, "<%s%s>", tag, kind);
		else
			rein_buf_char(o->b, ' ');
		rein_report_esc(o, cell[i] + (cell[i][0] == '#'));
		if (o->html)
			rein_buf_printf(o->b, "</%s>", tag);
		else
			rein_buf_cstr(o->b, " |");
	}
	rein_buf_cstr(o->b, o->html ? "</tr>\n" : "\n");
}

static void table(struct rein_report_out *o, unsigned columns, const char *const *head)
{
	o->columns = columns;
	if (o->html)
		rein_buf_cstr(o->b, "<table><thead>");
	cells(o, "th", head);
	if (o->html) {
		rein_buf_cstr(o->b, "</thead><tbody>\n");
		return;
	}
	rein_buf_char(o->b, '|');
	for (unsigned i = 0; i < columns; i++)
		rein_buf_cstr(o->b, "---|");
	rein_buf_char(o->b, '\n');
}

static void table_end(struct rein_report_out *o)
{
	rein_buf_cstr(o->b, o->html ? "</tbody></table>\n" : "\n");
}

/* 1234567 as 1,234,567. */
const char *rein_report_num(uint64_t v, char out[32])
{
	char raw[24];
	int n = snprintf(raw, sizeof(raw), "%llu", (unsigned long long)v), k = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			out[k++] = ',';
		out[k++] = raw[i];
	}
	out[k] = '\0';
	return out;
}

static const char *share(uint64_t part, uint64_t whole, char out[32])
{
	if (!whole)
		snprintf(out, 32, "none to count");
	else if (part == whole)
		snprintf(out, 32, "100 %%");
	else /* never round up to 100 */
		snprintf(out, 32, "%.1f %%", (double)(part * 1000 / whole) / 10.0);
	return out;
}

static void tally_table(struct rein_report_out *o, const char *title, const char *what,
			const struct rein_tally *t, unsigned most)
{
	char n[32];

	if (!t->n)
		return;
	heading(o, title);
	table(o, 2, (const char *const[]){what, "#Count"});
	for (unsigned i = 0; i < t->n && i < most; i++)
		cells(o, "td", (const char *const[]){t->v[i].name, rein_report_num(t->v[i].n, n)});
	if (t->other || t->n > most) {
		uint64_t rest = t->other;

		for (unsigned i = most; i < t->n; i++)
			rest += t->v[i].n;
		cells(o, "td", (const char *const[]){"(others)", rein_report_num(rest, n)});
	}
	table_end(o);
}

/* --- the frameworks ------------------------------------------------------------------------- */

static uint64_t sum(const struct rein_stats *s, const enum rein_event_type *t)
{
	uint64_t n = 0;

	for (; *t; t++)
		n += s->type[*t];
	return n;
}

struct control {
	const char *framework, *control, *what;
	const enum rein_event_type *evidence; /* NULL: every event */
};

static const struct control *controls(size_t *n)
{
	static const enum rein_event_type
		decisions[] = {REIN_EV_DECISION, 0},
		approvals[] = {REIN_EV_APPROVAL, REIN_EV_ESCALATION, 0},
		tokens[] = {REIN_EV_TOKEN, REIN_EV_TRUST, 0}, network[] = {REIN_EV_NETWORK, 0},
		found[] = {REIN_EV_VIOLATION, REIN_EV_LIMIT, REIN_EV_ALERT, 0},
		response[] = {REIN_EV_STOP, REIN_EV_ROLLBACK, REIN_EV_UNDO, REIN_EV_BREAKER, 0},
		change[] = {REIN_EV_COMMIT, REIN_EV_DISCARD, REIN_EV_POLICY, 0},
		stop[] = {REIN_EV_STOP, REIN_EV_OVERRIDE, REIN_EV_BREAKER, 0},
		run[] = {REIN_EV_RUN_START, REIN_EV_RUN_END, REIN_EV_EFFECTS, 0},
		care[] = {REIN_EV_PRUNE,  REIN_EV_HOLD,	  REIN_EV_RELEASE,
			  REIN_EV_REPAIR, REIN_EV_EXPORT, 0};
	static const struct control all[] = {
		{"SOC 2", "CC6.1", "Access to protected assets is decided by rule", decisions},
		{"SOC 2", "CC6.3", "Access is authorised by named people", approvals},
		{"SOC 2", "CC6.2", "Credentials are issued, limited and withdrawn", tokens},
		{"SOC 2", "CC6.6", "Connections to the outside are controlled", network},
		{"SOC 2", "CC7.2", "Anomalies are watched for and recorded", found},
		{"SOC 2", "CC7.4", "Incidents are responded to and contained", response},
		{"SOC 2", "CC8.1", "Changes are authorised, recorded and reversible", change},
		{"ISO 27001", "A.8.15", "Activities are logged; the log is protected", NULL},
		{"ISO 27001", "A.8.15", "The log's own upkeep is logged", care},
		{"ISO 27001", "A.8.16", "Behaviour is monitored and acted upon", found},
		{"EU AI Act", "Art. 12(1)", "Events are recorded automatically", NULL},
		{"EU AI Act", "Art. 12(2)(a)", "Situations of risk can be identified", found},
		{"EU AI Act", "Art. 12(2)(c)", "Operation can be monitored", run},
		{"NIST AI RMF", "MAP 3.5", "Human oversight takes place", approvals},
		{"NIST AI RMF", "MEASURE 2.4", "Behaviour is monitored in production", run},
		{"NIST AI RMF", "MANAGE 2.4", "The system can be overridden and stopped", stop},
		{"NIST AI RMF", "MANAGE 4.1", "Deployment is monitored; incidents are handled",
		 response},
	};

	*n = ARRAY_SIZE(all);
	return all;
}

static uint64_t evidence(const struct rein_stats *s, const struct control *c)
{
	return c->evidence ? sum(s, c->evidence) : s->events;
}

static void frameworks(struct rein_report_out *o, const struct rein_stats *s)
{
	char n[32];
	size_t count;
	const struct control *c = controls(&count);

	heading(o, "Where the evidence belongs");
	para(o, "Counts of recorded events that an assessor may ask for under each control. A "
		"count is "
		"evidence, not a finding of conformity.");
	table(o, 4, (const char *const[]){"Framework", "Control", "What it asks for", "#Events"});
	for (size_t i = 0; i < count; i++)
		cells(o, "td",
		      (const char *const[]){c[i].framework, c[i].control, c[i].what,
					    rein_report_num(evidence(s, &c[i]), n)});
	table_end(o);
}

/* --- the text ------------------------------------------------------------------------------- */

static void summary(struct rein_report_out *o, const struct rein_stats *s)
{
	char a[32], b[32];
	const struct {
		const char *name;
		uint64_t n;
	} rows[] = {{"Actions", s->actions},
		    {"Refused", s->refused},
		    {"Held for review", s->held},
		    {"Failed", s->failed},
		    {"Undone", s->undone},
		    {"Overrides", s->overridden},
		    {"Violations", s->type[REIN_EV_VIOLATION]},
		    {"Approvals", s->type[REIN_EV_APPROVAL]}};

	if (o->html) {
		rein_buf_cstr(o->b, "<div class=\"cards\">");
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			rein_buf_printf(o->b, "<div><b>%s</b><span>%s</span></div>",
					rein_report_num(rows[i].n, a), rows[i].name);
		rein_buf_cstr(o->b, "</div>\n");
	} else {
		table(o, 2, (const char *const[]){"", "#Count"});
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			cells(o, "td",
			      (const char *const[]){rows[i].name, rein_report_num(rows[i].n, a)});
		table_end(o);
	}
	heading(o, "Coverage");
	table(o, 3, (const char *const[]){"Measure", "#Share", "#Of"});
	cells(o, "td",
	      (const char *const[]){"Runs whose request was recorded before they began",
				    share(s->runs_recorded, s->runs, a),
				    rein_report_num(s->runs, b)});
	cells(o, "td",
	      (const char *const[]){
		      "Dangerous and destructive actions that a person approved, that were "
		      "refused, or of which nothing was let out",
		      share(s->grave_approved + s->grave_refused + s->grave_kept, s->grave, a),
		      rein_report_num(s->grave, b)});
	cells(o, "td",
	      (const char *const[]){"Of them: took effect without an approval on record",
				    share(s->grave_unapproved, s->grave, a),
				    rein_report_num(s->grave, b)});
	table_end(o);
}

static void agents(struct rein_report_out *o, const struct rein_stats *s)
{
	char n[6][32];

	if (!s->nagents)
		return;
	heading(o, "Agents");
	table(o, 7,
	      (const char *const[]){"Agent", "#Actions", "#Committed", "#Held", "#Refused",
				    "#Failed", "#Undone"});
	for (unsigned i = 0; i < s->nagents && i < 20; i++) {
		const struct rein_stats_agent *a = &s->by_agent[i];

		cells(o, "td",
		      (const char *const[]){
			      a->name, rein_report_num(a->actions, n[0]),
			      rein_report_num(a->committed, n[1]), rein_report_num(a->held, n[2]),
			      rein_report_num(a->refused, n[3]), rein_report_num(a->failed, n[4]),
			      rein_report_num(a->undone, n[5])});
	}
	table_end(o);
}

/* What somebody would ask about first, newest first. */
static void notes(struct rein_report_out *o, const struct rein_stats *s)
{
	uint64_t kept = s->nnotes < REIN_STATS_NOTES ? s->nnotes : REIN_STATS_NOTES;
	char line[160], n[32];

	if (!kept)
		return;
	heading(o, "Worth a look");
	snprintf(line, sizeof(line),
		 "Refusals, violations, roll-backs, undos, overrides and alerts: %s in all%s.",
		 rein_report_num(s->nnotes, n),
		 s->nnotes > kept ? ", the newest of them here" : "");
	para(o, line);
	table(o, 5, (const char *const[]){"Time (UTC)", "What", "Agent", "About", "Rule"});
	for (uint64_t i = 0; i < kept; i++) {
		const struct rein_stats_note *x = &s->note[(s->nnotes - 1 - i) % REIN_STATS_NOTES];
		char when[REIN_EVENT_TIME_LEN + 1], what[80];

		rein_event_time(x->time_ns, when);
		when[10] = ' ';
		when[16] = '\0';
		if (rein_streq(x->word, "deny"))
			snprintf(what, sizeof(what), "%s",
				 x->type == REIN_EV_APPROVAL ? "not approved" : "refused");
		else
			snprintf(what, sizeof(what), "%s", rein_event_type_name(x->type));
		cells(o, "td", (const char *const[]){when, what, x->agent, x->text, x->rule});
	}
	table_end(o);
}

static void integrity(struct rein_report_out *o, const struct rein_report *r)
{
	const struct rein_verify_result *v = r->verify;
	char hex[65], key[65], n[32], lines[400], time[REIN_EVENT_TIME_LEN + 1];

	heading(o, "Integrity of the record");
	if (r->broken) {
		if (o->html)
			rein_buf_cstr(o->b, "<p class=\"bad\">");
		rein_buf_cstr(o->b, o->html ? "" : "**");
		rein_report_esc(o, "The record is NOT whole: ");
		rein_report_esc(o, r->broken);
		rein_buf_cstr(o->b, o->html ? "</p>\n" : "**\n\n");
		para(o, "Nothing in this report can be relied upon beyond that place.");
		return;
	}
	rein_hex(v->head.root, 32, hex);
	rein_hex(v->head.pub, 32, key);
	rein_event_time(v->head.time_ns, time);
	snprintf(lines, sizeof(lines),
		 "All %s lines were read, hashed and found to be those under the signed tree head "
		 "below%s"
		 "%s. Whoever kept an earlier head can check that nothing before it has changed.",
		 rein_report_num(v->lines, n),
		 v->first ? "; older segments were pruned, which is recorded" : "",
		 v->loss_accepted ? "; the record itself says that earlier lines were lost" : "");
	para(o, lines);
	table(o, 2, (const char *const[]){"Tree head", ""});
	cells(o, "td", (const char *const[]){"Lines covered", rein_report_num(v->head.n, n)});
	cells(o, "td", (const char *const[]){"Root (SHA-256)", hex});
	cells(o, "td", (const char *const[]){"Signed at", time});
	cells(o, "td", (const char *const[]){"Public key (Ed25519)", key});
	table_end(o);
}

static const char style[] =
	":root{--fg:#1b1f24;--dim:#5b6570;--line:#d8dee4;--bg:#fff;--card:#f6f8fa;--ok:#4c8bf5;"
	"--held:#d9a406;--failed:#8250df;--refused:#cf222e}"
	"@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--dim:#9aa4ae;--line:#30363d;"
	"--bg:#0d1117;--card:#161b22}}"
	"*{box-sizing:border-box}body{font:15px/1.5 system-ui,-apple-system,'Segoe "
	"UI',Roboto,sans-serif;"
	"color:var(--fg);background:var(--bg);max-width:960px;margin:0 auto;padding:32px 24px}"
	"h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 10px;"
	"border-bottom:1px solid var(--line);padding-bottom:6px}p{margin:8px 0}"
	".sub{color:var(--dim);margin-bottom:20px}"
	".cards{display:grid;grid-template-columns:repeat(4,1fr);gap:12px;margin:20px 0}"
	".cards div{background:var(--card);border:1px solid "
	"var(--line);border-radius:8px;padding:12px 14px}"
	".cards b{display:block;font-size:24px;font-variant-numeric:tabular-nums}"
	".cards span{color:var(--dim);font-size:13px}"
	"table{border-collapse:collapse;width:100%;margin:8px 0;font-size:14px}"
	"th,td{text-align:left;padding:6px 10px 6px 0;border-bottom:1px solid var(--line);"
	"vertical-align:top;white-space:nowrap}td.w{white-space:normal;overflow-wrap:anywhere;width:99%}th{color:var(--dim);font-weight:600}"
	"td.n,th.n{font-variant-numeric:tabular-nums;white-space:nowrap;text-align:right;padding-"
	"right:4px;"
	"width:1%;padding-left:18px}"
	"svg{width:100%;height:auto;display:block}svg text{font-size:11px;fill:var(--dim)}"
	".grid{stroke:var(--line)}.ok,.bar{fill:var(--ok)}.held{fill:var(--held)}"
	".failed{fill:var(--failed)}.refused{fill:var(--refused)}"
	".two{display:grid;grid-template-columns:1fr 1fr;gap:24px}figure{margin:8px 0}"
	"figcaption{color:var(--dim);font-size:13px;font-weight:600}"
	".bad{background:var(--refused);color:#fff;padding:10px 14px;border-radius:8px}"
	".good{border-left:4px solid #1a7f37;background:var(--card);padding:10px "
	"14px;border-radius:4px}"
	"@media(max-width:640px){.cards{grid-template-columns:repeat(2,1fr)}.two{grid-template-"
	"columns:1fr}}"
	"@page{margin:18mm 16mm}"
	"@media print{:root{--fg:#000;--dim:#444;--line:#bbb;--bg:#fff;--card:#fff}"
	"body{max-width:none;padding:0;font-size:10.5pt;-webkit-print-color-adjust:exact;print-"
	"color-adjust:exact}"
	"h2{break-after:avoid}thead{display:table-header-group}tr,svg,figure,.cards{break-inside:"
	"avoid}}";

static void period(const struct rein_report *r, char out[96])
{
	char a[REIN_EVENT_TIME_LEN + 1], b[REIN_EVENT_TIME_LEN + 1];

	rein_event_time(r->since_ns ? r->since_ns : r->stats->first_ns, a);
	rein_event_time(r->until_ns ? r->until_ns : r->made_ns, b);
	snprintf(out, 96, "%.10s %.5s to %.10s %.5s UTC", a, a + 11, b, b + 11);
}

static void document(const struct rein_report *r, struct rein_report_out *o)
{
	const struct rein_stats *s = r->stats;
	char span[96], line[256];

	period(r, span);
	snprintf(line, sizeof(line), "%s, host %s", span, r->host);
	if (o->html) {
		rein_buf_printf(
			o->b,
			"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
			"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
			"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			"'none'; style-src 'unsafe-inline'\">"
			"<title>Rein report</title><style>%s</style></head><body>"
			"<h1>What the agents did</h1><div class=\"sub\">",
			style);
		rein_report_esc(o, line);
		rein_buf_cstr(o->b, "</div>\n");
		rein_buf_cstr(o->b,
			      r->broken ? "<p class=\"bad\">The record is not whole: see Integrity "
					  "below.</p>\n"
					: "<p class=\"good\">The record was verified for this "
					  "report and is whole.</p>\n");
	} else {
		rein_buf_cstr(o->b, "# What the agents did\n\n");
		para(o, line);
		para(o, r->broken ? "The record is NOT whole: see Integrity below."
				  : "The record was verified for this report and is whole.");
	}
	summary(o, s);
	if (o->html && s->ndays) {
		heading(o, "Over time");
		rein_report_chart_days(o, s);
		rein_buf_cstr(o->b, "<div class=\"two\">");
		rein_report_chart_bars(o, &s->level, "Decisions by level");
		rein_report_chart_bars(o, &s->decision, "Decisions");
		rein_report_chart_bars(o, &s->agent, "Actions by agent");
		rein_report_chart_bars(o, &s->result, "Runs by result");
		rein_buf_cstr(o->b, "</div>\n");
	} else {
		tally_table(o, "Decisions by level", "Level", &s->level, 8);
		tally_table(o, "Decisions", "Decision", &s->decision, 8);
		tally_table(o, "Actions by agent", "Agent", &s->agent, 20);
		tally_table(o, "Runs by result", "Result", &s->result, 12);
	}
	agents(o, s);
	notes(o, s);
	tally_table(o, "Refused, by rule", "Rule", &s->refused_rule, 20);
	tally_table(o, "Violations and limits", "Rule", &s->violation, 20);
	tally_table(o, "Approvals, by whom", "Person", &s->approver, 20);
	integrity(o, r);
	frameworks(o, s);
	if (o->html)
		rein_buf_printf(o->b, "<p class=\"sub\">Made by rein %s.</p></body></html>\n",
				REIN_VERSION);
	else
		rein_buf_printf(o->b, "\nMade by rein %s.\n", REIN_VERSION);
}

/* --- json ----------------------------------------------------------------------------------- */

static void json_tally(struct rein_json *j, const char *key, const struct rein_tally *t)
{
	rein_json_key(j, key);
	rein_json_open(j, '{');
	for (unsigned i = 0; i < t->n; i++)
		rein_json_ku64(j, t->v[i].name, t->v[i].n);
	if (t->other)
		rein_json_ku64(j, "(others)", t->other);
	rein_json_close(j, '}');
}

static void json_integrity(struct rein_json *j, const struct rein_report *r)
{
	char hex[65];

	rein_json_key(j, "integrity");
	rein_json_open(j, '{');
	rein_json_kbool(j, "whole", !r->broken);
	if (r->broken)
		rein_json_kstr(j, "problem", r->broken);
	rein_json_ku64(j, "lines", r->verify->lines);
	rein_json_ku64(j, "covered", r->verify->head.n);
	rein_hex(r->verify->head.root, 32, hex);
	rein_json_kstr(j, "root", hex);
	rein_hex(r->verify->head.pub, 32, hex);
	rein_json_kstr(j, "key", hex);
	rein_json_close(j, '}');
}

static void json(const struct rein_report *r, struct rein_buf *b)
{
	const struct rein_stats *s = r->stats;
	struct rein_json j = {.b = b};
	const struct {
		const char *name;
		uint64_t v;
	} numbers[] = {{"events", s->events},
		       {"actions", s->actions},
		       {"refused", s->refused},
		       {"held", s->held},
		       {"failed", s->failed},
		       {"undone", s->undone},
		       {"overrides", s->overridden},
		       {"violations", s->type[REIN_EV_VIOLATION]},
		       {"approvals", s->type[REIN_EV_APPROVAL]},
		       {"runs", s->runs},
		       {"runs_with_recorded_request", s->runs_recorded},
		       {"grave", s->grave},
		       {"grave_approved", s->grave_approved},
		       {"grave_refused", s->grave_refused},
		       {"grave_kept_back", s->grave_kept},
		       {"grave_unapproved", s->grave_unapproved}};
	size_t n;
	const struct control *c = controls(&n);

	rein_json_open(&j, '{');
	rein_json_ku64(&j, "since_ns", r->since_ns ? r->since_ns : s->first_ns);
	rein_json_ku64(&j, "until_ns", r->until_ns ? r->until_ns : r->made_ns);
	rein_json_kstr(&j, "host", r->host);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		rein_json_ku64(&j, numbers[i].name, numbers[i].v);
	json_tally(&j, "levels", &s->level);
	json_tally(&j, "decisions", &s->decision);
	json_tally(&j, "agents", &s->agent);
	json_tally(&j, "results", &s->result);
	json_tally(&j, "refused_by_rule", &s->refused_rule);
	json_tally(&j, "violations_by_rule", &s->violation);
	json_tally(&j, "approvers", &s->approver);
	json_integrity(&j, r);
	rein_json_key(&j, "controls");
	rein_json_open(&j, '[');
	for (size_t i = 0; i < n; i++) {
		rein_json_open(&j, '{');
		rein_json_kstr(&j, "framework", c[i].framework);
		rein_json_kstr(&j, "control", c[i].control);
		rein_json_kstr(&j, "asks_for", c[i].what);
		rein_json_ku64(&j, "events", evidence(s, &c[i]));
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_buf_char(b, '\n');
}

bool rein_report_write(const struct rein_report *r, const char *format, struct rein_buf *b)
{
	struct rein_report_out o = {.b = b, .html = rein_streq(format, "html")};

	if (rein_streq(format, "json"))
		json(r, b);
	else if (o.html || rein_streq(format, "md"))
		document(r, &o);
	else
		return false;
	return true;
}
