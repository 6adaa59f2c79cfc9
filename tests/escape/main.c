/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the scene, makes every attempt in a process of its own, prints TAP. */
#include "escape.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene scene;
static char verdict_text[1024];

verdict bad(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(verdict_text, sizeof(verdict_text), fmt, ap);
	va_end(ap);
	return verdict_text;
}

verdict skip(const char *fmt, ...)
{
	va_list ap;

	memcpy(verdict_text, "skip: ", 6);
	va_start(ap, fmt);
	vsnprintf(verdict_text + 6, sizeof(verdict_text) - 6, fmt, ap);
	va_end(ap);
	return verdict_text;
}

verdict refused(long rc, const char *what, ...)
{
	int got = errno;
	char want[128] = "";
	va_list ap;
	const void *e;

	if (rc != -1)
		return bad("%s succeeded (%ld)", what, rc);
	va_start(ap, what);
	while ((e = va_arg(ap, const void *))) {
		size_t n = strlen(want);

		if (got == (int)(long)e) {
			va_end(ap);
			return NULL;
		}
		snprintf(want + n, sizeof(want) - n, " %s", strerrorname_np((int)(long)e));
	}
	va_end(ap);
	return bad("%s: %s, expected%s", what, strerrorname_np(got), want);
}

const char *in(const char *dir, const char *name)
{
	static char paths[8][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return path;
}

verdict no_secret_from(int fd, const char *what)
{
	char text[4096];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return NULL;
	text[n] = 0;
	return memmem(text, (size_t)n, "SECRET", 6) ? bad("read the secret through %s", what) : NULL;
}

verdict no_secret_in(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	verdict v;

	if (fd < 0)
		return NULL;
	v = no_secret_from(fd, path);
	close(fd);
	return v;
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

int in_child(int (*fn)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const struct {
	const char *word;
	unsigned bit;
} kinds[] = {{"root", BOX_ROOT},	   {"whole", BOX_WHOLE}, {"nethost", BOX_NET_HOST},
	     {"nested", BOX_NESTED}, {"caps", BOX_CAPS},	 {"tty", BOX_TTY},
	     {"gvisor", BOX_GVISOR}, {"reader", BOX_READER}};

static void read_scene(const char *base, const char *words)
{
	static const struct {
		const char *name;
		size_t offset;
	} dirs[] = {{"ws", offsetof(struct scene, ws)},
		    {"outside", offsetof(struct scene, outside)},
		    {"home", offsetof(struct scene, home)},
		    {"state", offsetof(struct scene, state)},
		    {"run", offsetof(struct scene, run)},
		    {"bin", offsetof(struct scene, bin)}};
	FILE *f = fopen(in(base, "scene"), "re");

	snprintf(scene.base, sizeof(scene.base), "%s", base);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		snprintf((char *)&scene + dirs[i].offset, 300, "%s/%s", base, dirs[i].name);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(words, kinds[i].word))
			scene.box |= kinds[i].bit;
	if (!f || fscanf(f, "%63s %d %d %d", scene.tag, &scene.victim, &scene.tcp, &scene.udp) != 4) {
		printf("Bail out! no scene in %s\n", base);
		exit(1);
	}
	fclose(f);
}

static void make_one(const struct attempt *a, int to)
{
	verdict v;

	alarm(60); /* one that hangs; three hundred forks in gVisor take 20 s beside other work */
	errno = 0;
	v = a->make();
	if (v && write(to, v, strlen(v)) < 0)
		_exit(2);
	_exit(0);
}

static const struct emulated *emulation(const char *name)
{
	for (const struct emulated *e = gvisor_emulates; scene.box & BOX_GVISOR && e->name; e++)
		if (strcmp(e->name, name) == 0)
			return e;
	return NULL;
}

static bool report(int number, const char *name, const char *text, int status)
{
	bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text[0];
	const struct emulated *e = emulation(name);

	if (e && !ok) {
		/* tried, and harmless there; whether the host was reached the driver looks at afterwards */
		printf("ok %d - %s\n# %s, in gVisor: %s\n", number, name, text[0] ? text : name, e->why);
		return true;
	}

	if (strncmp(text, "skip: ", 6) == 0) {
		printf("ok %d - %s # SKIP %s\n", number, name, text + 6);
		return true;
	}
	printf("%s %d - %s\n", ok ? "ok" : "not ok", number, name);
	if (text[0])
		printf("# %s: %s\n", name, text);
	if (WIFSIGNALED(status))
		printf("# %s: ended by signal %d\n", name, WTERMSIG(status));
	return ok;
}

static bool attempt(int number, const struct attempt *a)
{
	int ends[2], status = 0;
	char text[1024];
	ssize_t n = 0, got;
	pid_t pid;

	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return report(number, a->name, "cannot fork", 0);
	if (pid == 0)
		make_one(a, ends[1]);
	close(ends[1]);
	while ((got = read(ends[0], text + n, sizeof(text) - 1 - (size_t)n)) > 0)
		n += got;
	text[n] = 0;
	close(ends[0]);
	waitpid(pid, &status, 0);
	return report(number, a->name, text, status);
}

static int box_main(const char *base, const char *words, const char *only)
{
	const struct attempt *groups[] = {process_attempts, mount_attempts, file_attempts,
					  hidden_attempts, socket_attempts, kernel_attempts,
					  terminal_attempts, nested_attempts, last_attempts};
	int number = 0, failed = 0;

	read_scene(base, words);
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (const struct attempt *a = groups[g]; a->name; a++) {
			if ((a->only && !(a->only & scene.box)) || (a->never & scene.box))
				continue;
			if (only && strcmp(only, a->name) != 0)
				continue;
			if (emulation(a->name) && emulation(a->name)->not_tried) {
				printf("ok %d - %s # SKIP %s\n", ++number, a->name, emulation(a->name)->why);
				continue;
			}
			failed += !attempt(++number, a);
		}
	printf("1..%d\n", number);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && strcmp(argv[1], "box") == 0)
		return box_main(argv[2], argv[3], argc > 4 ? argv[4] : NULL);
	if (argc >= 3 && strcmp(argv[1], "victim") == 0)
		return victim_main(argc - 2, argv + 2);
	if (argc >= 3 && strcmp(argv[1], "terminal") == 0)
		return terminal_main(argc - 2, argv + 2);
	if (argc >= 3 && strcmp(argv[1], "watch") == 0)
		return watch_main(argc - 2, argv + 2);
	if (argc == 5 && strcmp(argv[1], "swap") == 0)
		return swap_main(argc - 2, argv + 2);
	if (argc == 2 && strcmp(argv[1], "whoami") == 0) { /* for set-user-id copies of this */
		char status[4096] = "";
		int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
		const char *caps;

		if (fd < 0 || read(fd, status, sizeof(status) - 1) < 0)
			return 1;
		caps = strstr(status, "CapEff:\t");
		printf("%d %d %.16s\n", (int)geteuid(), (int)getegid(), caps ? caps + 8 : "?");
		return 0;
	}
	fprintf(stderr, "usage: escape box|victim|terminal|watch|whoami ...\n");
	return 2;
}
