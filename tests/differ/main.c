/* SPDX-License-Identifier: Apache-2.0 */
/*
 * differ: the differential tester. Random trees, random sequences; natively and through Rein the
 * results must be the same, and undo must give back what was. A failing sequence is cut down and
 * printed with all that is needed to run it again:
 *
 *	differ --count 2000 --rein build/rein
 *	differ --replay DIR		a case that was written down
 */
#include "case.h"
#include "gen.h"
#include "pair.h"
#include "shrink.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORDINARY_UID   65534
#define SHRINK_SECONDS 60

struct options {
	struct differ d;
	uint64_t seed, count;
	unsigned nops;
	bool user, pairs, one_name_only, shrink, must_find, readable;
	unsigned max_failures;
	const char *replay;
	const char *without;  /* names of operations to leave out, or NULL */
	const char *failures; /* where failing cases are written; NULL: only printed */
};

struct tally {
	uint64_t cases, ops, refused, stale_modes, early_readers, failed;
};

static const struct option long_options[] = {
	{"count", required_argument, NULL, 'c'},
	{"full-count", required_argument, NULL, 'C'},
	{"seed", required_argument, NULL, 's'},
	{"ops", required_argument, NULL, 'o'},
	{"rein", required_argument, NULL, 'r'},
	{"differ-ops", required_argument, NULL, 'd'},
	{"replay", required_argument, NULL, 'R'},
	{"save", required_argument, NULL, 'S'},
	{"max-failures", required_argument, NULL, 'm'},
	{"env", required_argument, NULL, 'e'},
	{"user", no_argument, NULL, 'u'},
	{"pairs", no_argument, NULL, 'p'},
	{"keep", no_argument, NULL, 'k'},
	{"no-hardlink-aliasing", no_argument, NULL, 'a'},
	{"no-inodes", no_argument, NULL, 'i'},
	{"without", required_argument, NULL, 'w'},
	{"readable", no_argument, NULL, 'q'},
	{"must-find", no_argument, NULL, 'f'},
	{"no-shrink", no_argument, NULL, 'n'},
	{"warm", no_argument, NULL, 'W'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void usage(void)
{
	printf("usage: differ --rein PATH [options]\n"
	       "  --count N                sequences (100)\n"
	       "  --full-count N           sequences when REIN_FULL is set\n"
	       "  --seed S                 first seed (1); sequence i uses S+i\n"
	       "  --ops N                  operations in a sequence (30)\n"
	       "  --user                   run as uid %d (needs root)\n"
	       "  --pairs                  two transactions on one workspace\n"
	       "  --no-hardlink-aliasing   touch hard-linked files by one name only\n"
	       "  --readable               no files and directories closed to their owner\n"
	       "  --without OP[,OP]        leave out these operations (foreign-acl: ACLs naming "
	       "others)\n"
	       "  --no-inodes              untouched files may become other inodes\n"
	       "  --no-shrink              report failures as they are\n"
	       "  --warm                   on the overlay of an earlier run, where one can be kept\n"
	       "  --max-failures N         stop after so many (3)\n"
	       "  --env NAME=VALUE         one more variable for the program under test\n"
	       "  --save DIR               write failing cases there\n"
	       "  --replay DIR             run a written case\n"
	       "  --must-find              succeed only if a failure was found\n"
	       "  --keep                   leave the temporary directories\n",
	       ORDINARY_UID);
}

static char *sibling(const char *name)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		lab_die_errno("find myself");
	self[n] = '\0';
	return lab_format("%s/%s", dirname(self), name);
}

static void parse(int argc, char **argv, struct options *o)
{
	uint64_t full = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->count = lab_number(optarg, "--count");
			break;
		case 'C':
			full = lab_number(optarg, "--full-count");
			break;
		case 's':
			o->seed = lab_number(optarg, "--seed");
			break;
		case 'o':
			o->nops = (unsigned)lab_number(optarg, "--ops");
			break;
		case 'r':
			o->d.rein = realpath(optarg, NULL);
			if (!o->d.rein)
				lab_die_errno("--rein %s", optarg);
			break;
		case 'd':
			o->d.ops = realpath(optarg, NULL);
			if (!o->d.ops)
				lab_die_errno("--differ-ops %s", optarg);
			break;
		case 'R':
			o->replay = optarg;
			break;
		case 'S':
			o->failures = optarg;
			break;
		case 'm':
			o->max_failures = (unsigned)lab_number(optarg, "--max-failures");
			break;
		case 'e':
			o->d.env = optarg;
			break;
		case 'u':
			o->user = true;
			break;
		case 'p':
			o->pairs = true;
			break;
		case 'k':
			o->d.keep = true;
			break;
		case 'a':
			o->one_name_only = true;
			break;
		case 'i':
			o->d.inodes = false;
			break;
		case 'W':
			o->d.warm = true;
			break;
		case 'n':
			o->shrink = false;
			break;
		case 'w':
			o->without = optarg;
			break;
		case 'q':
			o->readable = true;
			break;
		case 'f':
			o->must_find = true;
			break;
		case 'h':
			usage();
			exit(0);
		default:
			exit(2);
		}
	}
	if (full && lab_full())
		o->count = full;
	if (optind != argc || !o->d.rein) {
		usage();
		exit(2);
	}
}

static void choose_identity(struct options *o)
{
	if (o->user && geteuid() != 0) {
		printf("differ: --user needs root; without it this is what happens anyway\n");
		exit(LAB_SKIP);
	}
	o->d.who = (struct lab_who){.drop = o->user, .uid = ORDINARY_UID, .gid = ORDINARY_UID};
	o->d.rootless = o->user || geteuid() != 0;
	o->d.rein = lab_stage(o->d.rein, &o->d.who);
	o->d.ops = lab_stage(o->d.ops, &o->d.who);
}

static struct gen_options gen_options_for(const struct options *o, uint64_t seed)
{
	bool root = !o->d.rootless;

	return (struct gen_options){
		.seed = seed,
		.nops = o->nops,
		.root = root,
		.chown = root && seed % 2,
		.readable = o->readable || geteuid() != 0,
		.without = o->without,
		.one_name_only = o->one_name_only,
		.uid = o->user ? ORDINARY_UID : geteuid(),
		.gid = o->user ? ORDINARY_UID : getegid(),
	};
}

static struct sequence sequence_for(const struct options *o, uint64_t seed)
{
	return (struct sequence){
		.seed = seed, .caps = !o->d.rootless && seed % 2, .redo = seed % 3 == 0};
}

/* ---- what a failure leaves ---- */

static void write_file(const char *dir, const char *name, const struct lab_text *t)
{
	char *path = lab_format("%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, t->p, t->n) != (ssize_t)t->n)
		lab_die_errno("write '%s'", path);
	close(fd);
	free(path);
}

struct failure {
	const struct options *o;
	const struct sequence *s; /* NULL: a pair */
	const struct pair *p;
	const struct verdict *v;
};

static void save(const struct failure *f, const char *const *names, const struct lab_text *texts,
		 size_t n, uint64_t seed)
{
	char *dir = lab_format("%s/%s-%lu", f->o->failures, f->o->user ? "user" : "root", seed);
	struct lab_text meta = {0};

	if ((mkdir(f->o->failures, 0755) < 0 || mkdir(dir, 0755) < 0) && errno != EEXIST)
		lab_die_errno("make '%s'", dir);
	mkdir(dir, 0755);
	for (size_t i = 0; i < n; i++)
		write_file(dir, names[i], &texts[i]);
	lab_text_printf(&meta, "%lu\n", seed);
	write_file(dir, "seed", &meta);
	printf("again: differ --rein %s%s --replay %s\n", f->o->d.rein, f->o->user ? " --user" : "",
	       dir);
	lab_text_done(&meta);
	free(dir);
}

static void print_script(const struct failure *f, const struct lab_text *texts, bool caps)
{
	const struct differ *d = &f->o->d;
	const char *as = f->o->user ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "";

	printf("---- reproducer ----\n"
	       "D=$(mktemp -d); mkdir $D/w $D/h; chmod 755 $D; export HOME=$D/h REIN_STATE=$D/s\n");
	if (f->o->user)
		printf("chown -R 65534:65534 $D\n");
	printf("cd $D/w && %s%s --stamp %lu >$D/setup.out <<'END'\n%sEND\n", as, d->ops,
	       f->s ? f->s->seed : f->p->s.seed, texts[0].p);
	if (f->s) {
		printf("%s%s run --commit --workspace $D/w %s-- %s <<'END'\n%sEND\n", as, d->rein,
		       caps ? "--cap-add chown,dac_override,fowner,setfcap " : "", d->ops,
		       texts[1].p);
	} else {
		for (int i = 0; i < 2; i++)
			printf("%s%s run %s --workspace $D/w %s-- %s <<'END'%s\n%sEND\n", as,
			       d->rein, f->p->at_once ? "--commit" : "--hold",
			       caps ? "--cap-add chown,dac_override,fowner,setfcap " : "", d->ops,
			       f->p->at_once && i == 0 ? " &" : "", texts[i + 1].p);
		if (!f->p->at_once)
			printf("%s%s commit %s; %s%s commit %s\n", as, d->rein,
			       f->p->first ? "@" : "@~1", as, d->rein, f->p->first ? "@~1" : "@");
	}
	printf("--------------------\n");
}

static void report(const struct failure *f)
{
	const char *names[] = {"setup.ops", "run.ops", "run2.ops"};
	uint64_t seed = f->s ? f->s->seed : f->p->s.seed;
	struct lab_text texts[3] = {0};
	size_t n = f->s ? 2 : 3;

	ops_format(f->s ? &f->s->setup : &f->p->s.setup, &texts[0]);
	ops_format(f->s ? &f->s->run : &f->p->run[0], &texts[1]);
	if (f->p)
		ops_format(&f->p->run[1], &texts[2]);
	printf("FAIL seed %lu%s%s: %s\n%s", seed, f->o->user ? " as an ordinary user" : "",
	       f->p ? " (pair)" : "", f->v->what, f->v->why.p ? f->v->why.p : "");
	print_script(f, texts, f->s ? f->s->caps : f->p->s.caps);
	if (f->o->failures)
		save(f, names, texts, n, seed);
	for (size_t i = 0; i < 3; i++)
		lab_text_done(&texts[i]);
	fflush(stdout);
}

/* ---- sequences ---- */

struct shrink_context {
	struct options *o;
	struct sequence s;
	struct pair p;
	const char *what; /* the assertion that must go on failing */
};

static bool sequence_still_fails(void *arg, const struct ops *lists)
{
	struct shrink_context *c = arg;
	struct sequence s = c->s;
	struct verdict v;
	bool fails;

	s.setup = lists[0];
	s.run = lists[1];
	case_run(&c->o->d, &s, &v);
	fails = v.outcome == CASE_FAIL && !strcmp(v.what, c->what);
	lab_text_done(&v.why);
	return fails;
}

static void sequence_failed(struct options *o, const struct sequence *s, struct verdict *v)
{
	struct shrink_context c = {.o = o, .s = *s, .what = v->what};
	struct ops lists[2] = {s->setup, s->run};
	struct sequence small = *s;
	struct verdict again;

	if (o->shrink) {
		shrink(lists, 2, sequence_still_fails, &c, SHRINK_SECONDS);
		small.setup = lists[0];
		small.run = lists[1];
		case_run(&o->d, &small, &again);
		if (again.outcome == CASE_FAIL) {
			lab_text_done(&v->why);
			*v = again;
		}
	}
	report(&(struct failure){o, &small, NULL, v});
	if (o->shrink) {
		free(lists[0].v);
		free(lists[1].v);
	}
}

static void one_sequence(struct options *o, const struct sequence *s, struct tally *t)
{
	struct verdict v;

	case_run(&o->d, s, &v);
	t->cases++;
	t->ops += s->run.n;
	t->stale_modes += v.outcome == CASE_STALE_MODE;
	t->early_readers += v.outcome == CASE_EARLY_READER;
	if (v.outcome == CASE_FAIL) {
		t->failed++;
		sequence_failed(o, s, &v);
	}
	lab_text_done(&v.why);
}

static void sequences(struct options *o, struct tally *t)
{
	for (uint64_t i = 0; i < o->count && t->failed < o->max_failures; i++) {
		struct gen_options g = gen_options_for(o, o->seed + i);
		struct sequence s = sequence_for(o, o->seed + i);

		gen_sequence(&g, &s.setup, &s.run);
		one_sequence(o, &s, t);
		ops_done(&s.setup);
		ops_done(&s.run);
	}
}

/* ---- pairs ---- */

static bool pair_still_fails(void *arg, const struct ops *lists)
{
	struct shrink_context *c = arg;
	struct pair p = c->p;
	struct verdict v;
	bool fails;

	p.s.setup = lists[0];
	p.run[0] = lists[1];
	p.run[1] = lists[2];
	pair_run(&c->o->d, &p, &v);
	fails = v.outcome == CASE_FAIL && !strcmp(v.what, c->what);
	lab_text_done(&v.why);
	return fails;
}

static void pair_failed(struct options *o, const struct pair *p, struct verdict *v)
{
	struct shrink_context c = {.o = o, .p = *p, .what = v->what};
	struct ops lists[3] = {p->s.setup, p->run[0], p->run[1]};
	struct pair small = *p;
	struct verdict again;

	if (o->shrink) {
		shrink(lists, 3, pair_still_fails, &c, SHRINK_SECONDS);
		small.s.setup = lists[0];
		small.run[0] = lists[1];
		small.run[1] = lists[2];
		pair_run(&o->d, &small, &again);
		if (again.outcome == CASE_FAIL) {
			lab_text_done(&v->why);
			*v = again;
		}
	}
	report(&(struct failure){o, NULL, &small, v});
	for (int i = 0; i < 3 && o->shrink; i++)
		free(lists[i].v);
}

static void pairs(struct options *o, struct tally *t)
{
	for (uint64_t i = 0; i < o->count && t->failed < o->max_failures; i++) {
		uint64_t seed = o->seed + i;
		struct gen_options g = gen_options_for(o, seed);
		struct pair p = {.s = sequence_for(o, seed),
				 .apart = seed % 2,
				 .at_once = seed % 4 >= 2,
				 .first = lab_mix(seed) & 1};
		struct verdict v;

		g.one_name_only = true; /* whether two names meet is the other mode's question */
		g.chown = p.s.caps = false;
		g.nops = (o->nops + 2) / 3;
		gen_pair(&g, p.apart, &p.s.setup, p.run);
		pair_run(&o->d, &p, &v);
		t->cases++;
		t->ops += p.run[0].n + p.run[1].n;
		t->refused += v.outcome == CASE_REFUSED;
		if (v.outcome == CASE_FAIL) {
			t->failed++;
			pair_failed(o, &p, &v);
		}
		lab_text_done(&v.why);
		ops_done(&p.s.setup);
		ops_done(&p.run[0]);
		ops_done(&p.run[1]);
	}
}

static void read_list(const char *dir, const char *name, struct ops *o)
{
	char *path = lab_format("%s/%s", dir, name), buf[16384];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct lab_text t = {0};
	ssize_t n;

	if (fd < 0)
		lab_die_errno("open '%s'", path);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		lab_text_add(&t, buf, (size_t)n);
	close(fd);
	ops_parse(o, t.p ? t.p : "", t.n);
	lab_text_done(&t);
	free(path);
}

static void replay(struct options *o, struct tally *t)
{
	struct sequence s = sequence_for(o, o->seed);
	char *path = lab_format("%s/seed", o->replay), line[64] = "";
	FILE *f = fopen(path, "re");

	if (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		s = sequence_for(o, lab_number(line, path));
	}
	if (f)
		fclose(f);
	free(path);
	read_list(o->replay, "setup.ops", &s.setup);
	read_list(o->replay, "run.ops", &s.run);
	one_sequence(o, &s, t);
	ops_done(&s.setup);
	ops_done(&s.run);
}

int main(int argc, char **argv)
{
	static struct options o = {.seed = 1,
				   .count = 100,
				   .nops = 30,
				   .shrink = true,
				   .max_failures = 3,
				   .d.inodes = true};
	struct tally t = {0};
	double began = lab_now(), own;

	parse(argc, argv, &o);
	if (!o.d.ops)
		o.d.ops = sibling("differ-ops");
	choose_identity(&o);
	if (o.replay)
		replay(&o, &t);
	else if (o.pairs)
		pairs(&o, &t);
	else
		sequences(&o, &t);
	own = lab_now() - began - o.d.rein_seconds;
	printf("differ: %s%s, seeds %lu…%lu: %lu sequences, %lu operations, ",
	       o.d.rootless ? "ordinary user" : "root", o.pairs ? ", pairs" : "", o.seed,
	       o.seed + t.cases - 1, t.cases, t.ops);
	if (o.pairs)
		printf("%lu refused as conflicts, ", t.refused);
	if (t.stale_modes)
		printf("%lu judged by the kernel's stale mode of a file linked in the box, ",
		       t.stale_modes);
	if (t.early_readers)
		printf("%lu with a name opened for reading before its file was joined, ",
		       t.early_readers);
	printf("%lu failed\n", t.failed);
	if (o.d.extra_links)
		printf("differ: %u files show a link more: the undo store holds the deleted name\n",
		       o.d.extra_links);
	printf("differ: %.1f s in rein, %.1f s own (%.0f sequences/s); undo restored every inode "
	       "in %u of %u\n",
	       o.d.rein_seconds, own, (double)t.cases / (own > 0 ? own : 1), o.d.exact_undos,
	       o.d.undos);
	if (o.d.warm)
		printf("differ: %u on the overlay of an earlier run\n", o.d.warmed);
	if (o.d.warm && t.cases >= 20 && !o.d.warmed) {
		printf("differ: --warm, and nothing was: this proves nothing\n");
		return 1;
	}
	if (o.must_find) /* a test of the tester */
		return t.failed ? 0 : 1;
	return t.failed ? 1 : 0;
}
