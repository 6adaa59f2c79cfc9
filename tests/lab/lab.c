/* SPDX-License-Identifier: Apache-2.0 */
/* See lab.h. */
#include "lab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((format(printf, 1, 0))) static void complain(const char *fmt, va_list ap, int err)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, ap);
	if (err)
		fprintf(stderr, ": %s", strerror(err));
	fprintf(stderr, "\n");
}

void lab_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap, 0);
	va_end(ap);
	exit(LAB_BROKEN);
}

void lab_die_errno(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap, err);
	va_end(ap);
	exit(LAB_BROKEN);
}

void *lab_alloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p)
		lab_die("out of memory");
	return p;
}

void *lab_resize(void *p, size_t n)
{
	p = realloc(p, n ? n : 1);
	if (!p)
		lab_die("out of memory");
	return p;
}

char *lab_strdup(const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(lab_alloc(n), s, n);
}

char *lab_format(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		lab_die("out of memory");
	va_end(ap);
	return s;
}

void lab_text_add(struct lab_text *t, const void *p, size_t n)
{
	if (t->n + n + 1 > t->cap) {
		t->cap = 2 * (t->n + n + 1);
		t->p = lab_resize(t->p, t->cap);
	}
	if (n)
		memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = '\0';
}

void lab_text_printf(struct lab_text *t, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		lab_die("out of memory");
	lab_text_add(t, s, (size_t)n);
	free(s);
}

void lab_text_word(struct lab_text *t, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || (c && strchr("/._-+=,:", c));

		if (plain)
			lab_text_add(t, p + i, 1);
		else
			lab_text_printf(t, "%%%02X", c);
	}
	if (n == 0)
		lab_text_add(t, "%", 1);
}

void lab_text_done(struct lab_text *t)
{
	free(t->p);
	*t = (struct lab_text){0};
}

/* splitmix64: small, and its outputs are well spread even for seeds 1, 2, 3 … */
uint64_t lab_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

uint64_t lab_rand(struct lab_rng *r)
{
	uint64_t v = lab_mix(r->s);

	r->s += 0x9e3779b97f4a7c15;
	return v;
}

uint64_t lab_below(struct lab_rng *r, uint64_t n)
{
	return lab_rand(r) % n;
}

bool lab_chance(struct lab_rng *r, unsigned percent)
{
	return lab_below(r, 100) < percent;
}

void lab_become(const struct lab_who *who)
{
	if (!who || !who->drop)
		return;
	if (setgroups(0, NULL) < 0 || setresgid(who->gid, who->gid, who->gid) < 0 ||
	    setresuid(who->uid, who->uid, who->uid) < 0)
		lab_die_errno("become uid %u", who->uid);
}

void lab_keep_caps(uint64_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	for (int cap = 0; cap <= 63; cap++) {
		if (caps >> cap & 1)
			continue;
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			lab_die_errno("drop capability %d", cap);
	}
	for (int i = 0; i < 2; i++) {
		uint32_t word = (uint32_t)(caps >> (32 * i));

		data[i] = (struct __user_cap_data_struct){
			.effective = word, .permitted = word, .inheritable = 0};
	}
	if (syscall(SYS_capset, &head, data) < 0)
		lab_die_errno("capset");
}

char *lab_tmpdir(const char *name, const struct lab_who *who)
{
	const char *top = getenv("TMPDIR");
	char *path;

	path = lab_format("%s/rein-%s.XXXXXX", top && *top == '/' ? top : "/tmp", name);
	if (!mkdtemp(path))
		lab_die_errno("make a temporary directory '%s'", path);
	if (chmod(path, 0755) < 0)
		lab_die_errno("chmod '%s'", path);
	if (who && who->drop && chown(path, who->uid, who->gid) < 0)
		lab_die_errno("chown '%s'", path);
	return path;
}

void lab_mkdir(const char *path, const struct lab_who *who)
{
	if (mkdir(path, 0755) < 0 || chmod(path, 0755) < 0)
		lab_die_errno("mkdir '%s'", path);
	if (who && who->drop && chown(path, who->uid, who->gid) < 0)
		lab_die_errno("chown '%s'", path);
}

static int remove_at(int dirfd, const char *name)
{
	struct dirent *d;
	DIR *dir;
	int fd, rc = 0;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM && errno != EACCES)
		return -1;
	/* An ordinary user's own directory may be unreadable to him: he may change that. */
	fchmodat(dirfd, name, 0700, 0);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -1;
	}
	while (rc == 0 && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			rc = remove_at(fd, d->d_name);
	closedir(dir);
	return rc < 0 ? rc : unlinkat(dirfd, name, AT_REMOVEDIR);
}

void lab_remove(const char *path)
{
	if (remove_at(AT_FDCWD, path) < 0)
		lab_die_errno("remove '%s'", path);
}

static char *stage_dir;
static pid_t stage_owner;

static void stage_remove(void)
{
	if (stage_dir && getpid() == stage_owner)
		remove_at(AT_FDCWD, stage_dir);
}

static bool can_execute(const char *path, const struct lab_who *who)
{
	pid_t pid = fork();
	int st;

	if (pid < 0)
		lab_die_errno("fork");
	if (pid == 0) {
		lab_become(who);
		_exit(faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0);
	}
	if (waitpid(pid, &st, 0) < 0)
		lab_die_errno("waitpid");
	return WIFEXITED(st) && WEXITSTATUS(st) == 0;
}

static void copy_file(int from_dir, const char *name, const char *to)
{
	char buf[65536], *path = lab_format("%s/%s", to, name);
	int in = openat(from_dir, name, O_RDONLY | O_CLOEXEC),
	    out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ssize_t n;

	if (in < 0 || (out < 0 && errno != EEXIST))
		lab_die_errno("copy '%s' to '%s'", name, to);
	while (out >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			lab_die_errno("write '%s'", path);
	if (out >= 0 && (fchmod(out, 0755) < 0 || close(out) < 0))
		lab_die_errno("write '%s'", path);
	close(in);
	free(path);
}

/* A directory a box sees and everybody may enter: not /tmp or /var/tmp, a box has its own. */
static void make_stage(void)
{
	const char *bases[] = {getenv("REIN_TEST_BASE"), "/srv", "/var/lib", "/opt", getenv("HOME")};

	for (size_t i = 0; i < lab_array_size(bases) && !stage_dir; i++) {
		char *dir;

		if (!bases[i] || bases[i][0] != '/')
			continue;
		dir = lab_format("%s/rein-stage.XXXXXX", bases[i]);
		if (mkdtemp(dir) && chmod(dir, 0755) == 0)
			stage_dir = dir;
		else
			free(dir);
	}
	if (!stage_dir)
		lab_die_errno("no place for programs that a box can see: set REIN_TEST_BASE");
	stage_owner = getpid();
	atexit(stage_remove);
}

static bool box_has_its_own(const char *path)
{
	return !strncmp(path, "/tmp/", 5) || !strncmp(path, "/var/tmp/", 9);
}

char *lab_stage(char *path, const struct lab_who *who)
{
	const char *name = strrchr(path, '/') + 1;
	char *from = strndup(path, (size_t)(name - path));
	struct dirent *d;
	struct stat st;
	DIR *dir;

	if (!box_has_its_own(path) && (!who->drop || can_execute(path, who))) {
		free(from);
		return path;
	}
	if (!stage_dir)
		make_stage();
	dir = opendir(from);
	while (dir && (d = readdir(dir)))
		if (!strncmp(d->d_name, name, strlen(name)) &&
		    fstatat(dirfd(dir), d->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) &&
		    (st.st_mode & 0100))
			copy_file(dirfd(dir), d->d_name, stage_dir);
	if (dir)
		closedir(dir);
	free(from);
	from = lab_format("%s/%s", stage_dir, name);
	free(path);
	return from;
}

bool lab_full(void)
{
	const char *s = getenv("REIN_FULL");

	return s && *s && strcmp(s, "0");
}

int lab_memfd(const void *p, size_t n)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0)
		lab_die_errno("memfd");
	if (n && write(fd, p, n) != (ssize_t)n)
		lab_die_errno("write to a memfd");
	if (lseek(fd, 0, SEEK_SET) < 0)
		lab_die_errno("lseek");
	return fd;
}

static char **environment(const struct lab_cmd *c)
{
	/* Sanitizer builds are tested too: their leak checker cannot work under a tracer. */
	static const char *const kept[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"};
	char **env = NULL;
	size_t n = 0;

	lab_push(env, n,
		 lab_strdup("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
	lab_push(env, n, lab_strdup("LC_ALL=C.UTF-8"));
	for (size_t i = 0; i < lab_array_size(kept); i++)
		if (getenv(kept[i]))
			lab_push(env, n, lab_format("%s=%s", kept[i], getenv(kept[i])));
	for (size_t i = 0; c->env && c->env[i]; i++)
		lab_push(env, n, lab_strdup(c->env[i]));
	lab_push(env, n, NULL);
	return env;
}

void lab_exec(const struct lab_cmd *c, int in, int out, int err)
{
	char **env = environment(c);

	if (in < 0)
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		lab_die_errno("dup2");
	lab_become(c->who);
	if (c->cwd && chdir(c->cwd) < 0)
		lab_die_errno("chdir '%s'", c->cwd);
	umask(022);
	signal(SIGPIPE, SIG_DFL);
	execvpe(c->argv[0], (char *const *)c->argv, env);
	fprintf(stderr, "cannot execute %s: %s\n", c->argv[0], strerror(errno));
	_exit(LAB_BROKEN);
}

double lab_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct timespec lab_filetime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return t;
}

/* Read once; true while the pipe is open. */
static bool drain(int fd, struct lab_text *t)
{
	char buf[16384];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0)
		return false;
	lab_text_add(t, buf, (size_t)n);
	return true;
}

bool lab_collect(int out, int err, struct lab_result *r, double deadline)
{
	struct pollfd p[2] = {{.fd = out, .events = POLLIN}, {.fd = err, .events = POLLIN}};

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		double left = deadline - lab_now();

		if (left <= 0)
			return false;
		if (poll(p, 2, (int)(left * 1000) + 1) < 0 && errno != EINTR)
			lab_die_errno("poll");
		if (p[0].fd >= 0 && p[0].revents && !drain(out, &r->out))
			p[0].fd = -1;
		if (p[1].fd >= 0 && p[1].revents && !drain(err, &r->err))
			p[1].fd = -1;
	}
	return true;
}

void lab_run(const struct lab_cmd *c, struct lab_result *ret)
{
	double start = lab_now(), deadline = start + (c->timeout_s ? c->timeout_s : 60);
	int out[2], err[2], in = c->in ? lab_memfd(c->in, c->in_n) : -1, st;
	bool ended;
	pid_t pid;

	*ret = (struct lab_result){0};
	lab_text_add(&ret->out, "", 0);
	lab_text_add(&ret->err, "", 0);
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		lab_die_errno("pipe");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		lab_die_errno("fork");
	if (pid == 0)
		lab_exec(c, in, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	if (in >= 0)
		close(in);
	ended = lab_collect(out[0], err[0], ret, deadline);
	if (!ended)
		kill(pid, SIGKILL);
	close(out[0]);
	close(err[0]);
	while (waitpid(pid, &st, 0) < 0)
		if (errno != EINTR)
			lab_die_errno("waitpid");
	ret->status = !ended ? -1 : WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	ret->seconds = lab_now() - start;
}

void lab_result_done(struct lab_result *r)
{
	lab_text_done(&r->out);
	lab_text_done(&r->err);
}

uint64_t lab_number(const char *s, const char *what)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = s ? strtoull(s, &end, 0) : 0;
	if (!s || !*s || *end || errno || *s == '-')
		lab_die("%s needs a number, not '%s'", what, s ? s : "");
	return v;
}
