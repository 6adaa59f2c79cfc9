/* SPDX-License-Identifier: Apache-2.0 */
/* Typing into, or taking, any terminal that can be reached. */
#include "escape.h"

#include <dirent.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static verdict on_terminal(int fd)
{
	char c = '#', sub = 3;
	int discipline = 15;

	TRY(REFUSED(ioctl(fd, TIOCSTI, &c), E(EPERM), E(EIO), E(ENOTTY)));
	TRY(REFUSED(syscall(SYS_ioctl, fd, TIOCSTI | (1ul << 32), &c), E(EPERM), E(EIO), E(ENOTTY)));
	TRY(REFUSED(ioctl(fd, TIOCLINUX, &sub), E(EPERM), E(ENOTTY)));
	TRY(REFUSED(ioctl(fd, TIOCSETD, &discipline), E(EPERM), E(ENOTTY)));
	return REFUSED(ioctl(fd, TIOCCONS, 0), E(EPERM), E(ENOTTY), E(EINVAL), E(EBUSY), E(EACCES));
}

static verdict standard(void)
{
	for (int fd = 0; fd < 3; fd++)
		TRY(on_terminal(fd));
	return NULL;
}

static verdict controlling(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return scene.box & BOX_TTY ? bad("/dev/tty: %s", strerror(errno))
					   : REFUSED(fd, E(ENXIO), E(ENOENT));
	return on_terminal(fd);
}

static verdict all_in_dev(void)
{
	static const char *const dirs[] = {"/dev", "/dev/pts"};
	int seen = 0;

	for (size_t i = 0; i < 2; i++) {
		DIR *d = opendir(dirs[i]);
		struct dirent *e;

		while (d && (e = readdir(d))) {
			int fd;

			if (e->d_name[0] == '.' || strcmp(e->d_name, "ptmx") == 0)
				continue;
			fd = open(in(dirs[i], e->d_name), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
			if (fd < 0)
				continue;
			TRY(on_terminal(fd));
			seen += i == 1;
			close(fd);
		}
		if (d)
			closedir(d);
	}
	/* its own at most */
	return seen <= !!(scene.box & BOX_TTY) ? NULL : bad("%d terminals are visible", seen);
}

static int steal(void *arg)
{
	int fd = *(int *)arg;

	if (setsid() < 0)
		return 2;
	return ioctl(fd, TIOCSCTTY, 1) == 0;
}

/* Stealing its own terminal is nobody's harm; the one outside must not be among the descriptors. */
static verdict take_terminal(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (in_child(steal, &fd) == 1)
			return bad("descriptor %d became a controlling terminal", fd);
	return NULL;
}

/* The same calls on a terminal one made oneself are refused as well: the filter looks at nothing else. */
static verdict own_terminal(void)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) < 0)
		return bad("no pseudo terminal of one's own: %s", strerror(errno));
	return on_terminal(slave);
}

static verdict tty_of_outside(void)
{
	struct stat st;

	for (int fd = 0; fd < 3; fd++) {
		char name[64] = "";

		if (!isatty(fd))
			continue;
		if (ttyname_r(fd, name, sizeof(name)) != 0)
			return bad("descriptor %d is a terminal without a name here", fd);
		if (stat(name, &st) < 0)
			return bad("%s: %s", name, strerror(errno));
	}
	return NULL;
}

const struct attempt terminal_attempts[] = {
	{"typing into the standard descriptors", standard, 0, 0},
	{"typing into the controlling terminal", controlling, 0, 0},
	{"typing into every terminal in /dev", all_in_dev, 0, 0},
	{"taking the terminal", take_terminal, 0, BOX_TTY},
	{"a terminal of one's own", own_terminal, 0, 0},
	{"no terminal from outside", tty_of_outside, 0, 0},
	{0},
};
