/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein attach: one more command in a box that runs, or a look at its terminal. As with rein run, standard
 * output is the command's alone; with --json the report is the last line of standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "cli/boxes.h"
#include "cli/judgement.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "sandbox/attach.h"

struct attach_args {
	bool no_input, approve;
};

#define AT(field) offsetof(struct attach_args, field)

const struct rein_opt rein_attach_opts[] = {
	{"no-input", 0, REIN_OPT_FLAG, AT(no_input), NULL, "without a command: look at its terminal, type nothing", 0},
	{"approve", 'y', REIN_OPT_FLAG, AT(approve), NULL, "you approve what the policy would ask about; recorded", 0},
	{0},
};

static void report(const struct rein_live *l, const struct rein_attach_result *r, const struct rein_common *common)
{
	if (common->json) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 16);
		struct rein_json j = {.b = &b};

		rein_json_open(&j, '{');
		rein_json_kstr(&j, "id", l->id);
		rein_json_kstr(&j, "end", r->ended ? "box ended" : r->detached ? "detached" : "exited");
		rein_json_ki64(&j, "exit", r->status);
		rein_json_ku64(&j, "wall_ms", r->wall_ns / 1000000);
		rein_json_ku64(&j, "cpu_ms", r->cpu_ns / 1000000);
		rein_json_close(&j, '}');
		rein_buf_char(&b, '\n');
		if (!b.failed)
			fwrite(b.p, 1, b.n, stderr);
	} else if (!common->quiet && (r->ended || r->detached)) {
		rein_say("box %s %s", l->id, r->ended ? "ended, and everything in it" : "goes on without you");
	}
}

static bool has_person(const struct rein_common *common)
{
	return !common->quiet && !common->json && isatty(STDERR_FILENO) && isatty(STDIN_FILENO);
}

static bool ask(const char *why, char **argv)
{
	char line[16] = "";

	rein_say("%sapprove?%s %s", rein_ui(stderr, REIN_YELLOW), rein_ui_off(stderr), why);
	rein_print_command(argv);
	fputs("      run it, in this box? [y/N] ", stderr);
	fflush(stderr);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static int run(const struct rein_engine *e, const struct rein_live *l, char **argv, bool approved,
	       const struct rein_common *common, struct rein_attach_result *ret, struct rein_err *err)
{
	int rc = rein_attach_run(e->state.fd, l, argv, approved, ret, err);

	if (rc == 0 || err->code != REIN_E_APPROVAL || !has_person(common) || !ask(err->msg, argv))
		return rc;
	*err = (struct rein_err){0};
	return rein_attach_run(e->state.fd, l, argv, true, ret, err);
}

static int fail(const struct rein_err *err, const struct rein_common *common)
{
	int status = rein_fail_last(err, common->json);

	if (err->code == REIN_E_APPROVAL && !common->json)
		rein_more("a person can approve it: at a terminal, or with rein attach --approve");
	return status;
}

int rein_cli_attach(int argc, char **argv)
{
	struct attach_args a = {0};
	struct rein_common common = {0};
	auto_(rein_engine_done) struct rein_engine e = REIN_NO_ENGINE;
	auto_(rein_live_done) struct rein_live l = {0};
	struct rein_attach_result r = {0};
	struct rein_err err = {0};
	int first, status, rc;

	if (rein_verb_begin("attach", argc, argv, &a, &common, &first, &e, &status))
		return status;
	if (first >= argc)
		rein_err_set(&err, REIN_E_USAGE, "which box? rein attach BOX [-- COMMAND [ARG...]] (see: rein ps)");
	if (err.code || rein_live_find(e.state.fd, argv[first], &l, &err) < 0)
		return rein_fail_last(&err, common.json);
	if (first + 1 < argc) {
		rc = run(&e, &l, argv + first + 1, a.approve, &common, &r, &err);
	} else {
		if (!a.no_input && !common.quiet && isatty(STDIN_FILENO))
			rein_say("box %s; ^] three times within a second leads back", l.id);
		rc = rein_attach_look(e.state.fd, &l, a.no_input, &r, &err);
	}
	if (rc < 0)
		return fail(&err, &common);
	report(&l, &r, &common);
	return r.ended && first + 1 < argc ? 128 + 9 : r.status;
}
