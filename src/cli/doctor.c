/* SPDX-License-Identifier: Apache-2.0 */
/* rein doctor: what this machine can enforce, what that means, how to get what is missing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "cli/fold.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "sandbox/probe.h"

static const char *const words[] = {
	[REIN_PROBE_MISSING] = "missing",
	[REIN_PROBE_PARTIAL] = "partial",
	[REIN_PROBE_OK] = "ok",
};

#define OWN_ITEMS 3 /* those below, besides the machine's */
#define INDENT	  12 /* columns before what explains an item */

static void put(struct rein_probe_item *it, enum rein_probe_state state, const char *remedy, const char *detail)
{
	it->required = true;
	it->state = state;
	it->remedy = remedy;
	snprintf(it->detail, sizeof(it->detail), "%.*s", (int)sizeof(it->detail) - 1, detail);
}

/* By trying, and leaving nothing: 0 or an errno. */
static int try_directory(const char *dir)
{
	auto_free char *made = rein_asprintf("%s/.rein-try-XXXXXX", dir);

	if (!made)
		return ENOMEM;
	if (!mkdtemp(made))
		return errno;
	return rmdir(made) < 0 ? errno : 0;
}

/* Cut path back to what is there: 0 or an errno. */
static int cut_to_existing(char *path)
{
	struct stat st;

	while (stat(*path ? path : "/", &st) < 0) {
		if (errno != ENOENT || !*path)
			return errno;
		*strrchr(path, '/') = '\0';
	}
	return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

/* Not opened, because opening makes it: what is not there yet must be possible to make where its path ends. */
static int try_state(const char *path)
{
	auto_free char *at = rein_strdup(path);
	struct stat st;
	int sys;

	if (!at)
		return ENOMEM;
	if (stat(at, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid != geteuid())
		return EPERM;
	sys = cut_to_existing(at);
	return sys ? sys : try_directory(at);
}

static void probe_state(struct rein_probe_item *it)
{
	static const char remedy[] = "set REIN_STATE to a directory of your own, or HOME to your home";
	auto_free char *path = NULL;
	char detail[sizeof(it->detail)];
	struct rein_err err = {0};
	int sys;

	*it = (struct rein_probe_item){
		.name = "state", .title = "State", .meaning = "where transactions and the record are kept"};
	if (rein_state_path(&path, &err) < 0) {
		put(it, REIN_PROBE_MISSING, remedy, err.msg);
		return;
	}
	sys = try_state(path);
	snprintf(detail, sizeof(detail), "%.80s%s%s", rein_ui_path(path), sys ? ": " : "", sys ? strerror(sys) : "");
	put(it, sys ? REIN_PROBE_MISSING : REIN_PROBE_OK, sys ? remedy : NULL, detail);
}

/* Where we are, as a workspace: the machine may be able and this filesystem not. */
static void probe_here(struct rein_probe_item *it)
{
	auto_free char *state = NULL, *here = realpath(".", NULL);
	struct rein_place_facts facts = {0};
	static struct rein_err err; /* an item only points to what is to be done */

	*it = (struct rein_probe_item){
		.name = "here", .title = "This directory", .meaning = "whether changes to it can be committed"};
	if (!here)
		put(it, REIN_PROBE_MISSING, "it was removed: go to one that is there", "");
	else if (rein_state_path(&state, &err) < 0 || cut_to_existing(state) ||
	    rein_place_try(state, here, &facts, &err) < 0)
		put(it, REIN_PROBE_MISSING, *err.msg ? err.msg : "make a directory for the state first", rein_ui_path(here));
	else if (facts.staged)
		put(it, REIN_PROBE_PARTIAL, "its filesystem cannot carry the private layer: a commit copies first",
		    rein_ui_path(here));
	else if (facts.seconds)
		put(it, REIN_PROBE_PARTIAL, "its filesystem knows whole seconds only: a run and a commit each let one pass",
		    rein_ui_path(here));
	else
		put(it, REIN_PROBE_OK, NULL, rein_ui_path(here));
	it->required = false;
}

static void probe_programs(struct rein_probe_item *it)
{
	auto_free char *box = rein_engine_box_program();
	bool there = box && access(box, X_OK) == 0;

	*it = (struct rein_probe_item){
		.name = "programs", .title = "Programs", .meaning = "what builds the boxes, and belongs beside rein"};
	put(it, there ? REIN_PROBE_OK : REIN_PROBE_MISSING, there ? NULL : "reinstall Rein", box ? rein_ui_path(box) : "");
}

static void print_json(const struct rein_probe_item *items, size_t n, bool able)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 20);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_kbool(&j, "able", able);
	rein_json_key(&j, "features");
	rein_json_open(&j, '[');
	for (size_t i = 0; i < n; i++) {
		rein_json_open(&j, '{');
		rein_json_kstr(&j, "name", items[i].name);
		rein_json_kstr(&j, "title", items[i].title);
		rein_json_kstr(&j, "state", words[items[i].state]);
		rein_json_kbool(&j, "required", items[i].required);
		rein_json_kstr(&j, "detail", items[i].detail);
		rein_json_kstr(&j, "meaning", items[i].meaning);
		rein_json_kstr(&j, "remedy", items[i].remedy);
		rein_json_close(&j, '}');
	}
	rein_json_close(&j, ']');
	rein_json_close(&j, '}');
	rein_json_out(&b);
}

static void explain(const char *text)
{
	const unsigned width = rein_ui_width(stdout);

	printf("%*s", INDENT, "");
	rein_fold(stdout, width > 60 ? width : 80, INDENT, INDENT, text);
}

int rein_cli_doctor(int argc, char **argv)
{
	static const enum rein_colour colours[] = {REIN_RED, REIN_YELLOW, REIN_GREEN};
	struct rein_probe_item items[REIN_PROBE_MAX + OWN_ITEMS];
	struct rein_common common = {0};
	int first, status;
	bool able = true;
	size_t n;

	if (rein_verb_begin("doctor", argc, argv, NULL, &common, &first, NULL, &status))
		return status;
	n = rein_probe(items);
	probe_state(&items[n++]);
	probe_programs(&items[n++]);
	probe_here(&items[n++]);
	for (size_t i = 0; i < n; i++)
		able &= !items[i].required || items[i].state != REIN_PROBE_MISSING;
	if (common.json) {
		print_json(items, n, able);
		return able ? 0 : rein_code_exit(REIN_E_UNSUPPORTED);
	}
	for (size_t i = 0; i < n; i++) {
		const struct rein_probe_item *it = &items[i];

		if (common.quiet && it->state == REIN_PROBE_OK)
			continue;
		printf("  %s%-8s%s  %s%s%s%s\n", rein_ui(stdout, colours[it->state]), words[it->state],
		       rein_ui_off(stdout), it->title, *it->detail ? " (" : "", it->detail,
		       *it->detail ? ")" : "");
		if (it->state != REIN_PROBE_OK || common.verbose)
			explain(it->meaning);
		if (it->remedy && it->state != REIN_PROBE_OK)
			explain(it->remedy);
	}
	if (able && items[n - 1].state == REIN_PROBE_MISSING) /* probe_here */
		printf("rein can run on this machine, and cannot change anything in this directory\n");
	else if (able && !common.quiet)
		printf("rein can run here: everything it requires is there\n");
	else if (!able)
		printf("rein cannot run here until what is missing and required is there\n");
	return able ? 0 : rein_code_exit(REIN_E_UNSUPPORTED);
}
