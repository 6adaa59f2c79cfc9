/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein run: the command, then what it did, then what becomes of it. Everything Rein says goes to
 * stderr; stdout is the command's alone, so with --json the report is the last line of stderr.
 */
#include <signal.h>
#include <unistd.h>

#include "base/auto.h"
#include "cli/asker.h"
#include "cli/fate.h"
#include "cli/judgement.h"
#include "cli/network.h"
#include "cli/outcome.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "engine/alerts.h"
#include "sys/capname.h"

#include <rein/classify.h>

struct run_args {
	const char *workspace;
	bool whole_system, nested, writable;
	struct rein_net_args net;
	uint64_t timeout_ns, idle_ns, warm_ns;
	const char *profile;
	struct rein_strlist limits;
	struct rein_strlist rw, ro, hide, scratch, env, env_file, cap_add;
	struct rein_fate_args fate;
	struct rein_strlist policy;
	const char *agent, *session, *task, *role, *environment;
	struct rein_strlist labels;
	uint64_t max_boxes, queue_ns;
	bool watch, watch_files;
	const char *backend;
	struct rein_strlist canary;
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
	{"rw", 0, REIN_OPT_LIST, AT(rw), "PATH", "one more tree that may change; a file in one is shown", 0},
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
	{"commit", 0, REIN_OPT_VALUE, AT(fate.decision), NULL, "commit without asking", REIN_FATE_COMMIT},
	{"discard", 0, REIN_OPT_VALUE, AT(fate.decision), NULL, "throw the changes away", REIN_FATE_DISCARD},
	{"hold", 0, REIN_OPT_VALUE, AT(fate.decision), NULL, "keep the changes back for later", REIN_FATE_HOLD},
	{"on-failure", 0, REIN_OPT_CHOICE, AT(fate.on_failure), "commit|discard|hold", "when the command fails (default: as the policy says, hold)", 0},
	{"approve", 'y', REIN_OPT_FLAG, AT(fate.approve), NULL, "you approve what the policy would ask about or hold; recorded", 0},
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

static int fill_who(const struct run_args *a, struct rein_who *who, struct rein_err *err)
{
	*who = (struct rein_who){
		.agent = or_env(a->agent, "REIN_AGENT"),
		.session = or_env(a->session, "REIN_SESSION"),
		.task = or_env(a->task, "REIN_TASK"),
		.role = a->role,
		.environment = a->environment,
	};
	return rein_who_check(who, err);
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
		.discard = a->fate.decision == REIN_FATE_DISCARD,
		.commit = a->fate.on_failure ? a->fate.on_failure == 1 : a->fate.decision == REIN_FATE_COMMIT,
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

static int settle(struct rein_engine *e, struct rein_run *r, enum rein_fate d, struct rein_err *err)
{
	static const enum rein_settle how[] = {
		[REIN_FATE_ASK] = REIN_SETTLE_HOLD,
		[REIN_FATE_COMMIT] = REIN_SETTLE_COMMIT,
		[REIN_FATE_DISCARD] = REIN_SETTLE_DISCARD,
		[REIN_FATE_HOLD] = REIN_SETTLE_HOLD,
	};
	const struct rein_decision *no = rein_fate_objection(&r->judged);
	const char *reason = rein_fate_is_forced(r)		       ? rein_outcome_end(r)
			     : rein_fate_is_thrown_away(&r->judged)    ? r->judged.after.reason
			     : d == REIN_FATE_HOLD && r->result.status ? "the command failed"
			     : d == REIN_FATE_HOLD && no	       ? no->reason
								       : NULL;

	return rein_engine_settle(e, &r->trail, &r->tx, &r->changes, how[d], reason, err);
}

static int exit_status(const struct run_args *a, const struct rein_run *r, enum rein_fate d)
{
	if (r->has_tx && d == REIN_FATE_DISCARD && rein_fate_is_thrown_away(&r->judged) && !rein_fate_is_forced(r))
		return rein_code_exit(REIN_E_ROLLED_BACK);
	/* a command that succeeded, and whose work is not there yet: the caller must not go on as if */
	if (r->has_tx && d == REIN_FATE_HOLD && a->fate.decision != REIN_FATE_HOLD && !r->result.status &&
	    rein_fate_objection(&r->judged))
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

/* What was decided could not be carried out. The object is the last line, whatever else is said. */
static int report_failure(const struct rein_run *r, const struct rein_run_opts *o, const struct rein_common *common,
			  const char *rest, const struct rein_err *err)
{
	if (err->code != REIN_E_CONFLICT) {
		rein_fail(err, false);
		/* (who stopped it, or put it into safe mode, has said so there) */
		if (r->tx.state == REIN_TX_HELD && err->code != REIN_E_STOPPED) {
			rein_more("%s, and what it did is held: %s", rein_outcome_end(r), r->tx.id);
			rein_outcome_ways(r);
		}
	} else {
		rein_say("%s, but it cannot be committed: held %s, nothing was changed", rein_outcome_end(r), r->tx.id);
		rein_print_conflicts(&r->tx, &r->changes, err);
		rein_print_ways_out(&r->tx, &r->changes, false);
	}
	/* what was not chosen is held by itself: what becomes of this one does not reach it */
	if (*rest)
		rein_more("the rest is held as %s", rest);
	if (common->json)
		rein_outcome_json(r, o, "hold", rest, err);
	return rein_code_exit(err->code);
}

/*
 * It came to its own end, and what it did became what the options say, or nobody wanted anything but a commit: of
 * that -q says nothing. The command's own failure it told itself, and its status does.
 */
static bool went_as_asked(const struct run_args *a, const struct rein_run *r, enum rein_fate d)
{
	static const enum rein_fate on_failure[] = {REIN_FATE_ASK, REIN_FATE_COMMIT, REIN_FATE_DISCARD, REIN_FATE_HOLD};
	enum rein_fate wanted = a->fate.decision ? (enum rein_fate)a->fate.decision : REIN_FATE_COMMIT;

	if (r->result.status && a->fate.on_failure)
		wanted = on_failure[a->fate.on_failure];
	if (rein_fate_is_forced(r))
		return false;
	return !r->has_tx || (d == wanted && !rein_fate_is_thrown_away(&r->judged));
}

static int finish(struct rein_engine *e, const struct run_args *a, const struct rein_common *common,
		  const struct rein_run_opts *o, struct rein_run *r)
{
	char rest[REIN_TX_ID_MAX + 1] = "";
	/* of nothing, where there is no transaction */
	enum rein_fate d = rein_fate_is_forced(r) ? REIN_FATE_DISCARD : REIN_FATE_COMMIT;
	struct rein_err err = {0}, unrecorded = {0};
	static const char *const words[] = {"hold", "commit", "discard", "hold"};

	if (r->has_tx && rein_fate_decide(e, &a->fate, common, r, rest, &d, &unrecorded) < 0)
		d = REIN_FATE_HOLD; /* an answer that cannot be recorded was not given */
	if (!common->quiet)
		rein_outcome_notes(r, common, o);
	if (r->has_tx && settle(e, r, d, &err) < 0)
		return report_failure(r, o, common, rest, &err);
	if (!common->json && (!common->quiet || !went_as_asked(a, r, d)))
		rein_outcome_report(r, o, d, rest, common->verbose);
	if (unrecorded.code) {
		rein_err_prefix(&unrecorded, "the answer cannot be recorded, so that it was not given");
		rein_fail(&unrecorded, false);
	}
	if (common->json)
		rein_outcome_json(r, o, words[d], rest, unrecorded.code ? &unrecorded : NULL);
	return unrecorded.code ? rein_code_exit(unrecorded.code) : exit_status(a, r, d);
}

static int report_refusal(const struct rein_run *r, const struct rein_run_opts *o,
			  const struct rein_common *common, char *const *argv, const struct rein_err *err)
{
	if (!r->judged.has_before || (err->code != REIN_E_DENIED && err->code != REIN_E_APPROVAL))
		return rein_fail_last(err, common->json);
	if (common->json)
		rein_outcome_json(r, o, "refuse", NULL, err);
	else
		rein_print_refusal(&r->judged, err, argv, r->net == REIN_NET_NONE);
	return rein_code_exit(err->code);
}

struct ending {
	bool interrupted, unheard; /* as in struct rein_box_result */
};

static int run(int argc, char **argv, struct ending *ret)
{
	auto_(args_done) struct run_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_run_done) struct rein_run r = {.tx = {.dirfd = -1}};
	struct rein_run_opts o;
	struct rein_err err = {0};
	struct rein_asker asker;
	int first, status;

	rein_ui_outlive_readers();
	if (rein_verb_begin("run", argc, argv, &a, &common, &first, NULL, &status))
		return status;
	if (first >= argc || !*argv[first]) { /* "$COMMAND" of nothing */
		rein_err_set(&err, REIN_E_USAGE, "no command: rein run -- COMMAND [ARG...]");
		return rein_fail_last(&err, common.json);
	}
	rein_streams_for_command();
	if (fill(&a, argv + first, &o, &err) < 0)
		return rein_fail_last(&err, common.json);
	rein_engine_start_box(&e, &o);
	if (rein_verb_open("run", &common, &e, &status))
		return status;
	asker = (struct rein_asker){.engine = &e,
				    .argv = argv + first,
				    .environment = a.environment,
				    .approve = a.fate.approve,
				    .alerts = !common.json && !common.quiet};
	if (!common.quiet)
		rein_net_announce(&o);
	o.ask_arg = &asker;
	o.announce = rein_asker_announce;
	if (a.fate.approve || rein_fate_has_person(&common))
		o.ask = rein_asker_ask;
	status = rein_engine_run(&e, &o, &r, &err);
	if (r.result.painted && !common.quiet && !common.json)
		rein_ui_screen_back();
	if (status < 0)
		status = report_refusal(&r, &o, &common, argv + first, &err);
	else
		status = finish(&e, &a, &common, &o, &r);
	/* also after a run that left nothing: who only reads and sends leaves nothing */
	rein_engine_alerts_after(&e, &r, common.json || common.quiet ? NULL : stderr);
	*ret = (struct ending){r.result.interrupted, r.result.unheard};
	return status;
}

/*
 * A shell goes on with its loop or its script after a command that ended with a number, whatever that is, and not after one that
 * was interrupted. So we end by that signal, too; and who is with us in the foreground has it from the terminal, or from us.
 */
static void be_interrupted(bool alone)
{
	struct sigaction now;
	sigset_t it;

	if (sigaction(SIGINT, NULL, &now) < 0 || now.sa_handler == SIG_IGN || fflush(stdout) != 0)
		return;
	sigemptyset(&it);
	sigaddset(&it, SIGINT);
	sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	pthread_sigmask(SIG_UNBLOCK, &it, NULL);
	kill(alone ? getpid() : 0, SIGINT);
}

int rein_cli_run(int argc, char **argv)
{
	struct ending end = {0};
	int status = run(argc, argv, &end);

	if (end.interrupted)
		be_interrupted(!end.unheard);
	return status;
}
