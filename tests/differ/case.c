/* SPDX-License-Identifier: Apache-2.0 */
/* See case.h. */
#include "case.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Not CAP_FSETID: the kernel wants it in the first user namespace to keep set-id bits on a write,
 * and a box is in its own.
 */
#define BOX_CAPS                                                                                   \
	(1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER | 1ull << CAP_SETFCAP)
#define BOX_CAPS_LIST "chown,dac_override,fowner,setfcap"

void verdict_fail(struct verdict *v, const char *what, const char *fmt, ...)
{
	va_list ap;
	char *s;

	v->outcome = CASE_FAIL;
	v->what = what;
	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		lab_die("out of memory");
	va_end(ap);
	lab_text_printf(&v->why, "%s", s);
	free(s);
}

void explain_result(struct verdict *v, const struct lab_result *r)
{
	lab_text_printf(&v->why, "  exit status %d, standard error:\n%.2000s\n", r->status,
			r->err.p);
}

bool check_tree(struct verdict *v, const char *what, const struct tree *want,
		const struct tree *got, bool clock_times)
{
	struct lab_text why = {0};
	bool same = tree_equal(want, got, (struct tree_rules){.clock_times = clock_times}, &why);

	if (!same)
		verdict_fail(v, what, "%s", why.p);
	lab_text_done(&why);
	return same;
}

/* ---- the place ---- */

void place_make(const struct differ *d, struct place *p)
{
	char *dir;

	p->base = lab_tmpdir("differ", &d->who);
	p->work = lab_format("%s/work", p->base);
	p->native = lab_format("%s/native", p->base);
	p->home_env = lab_format("HOME=%s/home", p->base);
	p->state_env = lab_format("REIN_STATE=%s/state", p->base);
	lab_mkdir(p->work, &d->who);
	lab_mkdir(p->native, &d->who);
	lab_mkdir(p->home_env + 5, &d->who);
	dir = lab_format("%s/tmp", p->base);
	lab_mkdir(dir, &d->who);
	free(dir);
}

void place_done(const struct differ *d, struct place *p)
{
	if (d->keep)
		printf("kept: %s\n", p->base);
	else
		lab_remove(p->base);
	free(p->base);
	free(p->work);
	free(p->native);
	free(p->home_env);
	free(p->state_env);
}

static pid_t start_child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		lab_die_errno("fork");
	return pid;
}

static void end_child(pid_t pid, const char *what)
{
	int st;

	while (waitpid(pid, &st, 0) < 0)
		if (errno != EINTR)
			lab_die_errno("waitpid");
	if (!WIFEXITED(st) || WEXITSTATUS(st) != 0)
		lab_die("%s failed", what);
}

void place_setup(const struct differ *d, const char *dir, const struct sequence *s)
{
	pid_t pid = start_child();
	uint16_t *errnos;

	if (pid == 0) {
		lab_become(&d->who);
		if (chdir(dir) < 0)
			lab_die_errno("chdir '%s'", dir);
		errnos = lab_alloc((s->setup.n + 1) * sizeof(*errnos));
		ops_run(&s->setup, errnos, NULL);
		ops_stamp(s->seed);
		_exit(0);
	}
	end_child(pid, "making the tree");
}

/* ---- the native run, in a child; what it found comes back through a pipe ---- */

static void send_all(int fd, const void *p, size_t n)
{
	while (n) {
		ssize_t rc = write(fd, p, n);

		if (rc < 0)
			_exit(LAB_BROKEN);
		p = (const char *)p + rc;
		n -= (size_t)rc;
	}
}

static void take_all(int fd, void *p, size_t n)
{
	while (n) {
		ssize_t rc = read(fd, p, n);

		if (rc <= 0)
			lab_die("the native run ended without its results");
		p = (char *)p + rc;
		n -= (size_t)rc;
	}
}

static void send_log(int fd, const struct op_log *log)
{
	send_all(fd, &log->nmoved, sizeof(log->nmoved));
	send_all(fd, log->moved, log->nmoved * sizeof(*log->moved));
}

static void take_log(int fd, struct op_log *log)
{
	take_all(fd, &log->nmoved, sizeof(log->nmoved));
	log->moved = lab_alloc(log->nmoved * sizeof(*log->moved));
	take_all(fd, log->moved, log->nmoved * sizeof(*log->moved));
}

void op_log_done(struct op_log *log)
{
	free(log->moved);
	*log = (struct op_log){0};
}

void native_run(const struct differ *d, const char *dir, const struct sequence *s,
		const struct ops *run, uint16_t *errnos, struct op_log *log)
{
	struct op_log found = {0};
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0)
		lab_die_errno("pipe");
	pid = start_child();
	if (pid == 0) {
		close(fds[0]);
		lab_become(&d->who);
		if (chdir(dir) < 0)
			lab_die_errno("chdir '%s'", dir);
		if (geteuid() == 0)
			lab_keep_caps(s->caps ? BOX_CAPS : 0);
		ops_run(run, errnos, log ? &found : NULL);
		send_all(fds[1], errnos, run->n * sizeof(*errnos));
		if (log)
			send_log(fds[1], &found);
		_exit(0);
	}
	close(fds[1]);
	take_all(fds[0], errnos, run->n * sizeof(*errnos));
	if (log)
		take_log(fds[0], log);
	close(fds[0]);
	end_child(pid, "the native run");
}

/* ---- the program under test ---- */

void rein_run(struct differ *d, const struct place *p, const char *const *args,
	      const struct ops *in, struct lab_result *ret)
{
	const char *argv[32] = {d->rein}, *env[] = {p->home_env, p->state_env, d->env, NULL};
	struct lab_text list = {0};
	struct lab_cmd c = {.argv = argv, .cwd = p->work, .env = env, .who = &d->who};

	for (size_t i = 0; args[i]; i++) {
		if (i + 2 >= lab_array_size(argv))
			lab_die("too many words");
		argv[i + 1] = args[i];
	}
	if (in) {
		ops_format(in, &list);
		c.in = list.p;
		c.in_n = list.n;
	}
	lab_run(&c, ret);
	d->rein_seconds += ret->seconds;
	lab_text_done(&list);
}

/* A run that changes nothing, and leaves its overlay to the next. */
static void warm_up(struct differ *d, const struct place *p)
{
	const char *args[] = {"run", "--approve", "-q", "--writable", "--warm", "1m", "--workspace", p->work, "--", "true", NULL};
	char *held = lab_format("%s/warm", strchr(p->state_env, '=') + 1);
	struct lab_result r;
	struct dirent *e;
	DIR *dir;

	rein_run(d, p, args, NULL, &r);
	lab_result_done(&r);
	dir = opendir(held);
	while (dir && (e = readdir(dir)))
		d->warmed += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	free(held);
}

void rein_run_ops(struct differ *d, const struct place *p, const struct sequence *s,
		  const char *mode, const char *say, const struct ops *run, struct lab_result *ret)
{
	const char *args[16] = {"run", "--approve", mode, say, "--workspace", p->work};
	size_t n = 6;

	if (s->caps && !d->rootless) {
		args[n++] = "--cap-add";
		args[n++] = BOX_CAPS_LIST;
	}
	if (d->warm)
		args[n++] = "--warm=1ms";
	args[n++] = "--";
	args[n++] = d->ops;
	if (d->warm)
		warm_up(d, p);
	rein_run(d, p, args, run, ret);
}

bool parse_errnos(const char *text, size_t n, uint16_t *errnos)
{
	const char *p = text;
	char *end;

	for (size_t i = 0; i < n; i++) {
		unsigned long v = strtoul(p, &end, 10);

		if (end == p || *end != '\n')
			return false;
		errnos[i] = (uint16_t)v;
		p = end + 1;
	}
	return !strcmp(p, "end\n");
}

/* ---- the assertions ---- */

/* Everything one case looks at; trees are zero until taken. */
struct trial {
	struct differ *d;
	const struct sequence *s;
	struct verdict *v;
	struct place place;
	struct op_log log;
	struct tree native0, native1, work0, work1, now;
	uint16_t *want, *got;
};

/*
 * Where overlayfs itself answers otherwise than the filesystem below it, and nothing is changed by
 * either: removing an access control list that is not there. And a directory that cannot be moved
 * for two reasons may be refused with the other one.
 */
static bool differs_by_nature(const struct op *op, uint16_t want, uint16_t got)
{
	if (!strcmp(ops_name(op), "rename") || !strcmp(ops_name(op), "noreplace") ||
	    !strcmp(ops_name(op), "exchange"))
		return want && got && got != EXDEV;
	return !strcmp(ops_name(op), "rmx") && !strncmp(op->s[1], "system.posix_acl", 16) &&
	       want == 0 && got == ENODATA;
}

/*
 * Without privilege the overlay remembers the mode of a file by name: if another name was made for it
 * in the box and the mode was changed through that one, the first name is still judged by the old
 * mode. What follows is another story than the native one; such a sequence is counted by itself.
 */
static bool is_stale_mode(const struct trial *t, size_t at)
{
	static const char *const by_mode[] = {"put", "append", "pwrite", "mmap", "trunc", "punch", "copy",
					      "openren", "setx", "rmx"};
	bool linked = false, changed = false, opens = false;

	for (size_t i = 0; i < at; i++) {
		const char *name = ops_name(&t->s->run.v[i]);

		linked |= !strcmp(name, "link") && !t->got[i];
		changed |= (!strcmp(name, "chmod") || !strcmp(name, "setx")) && !t->got[i] && linked;
	}
	for (size_t i = 0; i < lab_array_size(by_mode); i++)
		opens |= !strcmp(ops_name(&t->s->run.v[at]), by_mode[i]);
	return t->d->rootless && linked && changed && opens &&
	       (t->want[at] == EACCES) != (t->got[at] == EACCES);
}

/*
 * Copying from one name of a file to another, ranges overlapping. Without privilege the names become
 * one in the box when the second is opened for writing: the first was opened before, and for the
 * kernel that is another file.
 */
static bool is_early_reader(const struct trial *t, size_t at)
{
	return t->d->rootless && !strcmp(ops_name(&t->s->run.v[at]), "copy") && t->want[at] == EINVAL &&
	       t->got[at] == 0;
}

static bool is_limit(const struct trial *t)
{
	return t->v->outcome == CASE_STALE_MODE || t->v->outcome == CASE_EARLY_READER;
}

static void compare_errnos(struct trial *t)
{
	for (size_t i = 0; i < t->s->run.n && !is_limit(t); i++) {
		struct lab_text line = {0};

		if (t->want[i] == t->got[i] ||
		    differs_by_nature(&t->s->run.v[i], t->want[i], t->got[i]))
			continue;
		if (t->v->outcome == CASE_PASS && (is_stale_mode(t, i) || is_early_reader(t, i))) {
			t->v->outcome = is_early_reader(t, i) ? CASE_EARLY_READER : CASE_STALE_MODE;
			continue;
		}
		ops_format_one(&t->s->run.v[i], &line);
		verdict_fail(t->v, "result", "  operation %zu gave %s, natively %s: %s", i + 1,
			     t->got[i] ? strerrorname_np(t->got[i]) : "success",
			     t->want[i] ? strerrorname_np(t->want[i]) : "success", line.p);
		lab_text_done(&line);
	}
}

static bool below_moved_directory(const struct trial *t, const char *path)
{
	char *dir = lab_strdup(path), *slash;
	const struct tree_entry *e;
	bool found = false;

	while (!found && (slash = strrchr(dir, '/'))) {
		*slash = '\0';
		e = tree_find(&t->native0, dir);
		for (size_t i = 0; e && i < t->log.nmoved; i++)
			found |= t->log.moved[i] == e->st.st_ino;
	}
	free(dir);
	return found;
}

/* A file the native run did not even change the status of must still be the same file. */
static void check_untouched(struct trial *t, const char *what, const struct tree *now)
{
	if (!t->d->inodes)
		return;
	for (size_t i = 0; i < t->native0.n && t->v->outcome == CASE_PASS; i++) {
		const struct tree_entry *e = &t->native0.v[i], *n = tree_find(&t->native1, e->path),
					*w0 = tree_find(&t->work0, e->path),
					*w1 = tree_find(now, e->path);

		if (!n || !w0 || !w1 || S_ISDIR(e->st.st_mode) || n->st.st_ino != e->st.st_ino ||
		    n->st.st_ctim.tv_sec != e->st.st_ctim.tv_sec ||
		    n->st.st_ctim.tv_nsec != e->st.st_ctim.tv_nsec)
			continue;
		if (w0->st.st_ino != w1->st.st_ino && !below_moved_directory(t, e->path))
			verdict_fail(t->v, what, "  %s: an untouched file became another inode\n",
				     e->path);
	}
}

static void run_native(struct trial *t)
{
	struct timespec start = lab_filetime();

	native_run(t->d, t->place.native, t->s, &t->s->run, t->want, &t->log);
	tree_take(&t->native1, t->place.native, start);
}

static void undo_or_redo(struct trial *t, const char *verb, const struct tree *want)
{
	const char *args[] = {verb, NULL};
	struct lab_result r;

	rein_run(t->d, &t->place, args, NULL, &r);
	if (r.status != 0) {
		verdict_fail(t->v, verb, "  rein %s failed\n", verb);
		explain_result(t->v, &r);
	} else {
		tree_done(&t->now);
		tree_take(&t->now, t->place.work, (struct timespec){0});
		check_tree(t->v, verb, want, &t->now, false);
	}
	lab_result_done(&r);
}

static void check_undo(struct trial *t)
{
	struct lab_text why = {0};
	bool nothing = tree_equal(&t->work0, &t->work1, (struct tree_rules){0}, &why);

	lab_text_done(&why);
	if (nothing) /* a run that changed nothing is no transaction */
		return;
	undo_or_redo(t, "undo", &t->work0);
	if (t->v->outcome == CASE_FAIL)
		return;
	check_untouched(t, "undo-inode", &t->now);
	t->d->undos++;
	t->d->exact_undos +=
		tree_equal(&t->work0, &t->now, (struct tree_rules){.inodes = true}, &why);
	lab_text_done(&why);
	if (!t->s->redo)
		return;
	undo_or_redo(t, "redo", &t->work1);
	if (t->v->outcome != CASE_FAIL)
		undo_or_redo(t, "undo", &t->work0);
}

static void run_boxed(struct trial *t)
{
	struct timespec start = lab_filetime();
	struct lab_result r;

	rein_run_ops(t->d, &t->place, t->s, "--commit", "-q", &t->s->run, &r);
	tree_take(&t->work1, t->place.work, start);
	if (r.status != 0) {
		verdict_fail(t->v, "run", "  rein run failed\n");
		explain_result(t->v, &r);
	} else if (!parse_errnos(r.out.p, t->s->run.n, t->got)) {
		verdict_fail(t->v, "run", "  the command's output is not complete\n");
		explain_result(t->v, &r);
	}
	lab_result_done(&r);
}

static void compare_runs(struct trial *t)
{
	struct tree_rules rules = {.clock_times = true, .extra_links = &t->d->extra_links};
	struct lab_text why = {0};

	compare_errnos(t);
	/* what was made and removed again is no change, and a directory's time alone no transaction */
	rules.loose_directory_times = tree_equal(&t->work0, &t->work1, (struct tree_rules){0}, &why);
	lab_text_done(&why);
	why = (struct lab_text){0};
	if (t->v->outcome == CASE_PASS && !tree_equal(&t->native1, &t->work1, rules, &why))
		verdict_fail(t->v, "tree", "%s", why.p);
	lab_text_done(&why);
	if (t->v->outcome == CASE_PASS)
		check_untouched(t, "inode", &t->work1);
}

void case_run(struct differ *d, const struct sequence *s, struct verdict *ret)
{
	struct trial t = {.d = d, .s = s, .v = ret};

	*ret = (struct verdict){.outcome = CASE_PASS, .what = ""};
	t.want = lab_alloc((s->run.n + 1) * sizeof(*t.want));
	t.got = lab_alloc((s->run.n + 1) * sizeof(*t.got));
	place_make(d, &t.place);
	place_setup(d, t.place.native, s);
	place_setup(d, t.place.work, s);
	tree_take(&t.native0, t.place.native, (struct timespec){0});
	tree_take(&t.work0, t.place.work, (struct timespec){0});
	if (check_tree(ret, "setup", &t.native0, &t.work0, false)) {
		run_native(&t);
		run_boxed(&t);
		if (ret->outcome == CASE_PASS)
			compare_runs(&t);
		if (ret->outcome != CASE_FAIL)
			check_undo(&t);
	}
	place_done(d, &t.place);
	op_log_done(&t.log);
	free(t.want);
	free(t.got);
	tree_done(&t.native0);
	tree_done(&t.native1);
	tree_done(&t.work0);
	tree_done(&t.work1);
	tree_done(&t.now);
}
