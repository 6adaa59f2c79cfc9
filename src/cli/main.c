/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs, and nothing else. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/opts.h"
#include "cli/fold.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "sys/umask.h"

const struct rein_verb rein_verbs[] = {
	{"run", "[--] COMMAND [ARG...]", "Run a command in a sandbox inside a transaction", rein_run_opts_table, rein_cli_run, true, -1, true},
	{"diff", "[TXN] [PATH...]", "Show what a transaction changes", rein_diff_opts, rein_cli_diff, false, -1, false},
	{"commit", "[TXN]", "Put a held transaction's changes into the real tree, all or nothing", rein_commit_opts, rein_cli_commit, false, 1, false},
	{"discard", "[TXN]", "Throw a held transaction away", rein_discard_opts, rein_cli_discard, false, 1, false},
	{"undo", "[TXN]", "Take a committed transaction back", rein_reverse_opts, rein_cli_undo, false, 1, false},
	{"redo", "[TXN]", "Commit an undone transaction again", rein_reverse_opts, rein_cli_redo, false, 1, false},
	{"log", "", "List transactions, newest first", rein_log_opts, rein_cli_log, false, 0, false},
	{"show", "[TXN]", "Tell everything about one transaction", NULL, rein_cli_show, false, 1, false},
	{"status", "", "Tell what is waiting in this workspace", NULL, rein_cli_status, false, 0, false},
	{"gc", "", "Let old transactions of all workspaces go; never a held one", rein_gc_opts_table, rein_cli_gc, false, 0, false},
	{"ps", "", "List the boxes that run, and what they use", rein_ps_opts, rein_cli_ps, false, 0, false},
	{"stats", "BOX", "Tell what one box uses, process by process", NULL, rein_cli_stats, false, 1, false},
	{"attach", "BOX [-- COMMAND [ARG...]]", "Run one more command in a box, or look at its terminal", rein_attach_opts, rein_cli_attach, false, -1, true},
	{"pause", "BOX", "Let a box stand still", rein_kill_opts, rein_cli_pause, false, 1, false},
	{"resume", "BOX", "Let a paused box go on", NULL, rein_cli_resume, false, 1, false},
	{"kill", "BOX", "End a box and roll it back", rein_kill_opts, rein_cli_kill, false, 1, false},
	{"stop", "--all | --agent NAME", "Kill switch: end every box now, refuse new ones", rein_stop_opts, rein_cli_stop, false, -1, false},
	{"start", "", "Let boxes run again after rein stop", rein_start_opts, rein_cli_start, false, 0, false},
	{"safe", "", "Safe mode: tell, begin or lift it", rein_safe_opts, rein_cli_safe, false, 0, false},
	{"doctor", "", "Tell what this machine can enforce, and how to get what is missing", NULL, rein_cli_doctor, false, 0, false},
	{"policy", "check|test|explain|show|init|trust|untrust|diff|suggest [FILE... | ACTION]", "Check, try and explain the rules", rein_policy_opts, rein_cli_policy, false, -1, false},
	{"classify", "[TEXT]", "Tell how bad an action could be, before it runs, and what is decided", rein_classify_opts, rein_cli_classify, false, -1, false},
	{"audit", "VERB", "Look at the record of everything, prove it, report from it", NULL, rein_cli_audit, true, -1, false},
	{"metrics", "", "Print metrics for Prometheus", NULL, rein_cli_metrics, false, 0, false},
	{"completion", "bash|zsh|fish", "Print a shell's completion script", NULL, rein_cli_completion, false, 1, false},
	{"version", "", "Print the version", NULL, rein_cli_version, false, 0, false},
	{"help", "[VERB]", "Show help", NULL, rein_cli_help, false, 2, false},
	{0},
};

const struct rein_verb *rein_verb_find(const char *name)
{
	for (const struct rein_verb *v = rein_verbs; v->name; v++)
		if (rein_streq(v->name, name))
			return v;
	return NULL;
}

int rein_cli_version(int argc, char **argv)
{
	struct rein_common common = {0};
	int first, status;

	if (rein_verb_begin("version", argc, argv, NULL, &common, &first, NULL, &status))
		return status;
	printf(common.json ? "{\"version\":\"%s\"}\n" : "rein %s\n", REIN_VERSION);
	return 0;
}

static void overview(FILE *f)
{
	const unsigned width = rein_fold_width(f);

	rein_fold(f, width, 0, 0, "rein " REIN_VERSION ": every effect of a command contained, shown, approved, undoable");
	fprintf(f, "\nUsage: rein VERB [options]\n\n");
	for (const struct rein_verb *v = rein_verbs; v->name; v++)
		rein_fold_row(f, width, 14, v->name, v->summary);
	fputc('\n', f);
	rein_fold(f, width, 0, 0, "Try: rein run -- make test        More: rein help run, man rein");
}

/* Its verbs have a table of their own. */
static int audit_help(char *verb)
{
	char *argv[] = {(char *)"audit", (char *)"help", verb, NULL};

	return rein_cli_audit(verb ? 3 : 2, argv);
}

int rein_cli_help(int argc, char **argv)
{
	struct rein_common common = {0};
	const struct rein_verb *v;
	struct rein_err err = {0};
	int first, status;

	if (rein_verb_begin("help", argc, argv, NULL, &common, &first, NULL, &status))
		return status;
	if (first >= argc) {
		overview(stdout);
		return 0;
	}
	if (rein_streq(argv[first], "audit"))
		return audit_help(first + 1 < argc ? argv[first + 1] : NULL);
	v = rein_verb_find(argv[first]);
	if (!v)
		rein_err_set(&err, REIN_E_USAGE, "no verb '%s' (see: rein help)", argv[first]);
	else if (first + 1 < argc)
		rein_err_set(&err, REIN_E_USAGE, "'%s' is one too many (see: rein help --help)", argv[first + 1]);
	if (err.code)
		return rein_fail(&err, common.json);
	rein_opts_help(v);
	return 0;
}

/* What could not be written was not said. */
static int finish(int status)
{
	struct rein_err err = {0};

	/* a verb that failed has said why, and that is often this */
	if ((fflush(stdout) == 0 && !ferror(stdout)) || status == rein_code_exit(REIN_E_IO))
		return status;
	rein_err_set(&err, REIN_E_IO, "standard output cannot be written");
	return rein_fail(&err, false);
}

static bool missing[STDERR_FILENO + 1];

/*
 * A file that is opened takes the lowest number: where a standard stream is closed, that would be one of the state's,
 * and words for people would go into it. What stands there now is as useless as what was closed.
 */
static void fill_closed(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		missing[fd] = fcntl(fd, F_GETFD) < 0;
		if (missing[fd] && open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
			_exit(rein_code_exit(REIN_E_IO));
	}
}

void rein_streams_for_command(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int null = missing[fd] ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

		if (missing[fd] && (null < 0 || dup2(null, fd) < 0))
			_exit(rein_code_exit(REIN_E_IO));
		rein_closep_(&null);
	}
}

static void no_verb(const char *word, struct rein_err *err)
{
	struct rein_near near = rein_near(word);

	/* somebody who left out "run" meant a program, and many have short names: one slip, in a word of three letters or more */
	near.least = strlen(word) < 3 ? 0 : 2;
	for (const struct rein_verb *v = rein_verbs; v->name; v++)
		rein_near_try(&near, v->name);
	if (near.best)
		rein_err_set(err, REIN_E_USAGE, "no verb '%s'; did you mean 'rein %s'? (see: rein help; to run a command: rein run -- %s)",
			     word, near.best, word);
	else
		rein_err_set(err, REIN_E_USAGE, "no verb '%s' (see: rein help; to run a command: rein run -- %s)", word, word);
}

#define STACK_KIB 1024

/* Buffers lie on the stack, and trees are walked as deep as they are: with less we would die somewhere, by a signal. */
static int check_stack(struct rein_err *err)
{
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= STACK_KIB * 1024)
		return 0;
	return rein_err_set(err, REIN_E_UNSUPPORTED,
			    "the stack is limited to %llu KiB here, and rein needs %d (ulimit -s 8192); a command can be "
			    "given less: rein run -- sh -c 'ulimit -s %llu; ...'",
			    (unsigned long long)stack.rlim_cur / 1024, STACK_KIB,
			    (unsigned long long)stack.rlim_cur / 1024);
}

#define OPEN_FILES 32

/* A box of one tree takes some twenty. With fewer it would fail somewhere on the way, with words about a file nobody knows. */
static int check_open_files(struct rein_err *err)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= OPEN_FILES)
		return 0;
	return rein_err_set(err, REIN_E_UNSUPPORTED,
			    "open files are limited to %llu here, and rein needs %d (ulimit -n 1024); a command can be given less: "
			    "rein run --limit open-files=%llu",
			    (unsigned long long)files.rlim_cur, OPEN_FILES, (unsigned long long)files.rlim_cur);
}

int main(int argc, char **argv)
{
	const struct rein_verb *v;
	struct rein_err err = {0};

	fill_closed();
	rein_umask_keep();
	if (argc < 2) {
		overview(stderr);
		return rein_code_exit(REIN_E_USAGE);
	}
	if (rein_streq(argv[1], "--version") || rein_streq(argv[1], "-V"))
		return finish(rein_cli_version(argc - 1, argv + 1));
	if (rein_streq(argv[1], "--help") || rein_streq(argv[1], "-h"))
		return finish(rein_cli_help(argc - 1, argv + 1));
	v = rein_verb_find(argv[1]);
	if (!v) {
		no_verb(argv[1], &err);
		return rein_fail(&err, rein_wants_json(argc, argv));
	}
	/* the kill switch is pulled with whatever there is */
	if (v->run != rein_cli_stop && v->run != rein_cli_kill && (check_stack(&err) < 0 || check_open_files(&err) < 0))
		return rein_fail(&err, rein_wants_json(argc, argv));
	return finish(v->run(argc - 1, argv + 1));
}
