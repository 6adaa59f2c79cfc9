/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/view: the workspace, the trees, what is hidden, and every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/buf.h"
#include "sandbox/gitdir.h"
#include "sandbox/mounts.h"
#include "sandbox/view.h"

static char top[64]; /* a fresh directory for each test: home/ state/ in it */
static char made[PATH_MAX];
static char table[PATH_MAX]; /* a mount table of our own */

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

static void file(const char *rel, const char *text)
{
	const char *slash = strrchr(rel, '/');
	int fd;

	if (slash) {
		snprintf(made, sizeof(made), "%.*s", (int)(slash - rel), rel);
		dir(made);
	}
	fd = open(at(rel), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void repo(const char *rel)
{
	char path[PATH_MAX];
	static const char *const parts[] = {"objects", "refs"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(path, sizeof(path), "%s/%s", rel, parts[i]);
		dir(path);
	}
	snprintf(path, sizeof(path), "%s/HEAD", rel);
	file(path, "ref: refs/heads/main\n");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/var/tmp/rein-view-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	dir("home");
	file("mounts", "1 0 8:1 / / rw - ext4 /dev/x rw\n");
	snprintf(table, sizeof(table), "%s", at("mounts"));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct rein_view_opts opts_at(const char *cwd)
{
	static char here[PATH_MAX], home[PATH_MAX], st[PATH_MAX];

	snprintf(here, sizeof(here), "%s", at(cwd));
	snprintf(home, sizeof(home), "%s", at("home"));
	snprintf(st, sizeof(st), "%s", at("state"));
	return (struct rein_view_opts){.cwd = here,
				       .home = home,
				       .state_dir = st,
				       .uid = 1000,
				       .rootless = true,
				       .mountinfo = table};
}

static void plan(const struct rein_view_opts *o, struct rein_view *v)
{
	struct rein_err err = {0};

	if (rein_view_plan(o, v, &err) < 0)
		fail_msg("%s", err.msg);
}

static void refused(const struct rein_view_opts *o, int code, const char *says)
{
	struct rein_view v = {0};
	struct rein_err err = {0};

	assert_int_equal(rein_view_plan(o, &v, &err), -code);
	if (!strstr(err.msg, says))
		fail_msg("expected '%s' in '%s'", says, err.msg);
	assert_null(v.workspace);
}

static const struct rein_path_rule *rule(const struct rein_view *v, const char *path)
{
	for (size_t i = 0; i < v->npaths; i++)
		if (rein_streq(v->paths[i].path, path))
			return &v->paths[i];
	return NULL;
}

static bool noted(const struct rein_view *v, const char *text)
{
	for (size_t i = 0; i < v->nnotes; i++)
		if (strstr(v->notes[i].text, text))
			return true;
	return false;
}

static void workspace_is_the_git_root_or_here(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;

	(void)state;
	repo("proj/.git");
	dir("proj/a/b");
	dir("plain/sub");
	dir("decoy/.git/sub"); /* no HEAD: not a repository */
	o = opts_at("proj/a/b");
	plan(&o, &v);
	assert_string_equal(v.workspace, at("proj"));
	assert_string_equal(v.cwd, at("proj/a/b"));
	assert_int_equal(v.ncow, 1);
	assert_string_equal(v.cow[0].path, at("proj"));
	rein_view_done(&v);

	o = opts_at("plain/sub");
	plan(&o, &v);
	assert_string_equal(v.workspace, at("plain/sub"));
	rein_view_done(&v);

	o = opts_at("decoy");
	plan(&o, &v);
	assert_string_equal(v.workspace, at("decoy"));
	rein_view_done(&v);

	o = opts_at("plain");
	o.workspace = "../proj/a";
	plan(&o, &v);
	assert_string_equal(v.workspace, at("proj/a"));
	assert_string_equal(v.cwd, at("plain"));
	rein_view_done(&v);

	o.workspace = "nowhere";
	refused(&o, REIN_E_IO, "--workspace 'nowhere'");
	o.workspace = at("mounts");
	refused(&o, REIN_E_USAGE, "not a directory");
}

static void home_and_slash_are_too_wide(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;

	(void)state;
	o = opts_at("home");
	refused(&o, REIN_E_USAGE, "--workspace");
	o.workspace = o.home;
	plan(&o, &v);
	assert_string_equal(v.workspace, at("home"));
	rein_view_done(&v);
	o = opts_at("");
	o.cwd = "/";
	refused(&o, REIN_E_USAGE, "too wide");
	repo("home/.git"); /* dotfiles kept in git */
	dir("home/notes");
	o = opts_at("home/notes");
	refused(&o, REIN_E_USAGE, "git repository around");
}

static void a_symlinked_workspace_is_resolved(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;

	(void)state;
	dir("real/sub");
	assert_int_equal(symlink(at("real"), at("link")), 0);
	o = opts_at("link/sub");
	plan(&o, &v);
	assert_string_equal(v.workspace, at("real/sub"));
	assert_string_equal(v.cwd, at("real/sub")); /* the link is not in the box's own /var/tmp */
	rein_view_done(&v);
	o.cwd = "/usr/../usr/bin"; /* elsewhere the user's own spelling stays */
	o.workspace = at("real");
	plan(&o, &v);
	assert_string_equal(v.cwd, "/usr/../usr/bin");
	rein_view_done(&v);
}

static void git_directories_outside_must_point_back(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;
	char text[2 * PATH_MAX];

	(void)state;
	repo("main/.git");
	dir("main/.git/worktrees/wt");
	dir("wt");
	snprintf(text, sizeof(text), "gitdir: %s\n", at("main/.git/worktrees/wt"));
	file("wt/.git", text);
	file("main/.git/worktrees/wt/commondir", "../..\n");
	snprintf(text, sizeof(text), "%s\n", at("wt/.git"));
	file("main/.git/worktrees/wt/gitdir", text);
	o = opts_at("wt");
	plan(&o, &v);
	assert_int_equal(v.ncow, 2);
	assert_string_equal(v.cow[0].path, at("main/.git"));
	assert_string_equal(v.cow[1].path, at("wt"));
	rein_view_done(&v);

	/* Somebody else's worktree: the pointer back names another place. */
	dir("evil");
	snprintf(text, sizeof(text), "gitdir: %s\n", at("main/.git/worktrees/wt"));
	file("evil/.git", text);
	o = opts_at("evil");
	plan(&o, &v);
	assert_int_equal(v.ncow, 1);
	assert_true(noted(&v, "read-only"));
	rein_view_done(&v);

	/* A submodule checked out alone. */
	repo("super/.git/modules/sub");
	file("super/.git/modules/sub/config",
	     "[core]\n\tbare = false\n\tworktree = ../../../sub\n");
	file("super/sub/.git", "gitdir: ../.git/modules/sub\n");
	o = opts_at("super/sub");
	plan(&o, &v);
	assert_int_equal(v.ncow, 2);
	assert_string_equal(v.cow[0].path, at("super/.git/modules/sub"));
	assert_string_equal(v.cow[1].path, at("super/sub"));
	rein_view_done(&v);

	/* An agent writes a .git file to get at the home directory. */
	dir("home/.ssh");
	snprintf(text, sizeof(text), "gitdir: %s\n", at("home"));
	dir("trap");
	file("trap/.git", text);
	o = opts_at("trap");
	plan(&o, &v);
	assert_int_equal(v.ncow, 1);
	rein_view_done(&v);
}

/* What cannot be read to its end, or at all, is not for the box either. */
static void settings_nobody_could_read_are_hidden(void **state)
{
	static char text[70001];
	struct rein_view v = {0};
	struct rein_view_opts o;

	(void)state;
	dir("proj");
	memset(text, 'x', sizeof(text) - 1);
	file("home/.npmrc", text);
	text[60000] = '\0';
	file("home/.yarnrc", text);
	dir("home/.condarc"); /* opened, and not to be read */
	dir("conf");
	o = opts_at("proj");
	o.config_dir = at("conf");
	plan(&o, &v);
	assert_non_null(rule(&v, at("home/.npmrc")));
	assert_null(rule(&v, at("home/.yarnrc")));
	assert_non_null(rule(&v, at("home/.condarc")));
	assert_int_equal(rule(&v, at("conf"))->access, REIN_PATH_HIDE); /* Rein's own, wherever it is */
	rein_view_done(&v);
}

/* A second mount of the same filesystem shows everything again. */
static void other_mounts_of_what_is_hidden_are_hidden(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;
	char text[4 * PATH_MAX];

	(void)state;
	dir("proj");
	dir("home/.ssh");
	dir("again/.ssh");
	dir("other/.ssh");
	dir("projagain");
	dir("inproj");
	dir("gone");
	dir("proj/sub");
	snprintf(text, sizeof(text),
		 "1 0 8:1 / / rw - ext4 /dev/x rw\n"
		 "2 1 8:1 %s/home %s/again rw - ext4 /dev/x rw\n"
		 "3 1 8:2 %s/home %s/other rw - ext4 /dev/y rw\n"
		 "4 1 8:1 %s/proj %s/projagain rw - ext4 /dev/x rw\n"
		 "5 1 8:1 %s/proj/sub %s/inproj rw - ext4 /dev/x rw\n"
		 "6 1 8:1 %s/home %s/gone rw - ext4 /dev/x rw\n", top, top, top, top, top, top, top, top, top, top);
	file("mounts", text);
	o = opts_at("proj");
	plan(&o, &v);
	assert_non_null(rule(&v, at("home/.ssh")));
	assert_non_null(rule(&v, at("again/.ssh")));
	assert_null(rule(&v, at("other/.ssh"))); /* another filesystem */
	assert_null(rule(&v, at("gone/.ssh")));	 /* it is not there */
	/* a tree with files that its mask hides, as a whole, and so is a part of it */
	assert_non_null(rule(&v, at("projagain")));
	assert_non_null(rule(&v, at("inproj")));
	assert_null(rule(&v, at("proj")));
	rein_view_done(&v);
}

static void the_state_is_not_the_workspaces(void **state)
{
	struct rein_view_opts o;

	(void)state;
	dir("state/proj");
	o = opts_at("state/proj");
	refused(&o, REIN_E_USAGE, "the workspace");
	o = opts_at("home");
	o.state_dir = "state";
	refused(&o, REIN_E_USAGE, "absolute");
	o.state_dir = NULL;
	refused(&o, REIN_E_USAGE, "absolute");
	o = opts_at("mounts");
	refused(&o, REIN_E_USAGE, "not a directory");
}

static void secrets_of_the_home_are_hidden(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;
	const struct rein_path_rule *r;

	(void)state;
	dir("proj");
	dir("home/.ssh");
	dir("elsewhere/aws");
	file("home/.docker/config.json", "{}");
	file("home/.cargo/credentials.toml", "");
	assert_int_equal(symlink(at("elsewhere/aws"), at("home/.aws")), 0);
	file("home/.npmrc", "registry=https://npm.example.org/\n//npm.example.org/:_authToken=x\n");
	file("home/.yarnrc", "registry x\n");
	file("home/.m2/settings.xml", "<server><password>x</password></server>");
	o = opts_at("proj");
	plan(&o, &v);
	assert_int_equal(rule(&v, at("home"))->access, REIN_PATH_RO); /* it lies in /var/tmp */
	r = rule(&v, at("home/.ssh"));
	assert_non_null(r);
	assert_int_equal(r->access, REIN_PATH_HIDE);
	assert_true(r->is_dir);
	r = rule(&v, at("home/.docker/config.json"));
	assert_non_null(r);
	assert_false(r->is_dir);
	assert_non_null(rule(&v, at("home/.cargo/credentials.toml")));
	assert_non_null(rule(&v, at("home/.npmrc"))); /* this one holds a token, that one nothing */
	assert_null(rule(&v, at("home/.yarnrc")));
	assert_non_null(rule(&v, at("home/.m2/settings.xml")));
	assert_non_null(rule(&v, at("elsewhere/aws")));
	assert_null(rule(&v, at("home/.aws"))); /* a link cannot be mounted on */
	assert_non_null(rule(&v, at("state")));
	rein_view_done(&v);

	/* Inside a tree they go to its mask. */
	o.workspace = at("home");
	plan(&o, &v);
	assert_null(rule(&v, at("home/.ssh")));
	assert_true(rein_strlist_has(&v.cow[0].hide, at("home/.ssh")));
	assert_true(rein_strlist_has(&v.cow[0].hide, at("home/.aws")));
	assert_non_null(rule(&v, at("elsewhere/aws")));
	rein_view_done(&v);

	/* Naming one shows it; naming something in it does not. */
	o.workspace = NULL;
	o.ro = (char *[]){(char *)(uintptr_t)at("home/.ssh"), NULL};
	plan(&o, &v);
	assert_int_equal(rule(&v, at("home/.ssh"))->access, REIN_PATH_RO);
	rein_view_done(&v);
	file("home/.ssh/known_hosts", "");
	o.ro = (char *[]){(char *)(uintptr_t)at("home/.ssh/known_hosts"), NULL};
	refused(&o, REIN_E_USAGE, "which is hidden");

	/* A link that would hide the workspace itself. */
	o.ro = NULL;
	assert_int_equal(symlink(at("proj"), at("home/.gnupg")), 0);
	refused(&o, REIN_E_USAGE, "is a link");
}

static void options_are_checked_and_the_specific_one_wins(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;
	char *data, *inner, *sub;

	(void)state;
	dir("proj/sub/deep");
	dir("data/inner/open");
	file("data/file", "x");
	data = rein_strdup(at("data"));
	inner = rein_strdup(at("data/inner"));
	sub = rein_strdup(at("proj/sub"));
	o = opts_at("proj");
	o.rw = (char *[]){(char *)(uintptr_t) "../data", data, sub, NULL};
	o.ro = (char *[]){inner, (char *)(uintptr_t) "sub/deep", NULL};
	plan(&o, &v);
	assert_int_equal(v.ncow, 2);
	assert_string_equal(v.cow[0].path, data);
	assert_string_equal(v.cow[1].path, at("proj"));
	assert_int_equal(rule(&v, inner)->access, REIN_PATH_RO);
	assert_int_equal(rule(&v, at("proj/sub/deep"))->access, REIN_PATH_RO);
	rein_view_done(&v);

	/* writable inside read-only inside writable */
	o.rw = (char *[]){data, (char *)(uintptr_t)at("data/inner/open"), NULL};
	plan(&o, &v);
	assert_int_equal(v.ncow, 3);
	assert_string_equal(v.cow[1].path, at("data/inner/open"));
	rein_view_done(&v);

	o.rw = (char *[]){inner, NULL};
	refused(&o, REIN_E_USAGE, "both");
	o.ro = NULL;
	o.rw = (char *[]){(char *)(uintptr_t)at("data/file"), NULL};
	refused(&o, REIN_E_USAGE, "--rw");
	o.rw = (char *[]){(char *)(uintptr_t) "missing", NULL};
	refused(&o, REIN_E_IO, "--rw 'missing'");
	o.rw = (char *[]){inner, NULL};
	o.hide = (char *[]){data, NULL};
	refused(&o, REIN_E_USAGE, "hidden");
	o.rw = NULL;
	plan(&o, &v);
	assert_int_equal(rule(&v, data)->access, REIN_PATH_HIDE);
	rein_view_done(&v);
	o.hide = (char *[]){sub, NULL};
	plan(&o, &v);
	assert_true(rein_strlist_has(&v.cow[0].hide, sub));
	rein_view_done(&v);
	o.hide = NULL;
	o.scratch = (char *[]){sub, NULL};
	plan(&o, &v);
	assert_int_equal(rule(&v, sub)->access, REIN_PATH_SCRATCH);
	assert_true(rein_starts(rule(&v, sub)->source, at("state/scratch/proj-")));
	rein_view_done(&v);
	o.ro = (char *[]){(char *)(uintptr_t)at("proj/sub/deep"), NULL};
	refused(&o, REIN_E_USAGE, "inside --scratch");
	o.ro = NULL;
	o.scratch = (char *[]){(char *)(uintptr_t) "..", NULL};
	refused(&o, REIN_E_USAGE, "cover the workspace");
	rein_free(data);
	rein_free(inner);
	rein_free(sub);
}

static void mounts_inside_get_an_answer(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;
	char text[4 * PATH_MAX];

	(void)state;
	dir("proj/mnt");
	dir("proj/ro");
	dir("proj/net");
	o = opts_at("proj");
	snprintf(text, sizeof(text),
		 "1 0 8:1 / / rw - ext4 /dev/x rw\n"
		 "2 1 8:2 / %s rw shared:1 - ext4 /dev/y rw\n"
		 "3 1 8:3 / %s ro - squashfs /dev/z rw\n"
		 "4 1 0:9 / %s rw - nfs4 h:/x rw\n",
		 at("proj/mnt"), at("proj/ro"), at("proj/net"));
	file("mounts", text);
	refused(&o, REIN_E_UNSUPPORTED, "run as root");
	o.rootless = false;
	plan(&o, &v);
	assert_int_equal(v.ncow, 2);
	assert_string_equal(v.cow[0].path, at("proj"));
	assert_string_equal(v.cow[1].path, at("proj/mnt"));
	assert_int_equal(rule(&v, at("proj/ro"))->access, REIN_PATH_RO);
	assert_string_equal(rule(&v, at("proj/net"))->source, at("proj/net"));
	assert_true(noted(&v, "network"));
	rein_view_done(&v);

	o.whole_system = true;
	plan(&o, &v);
	assert_true(v.whole_root);
	assert_string_equal(v.cow[0].path, "/");
	assert_int_equal(v.ncow, 4); /* "/" does not show what lies below /var/tmp */
	assert_string_equal(v.cow[1].path, at("home"));
	assert_string_equal(v.cow[2].path, at("proj"));
	assert_string_equal(v.cow[3].path, at("proj/mnt"));
	assert_true(v.cow[0].whole && v.cow[1].whole && !v.cow[2].whole);
	assert_int_equal(rule(&v, at("state"))->access, REIN_PATH_HIDE);
	rein_view_done(&v);
	o.cwd = "/usr/share";
	plan(&o, &v);
	assert_int_equal(v.ncow, 2);
	assert_string_equal(v.workspace, "/usr/share");
	rein_view_done(&v);
}

static void caches_are_scratch_or_go_elsewhere(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;

	(void)state;
	dir("proj");
	dir("home/.npm");
	dir("home/.cargo/registry");
	o = opts_at("proj");
	plan(&o, &v);
	assert_true(rein_strlist_has(&v.env, "XDG_CACHE_HOME=/tmp/.cache"));
	assert_false(rein_strlist_has(&v.env, "npm_config_cache=/tmp/.npm"));
	assert_int_equal(rule(&v, at("home/.npm"))->access, REIN_PATH_SCRATCH);
	assert_int_equal(rule(&v, at("home/.cargo/registry"))->access, REIN_PATH_SCRATCH);
	assert_int_equal(access(rule(&v, at("home/.npm"))->source, W_OK), 0);
	rein_view_done(&v);
	o.offline = true;
	plan(&o, &v);
	assert_null(rule(&v, at("home/.cargo/registry")));
	rein_view_done(&v);
	dir("home/.cache/work"); /* a workspace inside a cache is a workspace */
	o = opts_at("home/.cache/work");
	plan(&o, &v);
	assert_null(rule(&v, at("home/.cache")));
	rein_view_done(&v);
}

static void every_allocation_may_fail(void **state)
{
	struct rein_view v = {0};
	struct rein_view_opts o;
	struct rein_err err = {0};
	unsigned n = 1;

	(void)state;
	repo("proj/.git");
	dir("home/.ssh");
	dir("home/.npm");
	dir("data");
	o = opts_at("proj");
	o.rw = (char *[]){(char *)(uintptr_t)at("data"), NULL};
	for (;; n++) {
		int rc;

		rein_fault_alloc(n);
		rc = rein_view_plan(&o, &v, &err);
		rein_fault_alloc(0);
		if (rc == 0)
			break;
	}
	assert_true(n > 20);
	rein_view_done(&v);
}

static void mount_tables_are_read_exactly(void **state)
{
	static const char text[] =
		"22 1 8:1 / / rw,relatime shared:1 master:2 - ext4 /dev/sda1 rw\n"
		"23 22 0:21 /a\\040b /mnt/sp\\040ace\\011\\134x ro,nosuid - tmpfs  rw,size=4k\n"
		"24 22 0:22 / /\\303\\244 rw - fuse.sshfs me@h:/ rw\n"
		"25 22 0:22 / /x rw - ext4 /dev/b ro,x=1";
	static const char *const bad[] = {
		"1 2 3:4 / /x rw ext4\n",   "x 2 3:4 / /x rw - a b c\n", "\n",
		"1 2 34 / /x rw - a b c\n", "1 2 3:4 / x rw - a b c\n",	 "1 2 3:4 / /x"};
	struct rein_mounts m = {0};
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_mounts_parse(text, strlen(text), &m, &err), 0);
	assert_int_equal(m.n, 4);
	assert_string_equal(m.v[1].root, "/a b");
	assert_string_equal(m.v[1].point, "/mnt/sp ace\t\\x");
	assert_true(m.v[1].ro);
	assert_false(m.v[0].ro);
	assert_string_equal(m.v[2].point, "/\xc3\xa4");
	assert_true(m.v[3].ro);
	assert_int_equal(rein_mounts_kind(m.v[2].fstype), REIN_FS_REMOTE);
	assert_int_equal(rein_mounts_kind("proc"), REIN_FS_PSEUDO);
	assert_int_equal(rein_mounts_kind("btrfs"), REIN_FS_LOCAL);
	rein_mounts_done(&m);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(rein_mounts_parse(bad[i], strlen(bad[i]), &m, &err),
				 -REIN_E_INVALID);
	assert_int_equal(rein_mounts_read(NULL, &m, &err), 0);
	assert_true(m.n > 0);
	rein_mounts_done(&m);
}

static void git_files_are_parsed_strictly(void **state)
{
	struct rein_str s;
	char value[64];

	(void)state;
	assert_true(rein_gitdir_parse_link(STR("gitdir: ../x y\r\n"), &s));
	assert_true(rein_str_eq(s, STR("../x y")));
	assert_false(rein_gitdir_parse_link(STR("gitdir:x\n"), &s));
	assert_false(rein_gitdir_parse_link(STR("gitdir: \n"), &s));
	assert_false(rein_gitdir_parse_link((struct rein_str){"gitdir: a\0b", 11}, &s));
	assert_true(rein_gitdir_parse_worktree(
		STR("[core]\nworktree=a\n[other]\nworktree=b\n[CORE]\n WorkTree = \"c \\\"d\" \n"),
		value, sizeof(value)));
	assert_string_equal(value, "c \"d");
	assert_false(rein_gitdir_parse_worktree(STR("[core \"x\"]\nworktree=a\n"), value,
						sizeof(value)));
	assert_false(
		rein_gitdir_parse_worktree(STR("[core]\nworktree=a;b\n"), value, sizeof(value)));
}

#define IN_TREE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(workspace_is_the_git_root_or_here),
		IN_TREE(home_and_slash_are_too_wide),
		IN_TREE(a_symlinked_workspace_is_resolved),
		IN_TREE(git_directories_outside_must_point_back),
		IN_TREE(secrets_of_the_home_are_hidden),
		IN_TREE(settings_nobody_could_read_are_hidden),
		IN_TREE(other_mounts_of_what_is_hidden_are_hidden),
		IN_TREE(the_state_is_not_the_workspaces),
		IN_TREE(options_are_checked_and_the_specific_one_wins),
		IN_TREE(mounts_inside_get_an_answer),
		IN_TREE(caches_are_scratch_or_go_elsewhere),
		IN_TREE(every_allocation_may_fail),
		cmocka_unit_test(mount_tables_are_read_exactly),
		cmocka_unit_test(git_files_are_parsed_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
