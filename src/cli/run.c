/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein run: the command, then what it did, then what becomes of it. Everything Rein says goes to
 * stderr; stdout is the command's alone, so with --json the report is the last line of stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "cli/judgement.h"
#include "cli/network.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "engine/alerts.h"
#include "sys/capname.h"

#include <rein/classify.h>

enum decision { ASK = 0, COMMIT, DISCARD, HOLD };

struct run_args {
	const char *workspace;
	bool whole_system, nested, writable;
	struct rein_net_args net;
	uint64_t timeout_ns, idle_ns, warm_ns;
	const char *profile;
	struct rein_strlist limits;
	struct rein_strlist rw, ro, hide, scratch, env, env_file, cap_add;
	int decision;	/* enum decision */
	int on_failure; /* 1 commit, 2 discard, 3 hold */
	struct rein_strlist policy;
	const char *agent, *session, *task, *role, *environment;
	struct rein_strlist labels;
	uint64_t max_boxes, queue_ns;
	bool watch, watch_files;
	const char *backend;
	struct rein_strlist canary;
	bool approve;
};

static void args_done(struct run_args *a)
{
	struct rein_strlist *lists[] = {&a->rw, &a->ro, &a->hide, &a->scratch, &a->env, &a->env_file,
					&a->cap_add, &a->limits, &a->policy, &a->labels, &a->canary};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		rein_strlist_done(lists[i]);
	rein_net_args_done(&a->net);
}

#define AT(field) offsetof(struct run_args, field)

const struct rein_opt rein_run_opts_table[] = {
	{"workspace", 'w', REIN_OPT_STRING, AT(workspace), "DIR", "the tree that may change (default: git root, else here)", 0},
	{"whole-system", 0, REIN_OPT_FLAG, AT(whole_system), NULL, "every writable mount may change, copy-on-write", 0},
	{"rw", 0, REIN_OPT_LIST, AT(rw), "DIR", "one more tree that may change", 0},
	{"ro", 0, REIN_OPT_LIST, AT(ro), "PATH", "keep this read-only", 0},
	{"hide", 0, REIN_OPT_LIST, AT(hide), "PATH", "the command does not see this", 0},
	{"scratch", 0, REIN_OPT_LIST, AT(scratch), "DIR", "writable, private, never committed", 0},
	{"net", 0, REIN_OPT_CHOICE, AT(net.mode), REIN_NET_MODES, "network: none (default), what is allowed, all that is public, the host's", 0},
	{"allow-host", 0, REIN_OPT_LIST, AT(net.allow), "HOST[:PORT]", "a name, *.DOMAIN or ADDRESS/BITS it may reach", 0},
	{"credential", 0, REIN_OPT_LIST, AT(net.credentials), "NAME=SOURCE,host=HOST", "a secret the gate puts in; the command has a placeholder", 0},
	{"publish", 0, REIN_OPT_LIST, AT(net.publish), "PORT", "a server inside, reachable at this machine's PORT", 0},
	{"allow-socket", 0, REIN_OPT_LIST, AT(net.sockets), "PATH", "a local socket of this machine it may use", 0},
	{"net-up", 0, REIN_OPT_STRING, AT(net.sent), "SIZE[/TIME]", "so much may be sent, in all or in every TIME", 0},
	{"net-max", 0, REIN_OPT_STRING, AT(net.all), "SIZE[/TIME]", "the same for both directions together", 0},
	{"net-rate", 0, REIN_OPT_SIZE, AT(net.rate), "SIZE", "bytes a second, both directions together", 0},
	{"nested", 0, REIN_OPT_FLAG, AT(nested), NULL, "allow sandboxes inside (new user namespaces)", 0},
	{"cap-add", 0, REIN_OPT_LIST, AT(cap_add), "LIST", "keep capabilities, as root: names, or 'files'", 0},
	{"env", 'e', REIN_OPT_LIST, AT(env), "NAME[=VALUE]", "pass or set a variable, even a secret one", 0},
	{"env-file", 0, REIN_OPT_LIST, AT(env_file), "FILE", "variables from a file", 0},
	{"timeout", 't', REIN_OPT_DURATION, AT(timeout_ns), "DURATION", "end it after this long and roll back", 0},
	{"idle-timeout", 0, REIN_OPT_DURATION, AT(idle_ns), "DURATION", "end it when nothing happens for this long", 0},
	{"writable", 0, REIN_OPT_FLAG, AT(writable), NULL, "the trees can be written to, though its text says that it only reads", 0},
	{"warm", 0, REIN_OPT_DURATION, AT(warm_ns), "DURATION", "keep what it knows of the tree so long for the next one; quicker reading", 0},
	{"limit", 0, REIN_OPT_LIST, AT(limits), "NAME=VALUE", "what it may use: memory=512M, cpu=150, processes=64, disk=1G ...", 0},
	{"profile", 0, REIN_OPT_STRING, AT(profile), "NAME", "limits by name: code, build, agent, untrusted, or a policy's", 0},
	{"commit", 0, REIN_OPT_VALUE, AT(decision), NULL, "commit without asking", COMMIT},
	{"discard", 0, REIN_OPT_VALUE, AT(decision), NULL, "throw the changes away", DISCARD},
	{"hold", 0, REIN_OPT_VALUE, AT(decision), NULL, "keep the changes back for later", HOLD},
	{"on-failure", 0, REIN_OPT_CHOICE, AT(on_failure), "commit|discard|hold", "when the command fails (default: as the policy says, hold)", 0},
	{"approve", 'y', REIN_OPT_FLAG, AT(approve), NULL, "you approve what the policy would ask about or hold; recorded", 0},
	{"policy", 'p', REIN_OPT_LIST, AT(policy), "FILE", "add a policy file as the last layer", 0},
	{"agent", 0, REIN_OPT_STRING, AT(agent), "NAME", "on behalf of this agent (default: $REIN_AGENT)", 0},
	{"session", 0, REIN_OPT_STRING, AT(session), "NAME", "in this session of it (default: $REIN_SESSION)", 0},
	{"task", 0, REIN_OPT_STRING, AT(task), "NAME", "for this task (default: $REIN_TASK)", 0},
	{"watch", 0, REIN_OPT_FLAG, AT(watch), NULL, "note every program it executes; refuse those the policy denies", 0},
	{"watch-files", 0, REIN_OPT_FLAG, AT(watch_files), NULL, "with it: note files it is refused; slower", 0},
	{"canary", 0, REIN_OPT_LIST, AT(canary), "FILE", "nobody has a reason to open this: whoever does is paused", 0},
	{"backend", 0, REIN_OPT_STRING, AT(backend), "NAME", "what builds the box: box (default), oci:crun, oci:runc, oci:runsc", 0},
	{"label", 0, REIN_OPT_LIST, AT(labels), "NAME[=VALUE]", "a mark for rein ps", 0},
	{"max-boxes", 0, REIN_OPT_NUMBER, AT(max_boxes), "N", "run only if fewer than N boxes run (default: $REIN_MAX_BOXES)", 0},
	{"queue", 0, REIN_OPT_DURATION, AT(queue_ns), "DURATION", "with --max-boxes: wait so long for one to end", 0},
	{"role", 0, REIN_OPT_STRING, AT(role), "ROLE", "in this role", 0},
	{"environment", 0, REIN_OPT_STRING, AT(environment), "NAME", "in this environment", 0},
	{0},
};

static const char *or_env(const char *value, const char *name)
{
	const char *env = value ? value : getenv(name);

	return env && *env ? env : NULL;
}

/* Names of agents, sessions and tasks go on the record and into rules: words, not texts. */
static int check_word(const char *option, const char *s, struct rein_err *err)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/@+#";

	if (s && (s[strspn(s, ok)] || strlen(s) > 128))
		return rein_err_set(err, REIN_E_USAGE, "--%s: at most 128 letters, digits and ._-:/@+#", option);
	return 0;
}

static int fill_who(const struct run_args *a, struct rein_who *who, struct rein_err *err)
{
	*who = (struct rein_who){
		.agent = or_env(a->agent, "REIN_AGENT"),
		.session = or_env(a->session, "REIN_SESSION"),
		.task = or_env(a->task, "REIN_TASK"),
		.role = a->role,
		.environment = a->environment,
	};
	if (check_word("agent", who->agent, err) < 0 || check_word("session", who->session, err) < 0 ||
	    check_word("task", who->task, err) < 0)
		return -err->code;
	return 0;
}

/* At once: the box may stand still from now on. */
static void tell(void *arg, const char *text)
{
	(void)arg;
	rein_say("%sviolation%s: %s", rein_ui(stderr, REIN_RED), rein_ui_off(stderr), text);
}

static int fill(struct run_args *a, char **argv, struct rein_run_opts *o, struct rein_err *err)
{
	*o = (struct rein_run_opts){
		.argv = argv,
		.workspace = a->workspace,
		.whole_system = a->whole_system,
		.nested = a->nested,
		.timeout_ns = a->timeout_ns,
		.idle_timeout_ns = a->idle_ns,
		.discard = a->decision == DISCARD,
		.writable = a->writable,
		.warm_ns = a->warm_ns,
		.profile = a->profile,
		.rw = a->rw,
		.ro = a->ro,
		.hide = a->hide,
		.scratch = a->scratch,
		.env = a->env,
		.env_file = a->env_file,
		.policy = a->policy,
		.labels = a->labels,
		.max_boxes = a->max_boxes,
		.queue_ns = a->queue_ns,
		.watch = a->watch || a->watch_files,
		.watch_files = a->watch_files,
		.backend = a->backend && !rein_streq(a->backend, "box") ? a->backend : NULL,
		.canary = a->canary,
		.tell = tell,
	};
	if (!o->max_boxes && getenv("REIN_MAX_BOXES") &&
	    !rein_parse_u64(getenv("REIN_MAX_BOXES"), 100000, &o->max_boxes))
		return rein_err_set(err, REIN_E_USAGE, "REIN_MAX_BOXES must be a number");
	if (fill_who(a, &o->who, err) < 0)
		return -err->code;
	for (size_t i = 0; i < a->limits.n; i++)
		if (rein_limits_parse(&o->limits, a->limits.v[i], err) < 0)
			return -err->code;
	if (rein_net_args_fill(&a->net, o, err) < 0)
		return -err->code;
	if (a->cap_add.n && geteuid() != 0)
		return rein_err_set(err, REIN_E_USAGE, "--cap-add works only as root");
	for (size_t i = 0; i < a->cap_add.n; i++)
		if (rein_caps_parse(a->cap_add.v[i], &o->caps, err) < 0)
			return -err->code;
	/* a package manager as root changes owners and modes of everything */
	if (a->whole_system && geteuid() == 0)
		o->caps |= rein_caps_files();
	return 0;
}

/* Ask, and take one key without waiting for Enter. */
static int read_key(const char *question)
{
	auto_close int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	struct termios old, raw;
	char c = 'k';

	fflush(stderr);
	if (tty < 0 || tcgetattr(tty, &old) < 0)
		return 'k';
	raw = old;
	raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	/* flush first, then ask: what is typed after the question counts */
	tcsetattr(tty, TCSAFLUSH, &raw);
	fputs(question, stderr);
	while (read(tty, &c, 1) < 0 && errno == EINTR)
		;
	tcsetattr(tty, TCSANOW, &old);
	fprintf(stderr, "%c\n", c >= ' ' ? c : '-');
	return c;
}

/* The files one by one: y takes it, n leaves it out. */
static int choose_files(struct rein_engine *e, struct rein_run *r, char *rest, struct rein_err *err)
{
	auto_strlist struct rein_strlist except = {0}, only = {0};

	for (size_t i = 0; i < r->changes.n; i++) {
		struct rein_change *x = &r->changes.v[i];
		char question[1200];
		int key;

		if (!x->top || x->renamed_away ||
		    (x->kind == REIN_CHANGE_META && S_ISDIR(x->before.mode) &&
		     !(x->what & ~REIN_WHAT_TIMES)))
			continue;
		snprintf(question, sizeof(question), "      %s %s [y/n] ",
			 x->from ? "renamed" : rein_change_kind_name(x->kind), rein_ui_path(x->path));
		key = read_key(question);
		if (key == 'n' || key == 'N') {
			auto_buf struct rein_buf b = REIN_BUF(1 << 16);

			for (const char *p = x->path; *p; p++) { /* a literal path as a pattern */
				if (strchr("*?[\\", *p))
					rein_buf_char(&b, '\\');
				rein_buf_char(&b, *p);
			}
			if (b.failed || rein_strlist_take(&except, rein_asprintf("/%s", b.p)) < 0)
				return rein_err_nomem(err);
		}
	}
	if (!except.n)
		return 0;
	if (rein_select(&r->changes, &only, &except, err) < 0)
		return -err->code;
	if (rein_tx_save(&e->state, &r->tx, false, err) < 0)
		return -err->code;
	return rein_tx_split(&e->state, &r->tx, &r->changes, rest, err);
}

static enum decision ask(struct rein_engine *e, struct rein_run *r, char *rest)
{
	for (;;) {
		struct rein_diff d = {.context = 3};
		struct rein_err err = {0};

		switch (read_key("      [c]ommit  [d]iscard  [v]iew  [s]elect files  [k]eep for later? ")) {
		case 'c':
		case 'y':
			return COMMIT;
		case 'd':
			return DISCARD;
		case 'v':
			rein_ui_page(true);
			if (rein_print_diff(&r->tx, &r->changes, &d, NULL, 0, &err) < 0)
				rein_fail(&err, false);
			rein_ui_page_end();
			break;
		case 's':
			if (choose_files(e, r, rest, &err) == 0)
				return COMMIT;
			rein_fail(&err, false);
			break;
		case 'k':
		case 'q':
		case 3:
		case 4:
		case 27:
			return HOLD;
		}
	}
}

static bool forced_rollback(const struct rein_run *r)
{
	return r->result.end == REIN_BOX_TIMEOUT || r->result.end == REIN_BOX_IDLE_TIMEOUT ||
	       r->result.end == REIN_BOX_LOST || r->result.end == REIN_BOX_CANCELLED ||
	       r->result.end == REIN_BOX_LIMIT || r->result.end == REIN_BOX_STOPPED ||
	       r->violations.safe_mode;
}

static bool has_person(const struct rein_common *common)
{
	return !common->quiet && !common->json && isatty(STDERR_FILENO) && isatty(STDIN_FILENO);
}

/* Whichever of the two judgements keeps the effects back; NULL: neither does. */
static const struct rein_decision *objection(const struct rein_judgement *j)
{
	if (j->has_after && rein_decision_enforced(&j->after) != REIN_ALLOW)
		return &j->after;
	if (j->must_hold)
		return &j->before;
	return NULL;
}

static bool is_thrown_away(const struct rein_judgement *j)
{
	return j->has_after && rein_decision_enforced(&j->after) == REIN_DENY;
}

/* *by_person: somebody saw the objection, if there is one, and chose all the same. */
static enum decision choose(struct rein_engine *e, const struct run_args *a,
			    const struct rein_common *common, struct rein_run *r, char *rest, bool *by_person)
{
	static const enum decision after_failure[] = {
		[REIN_FAILURE_DISCARD] = DISCARD, [REIN_FAILURE_HOLD] = HOLD, [REIN_FAILURE_COMMIT] = COMMIT};
	const struct rein_decision *no = objection(&r->judged);
	bool failed = r->result.status != 0;

	if (failed && a->on_failure)
		return (enum decision[]){COMMIT, DISCARD, HOLD}[a->on_failure - 1];
	if (a->decision)
		return (enum decision)a->decision;
	if (has_person(common)) {
		rein_print_changes(stderr, &r->tx, &r->changes, 12);
		if (no) {
			rein_more("%sto be reviewed:%s %s", rein_ui(stderr, REIN_YELLOW), rein_ui_off(stderr),
				  no->reason);
			rein_print_decision(no);
		}
		*by_person = true;
		return ask(e, r, rest);
	}
	return failed ? after_failure[r->settings.on_failure] : COMMIT;
}

/* What options and people want, and what the policy lets them have. */
static int decide(struct rein_engine *e, const struct run_args *a, const struct rein_common *common,
		  struct rein_run *r, char *rest, enum decision *ret, struct rein_err *err)
{
	bool approved = a->approve;
	enum decision d;

	if (forced_rollback(r) || is_thrown_away(&r->judged)) {
		*ret = DISCARD;
		return 0;
	}
	d = choose(e, a, common, r, rest, &approved);
	*ret = d;
	if (d != COMMIT || !objection(&r->judged))
		return 0;
	if (!approved) {
		*ret = HOLD;
		return 0;
	}
	r->judged.approved = true;
	return rein_trail_answered(&r->trail, true, "effects", err);
}

static const char *end_text(const struct rein_run *r)
{
	static char text[400];

	switch (r->result.end) {
	case REIN_BOX_TIMEOUT:
		return "timed out";
	case REIN_BOX_IDLE_TIMEOUT:
		return "idle for too long";
	case REIN_BOX_CANCELLED:
		return "cancelled";
	case REIN_BOX_LOST:
		return "the box was lost";
	case REIN_BOX_STOPPED:
		snprintf(text, sizeof(text), "stopped by %s%s%s", r->order.who, *r->order.why ? ": " : "",
			 r->order.why);
		return text;
	case REIN_BOX_LIMIT:
		rein_limit_hit_text(&r->result.hit, text, sizeof(text));
		return text;
	case REIN_BOX_SIGNALED:
		snprintf(text, sizeof(text), "killed by signal %d", r->result.status - 128);
		return text;
	case REIN_BOX_EXITED:
		break;
	}
	snprintf(text, sizeof(text), "exit %d", r->result.status);
	return text;
}

static void print_json(const struct rein_run *r, const struct rein_run_opts *o, const char *decision,
		       const char *rest, const struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 30);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_kstr(&j, "decision", decision);
	rein_json_ki64(&j, "exit", r->result.status);
	rein_json_kstr(&j, "end", end_text(r));
	rein_json_ku64(&j, "wall_ms", r->result.wall_ns / 1000000);
	rein_json_ku64(&j, "cpu_ms", r->result.cpu_ns / 1000000);
	rein_json_ku64(&j, "max_rss_kib", r->result.max_rss_kib);
	rein_json_limits(&j, &r->result);
	rein_net_json(&j, &r->result.net, r->net);
	rein_json_execs(&j, &r->result.execs);
	rein_json_refused(&j, &r->result.refused, o->watch_files);
	rein_json_kbool(&j, "reads", r->reads);
	rein_json_kbool(&j, "warm", r->was_warm);
	rein_json_violations(&j, r);
	rein_json_path(&j, "workspace", r->view.workspace ? r->view.workspace : "");
	rein_json_judgement(&j, &r->judged);
	rein_json_key(&j, "transaction");
	if (r->has_tx) {
		rein_json_open(&j, '{');
		rein_json_tx(&j, &r->tx);
		if (rest && *rest)
			rein_json_kstr(&j, "rest", rest);
		rein_json_key(&j, "changes");
		rein_json_changes(&j, &r->tx, &r->changes);
		rein_json_close(&j, '}');
	} else {
		rein_json_null(&j);
	}
	rein_json_key(&j, "error");
	if (err && err->code) {
		rein_json_open(&j, '{');
		rein_json_kstr(&j, "code", rein_code_name(err->code));
		rein_json_kstr(&j, "message", err->msg);
		rein_json_close(&j, '}');
	} else {
		rein_json_null(&j);
	}
	rein_json_close(&j, '}');
	rein_buf_char(&b, '\n');
	/* stdout belongs to the command */
	if (!b.failed)
		fwrite(b.p, 1, b.n, stderr);
}

void rein_print_limits(const struct rein_run *r, const struct rein_run_opts *o)
{
	rein_net_print(&r->result.net, o, false);
}

/* What every box has for itself, and may write to. */
static bool is_private(const char *path)
{
	static const char *const places[] = {"/tmp", "/var/tmp", "/dev", "/proc", "/run"};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (rein_path_within(path, places[i]))
			return true;
	return false;
}

/* A place that its words say it writes to, and that is not the box's to write. */
static const char *out_of_reach(const struct rein_run *r)
{
	const struct rein_verdict *v = r->judged.verdict;

	for (size_t i = 0; v && i < v->n_facts; i++) {
		const struct rein_fact *f = &v->facts[i];
		bool ours = f->kind != REIN_FACT_WRITE && f->kind != REIN_FACT_DELETE && f->kind != REIN_FACT_PERSIST;

		if (ours || !f->target || f->target[0] != '/' || is_private(f->target))
			continue;
		for (size_t c = 0; c < r->view.ncow && !ours; c++)
			ours = rein_path_within(f->target, r->view.cow[c].path);
		for (size_t p = 0; p < r->view.npaths && !ours; p++)
			ours = r->view.paths[p].access == REIN_PATH_SCRATCH &&
			       rein_path_within(f->target, r->view.paths[p].path);
		if (!ours)
			return f->target;
	}
	return NULL;
}

static void report(const struct rein_run *r, const struct rein_run_opts *o, enum decision d,
		   const char *rest)
{
	auto_buf struct rein_buf sum = REIN_BUF(4096);

	rein_ui_summary(&sum, &r->sum);
	if (r->tx.unfinished)
		rein_say("the state directory cannot be written: the next command completes the record");
	if (!r->has_tx) {
		rein_say("%s in %s (%s), no changes", end_text(r), rein_ui_seconds(r->result.wall_ns),
			 rein_judgement_words(&r->judged));
		if (r->result.end == REIN_BOX_LIMIT)
			rein_print_hit(&r->result);
	} else if (d == COMMIT) {
		rein_say("%s in %s (%s), %s. Committed %s%s%s, undo with: rein undo %s", end_text(r),
			 rein_ui_seconds(r->result.wall_ns), rein_judgement_words(&r->judged), sum.p,
			 rein_ui(stderr, REIN_BOLD), r->tx.id, rein_ui_off(stderr), r->tx.id);
		if (*rest)
			rein_more("the rest is held as %s", rest);
	} else if (d == DISCARD) {
		rein_say("%s in %s (%s), %s: %s", end_text(r), rein_ui_seconds(r->result.wall_ns),
			 rein_judgement_words(&r->judged), sum.p,
			 forced_rollback(r) || is_thrown_away(&r->judged)
				 ? "rolled back, nothing was changed"
				 : "discarded");
		if (is_thrown_away(&r->judged)) {
			rein_more("%s", r->judged.after.reason);
			rein_print_decision(&r->judged.after);
		}
		if (r->result.end == REIN_BOX_LIMIT)
			rein_print_hit(&r->result);
	} else {
		const struct rein_decision *no = objection(&r->judged);

		rein_say("%s in %s (%s). Held %s%s%s: %s", end_text(r), rein_ui_seconds(r->result.wall_ns),
			 rein_judgement_words(&r->judged), rein_ui(stderr, REIN_BOLD), r->tx.id,
			 rein_ui_off(stderr), sum.p);
		if (no) {
			rein_more("why: %s", no->reason);
			rein_print_decision(no);
		}
		rein_more("look: rein diff %s     keep: rein commit %s     drop: rein discard %s",
			  r->tx.id, r->tx.id, r->tx.id);
	}
	rein_print_refused(stderr, &r->result.refused, 6);
	if (r->result.status && out_of_reach(r))
		rein_more("%s is outside the workspace, where a box only reads: --rw PATH makes a tree part of it",
			  rein_ui_path(out_of_reach(r)));
	rein_print_limits(r, o);
}

static int settle(struct rein_engine *e, struct rein_run *r, enum decision d, struct rein_err *err)
{
	static const enum rein_settle how[] = {
		[ASK] = REIN_SETTLE_HOLD,
		[COMMIT] = REIN_SETTLE_COMMIT,
		[DISCARD] = REIN_SETTLE_DISCARD,
		[HOLD] = REIN_SETTLE_HOLD,
	};
	const struct rein_decision *no = objection(&r->judged);
	const char *reason = forced_rollback(r)			 ? end_text(r)
			     : is_thrown_away(&r->judged)	 ? r->judged.after.reason
			     : d == HOLD && r->result.status	 ? "the command failed"
			     : d == HOLD && no			 ? no->reason
								 : NULL;

	return rein_engine_settle(e, &r->trail, &r->tx, &r->changes, how[d], reason, err);
}

static int exit_status(const struct run_args *a, const struct rein_run *r, enum decision d)
{
	if (r->has_tx && d == DISCARD && is_thrown_away(&r->judged) && !forced_rollback(r))
		return rein_code_exit(REIN_E_ROLLED_BACK);
	/* a command that succeeded, and whose work is not there yet: the caller must not go on as if */
	if (r->has_tx && d == HOLD && a->decision != HOLD && !r->result.status && objection(&r->judged))
		return rein_code_exit(REIN_E_HELD);
	if (r->violations.safe_mode && r->result.end != REIN_BOX_STOPPED)
		return rein_code_exit(REIN_E_ROLLED_BACK);
	switch (r->result.end) {
	case REIN_BOX_TIMEOUT:
	case REIN_BOX_IDLE_TIMEOUT:
		return rein_code_exit(REIN_E_TIMEOUT);
	case REIN_BOX_LOST:
		return rein_code_exit(REIN_E_FAILED);
	case REIN_BOX_LIMIT:
		return rein_code_exit(REIN_E_ROLLED_BACK);
	case REIN_BOX_STOPPED:
		return rein_code_exit(REIN_E_STOPPED);
	default:
		return r->result.status;
	}
}

static void show_notes(const struct rein_run *r, const struct rein_common *common,
		       const struct rein_run_opts *o)
{
	struct stat st;

	for (size_t i = 0; i < r->view.nnotes; i++)
		if (common->verbose || r->view.notes[i].always)
			rein_say("%s", r->view.notes[i].text);
	/* what the command was told is "Value too large for defined data type" */
	if (r->foreign && (common->verbose || r->result.status))
		rein_say("%s director%s here belong%s to another user or group: without root, files in them "
			 "cannot be changed (chown or chgrp them to you, or run rein as root)",
			 rein_ui_count(r->foreign), r->foreign == 1 ? "y" : "ies",
			 r->foreign == 1 ? "s" : "");
	if (geteuid() == 0 && !o->caps && (common->verbose || r->result.status) && stat(r->view.workspace, &st) == 0 &&
	    st.st_uid != 0)
		rein_say("the workspace belongs to uid %u: root without capabilities cannot write there; run rein "
			 "as that user, or give file capabilities: --cap-add files",
			 (unsigned)st.st_uid);
	if (r->safe_mode)
		rein_say("safe mode is on: nothing could be changed (a person lifts it: rein safe --lift)");
	if (!common->verbose)
		return;
	rein_print_kept(&r->result);
	if (r->reads)
		rein_say("it only reads: the workspace was read-only (--writable makes it copy-on-write)");
	if (r->was_warm)
		rein_say("warm: with the overlay of an earlier run");
	rein_say("workspace %s, network %s", rein_ui_path(r->view.workspace),
		 rein_net_mode_text(r->net));
	for (size_t i = 0; i < r->env_dropped.n; i++)
		rein_say("variable %s was not passed (--env %s passes it)",
			 rein_ui_path(r->env_dropped.v[i]), rein_ui_path(r->env_dropped.v[i]));
}

static int finish(struct rein_engine *e, const struct run_args *a, const struct rein_common *common,
		  const struct rein_run_opts *o, struct rein_run *r)
{
	char rest[REIN_TX_ID_MAX + 1] = "";
	enum decision d = forced_rollback(r) ? DISCARD : COMMIT; /* of nothing, where there is no transaction */
	struct rein_err err = {0};
	static const char *const words[] = {"hold", "commit", "discard", "hold"};

	if (r->has_tx && decide(e, a, common, r, rest, &d, &err) < 0)
		d = HOLD; /* an answer that cannot be recorded was not given */
	if (!common->quiet)
		show_notes(r, common, o);
	if (r->has_tx && settle(e, r, d, &err) < 0) {
		if (common->json)
			print_json(r, o, "hold", rest, &err);
		if (err.code != REIN_E_CONFLICT)
			return rein_fail(&err, false);
		rein_say("%s, but it cannot be committed: held %s, nothing was changed", end_text(r),
			 r->tx.id);
		rein_print_conflicts(&r->tx, &r->changes, &err);
		rein_more("merge text: rein commit %s --merge   per path: --ours PATH, --theirs PATH   drop: rein discard %s",
			  r->tx.id, r->tx.id);
		return rein_code_exit(REIN_E_CONFLICT);
	}
	if (common->json)
		print_json(r, o, words[d], rest, NULL);
	else if (!common->quiet)
		report(r, o, d, rest);
	return exit_status(a, r, d);
}

struct asker {
	const struct run_args *a;
	const struct rein_common *common;
	char *const *argv;
};

/* The policy wants a person's word before this runs. */
static bool ask_before(void *arg, const struct rein_judgement *j)
{
	const struct asker *who = arg;
	int key;

	if (who->a->approve)
		return true;
	rein_say("%sapprove?%s %s (%s, %s)", rein_ui(stderr, REIN_YELLOW), rein_ui_off(stderr), j->before.reason,
		 rein_level_name((int)j->before.level), rein_reach_name((int)j->before.reach));
	rein_print_command(who->argv);
	rein_print_decision(&j->before);
	do
		key = read_key("      [y]es, run it  [n]o? ");
	while (!strchr("yYnNqk\3\4\33", key));
	return key == 'y' || key == 'Y';
}

static int report_refusal(const struct rein_run *r, const struct rein_run_opts *o,
			  const struct rein_common *common, char *const *argv, const struct rein_err *err)
{
	if (!r->judged.has_before || (err->code != REIN_E_DENIED && err->code != REIN_E_APPROVAL))
		return rein_fail(err, common->json);
	if (common->json)
		print_json(r, o, "refuse", NULL, err);
	else
		rein_print_refusal(&r->judged, err, argv, r->net == REIN_NET_NONE);
	return rein_code_exit(err->code);
}

int rein_cli_run(int argc, char **argv)
{
	auto_(args_done) struct run_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = {.state = {.fd = -1, .txn_fd = -1, .journal_fd = -1}};
	auto_(rein_run_done) struct rein_run r = {.tx = {.dirfd = -1}};
	struct rein_run_opts o;
	struct rein_err err = {0};
	struct asker asker;
	int first, status;

	if (rein_verb_begin("run", argc, argv, &a, &common, &first, &e, &status))
		return status;
	if (first >= argc) {
		rein_err_set(&err, REIN_E_USAGE, "no command: rein run -- COMMAND [ARG...]");
		return rein_fail(&err, common.json);
	}
	if (fill(&a, argv + first, &o, &err) < 0)
		return rein_fail(&err, common.json);
	asker = (struct asker){&a, &common, argv + first};
	if (!common.quiet)
		rein_net_announce(&o);
	if (a.approve || has_person(&common)) {
		o.ask = ask_before;
		o.ask_arg = &asker;
	}
	if (rein_engine_run(&e, &o, &r, &err) < 0)
		status = report_refusal(&r, &o, &common, argv + first, &err);
	else
		status = finish(&e, &a, &common, &o, &r);
	/* also after a run that left nothing: who only reads and sends leaves nothing */
	if (r.policy)
		rein_engine_alerts(&e, r.policy, common.json || common.quiet ? NULL : stderr);
	return status;
}
