/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What really happened to a decision. A rule first chooses changes (kind, type, path, untracked,
 * secret), then asks how many there are, how many lines, which share of the tree. Without a rule
 * that speaks, what happened may stay.
 */
#include <limits.h>
#include <sys/stat.h>

#include "model/call.h"
#include "policy/internal.h"

enum type_bit { TYPE_FILE, TYPE_DIRECTORY, TYPE_SYMLINK, TYPE_EXECUTABLE, TYPE_SETUID, TYPE_SPECIAL };

struct tally {
	uint64_t count, lines, bytes;
	size_t first; /* index of the first change it speaks of */
	const char *secret;
	uint64_t untracked;
};

/* A file that became something else: what was in it is as gone as if it had been removed. */
static bool is_lost(const struct rein_change *c)
{
	return c->kind == REIN_CHANGE_MODIFIED && c->what & REIN_WHAT_TYPE && S_ISREG(c->before.mode);
}

static uint32_t kinds_of(const struct rein_change *c)
{
	return 1u << c->kind | (is_lost(c) ? 1u << REIN_CHANGE_DELETED : 0);
}

static uint32_t types_of(const struct rein_change *c)
{
	uint32_t mode = c->after.mode ? c->after.mode : c->before.mode, bits = 0;

	if (S_ISDIR(mode))
		return 1u << TYPE_DIRECTORY;
	if (S_ISLNK(mode))
		return 1u << TYPE_SYMLINK;
	if (!S_ISREG(mode))
		return 1u << TYPE_SPECIAL;
	bits = 1u << TYPE_FILE;
	if (mode & 0111)
		bits |= 1u << TYPE_EXECUTABLE;
	if (mode & (S_ISUID | S_ISGID))
		bits |= 1u << TYPE_SETUID;
	return bits;
}

/* Times of directories above a change and what is left out say nothing. */
static bool is_noise(const struct rein_change *c)
{
	uint32_t mode = c->after.mode ? c->after.mode : c->before.mode;

	return c->skipped ||
	       (c->kind == REIN_CHANGE_META && S_ISDIR(mode) && !(c->what & ~REIN_WHAT_TIMES));
}

static bool chooses(const struct effect_rule *r, const struct rein_change *c, uint32_t types,
		    const struct rein_change_fact *f, const char *path, const struct place *at)
{
	if (r->change && !(r->change & kinds_of(c)))
		return false;
	if ((c->renamed_away || (f && f->bits & REIN_CHANGE_KEPT)) && !r->path.n)
		return false; /* nothing is lost: only who names the place misses it */
	if (r->type ? !(r->type & types) : !r->path.n && types == 1u << TYPE_DIRECTORY)
		return false; /* files are counted, not the directories around them */
	if (r->untracked && (r->untracked == TRI_YES) != (f && (f->bits & REIN_CHANGE_UNTRACKED)))
		return false;
	if (r->secret && (r->secret == TRI_YES) != (f && (f->bits & REIN_CHANGE_SECRET)))
		return false;
	if (r->programs && (r->programs == TRI_YES) != (f && (f->bits & REIN_CHANGE_PROGRAMS)))
		return false;
	if (r->forgot && (r->forgot == TRI_YES) != (f && (f->bits & REIN_CHANGE_FORGOT)))
		return false;
	if (r->path.n && match_path(&r->path, path, false, at) != MATCH_YES)
		return false;
	return !r->except.n || match_path(&r->except, path, false, at) != MATCH_YES;
}

/* These names are known to the last byte: what would say "anything" in a word of a command is a byte like others. */
static void make_plain(char *name)
{
	for (; *name; name++)
		if (*name >= REIN_WORD_ANY && *name <= REIN_WORD_ONE)
			*name = REIN_WORD_ONE + 1;
}

/* Names of any length: one that was cut would be another one. Less than 0: out of memory. */
static int count(const struct rein_policy *p, const struct rein_outcome *o, struct tally *tallies)
{
	char workspace[PATH_MAX], home[PATH_MAX];
	const struct place at = {workspace, home};
	auto_buf struct rein_buf path = REIN_BUF(SIZE_MAX);

	snprintf(workspace, sizeof(workspace), "%s", o->workspace ? o->workspace : "/");
	snprintf(home, sizeof(home), "%s", o->home ? o->home : "/");
	make_plain(workspace);
	make_plain(home);

	for (size_t i = 0; i < o->changes->n; i++) {
		const struct rein_change *c = &o->changes->v[i];
		const struct rein_change_fact *f = o->facts ? &o->facts[i] : NULL;
		const char *root = c->root < o->nroots ? o->roots[c->root].real : at.workspace;
		uint32_t types = types_of(c) | (is_lost(c) ? 1u << TYPE_FILE : 0);

		if (is_noise(c))
			continue;
		rein_buf_clear(&path);
		rein_buf_cstr(&path, rein_streq(root, "/") ? "" : root);
		rein_buf_cstr(&path, *c->path ? "/" : "");
		rein_buf_cstr(&path, c->path);
		if (path.failed)
			return -1;
		make_plain(path.p);
		for (size_t k = 0; k < p->live_effects.n; k++) {
			struct tally *t = &tallies[k];

			if (!chooses(p->live_effects.v[k], c, types, f, path.p, &at))
				continue;
			if (!t->count++)
				t->first = i;
			t->bytes += c->kind == REIN_CHANGE_DELETED ? c->before.size : c->after.size;
			if (f) {
				t->lines += (uint64_t)f->lines_added + f->lines_removed;
				t->untracked += (f->bits & REIN_CHANGE_UNTRACKED) != 0;
				if (!t->secret)
					t->secret = f->secret;
			}
		}
	}
	return 0;
}

static bool hosts_match(const struct strs *patterns, const char *const *hosts)
{
	for (; hosts && *hosts; hosts++)
		if (match_host(patterns, *hosts))
			return true;
	return false;
}

/* Does the rule speak of changes at all, or only of how it ended? */
static bool about_changes(const struct effect_rule *r)
{
	return r->change || r->type || r->path.n || r->untracked || r->secret || r->programs || r->forgot || r->count.op ||
	       r->share.op || r->lines.op || r->bytes.op;
}

static bool applies(const struct effect_rule *r, const struct tally *t, const struct rein_outcome *o,
		    const char *environment)
{
	const struct rein_verdict *v = o->who.verdict;

	if (!match_who(&r->who, &o->who, environment))
		return false;
	if ((r->who.level || r->who.reach) &&
	    (!v || (r->who.level && !(r->who.level & (1u << v->level))) ||
	     (r->who.reach && !(r->who.reach & (1u << v->reach)))))
		return false;
	if (r->status.op && !match_cmp(&r->status, (uint64_t)(o->status < 0 ? 255 : o->status)))
		return false;
	if (r->killed && (r->killed == TRI_YES) != o->killed)
		return false;
	if (r->host.n && !hosts_match(&r->host, o->hosts))
		return false;
	if (!about_changes(r))
		return true;
	if (r->count.op ? !match_cmp(&r->count, t->count) : !t->count)
		return false;
	if (r->share.op && (!o->tree_files ||
			    !match_cmp(&r->share, t->count >= o->tree_files ? 100 : t->count * 100 / o->tree_files)))
		return false;
	return match_cmp(&r->lines, t->lines) && match_cmp(&r->bytes, t->bytes);
}

static const char *noun(const struct effect_rule *r, uint64_t n)
{
	if (r->type == 1u << TYPE_EXECUTABLE)
		return n == 1 ? "executable file" : "executable files";
	if (r->type == 1u << TYPE_SYMLINK)
		return n == 1 ? "symbolic link" : "symbolic links";
	if (r->type == 1u << TYPE_SETUID)
		return n == 1 ? "set-user-id file" : "set-user-id files";
	return n == 1 ? "file" : "files";
}

static const char *verb(uint32_t change)
{
	if (change == 1u << REIN_CHANGE_CREATED)
		return "created";
	if (change == 1u << REIN_CHANGE_DELETED)
		return "deleted";
	if (change == 1u << REIN_CHANGE_MODIFIED)
		return "modified";
	return "changed";
}

/*
 * "1204 files deleted, 412 of them in no version control: message (first.c and more)". Who only names places is told
 * of the first: how many there are, directories among them, says nothing.
 */
static void explain(const struct effect_rule *r, const struct tally *t, const struct rein_outcome *o,
		    struct rein_decision *ret)
{
	char head[160] = "", untracked[80] = "";
	const char *first = t->count ? o->changes->v[t->first].path : NULL;
	bool place = t->count <= 1 || (r->path.n && !r->count.op && !r->share.op && !r->secret);

	if (t->count && place)
		snprintf(head, sizeof(head), "%.120s%s", *first ? first : ".", t->count > 1 ? " and more" : "");
	else if (t->count)
		snprintf(head, sizeof(head), "%llu %s %s", (unsigned long long)t->count, noun(r, t->count),
			 verb(r->change));
	if (t->untracked && !(place && t->count > 1) && r->change == 1u << REIN_CHANGE_DELETED)
		snprintf(untracked, sizeof(untracked), ", %llu of them in no version control",
			 (unsigned long long)t->untracked);
	if (t->secret)
		snprintf(untracked, sizeof(untracked), ", holds a secret (%.40s)", t->secret);
	if (!about_changes(r) && r->c.message)
		set_reason(ret, "%s", r->c.message);
	else
		set_reason(ret, "%s%s%s%s%s%.100s%s", *head ? head : "what happened", untracked,
			   r->c.message ? ": " : "", r->c.message ? r->c.message : "",
			   place ? "" : " (", place ? "" : first, place ? "" : " and more)");
}

static void choose(const struct rein_policy *p, const struct rein_outcome *o, const struct tally *tallies,
		   struct rein_decision *ret)
{
	const char *environment = o->who.environment ? o->who.environment : p->settings.environment;
	bool chosen = false;

	*ret = (struct rein_decision){.decide = REIN_ALLOW, .tier = REIN_TIER_LOW, .rule = "effects",
				      .by_default = true};
	set_reason(ret, "nothing any rule objects to");
	for (size_t i = 0; i < p->live_effects.n; i++) {
		const struct effect_rule *r = p->live_effects.v[i];
		enum rein_decide d = (enum rein_decide)(r->c.decide - 1);

		if (d == REIN_ALLOW || !applies(r, &tallies[i], o, environment))
			continue;
		if (common_advisory(p, &r->c, o->who.agent)) {
			if (!ret->would || d < ret->would_decide) {
				ret->would = true;
				ret->would_decide = d;
				ret->would_rule = r->c.id;
			}
			continue;
		}
		if (chosen && d >= ret->decide) { /* sorted: the first of a kind is the most specific */
			decision_also(ret, &r->c);
			continue;
		}
		chosen = true;
		ret->by_default = false;
		decision_from(p, &r->c, d, o->who.agent, ret);
		ret->matched = tallies[i].count;
		explain(r, &tallies[i], o, ret);
	}
	if (ret->would && ret->would_decide >= ret->decide)
		ret->would = false;
	ret->advisory = p->settings.advisory;
	if (ret->decide == REIN_ALLOW)
		return;
	ret->tier = ret->decide == REIN_DENY ? REIN_TIER_CRITICAL : REIN_TIER_HIGH;
	if (!ret->demand.minimum)
		ret->demand.minimum = 1;
}

int rein_policy_judge_effects(const struct rein_policy *p, const struct rein_outcome *o,
			      struct rein_decision *ret)
{
	auto_free struct tally *tallies = NULL;

	if (p->broken) { /* [P1] */
		decision_deny(ret, "policy.broken", p->why);
		return 0;
	}
	if (!p->sealed || !o->changes) {
		decision_deny(ret, "policy.unjudged", "nobody looked at what happened");
		ret->decide = REIN_HOLD;
		return -REIN_E_HELD;
	}
	tallies = rein_calloc(p->live_effects.n + 1, sizeof(*tallies));
	if (!tallies || count(p, o, tallies) < 0) {
		decision_deny(ret, "policy.unjudged", "out of memory while judging what happened");
		ret->decide = REIN_HOLD;
		return -REIN_E_NOMEM;
	}
	choose(p, o, tallies, ret);
	return 0;
}

unsigned rein_policy_needs(const struct rein_policy *p)
{
	unsigned needs = 0;

	for (size_t i = 0; i < p->live_effects.n; i++) {
		const struct effect_rule *r = p->live_effects.v[i];

		needs |= r->secret ? REIN_NEEDS_SECRETS : 0;
		needs |= r->untracked ? REIN_NEEDS_UNTRACKED : 0;
		needs |= r->programs ? REIN_NEEDS_PROGRAMS : 0;
		needs |= r->forgot ? REIN_NEEDS_FORGOT : 0;
		needs |= r->lines.op ? REIN_NEEDS_LINES : 0;
		needs |= r->share.op ? REIN_NEEDS_SHARE : 0;
	}
	return needs;
}
