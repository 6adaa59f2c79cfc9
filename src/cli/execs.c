/* SPDX-License-Identifier: Apache-2.0 */
/* What was executed and what was refused, as people and programs read it. */
#include <inttypes.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "base/json.h"
#include "cli/ui.h"
#include "cli/verbs.h"
#include "model/execs.h"

void rein_json_execs(struct rein_json *j, const struct rein_execs *e)
{
	rein_json_key(j, "execs");
	if (!e->total) {
		rein_json_null(j);
		return;
	}
	rein_json_open(j, '{');
	rein_json_ku64(j, "total", e->total);
	rein_json_ku64(j, "refused", e->refused);
	rein_json_key(j, "list");
	rein_json_open(j, '[');
	for (size_t i = 0; i < e->n; i++) {
		const struct rein_exec *x = &e->v[i];
		const char *p = x->words;

		rein_json_open(j, '{');
		rein_json_ki64(j, "pid", x->pid);
		rein_json_ki64(j, "parent", x->parent);
		rein_json_ku64(j, "at_us", x->at_ns / 1000);
		rein_json_path(j, "path", x->path);
		rein_json_key(j, "argv");
		rein_json_open(j, '[');
		for (uint32_t k = 0; k < x->nwords; k++, p += strlen(p) + 1)
			rein_json_cstr(j, p);
		rein_json_close(j, ']');
		rein_json_kbool(j, "cut", x->cut);
		rein_json_kstr(j, "level", x->level ? rein_level_name(x->level) : NULL);
		rein_json_kbool(j, "refused", x->refused);
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
	rein_json_close(j, '}');
}

/* How deep below the first one it was started. */
static unsigned depth_of(const struct rein_execs *e, size_t at)
{
	unsigned depth = 0;
	int32_t parent = e->v[at].parent;

	for (size_t i = at; i-- > 0 && depth < 20;)
		if (e->v[i].pid == parent) {
			depth++;
			parent = e->v[i].parent;
		}
	return depth;
}

void rein_print_execs(FILE *f, const struct rein_execs *e, size_t max)
{
	for (size_t i = 0; i < e->n && i < max; i++) {
		const struct rein_exec *x = &e->v[i];
		char *argv[REIN_EXEC_WORDS + 1] = {0};
		char *p = x->words;

		for (uint32_t k = 0; k < x->nwords && k < REIN_EXEC_WORDS; k++, p += strlen(p) + 1)
			argv[k] = p;
		fprintf(f, "  %7.3f s %s%-11s%s %*s%s%s\n", (double)x->at_ns / 1e9,
			rein_ui(f, x->refused ? REIN_RED : REIN_DIM),
			x->refused ? "refused" : x->level ? rein_level_name(x->level) : "", rein_ui_off(f),
			(int)(2 * depth_of(e, i)), "", rein_ui_command(argv, x->nwords, 100),
			x->cut ? " ..." : "");
	}
	if (e->total > max || e->total > e->n)
		fprintf(f, "  %s executions in all\n", rein_ui_count(e->total));
}

void rein_json_refused(struct rein_json *j, const struct rein_refused *r, bool watched)
{
	rein_json_key(j, "refused");
	if (!watched) {
		rein_json_null(j);
		return;
	}
	rein_json_open(j, '{');
	rein_json_ku64(j, "total", r->total);
	rein_json_key(j, "list");
	rein_json_open(j, '[');
	for (size_t i = 0; i < r->n; i++) {
		const struct rein_refused_file *x = &r->v[i];

		rein_json_open(j, '{');
		rein_json_path(j, "path", x->path);
		rein_json_kstr(j, "access", x->write ? "write" : "read");
		rein_json_kstr(j, "why", x->hidden ? "hidden" : "read-only");
		rein_json_ku64(j, "count", x->count);
		rein_json_ki64(j, "pid", x->pid);
		rein_json_ku64(j, "at_us", x->at_ns / 1000);
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
	rein_json_close(j, '}');
}

void rein_print_refused(FILE *f, const struct rein_refused *r, size_t max)
{
	for (size_t i = 0; i < r->n && i < max; i++)
		fprintf(f, "      %srefused%s %-5s %s (%s%s%s)\n", rein_ui(f, REIN_YELLOW), rein_ui_off(f),
			r->v[i].write ? "write" : "read", rein_ui_path(r->v[i].path),
			r->v[i].hidden ? "hidden" : "read-only", r->v[i].count > 1 ? ", times " : "",
			r->v[i].count > 1 ? rein_ui_count(r->v[i].count) : "");
	if (r->n > max || r->total > r->n)
		fprintf(f, "      %s refusals in all\n", rein_ui_count(r->total));
}
