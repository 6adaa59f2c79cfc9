/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what is hidden, by every name it could have. All of it contains the word SECRET. */
#include "escape.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const struct {
	size_t dir;
	const char *name;
} hidden[] = {
	{offsetof(struct scene, home), ".ssh/id_rsa"},
	{offsetof(struct scene, home), ".aws/credentials"},
	{offsetof(struct scene, home), ".netrc"},
	{offsetof(struct scene, home), ".docker/config.json"},
	{offsetof(struct scene, home), ".config/rein/policy"},
	{offsetof(struct scene, ws), ".env"},
	{offsetof(struct scene, ws), "sub/.env.local"},
	{offsetof(struct scene, ws), "conf/tls.key"},
	{offsetof(struct scene, ws), "conf/tls.pem"},
	{offsetof(struct scene, ws), "secrets/token"},
	{offsetof(struct scene, ws), "deep/a/b/secrets/c/token"},
	{offsetof(struct scene, ws), "asked-to-hide"},
};

#define EACH(p)                                                                                    \
	for (size_t i_ = 0; i_ < sizeof(hidden) / sizeof(hidden[0]); i_++)                         \
		if ((p = in((const char *)&scene + hidden[i_].dir, hidden[i_].name)))

static verdict by_path(void)
{
	const char *p;

	EACH(p)
		TRY(no_secret_in(p));
	return NULL;
}

static verdict is_not_there(void)
{
	const char *p;
	struct stat st;

	EACH(p)
		if (stat(p, &st) == 0 && st.st_size > 0)
			return bad("%s is there, %lld bytes", p, (long long)st.st_size);
	return NULL;
}

static verdict by_proc_root(void)
{
	static const char *const roots[] = {"/proc/self/root", "/proc/thread-self/root", "/proc/2/root",
					    "/proc/self/task/../root", "/proc/self/cwd/../../../../../../.."};
	const char *p;

	EACH(p)
		for (size_t r = 0; r < sizeof(roots) / sizeof(roots[0]); r++)
			TRY(no_secret_in(in(roots[r], p + 1)));
	return NULL;
}

static verdict by_directory(void)
{
	const char *p;

	EACH(p) {
		char dir[PATH_MAX];
		char *slash;
		int d, fd;

		snprintf(dir, sizeof(dir), "%s", p);
		slash = strrchr(dir, '/');
		*slash = 0;
		d = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (d < 0)
			continue;
		fd = openat(d, slash + 1, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			TRY(no_secret_from(fd, p));
		fd = openat(d, slash + 1, O_PATH | O_CLOEXEC);
		if (fd >= 0) {
			char link[64];

			snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
			TRY(no_secret_in(link));
			close(fd);
		}
		close(d);
	}
	return NULL;
}

static verdict by_old_links(void)
{
	TRY(no_secret_in(in(scene.ws, "link-to-env")));
	TRY(no_secret_in(in(scene.ws, "link-to-ssh/id_rsa")));
	TRY(no_secret_in(in(scene.outside, "link-to-env")));
	return no_secret_in(in(scene.base, "link-to-ws/.env"));
}

static verdict by_old_hard_link(void)
{
	return no_secret_in(in(scene.ws, "innocent-name"));
}

static verdict by_bind(void)
{
	TRY(no_secret_in(in(scene.base, "bind/.env")));
	TRY(no_secret_in(in(scene.base, "bind/sub/.env.local")));
	return no_secret_in(in(scene.base, "bind-home/.ssh/id_rsa"));
}

static verdict by_new_links(void)
{
	const char *p;

	EACH(p) {
		unlink(in(scene.ws, "alias"));
		if (link(p, in(scene.ws, "alias")) == 0)
			TRY(no_secret_in(in(scene.ws, "alias")));
		unlink(in("/tmp", "alias"));
		if (symlink(p, in("/tmp", "alias")) == 0)
			TRY(no_secret_in(in("/tmp", "alias")));
	}
	return NULL;
}

static verdict by_rename(void)
{
	if (rename(in(scene.ws, "sub"), in(scene.ws, "sub2")) == 0) {
		TRY(no_secret_in(in(scene.ws, "sub2/.env.local")));
		rename(in(scene.ws, "sub2"), in(scene.ws, "sub"));
	}
	if (rename(in(scene.ws, "conf"), in(scene.ws, "conf2")) == 0) {
		TRY(no_secret_in(in(scene.ws, "conf2/tls.key")));
		rename(in(scene.ws, "conf2"), in(scene.ws, "conf"));
	}
	if (rename(in(scene.ws, ".env"), in(scene.ws, "env")) == 0)
		TRY(no_secret_in(in(scene.ws, "env")));
	return NULL;
}

/* An open directory from before something was done to it. */
static verdict by_removed_parent(void)
{
	int d = open(in(scene.ws, "deep/a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	if (d < 0)
		return NULL;
	rename(in(scene.ws, "deep/a"), in(scene.ws, "deep/z"));
	fd = openat(d, "b/secrets/c/token", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		TRY(no_secret_from(fd, "a moved directory"));
	rename(in(scene.ws, "deep/z"), in(scene.ws, "deep/a"));
	return NULL;
}

static verdict listed(const char *dir, const char *name)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	verdict v = NULL;

	if (!d)
		return NULL;
	while (!v && (e = readdir(d)))
		if (strcmp(e->d_name, name) == 0)
			v = bad("%s is listed in %s", name, dir);
	closedir(d);
	return v;
}

static verdict by_listing(void)
{
	TRY(listed(scene.ws, ".env"));
	TRY(listed(scene.ws, "asked-to-hide"));
	TRY(listed(in(scene.ws, "sub"), ".env.local"));
	TRY(listed(in(scene.ws, "conf"), "tls.key"));
	TRY(listed(in(scene.ws, "secrets"), "token"));
	TRY(listed(in(scene.home, ".ssh"), "id_rsa"));
	return listed(in(scene.home, ".aws"), "credentials");
}

static verdict by_other_calls(void)
{
	const char *p;
	char text[256];

	EACH(p) {
		int fd = open(p, O_RDONLY | O_CLOEXEC), to = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

		if (getxattr(p, "user.secret", text, sizeof(text)) > 0)
			return bad("read an attribute of %s", p);
		if (fd >= 0 && to >= 0 && sendfile(to, fd, NULL, 4096) > 0) {
			lseek(to, 0, SEEK_SET);
			TRY(no_secret_from(to, "sendfile"));
		}
		if (fd >= 0 && to >= 0 && copy_file_range(fd, &(off_t){0}, to, &(off_t){0}, 4096, 0) > 0) {
			lseek(to, 0, SEEK_SET);
			TRY(no_secret_from(to, "copy_file_range"));
		}
		if (fd >= 0) {
			void *m = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
			struct stat st;

			if (m != MAP_FAILED && fstat(fd, &st) == 0 && st.st_size > 0 && memmem(m, (size_t)(st.st_size < 4096 ? st.st_size : 4096), "SECRET", 6))
				return bad("mapped %s", p);
			close(fd);
		}
		if (to >= 0)
			close(to);
	}
	return NULL;
}

static verdict by_command(const char *const argv[])
{
	char text[65536], *found;
	int ends[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return bad("pipe");
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
		if (chdir(scene.ws) < 0)
			_exit(1);
		execvp(argv[0], (char *const *)(intptr_t)argv);
		_exit(127);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + n, sizeof(text) - n)) > 0)
		n += (size_t)got;
	close(ends[0]);
	waitpid(pid, &status, 0);
	text[n < sizeof(text) ? n : n - 1] = 0;
	found = memmem(text, n, "SECRET", 6);
	return found ? bad("%s showed: %.80s", argv[0], found) : NULL;
}

static verdict by_search(void)
{
	const char *const grep[] = {"grep", "-ra", "--exclude=innocent-name", "--exclude=capped", "--exclude=suid", "SECRET ", scene.ws, scene.home, NULL};
	const char *const git[] = {"git", "grep", "--untracked", "--no-exclude-standard", "SECRET ", "--", ":!innocent-name", NULL};
	const char *const tar[] = {"tar", "cf", "-", "--exclude=innocent-name", "--exclude=capped", "--exclude=suid", scene.ws, NULL};
	const char *const diff[] = {"git", "-c", "safe.directory=*", "diff", "--no-index", "/dev/null", ".env", NULL};

	TRY(by_command(grep));
	TRY(by_command(git));
	TRY(by_command(diff));
	return by_command(tar);
}

/* Creating the same name is allowed, and must not bring the old content back. */
static verdict by_creating(void)
{
	int fd = open(in(scene.ws, "sub/.env.local"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return bad("cannot create a file of that name: %s", strerror(errno));
	TRY(no_secret_from(fd, "a newly made file"));
	close(fd);
	return unlink(in(scene.ws, "sub/.env.local")) < 0 ? bad("unlink: %s", strerror(errno)) : NULL;
}

/* Below the directory that hides: the mount is the box's, what it covers is not reachable. */
static verdict beneath_the_cover(void)
{
	const char *const dirs[] = {in(scene.home, ".ssh"), in(scene.home, ".aws"), scene.state};

	for (size_t i = 0; i < 3; i++) {
		int d = open(dirs[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		int up = openat(d, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (up >= 0) {
			int fd = openat(up, ".ssh/id_rsa", O_RDONLY | O_CLOEXEC);

			if (fd >= 0)
				TRY(no_secret_from(fd, ".. of a hidden directory"));
		}
	}
	return NULL;
}

static verdict in_environment(void)
{
	TRY(no_secret_in("/proc/self/environ"));
	TRY(no_secret_in("/proc/1/environ"));
	TRY(no_secret_in("/proc/1/cmdline"));
	return no_secret_in("/proc/2/environ");
}

static verdict in_kernel_logs(void)
{
	static const char *const names[] = {"/proc/kcore", "/proc/kmsg", "/proc/kpagecount", "/proc/kpageflags",
					    "/proc/vmcore", "/sys/kernel/debug", "/sys/kernel/tracing/trace"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd = open(names[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		char c[4];

		if (fd >= 0 && read(fd, c, 4) > 0)
			return bad("%s can be read", names[i]);
	}
	return NULL;
}

static verdict shadow_file(void)
{
	int fd = open("/etc/shadow", O_RDONLY | O_CLOEXEC);
	char c;

	return fd >= 0 && read(fd, &c, 1) > 0 ? bad("/etc/shadow can be read") : NULL;
}

const struct attempt hidden_attempts[] = {
	{"hidden files by their path", by_path, 0, 0},
	{"hidden files are not there", is_not_there, 0, 0},
	{"hidden files through /proc/*/root and cwd", by_proc_root, 0, 0},
	{"hidden files through directory descriptors", by_directory, 0, 0},
	{"hidden files through old symbolic links", by_old_links, 0, 0},
	{"hidden files through an old hard link", by_old_hard_link, 0, 0},
	{"hidden files through bind mounts outside", by_bind, 0, 0},
	{"hidden files through new links", by_new_links, 0, 0},
	{"hidden files after renaming their directory", by_rename, 0, 0},
	{"hidden files through a moved directory", by_removed_parent, 0, 0},
	{"hidden files in listings", by_listing, 0, 0},
	{"hidden files by other calls", by_other_calls, 0, 0},
	{"hidden files by grep, git and tar", by_search, 0, 0},
	{"hidden files by creating them anew", by_creating, 0, BOX_READER},
	{"hidden files beneath the cover", beneath_the_cover, 0, 0},
	{"secrets in environments", in_environment, 0, 0},
	{"secrets in kernel memory and logs", in_kernel_logs, 0, 0},
	{"the password file", shadow_file, 0, BOX_WHOLE}, /* there packages that add users must work */
	{0},
};
