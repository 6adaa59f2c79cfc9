/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime has ended: was there a command, and how did that end? */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sandbox/explain.h"
#include "sandbox/ocirun.h"
#include "sandbox/result.h"

static bool ordered_to_stop(const struct rein_ocirun *s)
{
	return s->spec->watch && s->spec->watch->ask(s->spec->watch->arg) == REIN_BOX_STOP;
}

/*
 * The executor inside did not say how the command ended: if we had to kill it because nobody guarded it any more, or
 * somebody did who gave no order, what the runtime says of that is not the command's end.
 */
static bool is_lost(const struct rein_ocirun *s)
{
	return s->killed || (s->backend->executor && s->ready);
}

static void conclude(struct rein_ocirun *s, const struct rusage *ru, struct rein_box_result *ret)
{
	struct rein_box_result r = {
		.end = s->why, .status = 128 + SIGKILL, .wall_ns = rein_mono_ns() - s->started_ns};

	if (s->why == REIN_BOX_LOST && ordered_to_stop(s))
		r.end = s->why = REIN_BOX_STOPPED; /* killed by whoever gave the order */
	if (s->why == REIN_BOX_LOST && s->end.kind == REIN_BOX_MSG_EXIT) {
		/* the executor saw whether 137 was a signal, the runtime only repeats the number */
		r.end = WIFSIGNALED(s->end.status) ? REIN_BOX_SIGNALED : REIN_BOX_EXITED;
		r.status = WIFSIGNALED(s->end.status) ? 128 + WTERMSIG(s->end.status) : WEXITSTATUS(s->end.status);
	} else if (s->why == REIN_BOX_LOST && !is_lost(s)) {
		r.status = WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
		r.end = r.status > 128 && r.status < 128 + NSIG ? REIN_BOX_SIGNALED : REIN_BOX_EXITED;
	}
	r.restless = s->why == REIN_BOX_STOPPED && s->still.never;
	if (s->keeper.hit.what && (s->why == REIN_BOX_LOST || s->why == REIN_BOX_LIMIT))
		r.end = REIN_BOX_LIMIT;
	rein_result_usage(&r, ru);
	if (s->end.kind == REIN_BOX_MSG_EXIT) { /* else all there is to tell is what the runtime itself used */
		r.cpu_ns = s->end.cpu_ns;
		r.max_rss_kib = s->end.max_rss_kib;
	}
	rein_result_take(&r, &s->keeper, &s->supervisor, &s->gate);
	rein_console_end(&s->console, &r);
	if (s->end.kind == REIN_BOX_MSG_EXIT && r.usage.memory_peak < r.max_rss_kib << 10)
		r.usage.memory_peak = r.max_rss_kib << 10;
	*ret = r;
}

/* The runtime ended by itself and there never was a command: its status says nothing of one. */
static bool never_began(const struct rein_ocirun *s)
{
	bool began = s->backend->executor ? s->ready : access(s->pid_file, F_OK) == 0;

	return !began && !s->signalled && s->why == REIN_BOX_LOST && !s->keeper.hit.what && !ordered_to_stop(s);
}

#define ALIEN_FAILED 128 /* runsc's own status */

/* A runtime with a kernel of its own says only that it failed. */
static bool failed_itself(const struct rein_ocirun *s)
{
	return !s->backend->executor && s->why == REIN_BOX_LOST && WIFEXITED(s->status) && WEXITSTATUS(s->status) == ALIEN_FAILED;
}

/* Why the command that was named by its path could not begin, as it can be seen from here; 0: nothing is wrong with it. */
static int unfit(const struct rein_ocirun *s)
{
	const char *name = s->spec->argv[0];
	char path[PATH_MAX];

	if (!strchr(name, '/'))
		return 0;
	snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : s->spec->cwd, *name == '/' ? "" : "/", name);
	return access(path, X_OK) < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES) ? errno : 0;
}

static bool not_found(const struct rein_ocirun *s)
{
	const char *name = s->spec->argv[0], *dir = rein_plan_str(s->plan, s->plan->search);
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return false;
	for (;; dir++) {
		size_t n = strcspn(dir, ":");

		snprintf(path, sizeof(path), "%s/%.*s/%s", n && *dir == '/' ? "" : s->spec->cwd, (int)n, dir, name);
		if (access(path, F_OK) == 0)
			return false;
		dir += n;
		if (!*dir)
			return true;
	}
}

/* Did the executor inside get as far as the command? */
static int explain(const struct rein_ocirun *s, struct rein_err *err)
{
	int why = failed_itself(s) ? unfit(s) : 0;

	if (s->end.kind == REIN_BOX_MSG_FAIL)
		return rein_explain_step(&s->end, s->plan, err);
	if (s->end.kind == REIN_BOX_MSG_EXEC)
		return rein_explain_command(s->end.sys, s->spec->argv[0], err);
	if (why)
		return rein_explain_command(why, s->spec->argv[0], err);
	if (failed_itself(s) && not_found(s))
		return rein_err_set(err, REIN_E_NOCMD, "%s: command not found", s->spec->argv[0]);
	if (never_began(s))
		return rein_err_set(err, REIN_E_FAILED, "%s could not start the box: it ended with %s %d",
				    s->backend->program, WIFSIGNALED(s->status) ? "signal" : "status",
				    WIFSIGNALED(s->status) ? WTERMSIG(s->status) : WEXITSTATUS(s->status));
	return 0;
}

void rein_ocirun_clear_away_(struct rein_ocirun *s)
{
	const struct timespec a_while = {.tv_nsec = 100000000};

	for (int i = 0; i < 5; i++) {
		s->root.deleted = rein_runtime_delete(s->backend, s->root.path, s->id);
		/* one that had cleared up before says that there is no such container */
		if (s->root.deleted || rmdir(s->root.path) == 0)
			return;
		nanosleep(&a_while, NULL);
	}
}

int rein_ocirun_conclude_(struct rein_ocirun *s, const struct rusage *ru, struct rein_box_result *ret,
			  struct rein_err *err)
{
	if (explain(s, err) < 0)
		return -err->code;
	conclude(s, ru, ret);
	return 0;
}
