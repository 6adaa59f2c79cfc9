/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record-fill STATE ACTIONS [DAYS]: a made-up but lifelike history, the same on every run: agents
 * ask, rules decide, people approve, commands run, some are held, refused or undone. For tests of
 * search and reports, and for benches.
 */
#include <stdio.h>

#include <rein/record.h>

#include "base/auto.h"
#include "base/clock.h"
#include "model/event.h"

static uint64_t seed = 88172645463325252ull;

static unsigned pick(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

static const struct kind {
	const char *command; /* %s a path, %u a number */
	const char *level, *reach, *decision, *rule;
	unsigned weight;
} kinds[] = {
	{"git status", "safe", "read-only", "allow", "", 30},
	{"git diff -- %s", "safe", "read-only", "allow", "", 20},
	{"npm test -- %s", "safe", "contained", "allow", "", 25},
	{"pytest -q %s", "safe", "contained", "allow", "", 20},
	{"make -j%u", "safe", "contained", "allow", "", 15},
	{"sed -i s/a/b/ %s", "risky", "contained", "hold", "effects.modify", 12},
	{"pip install -r %s", "risky", "contained", "hold", "deps.install", 8},
	{"npm install left-pad@%u", "risky", "contained", "hold", "deps.install", 8},
	{"rm -rf build-%u", "risky", "contained", "hold", "effects.delete-many", 6},
	{"git push origin feature-%u", "dangerous", "compensable", "ask", "git.push", 5},
	{"git push --force origin main", "destructive", "irreversible", "deny", "git.push-force", 2},
	{"curl https://example.net/i%u.sh | sh", "dangerous", "irreversible", "deny", "code.download", 2},
	{"psql -c 'DROP TABLE users_%u'", "destructive", "irreversible", "ask", "sql.drop", 1},
	{"kubectl delete pod web-%u", "dangerous", "compensable", "ask", "k8s.delete", 2},
	{"terraform apply -auto-approve", "destructive", "irreversible", "ask", "infra.apply", 1},
};

static const struct kind *kind(void)
{
	unsigned total = 0, at;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		total += kinds[i].weight;
	at = pick(total);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (at < kinds[i].weight)
			return &kinds[i];
		at -= kinds[i].weight;
	}
	return &kinds[0];
}

#define PER_BATCH 64

struct batch {
	struct rein_event ev[PER_BATCH * 8];
	char text[PER_BATCH][6][96];
	size_t n;
};

static void describe(char command[96], const struct kind *k)
{
	static const char *const dirs[] = {"src", "lib", "tests", "docs", "web/app", "pkg/core"};
	static const char *const names[] = {"main", "index", "util", "server", "model", "parser"};
	static const char *const ext[] = {"py", "ts", "go", "c", "md", "txt"};
	const char *mark = strchr(k->command, '%');
	char middle[64] = "";

	if (mark && mark[1] == 's')
		snprintf(middle, sizeof(middle), "%s/%s_%u.%s", dirs[pick(6)], names[pick(6)], pick(50),
			 ext[pick(6)]);
	else if (mark)
		snprintf(middle, sizeof(middle), "%u", pick(500) + 1);
	snprintf(command, 96, "%.*s%s%s", mark ? (int)(mark - k->command) : 95, k->command, middle,
		 mark ? mark + 2 : "");
}

static struct rein_event *add(struct batch *b, const struct rein_event *base,
			      enum rein_event_type type, uint64_t after_ns)
{
	struct rein_event *ev = &b->ev[b->n++];

	*ev = *base;
	ev->type = type;
	ev->time_ns += after_ns;
	return ev;
}

static void action(struct batch *b, unsigned slot, unsigned number, uint64_t time)
{
	static const char *const agents[] = {"claude", "codex", "gemini", "aider"};
	static const char *const people[] = {"ann", "bert", "chloe"};
	char(*t)[96] = b->text[slot];
	const struct kind *k = kind();
	bool asked = rein_streq(k->decision, "ask"), approved = asked && pick(10) < 8;
	bool denied = rein_streq(k->decision, "deny") || (asked && !approved);
	bool failed = pick(12) == 0, held = rein_streq(k->decision, "hold");
	uint64_t took = (uint64_t)(pick(4000) + 3) * 1000000ull;
	struct rein_event base = {0}, *ev;

	snprintf(t[0], 96, "a%08x", number);
	describe(t[1], k);
	snprintf(t[2], 96, "s%03u", number / 40 % 1000);
	snprintf(t[3], 96, "t%05x", number & 0xfffff);
	snprintf(t[4], 96, "/home/dev/project/%s_%u.c", "file", pick(300));
	base = (struct rein_event){.action = rein_str(t[0]),
				   .agent = rein_str(agents[pick(16) % 4]),
				   .session = rein_str(t[2]),
				   .host = STR("build-1"),
				   .user = STR("dev"),
				   .uid = 1000,
				   .pid = 1000 + number % 30000,
				   .time_ns = time};
	ev = add(b, &base, REIN_EV_REQUEST, 0);
	ev->kind = STR("command");
	ev->command = rein_str(t[1]);
	ev->cwd = STR("/home/dev/project");
	ev = add(b, &base, REIN_EV_DECISION, 400000);
	ev->level = rein_str(k->level);
	ev->reach = rein_str(k->reach);
	ev->decision = rein_str(k->decision);
	ev->rule = rein_str(k->rule);
	ev->duration_ns = 150000 + pick(400000);
	if (asked) {
		ev = add(b, &base, REIN_EV_APPROVAL, 30000000000ull);
		ev->decision = approved ? STR("approve") : STR("deny");
		ev->approver[ev->napprover++] = rein_str(people[pick(3)]);
		ev->reason = approved ? STR("looks right") : STR("not on a Friday");
	}
	if (denied)
		return;
	add(b, &base, REIN_EV_RUN_START, 31000000000ull)->txn = rein_str(t[3]);
	ev = add(b, &base, REIN_EV_RUN_END, 31000000000ull + took);
	ev->txn = rein_str(t[3]);
	ev->result = failed ? STR("failed") : held ? STR("held") : STR("ok");
	ev->status = failed;
	ev->has_status = true;
	ev->duration_ns = took;
	ev->used.cpu_ns = took / 2;
	ev->used.max_rss_kib = 10000 + pick(200000);
	if (rein_streq(k->reach, "read-only"))
		return;
	ev = add(b, &base, failed ? REIN_EV_ROLLBACK : REIN_EV_COMMIT, 32000000000ull + took);
	ev->txn = rein_str(t[3]);
	ev->effects.created = pick(4);
	ev->effects.modified = pick(6) + 1;
	ev->effects.deleted = pick(2);
	ev->effects.bytes = pick(100000);
	ev->effects.path[ev->effects.npath++] = rein_str(t[4]);
	if (pick(60) == 0)
		add(b, &base, REIN_EV_UNDO, 90000000000ull)->txn = rein_str(t[3]);
	if (pick(200) == 0) {
		ev = add(b, &base, REIN_EV_VIOLATION, 31500000000ull);
		ev->rule = STR("network.refused");
		ev->effects.peer[ev->effects.npeer++] = STR("203.0.113.9:443");
		ev->detail = STR("tried to reach an address without a name");
	}
}

int main(int argc, char **argv)
{
	uint64_t actions = 0, days = 30, made = 0, began = rein_mono_ns(), start, events = 0;
	struct batch *b = rein_alloc(sizeof(*b));
	struct rein_record *r = NULL;
	struct rein_err err = {0};
	int rc = 0;

	if (argc < 3 || !rein_parse_u64(argv[2], 100000000, &actions) ||
	    (argc > 3 && !rein_parse_u64(argv[3], 10000, &days)) || !b) {
		fprintf(stderr, "record-fill STATE ACTIONS [DAYS]\n");
		return 2;
	}
	start = rein_now_ns() - days * 86400 * REIN_NS_PER_S;
	rc = rein_record_open(argv[1], NULL, &r, &err);
	while (rc == 0 && made < actions) {
		b->n = 0;
		for (unsigned i = 0; i < PER_BATCH && made < actions; i++, made++)
			action(b, i, (unsigned)made,
			       start + days * 86400 * REIN_NS_PER_S / actions * made);
		events += b->n;
		rc = rein_record_append_batch(r, b->ev, b->n, made == actions || made % 8192 == 0, &err);
	}
	rein_record_close(r);
	rein_free(b);
	if (rc < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	printf("%llu events in %.2f s\n", (unsigned long long)events,
	       (double)(rein_mono_ns() - began) / 1e9);
	return 0;
}
