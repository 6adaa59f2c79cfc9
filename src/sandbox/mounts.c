/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mountinfo, proc(5): "36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/root rw". Lines come
 * from the kernel but name what other people mounted, so nothing in them is trusted: a line that
 * does not parse is an error, never skipped, because a mount we overlook would be lost in the box.
 */
#include "sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>

#include "base/auto.h"
#include "base/buf.h"

#define MOUNTINFO_MAX (64u << 20)

static const struct {
	const char *name;
	enum rein_fskind kind;
} kinds[] = {
	{"autofs", REIN_FS_PSEUDO},	{"bdev", REIN_FS_PSEUDO},
	{"binder", REIN_FS_PSEUDO},	{"binfmt_misc", REIN_FS_PSEUDO},
	{"bpf", REIN_FS_PSEUDO},	{"cgroup", REIN_FS_PSEUDO},
	{"cgroup2", REIN_FS_PSEUDO},	{"configfs", REIN_FS_PSEUDO},
	{"debugfs", REIN_FS_PSEUDO},	{"devpts", REIN_FS_PSEUDO},
	{"devtmpfs", REIN_FS_PSEUDO},	{"efivarfs", REIN_FS_PSEUDO},
	{"fusectl", REIN_FS_PSEUDO},	{"hugetlbfs", REIN_FS_PSEUDO},
	{"mqueue", REIN_FS_PSEUDO},	{"nsfs", REIN_FS_PSEUDO},
	{"nfsd", REIN_FS_PSEUDO},	{"proc", REIN_FS_PSEUDO},
	{"pstore", REIN_FS_PSEUDO},	{"resctrl", REIN_FS_PSEUDO},
	{"rpc_pipefs", REIN_FS_PSEUDO}, {"securityfs", REIN_FS_PSEUDO},
	{"selinuxfs", REIN_FS_PSEUDO},	{"smackfs", REIN_FS_PSEUDO},
	{"sysfs", REIN_FS_PSEUDO},	{"tracefs", REIN_FS_PSEUDO},
	{"9p", REIN_FS_REMOTE},		{"afs", REIN_FS_REMOTE},
	{"ceph", REIN_FS_REMOTE},	{"cifs", REIN_FS_REMOTE},
	{"coda", REIN_FS_REMOTE},	{"gfs2", REIN_FS_REMOTE},
	{"gpfs", REIN_FS_REMOTE},	{"lustre", REIN_FS_REMOTE},
	{"nfs", REIN_FS_REMOTE},	{"nfs4", REIN_FS_REMOTE},
	{"ocfs2", REIN_FS_REMOTE},	{"orangefs", REIN_FS_REMOTE},
	{"smb3", REIN_FS_REMOTE},	{"virtiofs", REIN_FS_REMOTE},
	{"vboxsf", REIN_FS_REMOTE},	{"fuse", REIN_FS_REMOTE},
	{"fuseblk", REIN_FS_REMOTE},	{"adfs", REIN_FS_POOR},
	{"exfat", REIN_FS_POOR},	{"hfs", REIN_FS_POOR},
	{"hfsplus", REIN_FS_POOR},	{"iso9660", REIN_FS_POOR},
	{"minix", REIN_FS_POOR},	{"msdos", REIN_FS_POOR},
	{"ntfs", REIN_FS_POOR},		{"ntfs3", REIN_FS_POOR},
	{"udf", REIN_FS_POOR},		{"vfat", REIN_FS_POOR},
};

enum rein_fskind rein_mounts_kind(const char *fstype)
{
	if (rein_starts(fstype, "fuse."))
		return REIN_FS_REMOTE;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (rein_streq(fstype, kinds[i].name))
			return kinds[i].kind;
	return REIN_FS_LOCAL;
}

/* Cut the next field off *s (which ends at a NUL); NULL when there is none. */
static char *field(char **s)
{
	char *start = *s;
	char *end = strchr(start, ' ');

	if (*start == '\0' || *start == ' ')
		return NULL;
	if (end) {
		*end = '\0';
		*s = end + 1;
	} else {
		*s = start + strlen(start);
	}
	return start;
}

static bool octal(const char *s)
{
	return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' &&
	       s[2] <= '7';
}

/* "\040" to ' '; the kernel escapes space, tab, newline and backslash. "\000" stays as it is. */
static void unescape(char *s)
{
	char *out = s;

	while (*s) {
		if (s[0] == '\\' && octal(s + 1) && memcmp(s + 1, "000", 3) != 0) {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = '\0';
}

static bool has_option(const char *list, const char *want)
{
	size_t n = strlen(want);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, want, n) == 0 && (p[n] == '\0' || p[n] == ','))
			return true;
	}
	return false;
}

static bool number32(const char *s, uint32_t *ret)
{
	uint64_t v;

	if (!s || !rein_parse_u64(s, UINT32_MAX, &v))
		return false;
	*ret = (uint32_t)v;
	return true;
}

static bool parse_line(char *line, struct rein_mount *m)
{
	char *id = field(&line), *parent = field(&line), *dev = field(&line);
	char *root = field(&line), *point = field(&line), *opts = field(&line);
	char *colon = dev ? strchr(dev, ':') : NULL;
	char *f, *fstype, *super;

	if (!opts || !colon)
		return false;
	*colon = '\0';
	do { /* optional fields, up to the lone dash */
		f = field(&line);
	} while (f && !rein_streq(f, "-"));
	fstype = field(&line);
	(void)field(&line); /* the source may be empty: then two blanks follow each other */
	super = strrchr(line, ' ');
	super = super ? super + 1 : line;
	if (!f || !fstype || !number32(id, &m->id) || !number32(parent, &m->parent) ||
	    !number32(dev, &m->major) || !number32(colon + 1, &m->minor))
		return false;
	unescape(root);
	unescape(point);
	unescape(fstype);
	m->root = root;
	m->point = point;
	m->fstype = fstype;
	m->ro = has_option(opts, "ro") || has_option(super, "ro");
	return point[0] == '/';
}

void rein_mounts_done(struct rein_mounts *m)
{
	rein_free(m->v);
	rein_free(m->text);
	*m = (struct rein_mounts){0};
}

int rein_mounts_parse(const char *text, size_t n, struct rein_mounts *ret, struct rein_err *err)
{
	auto_(rein_mounts_done) struct rein_mounts m = {0};
	size_t cap = 0;
	char *line, *end;

	m.text = rein_strndup(text, n);
	if (!m.text)
		return rein_err_nomem(err);
	end = m.text + strlen(m.text);
	for (line = m.text; line < end;) {
		char *newline = strchr(line, '\n');

		if (newline)
			*newline = '\0';
		if (rein_grow(m.v, m.n, cap) < 0)
			return rein_err_nomem(err);
		m.v[m.n] = (struct rein_mount){0};
		if (!parse_line(line, &m.v[m.n]))
			return rein_err_set(err, REIN_E_INVALID,
					    "the mount table has a line that cannot be read (line "
					    "%zu of mountinfo)",
					    m.n + 1);
		m.n++;
		line = newline ? newline + 1 : end;
	}
	*ret = m;
	m = (struct rein_mounts){0};
	return 0;
}

int rein_mounts_read(const char *path, struct rein_mounts *ret, struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(MOUNTINFO_MAX);
	auto_close int fd = -1;
	char chunk[16384];
	ssize_t n;

	path = path ? path : "/proc/self/mountinfo";
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return rein_err_errno(err, "read the mount table '%s'", path);
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rein_err_errno(err, "read the mount table '%s'", path);
		rein_buf_add(&b, chunk, (size_t)n);
	}
	if (b.failed)
		return rein_err_set(err, REIN_E_LIMIT, "the mount table is over %u MiB",
				    MOUNTINFO_MAX >> 20);
	return rein_mounts_parse(b.n ? b.p : "", b.n, ret, err);
}
