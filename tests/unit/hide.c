/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/hide: what is hidden, the index behind it, and the mask in a real overlay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <sys/wait.h>
#include <time.h>

#include "base/auto.h"
#include "base/buf.h"
#include "sandbox/hide.h"
#include "sandbox/hideindex.h"

static char top[64];

static const char *at(const char *rel)
{
	static char ring[8][PATH_MAX];
	static unsigned turn;
	char *p = ring[turn++ % 8];

	snprintf(p, PATH_MAX, "%s/%s", top, rel);
	return p;
}

static void dir(const char *rel)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, rel);
	for (char *s = path + strlen(top) + 1; *s; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		mkdir(path, 0755);
		*s = '/';
	}
	mkdir(path, 0755);
}

static void file(const char *rel)
{
	char parent[PATH_MAX];
	int fd;

	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(rel, '/') - rel), rel);
	dir(parent);
	fd = open(at(rel), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
}

static void wait_out_the_grain(void)
{
	struct timespec ts = {.tv_nsec = 40 * 1000 * 1000};

	nanosleep(&ts, NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	chmod(path, 0700);
	return remove(path);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/var/tmp/rein-hide-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	dir("ws");
	dir("state");
	return chmod(at("state"), 0700);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct rein_hide_opts options(void)
{
	static char st[PATH_MAX];

	snprintf(st, sizeof(st), "%s", at("state"));
	return (struct rein_hide_opts){
		.state_dir = st, .uid = geteuid(), .gid = getegid(), .rootless = geteuid() != 0};
}

struct result {
	struct rein_hide_list list;
	char *mask;
};

static void result_done(struct result *r)
{
	rein_hide_list_done(&r->list);
	rein_free(r->mask);
	r->mask = NULL;
}

static struct result hide(const struct rein_hide_opts *o, const char *rel)
{
	struct result r = {.list = REIN_HIDE_LIST_INIT};
	struct rein_err err = {0};

	if (rein_hide_mask(o, *rel ? at(rel) : top, &r.mask, &r.list, &err) < 0)
		fail_msg("%s", err.msg);
	return r;
}

static void expect(const struct rein_strlist *l, const char *const *want, size_t n)
{
	for (size_t i = 0; i < n && i < l->n; i++)
		assert_string_equal(l->v[i], want[i]);
	if (l->n != n)
		fail_msg("%zu hidden instead of %zu; the last is %s", l->n, n,
			 l->n ? l->v[l->n - 1] : "none");
}

#define EXPECT(l, ...)                                                                             \
	do {                                                                                       \
		static const char *const want_[] = {__VA_ARGS__};                                  \
		expect((l), want_, ARRAY_SIZE(want_));                                             \
	} while (0)

static void patterns_hide_what_they_should(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	file("ws/.env");
	file("ws/.env.example");
	file("ws/.env.local.sample");
	file("ws/.env.production");
	file("ws/.envrc");
	file("ws/env");
	file("ws/a/b/server.key");
	file("ws/a/b/server.keys");
	file("ws/a/cacert.pem");
	file("ws/a/my-cacert.pem");
	file("ws/a-b/x.pem");
	file("ws/conf/secrets/db/one");
	file("ws/conf/secrets/two");
	file("ws/conf/secrets.txt");
	file("ws/.git/HEAD");
	file("ws/.git/refs/heads/x.key");
	file("ws/bare/HEAD");
	file("ws/bare/objects/x");
	file("ws/bare/refs/heads/y.pem");
	assert_int_equal(truncate(at("ws/bare/refs/heads/y.pem"), 41), 0);
	file("ws/bare/logs/refs/heads/y.pem");
	file("ws/forged/HEAD"); /* these marks anybody can make */
	file("ws/forged/objects/o.key");
	file("ws/forged/refs/r.key");
	file("ws/forged/f.key");
	file("ws/node_modules/p/test.pem");
	file("ws/py/.env/pyvenv.cfg");
	file("ws/py/.env/lib/site-packages/x.pem");
	file("ws/.envs/prod/x");
	file("ws/conf/secrets/venv/pyvenv.cfg"); /* an environment all right, but not called .env */
	file("ws/ca.key/pyvenv.cfg");
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, ".env", ".env.production", ".envrc", ".envs", "a/b/server.key",
	       "a/my-cacert.pem", "a-b/x.pem", "ca.key", "conf/secrets/db", "conf/secrets/two",
	       "conf/secrets/venv", "forged/f.key", "forged/objects/o.key", "forged/refs/r.key");
	assert_non_null(r.mask);
	result_done(&r);

	/* What the user names is shown; a directory called secrets with all that is in it. */
	o.show = (char *[]){(char *)(uintptr_t)at("ws/.env"),
			    (char *)(uintptr_t)at("ws/conf/secrets"), NULL};
	o.hide = (char *[]){(char *)(uintptr_t)at("ws/a/b"), (char *)(uintptr_t)at("ws/env"),
			    (char *)(uintptr_t)at("elsewhere"), NULL};
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, ".env.production", ".envrc", ".envs", "a/b", "a/my-cacert.pem",
	       "a-b/x.pem", "ca.key", "env", "forged/f.key", "forged/objects/o.key", "forged/refs/r.key");
	result_done(&r);
}

static void other_names_of_a_secret_are_hidden(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	file("ws/a/x.key");
	file("ws/b/plain");
	file("ws/conf/env.production");
	file("ws/outside.txt");
	assert_int_equal(link(at("ws/a/x.key"), at("ws/b/innocent")), 0);
	assert_int_equal(link(at("ws/b/plain"), at("ws/b/plain2")), 0);
	assert_int_equal(symlink("conf/env.production", at("ws/.env")), 0);
	assert_int_equal(symlink("/etc/hostname", at("ws/host.pem")), 0);
	assert_int_equal(symlink("../ws", at("ws/self.pem")), 0);
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, ".env", "a/x.key", "b/innocent", "conf/env.production", "host.pem",
	       "self.pem");
	result_done(&r);
	o.show = (char *[]){(char *)(uintptr_t)at("ws/conf/env.production"), NULL};
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, ".env", "a/x.key", "b/innocent", "host.pem", "self.pem");
	result_done(&r);
}

/* Each excuse at its edge: what is only nearly a branch, an environment or a named path is hidden. */
static void an_excuse_covers_nothing_beside_it(void **state)
{
	static const char *const near[] = {"ws-.env", "xs/.env", "ws/named"};
	char shown[3][128], target[42];
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	file("ws/.env");
	file("ws/.env.d/ten-letter"); /* as long as pyvenv.cfg */
	file("ws/named/x.key");	      /* only what is in secrets is shown with its directory */
	file("ws/lost/OLD-");	      /* as long as HEAD, objects, refs; and refs alone is no repository */
	file("ws/lost/objectz");
	file("ws/lost/refs/heads/y.key");
	assert_int_equal(truncate(at("ws/lost/refs/heads/y.key"), 41), 0);
	file("ws/bare/HEAD");
	dir("ws/bare/objects");
	dir("ws/bare/refs");
	memset(target, 'x', sizeof(target) - 1); /* a link as long as a ref */
	target[sizeof(target) - 1] = '\0';
	assert_int_equal(symlink(target, at("ws/bare/refs/l.key")), 0);
	for (size_t i = 0; i < ARRAY_SIZE(near); i++)
		snprintf(shown[i], sizeof(shown[i]), "%s", at(near[i]));
	o.show = (char *[]){shown[0], shown[1], shown[2], NULL};
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, ".env", ".env.d", "bare/refs/l.key", "lost/refs/heads/y.key", "named/x.key");
	result_done(&r);
}

static void names_of_a_policy_are_hidden_everywhere(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	file("ws/a/b/token.txt");
	file("ws/a/vault/x");
	file("ws/a/other");
	r = hide(&o, "ws");
	assert_int_equal(r.list.paths.n, 0);
	result_done(&r);
	o.names = (char *[]){(char *)(uintptr_t) "token.*", (char *)(uintptr_t) "vault", NULL};
	r = hide(&o, "ws"); /* an index made without them does not count */
	EXPECT(&r.list.paths, "a/b/token.txt", "a/vault");
	result_done(&r);
}

static void of_a_whole_system_programs_own_files_are_not_searched(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	assert_false(rein_hide_searches("/usr/share/x", NULL));
	assert_false(rein_hide_searches("/usr", "/srv/p"));
	assert_true(rein_hide_searches("/usrx", NULL));
	assert_true(rein_hide_searches("/srv/p", NULL));
	assert_true(rein_hide_searches("/usr/src/p/x", "/usr/src/p"));
	assert_false(rein_hide_searches("/usr/src/p/x", "/srv/usr"));
	/* this tree lies in one of them, and none of them in it */
	file("ws/.env");
	file("ws/usr/x.key");
	o.whole = true;
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, ".env", "usr/x.key");
	assert_true(r.list.links);
	result_done(&r);
}

static void what_was_forgotten_is_read_again(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	file("ws/a/.env");
	wait_out_the_grain();
	for (int i = 0; i < 3; i++) {
		r = hide(&o, "ws");
		assert_int_equal(r.list.nread, i == 1 ? 0 : 2);
		result_done(&r);
		if (i == 1)
			rein_hide_forget(o.state_dir, at("ws"));
	}
}

/* One of this name is a way into a directory called secrets, also while that is not there yet. */
static void a_link_called_secrets_is_hidden_with_its_target(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	dir("ws/conf");
	assert_int_equal(symlink("../vault", at("ws/conf/secrets")), 0);
	file("ws/other/secrets"); /* a plain file of that name is not */
	wait_out_the_grain();
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "conf/secrets");
	result_done(&r);
	file("ws/vault/db");
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "conf/secrets", "vault");
	result_done(&r);
}

static void every_hidden_file_is_hidden_under_its_other_names(void **state)
{
	static const char *const named[3] = {"ws/by/option", "ws/by/dir", "ws/.rein-0"};
	char hidden[3][128];
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	file("ws/secrets/deep/er/x");
	file("ws/.env.d/x");
	file("ws/by/option");
	file("ws/by/dir/x");
	file("ws/target");
	file("ws/.rein-0/t/x");
	file("ws/open/plain");
	assert_int_equal(symlink("target", at("ws/.env")), 0);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		snprintf(hidden[i], sizeof(hidden[i]), "%s", at(named[i]));
	o.hide = (char *[]){hidden[0], hidden[1], hidden[2], NULL};
	r = hide(&o, "ws");
	result_done(&r);
	/* new names leave the directories of the old ones as they were */
	wait_out_the_grain();
	r = hide(&o, "ws");
	result_done(&r);
	assert_int_equal(link(at("ws/secrets/deep/er/x"), at("ws/open/1")), 0);
	assert_int_equal(link(at("ws/.env.d/x"), at("ws/open/2")), 0);
	assert_int_equal(link(at("ws/by/option"), at("ws/open/3")), 0);
	assert_int_equal(link(at("ws/by/dir/x"), at("ws/open/4")), 0);
	assert_int_equal(link(at("ws/target"), at("ws/open/5")), 0);
	assert_int_equal(link(at("ws/open/plain"), at("ws/open/shown")), 0);
	assert_int_equal(link(at("ws/.rein-0/t/x"), at("ws/open/shown too")), 0);
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, ".env", ".env.d", ".rein-0", "by/dir", "by/option", "open/1", "open/2",
	       "open/3", "open/4", "open/5", "secrets/deep", "target");
	result_done(&r);
}

static void a_tree_without_secrets_has_no_mask(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	file("ws/src/main.c");
	r = hide(&o, "ws");
	assert_null(r.mask);
	assert_int_equal(r.list.lock_fd, -1);
	assert_int_equal(access(at("state/masks"), F_OK), -1);
	result_done(&r);
}

static void only_changed_directories_are_read(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;
	char name[64];

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "ws/d%d/e/f.c", i);
		file(name);
	}
	wait_out_the_grain();
	r = hide(&o, "ws");
	assert_int_equal(r.list.ndirs, 81);
	assert_int_equal(r.list.nread, 81);
	result_done(&r);
	r = hide(&o, "ws");
	assert_int_equal(r.list.nread, 0);
	result_done(&r);

	file("ws/d7/e/new.key");
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "d7/e/new.key");
	assert_int_equal(r.list.nread, 1);
	result_done(&r);
	wait_out_the_grain();

	file("ws/d8/e/plain.c"); /* nothing hidden changes: the old index holds */
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "d7/e/new.key");
	assert_true(r.list.nread <= 2);
	result_done(&r);

	file("ws/d9/new/deep/x.pem");
	assert_int_equal(unlink(at("ws/d7/e/new.key")), 0);
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "d9/new/deep/x.pem");
	assert_int_equal(r.list.ndirs, 83);
	result_done(&r);

	assert_int_equal(rename(at("ws/d9"), at("ws/moved")), 0);
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "moved/new/deep/x.pem");
	result_done(&r);

	/* An mtime set back does not deceive: the ctime tells. */
	wait_out_the_grain();
	r = hide(&o, "ws");
	result_done(&r);
	{
		struct stat st;
		struct timespec times[2];

		assert_int_equal(stat(at("ws/d1/e"), &st), 0);
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		file("ws/d1/e/late.pem");
		assert_int_equal(utimensat(AT_FDCWD, at("ws/d1/e"), times, 0), 0);
	}
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "d1/e/late.pem", "moved/new/deep/x.pem");
	result_done(&r);
}

/* [H2] A directory read right after it changed is read again, though its times say nothing new. */
static void fresh_directories_are_read_again(void **state)
{
	struct rein_hide_opts o = options();
	bool seen = false;

	(void)state;
	dir("ws/d"); /* not the tree itself, which is looked at in another way */
	wait_out_the_grain();
	for (int i = 0; i < 200 && !seen; i++) { /* a busy machine may be too slow to be fresh */
		struct result r;
		char name[64];

		/* a directory more, or what is known would not be written down again */
		snprintf(name, sizeof(name), "ws/d/%d/x", i);
		file(name);
		r = hide(&o, "ws");
		result_done(&r);
		r = hide(&o, "ws");
		seen = r.list.nread > 0;
		result_done(&r);
	}
	assert_true(seen);
}

/* How much an ordinary user with this group besides the own finds hidden. */
static int hidden_for(gid_t group)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct rein_hide_list l = REIN_HIDE_LIST_INIT;
		struct rein_err err = {0};
		char *mask = NULL;
		struct rein_hide_opts o;

		if (setgroups(1, &group) < 0 || setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
			_exit(99);
		o = options();
		_exit(rein_hide_mask(&o, at("ws"), &mask, &l, &err) < 0 ? 98 : (int)l.paths.n);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A directory that was closed is open to who has got another group, and nothing about it has changed. */
static void a_closed_directory_is_looked_at_again(void **state)
{
	const gid_t team = 64242;

	(void)state;
	if (geteuid() != 0)
		skip();
	file("ws/team/.env");
	assert_int_equal(chown(at("ws/team"), 0, team), 0);
	assert_int_equal(chmod(at("ws/team"), 0770), 0);
	assert_int_equal(chmod(top, 0755), 0);
	assert_int_equal(chown(at("state"), 65534, 65534), 0);
	wait_out_the_grain();
	assert_int_equal(hidden_for(65534), 0);
	assert_int_equal(hidden_for(65534), 0);
	assert_int_equal(hidden_for(team), 1);
	assert_int_equal(hidden_for(team), 1);
}

/* Without a descriptor left nothing is found: that is not the same as nothing to be hidden. */
static void running_out_of_descriptors_is_a_failure(void **state)
{
	struct rein_hide_list l = REIN_HIDE_LIST_INIT;
	struct rein_hide_opts o = options();
	struct rein_err err = {0};
	struct rlimit kept, few;
	char *mask = NULL;
	int next, rc;

	(void)state;
	file("ws/.env");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &kept), 0);
	next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(next >= 0);
	close(next);
	few = (struct rlimit){.rlim_cur = (rlim_t)next + 1, .rlim_max = kept.rlim_max}; /* for the tree itself */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	rc = rein_hide_mask(&o, at("ws"), &mask, &l, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &kept), 0);
	assert_true(rc < 0);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What an index says, as one text: every directory and every match, sorted. */
static char *said(const struct rein_hideindex *x)
{
	auto_strlist struct rein_strlist l = {0};
	struct rein_buf b = REIN_BUF((size_t)1 << 24);

	for (uint32_t n = 0; n < x->ndirs; n++) {
		const struct rein_hidedir *d = &x->dirs[n];
		const char *path = x->strings + d->path;

		assert_int_equal(rein_strlist_take(&l, rein_asprintf("%s/", path)), 0);
		for (uint32_t i = 0; i < d->nmatch; i++) {
			const struct rein_hidematch *m = &x->matches[d->first_match + i];
			char *text = rein_asprintf("%s/%s %x", path, x->strings + m->name, m->flags);

			assert_int_equal(rein_strlist_take(&l, text), 0);
		}
	}
	qsort(l.v, l.n, sizeof(*l.v), by_text);
	for (size_t i = 0; i < l.n; i++) {
		rein_buf_add(&b, l.v[i], strlen(l.v[i]));
		rein_buf_add(&b, "\n", 1);
	}
	rein_buf_add(&b, "", 1);
	assert_false(b.failed);
	return b.p;
}

static char *ask(const struct rein_hideindex_opts *o)
{
	auto_(rein_hideindex_done) struct rein_hideindex x = {0};
	struct rein_err err = {0};

	if (rein_hideindex_get(o, &x, &err) < 0)
		fail_msg("%s", err.msg);
	return said(&x);
}

/* Something comes, goes or moves somewhere in the tree; also what cannot be done is tried. */
static void disturb(unsigned *seed)
{
	static const char *const names[] = {"plain", ".env", "x.key", "secrets", "e0", "e1", "e2"};
	char a[128], b[128], full[2][PATH_MAX];

	snprintf(a, sizeof(a), "ws/d%d/e%d/%s", rand_r(seed) % 80, rand_r(seed) % 3,
		 names[(unsigned)rand_r(seed) % ARRAY_SIZE(names)]);
	snprintf(b, sizeof(b), "ws/d%d/%s", rand_r(seed) % 80, names[(unsigned)rand_r(seed) % ARRAY_SIZE(names)]);
	snprintf(full[0], PATH_MAX, "%s", at(a));
	snprintf(full[1], PATH_MAX, "%s", at(b));
	switch (rand_r(seed) % 7) {
	case 0:
	case 1:
		close(open(full[0], O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
		break;
	case 2:
		dir(b);
		break;
	case 3:
		remove(full[0]);
		break;
	case 4:
		rename(full[0], full[1]);
		break;
	case 5:
		rename(full[1], full[0]);
		break;
	case 6: /* the same names in another order, on some file systems */
		if (rmdir(full[1]) == 0)
			mkdir(full[1], 0755);
		break;
	}
}

/* Whatever happened between two looks, right before the second or long ago: both ways say the same. */
static void what_is_known_is_what_is_there(void **state)
{
	struct rein_hideindex_opts known = {0}, fresh;
	char real[PATH_MAX], kept[PATH_MAX], name[64];
	unsigned seed = 20261118;

	(void)state;
	for (int i = 0; i < 80 * 3; i++) {
		snprintf(name, sizeof(name), "ws/d%d/e%d/f", i / 3, i % 3);
		file(name);
	}
	snprintf(real, sizeof(real), "%s", at("ws"));
	snprintf(kept, sizeof(kept), "%s", at("state/x"));
	known.real = real;
	known.file = kept;
	known.root_fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fresh = known;
	fresh.file = NULL;
	for (int round = 0; round < 150; round++) {
		auto_free char *want = NULL, *got = NULL;

		if (round % 50 == 0)
			wait_out_the_grain();
		/* mostly few: the index is used; sometimes so many that it is written again */
		for (int n = round % 20 ? rand_r(&seed) % 4 : 60; n > 0; n--)
			disturb(&seed);
		known.threads = (unsigned)round % 4 + 1;
		got = ask(&known);
		want = ask(&fresh);
		assert_string_equal(got, want);
	}
	close(known.root_fd);
}

static char *index_path(void)
{
	static char path[PATH_MAX];
	DIR *d = opendir(at("state/index"));
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(path, sizeof(path), "%s/%s", at("state/index"), e->d_name);
	closedir(d);
	return path;
}

/* The same number of secrets and directories, under other names; and one more directory. */
static void renamed_secrets_and_directories_are_found(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	file("ws/a/.env");
	file("ws/a/sub/x.key");
	wait_out_the_grain();
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "a/.env", "a/sub/x.key");
	result_done(&r);
	assert_int_equal(rename(at("ws/a/.env"), at("ws/a/.env.old")), 0);
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "a/.env.old", "a/sub/x.key");
	result_done(&r);
	assert_int_equal(rename(at("ws/a/sub"), at("ws/a/tub")), 0);
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "a/.env.old", "a/tub/x.key");
	result_done(&r);
	wait_out_the_grain();
	r = hide(&o, "ws");
	result_done(&r);
	file("ws/a/zoo/deep/y.key");
	r = hide(&o, "ws");
	EXPECT(&r.list.paths, "a/.env.old", "a/tub/x.key", "a/zoo/deep/y.key");
	result_done(&r);
}

/* What a mount covered is there again when it is gone, and its directory has not changed. */
static void a_directory_is_read_when_its_mount_is_gone(void **state)
{
	struct rein_hide_opts o = options();
	int status = 0;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	file("ws/m/.env");
	wait_out_the_grain();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rein_hide_list l = REIN_HIDE_LIST_INIT;
		struct rein_err err = {0};
		char *mask = NULL;

		if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("none", at("ws/m"), "tmpfs", 0, NULL) < 0)
			_exit(77);
		if (rein_hide_mask(&o, at("ws"), &mask, &l, &err) < 0 || l.paths.n != 0)
			_exit(1);
		if (umount(at("ws/m")) < 0 || rein_hide_mask(&o, at("ws"), &mask, &l, &err) < 0)
			_exit(2);
		_exit(l.paths.n == 1 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77 && !getenv("REIN_MUST_WORK"))
		skip();
	assert_int_equal(status, 0);
}

/* Whoever else can write to it could take the whiteouts away. */
static void a_place_of_others_holds_no_mask(void **state)
{
	struct rein_hide_opts o = options();
	struct rein_hide_list l = REIN_HIDE_LIST_INIT;
	struct rein_err err = {0};
	char *mask = NULL;
	char base[PATH_MAX];

	(void)state;
	file("ws/.env");
	dir("base/masks");
	snprintf(base, sizeof(base), "%s", at("base"));
	o.mask_base = base;
	assert_int_equal(chmod(at("base/masks"), 0770), 0);
	assert_int_equal(rein_hide_mask(&o, at("ws"), &mask, &l, &err), -REIN_E_UNSUPPORTED);
	assert_int_equal(chmod(at("base/masks"), 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(at("base/masks"), 65534, 65534), 0);
		assert_int_equal(rein_hide_mask(&o, at("ws"), &mask, &l, &err), -REIN_E_UNSUPPORTED);
		assert_int_equal(chown(at("base/masks"), 0, 0), 0);
	}
	assert_int_equal(rein_hide_mask(&o, at("ws"), &mask, &l, &err), 0);
	rein_hide_list_done(&l);
	rein_free(mask);
}

/* An index that somebody else wrote would say what is not hidden. */
static void an_index_of_others_is_not_used(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	if (geteuid() != 0)
		skip();
	file("ws/a/.env");
	wait_out_the_grain();
	r = hide(&o, "ws");
	result_done(&r);
	assert_int_equal(chown(index_path(), 65534, 65534), 0);
	r = hide(&o, "ws");
	assert_int_equal(r.list.nread, 2);
	result_done(&r);
}

static size_t slurp(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, buf, size);

	assert_true(n > 0);
	close(fd);
	return (size_t)n;
}

static void spill(const char *path, const char *buf, size_t n)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, buf, n), (ssize_t)n);
	close(fd);
}

static void a_damaged_index_is_never_trusted(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;
	char *good = rein_alloc(1 << 16), *bad = rein_alloc(1 << 16);
	size_t n;

	(void)state;
	file("ws/a/x.key");
	file("ws/b/y.c");
	wait_out_the_grain();
	r = hide(&o, "ws");
	result_done(&r);
	n = slurp(index_path(), good, 1 << 16);
	for (size_t i = 0; i < n; i++) { /* every byte, [H1] */
		memcpy(bad, good, n);
		bad[i] ^= 0x41;
		spill(index_path(), bad, n);
		r = hide(&o, "ws");
		assert_int_equal(r.list.nread, 3);
		EXPECT(&r.list.paths, "a/x.key");
		result_done(&r);
	}
	for (size_t i = 0; i < n; i += 7) { /* every length */
		spill(index_path(), good, i);
		r = hide(&o, "ws");
		assert_int_equal(r.list.nread, 3);
		result_done(&r);
	}
	spill(index_path(), good, n);
	r = hide(&o, "ws");
	assert_int_equal(r.list.nread, 0);
	result_done(&r);

	/* Damage with a right checksum still stays in bounds. */
	for (size_t i = 0; i < n; i++) {
		struct rein_hideindex x;
		struct rein_hideindex_opts xo = {0};
		struct stat st;

		memcpy(bad, good, n);
		bad[i] = (char)0xff;
		rein_hideindex_seal(bad, n);
		assert_int_equal(stat(o.state_dir, &st), 0);
		xo.skip_ino = st.st_ino;
		if (rein_hideindex_parse(bad, n, rein_hideindex_rules(&xo), at("ws"), &x))
			for (uint32_t d = 0; d < x.ndirs; d++)
				assert_true(strlen(x.strings + x.dirs[d].path) < x.nstrings);
	}
	rein_free(good);
	rein_free(bad);
}

static void masks_copy_the_directories_they_stand_for(void **state)
{
	struct rein_hide_opts o = options();
	struct timespec old[2] = {{.tv_sec = 1000000000, .tv_nsec = 5}, {.tv_sec = 1000000001}};
	struct result r, again;
	char path[PATH_MAX], value[8];
	bool has_attrs;
	struct stat st;

	(void)state;
	file("ws/sub/deep/x.key");
	assert_int_equal(chmod(at("ws/sub"), 02750), 0);
	assert_int_equal(chmod(at("ws/sub/deep"), 0555), 0);
	assert_int_equal(utimensat(AT_FDCWD, at("ws/sub/deep"), old, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(at("ws/sub"), 54321, 54322), 0);
	assert_int_equal(chmod(at("ws/sub"), 02750), 0);
	has_attrs = setxattr(at("ws/sub"), "user.is", "one", 3, 0) == 0; /* not every filesystem has them */
	r = hide(&o, "ws");
	snprintf(path, sizeof(path), "%s/sub", r.mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 02750);
	assert_int_equal(st.st_uid, geteuid() == 0 ? 54321 : geteuid());
	assert_int_equal(st.st_gid, geteuid() == 0 ? 54322 : getegid());
	if (has_attrs)
		assert_int_equal(getxattr(path, "user.is", value, sizeof(value)), 3);
	snprintf(path, sizeof(path), "%s/sub/deep", r.mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0555);
	assert_int_equal(st.st_mtim.tv_sec, 1000000001);
	snprintf(path, sizeof(path), "%s/sub/deep/x.key", r.mask);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISCHR(st.st_mode) && st.st_rdev == 0);

	/* The same set is the same mask, brought up to date. */
	assert_int_equal(chmod(at("ws/sub/deep"), 0711), 0);
	if (has_attrs)
		assert_int_equal(removexattr(at("ws/sub"), "user.is"), 0);
	again = hide(&o, "ws");
	assert_string_equal(r.mask, again.mask);
	snprintf(path, sizeof(path), "%s/sub", r.mask);
	assert_int_equal(getxattr(path, "user.is", value, sizeof(value)), -1);
	snprintf(path, sizeof(path), "%s/sub/deep", r.mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0711);
	result_done(&again);

	/* Another set is another mask; the old one stays while it is held, [M2]. */
	file("ws/y.pem");
	again = hide(&o, "ws");
	assert_string_not_equal(r.mask, again.mask);
	assert_int_equal(access(r.mask, F_OK), 0);
	result_done(&again);
	rein_hide_list_done(&r.list);
	file("ws/z.pem");
	again = hide(&o, "ws");
	assert_int_equal(access(r.mask, F_OK), -1);
	result_done(&again);
	result_done(&r);
}

static void a_mask_never_lies_in_its_tree(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	file("ws/x.key");
	r = hide(&o, ""); /* the state is inside */
	assert_false(rein_starts(r.mask, top));
	assert_int_equal(access(r.mask, F_OK), 0);
	rein_hide_list_done(&r.list); /* and in memory it does not stay */
	assert_int_equal(access(r.mask, F_OK), -1);
	result_done(&r);
	o.mask_base = at("ws");
	{
		struct rein_err err = {0};
		char *mask = NULL;
		struct rein_hide_list l = REIN_HIDE_LIST_INIT;

		assert_int_equal(rein_hide_mask(&o, at("ws"), &mask, &l, &err),
				 -REIN_E_UNSUPPORTED);
		assert_non_null(strstr(err.msg, "REIN_STATE"));
	}
}

/* [M4] */
static void a_lost_mask_can_be_had_again(void **state)
{
	struct rein_hide_opts o = options();
	struct rein_err err = {0};
	char path[PATH_MAX];
	struct result r;
	struct stat st;
	int lock = -1;

	(void)state;
	file("ws/sub/x.key");
	file("ws/.env");
	for (int inside = 0; inside < 2; inside++) {
		r = hide(&o, inside ? "" : "ws");
		rein_hide_list_done(&r.list);
		if (!inside) {
			struct result other;

			file("ws/y.pem"); /* another set sweeps the first */
			other = hide(&o, "ws");
			result_done(&other);
		}
		assert_int_equal(access(r.mask, F_OK), -1);
		assert_int_equal(rein_hide_revive(o.state_dir, r.mask, &lock, &err), 0);
		snprintf(path, sizeof(path), "%s/%ssub/x.key", r.mask, inside ? "ws/" : "");
		assert_int_equal(lstat(path, &st), 0);
		assert_true(S_ISCHR(st.st_mode));
		if (inside) { /* leave nothing in memory */
			struct rein_hide_list l = {.lock_fd = lock, .passing = rein_strdup(r.mask)};

			rein_hide_list_done(&l);
		} else {
			close(lock);
		}
		result_done(&r);
	}
	assert_int_equal(rein_hide_revive(o.state_dir, "/x/tree", &lock, &err), -REIN_E_INVALID);
	assert_int_equal(rein_hide_revive(o.state_dir,
					  "/x/masks/0123456789abcdef/0123456789abcdef/tree", &lock,
					  &err),
			 -REIN_E_IO);
}

static void foreign_directories_are_listed(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;

	(void)state;
	dir("ws/shared/below");
	o.rootless = true;
	o.gid = getegid() + 1; /* as if everything had another group */
	r = hide(&o, "ws");
	assert_int_equal(r.list.nforeign, 3);
	assert_string_equal(r.list.foreign[0].path, "");
	assert_string_equal(r.list.foreign[2].path, "shared/below");
	assert_int_equal(r.list.foreign[1].gid, getegid());
	result_done(&r);
	o.gid = getegid();
	r = hide(&o, "ws");
	assert_int_equal(r.list.nforeign, 0);
	result_done(&r);
}

/* One of many: two sets by turns, so that masks are made and swept. */
static int one_of_many(struct rein_hide_opts *o, bool in_memory)
{
	for (int n = 0; n < 20; n++) {
		struct rein_hide_list l = REIN_HIDE_LIST_INIT;
		struct rein_err err = {0};
		char *mask = NULL, path[PATH_MAX];
		struct stat st;

		o->show = n % 2 ? (char *[]){(char *)(uintptr_t)at("ws/d3/x.key"), NULL} : NULL;
		if (rein_hide_mask(o, in_memory ? top : at("ws"), &mask, &l, &err) < 0) {
			fprintf(stderr, "%s\n", err.msg);
			return 1;
		}
		snprintf(path, sizeof(path), "%s/%sd4/x.key", mask, in_memory ? "ws/" : "");
		if (l.paths.n != (n % 2 ? 19u : 20u) || lstat(path, &st) < 0)
			return 2;
		rein_hide_list_done(&l);
		rein_free(mask);
	}
	return 0;
}

static void many_at_once_agree(void **state)
{
	struct rein_hide_opts o = options();
	pid_t pids[8];

	(void)state;
	for (int i = 0; i < 20; i++) {
		char name[64];

		snprintf(name, sizeof(name), "ws/d%d/x.key", i);
		file(name);
	}
	for (int in_memory = 0; in_memory < 2; in_memory++) {
		for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
			pids[i] = fork();
			assert_true(pids[i] >= 0);
			if (pids[i] == 0)
				_exit(one_of_many(&o, in_memory));
		}
		for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
			int status;

			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_int_equal(status, 0);
		}
	}
}

/* In a mount namespace of its own; 77 where the machine allows no such thing. */
static int look_through(const char *mask)
{
	char opts[3 * PATH_MAX], line[64];
	int uid = (int)getuid(), gid = (int)getgid();
	bool user = uid != 0;
	struct stat st;
	int fd;

	if (unshare(user ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0)
		return 77;
	if (user) {
		fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
		if (write(fd, line, (size_t)snprintf(line, sizeof(line), "%d %d 1", uid, uid)) < 0)
			return 77;
		close(fd);
		(void)gid;
	}
	if (mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	snprintf(opts, sizeof(opts), "lowerdir=%s:%s", mask, at("ws"));
	if (mount("overlay", at("view"), "overlay", 0, opts) < 0)
		return 77;
	if (stat(at("view/a/x.key"), &st) == 0 || errno != ENOENT)
		return 1;
	if (stat(at("view/a/b/secrets"), &st) < 0 || stat(at("view/a/b/secrets/s"), &st) == 0)
		return 2;
	if (stat(at("view/a/plain.c"), &st) < 0)
		return 3;
	if (stat(at("view/a"), &st) < 0 || (st.st_mode & 07777) != 0751)
		return 4;
	return 0;
}

static void an_overlay_with_the_mask_hides(void **state)
{
	struct rein_hide_opts o = options();
	struct result r;
	int status;
	pid_t pid;

	(void)state;
	file("ws/a/x.key");
	file("ws/a/plain.c");
	file("ws/a/b/secrets/s");
	assert_int_equal(chmod(at("ws/a"), 0751), 0);
	dir("view");
	r = hide(&o, "ws");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(look_through(r.mask));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	result_done(&r);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77 && !getenv("REIN_MUST_WORK"))
		skip();
	assert_int_equal(status, 0);
}

static void every_allocation_may_fail(void **state)
{
	struct rein_hide_opts o = options();
	struct rein_err err = {0};
	unsigned n = 1;

	(void)state;
	file("ws/a/x.key");
	file("ws/b/secrets/y");
	for (;; n++) {
		struct rein_hide_list l = REIN_HIDE_LIST_INIT;
		char *mask = NULL;
		int rc;

		rein_fault_alloc(n);
		rc = rein_hide_mask(&o, at("ws"), &mask, &l, &err);
		rein_fault_alloc(0);
		if (rc == 0) { /* what could fail without harm (keeping the index) did */
			assert_int_equal(l.paths.n, 2);
			assert_non_null(mask);
		}
		rein_hide_list_done(&l);
		rein_free(mask);
		if (rc == 0 && n > 200)
			break;
	}
}

/* What a power cut leaves of the file beside it: nothing, a part; and what a mask of another set would say. */
static void a_mask_that_does_not_say_what_it_hides_is_made_anew(void **state)
{
	static const char *const texts[] = {"", "/", "/another/tree"};
	struct rein_hide_opts o = options();
	char path[PATH_MAX];
	struct stat st;

	(void)state;
	file("ws/.env");
	for (size_t i = 0; i <= ARRAY_SIZE(texts); i++) {
		struct result r = hide(&o, "ws");
		FILE *f;

		rein_hide_list_done(&r.list);
		snprintf(path, sizeof(path), "%.*s/lock", (int)(strlen(r.mask) - strlen("/tree")), r.mask);
		f = fopen(path, i < ARRAY_SIZE(texts) ? "w" : "a"); /* and more than it should */
		assert_non_null(f);
		fputs(i < ARRAY_SIZE(texts) ? texts[i] : "more", f);
		fclose(f);
		/* nor what it hides */
		snprintf(path, sizeof(path), "%s/.env", r.mask);
		assert_int_equal(unlink(path), 0);
		rein_free(r.mask);
		r = hide(&o, "ws");
		assert_int_equal(lstat(path, &st), 0);
		assert_true(S_ISCHR(st.st_mode));
		result_done(&r);
	}
}

#define IN_TREE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(patterns_hide_what_they_should),
		IN_TREE(other_names_of_a_secret_are_hidden),
		IN_TREE(an_excuse_covers_nothing_beside_it),
		IN_TREE(names_of_a_policy_are_hidden_everywhere),
		IN_TREE(of_a_whole_system_programs_own_files_are_not_searched),
		IN_TREE(what_was_forgotten_is_read_again),
		IN_TREE(a_link_called_secrets_is_hidden_with_its_target),
		IN_TREE(every_hidden_file_is_hidden_under_its_other_names),
		IN_TREE(a_tree_without_secrets_has_no_mask),
		IN_TREE(only_changed_directories_are_read),
		IN_TREE(fresh_directories_are_read_again),
		IN_TREE(a_closed_directory_is_looked_at_again),
		IN_TREE(running_out_of_descriptors_is_a_failure),
		IN_TREE(renamed_secrets_and_directories_are_found),
		IN_TREE(what_is_known_is_what_is_there),
		IN_TREE(a_directory_is_read_when_its_mount_is_gone),
		IN_TREE(a_place_of_others_holds_no_mask),
		IN_TREE(an_index_of_others_is_not_used),
		IN_TREE(a_damaged_index_is_never_trusted),
		IN_TREE(masks_copy_the_directories_they_stand_for),
		IN_TREE(a_mask_never_lies_in_its_tree),
		IN_TREE(a_lost_mask_can_be_had_again),
		IN_TREE(a_mask_that_does_not_say_what_it_hides_is_made_anew),
		IN_TREE(foreign_directories_are_listed),
		IN_TREE(many_at_once_agree),
		IN_TREE(an_overlay_with_the_mask_hides),
		IN_TREE(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
