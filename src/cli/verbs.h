/* SPDX-License-Identifier: Apache-2.0 */
/* One function a verb: argv[0] is the verb, the result is the exit status. */
#ifndef REIN_CLI_VERBS_H
#define REIN_CLI_VERBS_H

#include "base/json.h"
#include "cli/opts.h"
#include "engine/engine.h"

int rein_cli_run(int argc, char **argv);
/* A command that is given our standard streams has /dev/null for one that is closed. */
void rein_streams_for_command(void);
int rein_cli_diff(int argc, char **argv);
int rein_cli_commit(int argc, char **argv);
int rein_cli_discard(int argc, char **argv);
int rein_cli_undo(int argc, char **argv);
int rein_cli_redo(int argc, char **argv);
int rein_cli_log(int argc, char **argv);
int rein_cli_show(int argc, char **argv);
int rein_cli_status(int argc, char **argv);
int rein_cli_gc(int argc, char **argv);
int rein_cli_ps(int argc, char **argv);
int rein_cli_stats(int argc, char **argv);
int rein_cli_attach(int argc, char **argv);
int rein_cli_pause(int argc, char **argv);
int rein_cli_resume(int argc, char **argv);
int rein_cli_kill(int argc, char **argv);
int rein_cli_stop(int argc, char **argv);
int rein_cli_start(int argc, char **argv);
int rein_cli_safe(int argc, char **argv);
int rein_cli_doctor(int argc, char **argv);
int rein_cli_classify(int argc, char **argv);
int rein_cli_audit(int argc, char **argv);
int rein_cli_metrics(int argc, char **argv);
int rein_cli_completion(int argc, char **argv);
int rein_cli_policy(int argc, char **argv);
int rein_cli_version(int argc, char **argv);
int rein_cli_help(int argc, char **argv);

extern const struct rein_opt rein_run_opts_table[], rein_diff_opts[], rein_commit_opts[], rein_reverse_opts[],
	rein_discard_opts[], rein_log_opts[], rein_gc_opts_table[], rein_ps_opts[], rein_stop_opts[],
	rein_start_opts[], rein_kill_opts[], rein_attach_opts[], rein_safe_opts[], rein_policy_opts[], rein_classify_opts[];

/*
 * The beginning every verb shares: options parsed, --help answered, engine, if any, open. 0: go on with
 * operands argv[*first..argc); 1: done, *status is the exit status.
 */
int rein_verb_begin(const char *name, int argc, char **argv, void *target, struct rein_common *common,
		    int *first, struct rein_engine *engine, int *status);

/*
 * What people type for paths of t's changes. Patterns are meant from the top of a tree. Those that begin with "./" or
 * "../", as a shell completes them, are from here, if here is in a tree of t. One that names nothing as it stands is
 * taken as a name is shown: "a\nb" for one with a newline in it.
 */
int rein_patterns_meant(const struct rein_tx *t, const struct rein_changes *c, struct rein_strlist *globs,
			struct rein_err *err);

/* Of it, the engine alone. */
int rein_verb_open(const char *name, const struct rein_common *common, struct rein_engine *engine, int *status);
/* Of it, the options and --help alone. */
int rein_verb_parse(const struct rein_verb *verb, int argc, char **argv, void *target, struct rein_common *common,
		    int *first, int *status);

/* The answer has the form that was asked for, wherever it was asked; what follows "--" asks for nothing. */
bool rein_wants_json(int argc, char **argv);

/* Its path as people are told it: one of a short-lived few (rein_ui_path). */
const char *rein_change_path(const struct rein_tx *t, const struct rein_change *x);
/* Lines "  created   src/x.c" for people, at most max (0: all). */
void rein_print_changes(FILE *f, const struct rein_tx *t, const struct rein_changes *c, size_t max);
/* err: what to say when no single path is to blame. */
void rein_print_conflicts(const struct rein_tx *t, const struct rein_changes *c,
			  const struct rein_err *err);
/* After a commit: files whose other names were left out. */
void rein_print_parted(const struct rein_tx *t, const struct rein_changes *c);
/* What can be done about the conflicts of a commit. merged: --merge was tried. */
void rein_print_ways_out(const struct rein_tx *t, const struct rein_changes *c, bool merged);

/* Limits: members "limit", "limits" and "usage"; what to do about the one that was hit; who kept them. */
void rein_json_limits(struct rein_json *j, const struct rein_box_result *r);
void rein_print_hit(const struct rein_box_result *r);
void rein_print_kept(const struct rein_box_result *r);

/* What was executed: the member "execs"; at most max lines. */
void rein_json_execs(struct rein_json *j, const struct rein_execs *e);
void rein_print_execs(FILE *f, const struct rein_execs *e, size_t max);

/* Files it was refused: the member "refused", null unless it was watched for; at most max lines. */
void rein_json_refused(struct rein_json *j, const struct rein_refused *r, bool watched);
void rein_print_refused(FILE *f, const struct rein_refused *r, size_t max);

/* The members "violations" and "safe_mode". */
void rein_json_violations(struct rein_json *j, const struct rein_run *r);

/* Unified diff of a transaction on stdout; stat only when asked. */
struct rein_diff {
	bool stat, name_status;
	uint64_t context;
};
int rein_print_diff(const struct rein_tx *t, const struct rein_changes *c, const struct rein_diff *d,
		    char **paths, int npaths, struct rein_err *err);

#endif
