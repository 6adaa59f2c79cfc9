/* SPDX-License-Identifier: Apache-2.0 */
/* See execs.h. */
#include "engine/execs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/pack.h"
#include "engine/violations.h"
#include "sys/file.h"

#define FILE_NAME "execs"

/* argv[0] is what it calls itself; what counts is what is executed. */
static bool judge(struct rein_exec_judge_state *s, struct rein_exec *x, const char *program)
{
	const char *argv[REIN_EXEC_WORDS + 1] = {0};
	struct rein_action a = {.kind = REIN_ACTION_COMMAND,
				.argv = argv,
				.argc = x->nwords ? x->nwords : 1, /* the kernel lets nothing begin without a word */
				.cwd = s->cwd,
				.home = getenv("HOME"),
				.workspace = s->workspace,
				.offline = s->offline};
	struct rein_err err = {0};

	for (uint32_t i = 0; i < x->nwords && i < REIN_EXEC_WORDS; i++)
		argv[i] = rein_exec_word(x, i);
	argv[0] = program;
	if (rein_judge_action(&s->judgement, s->policy, &a, s->who, &err) < 0)
		return true; /* the command itself was judged, and the box holds either way */
	if (s->judgement.verdict && (int)s->judgement.before.level > x->level)
		x->level = (int)s->judgement.before.level;
	return rein_decision_enforced(&s->judgement.before) != REIN_DENY;
}

bool rein_engine_judge_exec(void *arg, struct rein_exec *x)
{
	struct rein_exec_judge_state *s = arg;
	size_t n = 0;
	uint64_t key;
	bool ok;

	for (uint32_t i = 0; i < x->nwords; i++)
		n += strlen(x->words + n) + 1;
	key = rein_checksum(x->words, n) ^ rein_checksum(x->path, strlen(x->path)) << 1 ^
	      (x->file ? rein_checksum(x->file, strlen(x->file)) << 2 : 0);
	if (s->cache[key % REIN_EXEC_CACHE].known && s->cache[key % REIN_EXEC_CACHE].key == key) {
		x->level = s->cache[key % REIN_EXEC_CACHE].level;
		return !s->cache[key % REIN_EXEC_CACHE].refused;
	}
	ok = judge(s, x, x->path) && (!x->file || judge(s, x, x->file));
	if (!ok && s->watcher) {
		char text[160];

		snprintf(text, sizeof(text), "'%.60s' was executed, which the policy denies (%.60s)", x->file ? x->file : x->path,
			 s->judgement.before.rule ? s->judgement.before.rule : "");
		rein_engine_violation(s->watcher, REIN_VIOLATION_PERMISSION, text);
	}
	s->cache[key % REIN_EXEC_CACHE].key = key;
	s->cache[key % REIN_EXEC_CACHE].level = x->level;
	s->cache[key % REIN_EXEC_CACHE].known = true;
	s->cache[key % REIN_EXEC_CACHE].refused = !ok;
	return ok;
}

void rein_exec_judge_done(struct rein_exec_judge_state *s)
{
	rein_judgement_done(&s->judgement);
}

int rein_engine_save_execs(const struct rein_tx *t, const struct rein_execs *e, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(64u << 20);

	if (!e->total || t->dirfd < 0)
		return 0;
	rein_execs_pack(e, &b);
	if (b.failed)
		return rein_err_nomem(err);
	return rein_file_replace(t->dirfd, FILE_NAME, (struct rein_str){b.p, b.n}, REIN_SYNC_NONE, err);
}

int rein_engine_load_execs(const struct rein_tx *t, struct rein_execs *ret, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(64u << 20);

	*ret = (struct rein_execs){0};
	if (t->dirfd < 0 || faccessat(t->dirfd, FILE_NAME, F_OK, 0) < 0)
		return 0;
	if (rein_file_read(t->dirfd, FILE_NAME, &b, err) < 0)
		return -err->code;
	return rein_execs_unpack((struct rein_str){b.p, b.n}, ret, err);
}
