/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of what nobody in a box should see, and its expansion. It is grouped by directory,
 * because it is asked at every run: one open a directory, one look a name, nothing for a directory
 * that is not there.
 */
#include "sandbox/viewrules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/glob.h"
#include "sandbox/tops.h"

struct group {
	const char *dir;
	const char *const *names; /* ends with NULL */
};

#define LISTED_FROM 20
#define GUARDED_MAX 65536
#define NAMES(...)  ((const char *const[]){__VA_ARGS__, NULL})

/* Below a home directory. */
static const struct group home_hidden[] = {
	{".", NAMES(/* keys and agents */
		    ".ssh", ".gnupg", ".age", ".pki", ".password-store",
		    /* clouds and clusters */
		    ".aws", ".azure", ".boto", ".s3cfg", ".oci", ".kube", ".terraformrc",
		    ".vault-token", ".fly", ".netlify",
		    /* code hosts, registries, databases */
		    ".netrc", ".git-credentials", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf",
		    /* what was typed, often with a password in it */
		    ".bash_history", ".zsh_history", ".psql_history", ".mysql_history",
		    /* browsers and mail */
		    ".mozilla", ".thunderbird")},
	{".config",
	 NAMES("rein", /* Rein itself */
	       "sops", "Bitwarden", "Bitwarden CLI", "1Password", "op", "keepassxc", "gcloud",
	       "rclone", "doctl", "hcloud", "linode-cli", "helm", "fly", "netlify", "heroku",
	       "vercel", "gh", "hub", "glab-cli", "mongodb", "google-chrome", "google-chrome-beta",
	       "google-chrome-unstable", "chromium", "BraveSoftware", "microsoft-edge",
	       "microsoft-edge-beta", "microsoft-edge-dev", "vivaldi", "opera", "opera-beta",
	       "Signal", "Slack", "discord")},
	{".config/git", NAMES("credentials")},
	{".config/containers", NAMES("auth.json")},
	{".config/composer", NAMES("auth.json")},
	{".composer", NAMES("auth.json")},
	{".local/state", NAMES("rein")},
	{".local/share", NAMES("keyrings", "kwalletd", "com.vercel.cli")},
	{".kde/share/apps", NAMES("kwallet")},
	{".docker", NAMES("config.json", "run")},
	{".terraform.d", NAMES("credentials.tfrc.json")},
	{".cargo", NAMES("credentials", "credentials.toml")},
	{".gem", NAMES("credentials")},
	{".m2", NAMES("settings-security.xml")},
	{"snap", NAMES("firefox", "chromium", "brave", "thunderbird")},
	{".var/app", NAMES("org.mozilla.firefox", "org.mozilla.Thunderbird", "com.google.Chrome",
			   "org.chromium.Chromium", "com.brave.Browser", "com.microsoft.Edge")},
};

/*
 * Settings that programs need and that may hold a password: hidden only if a word in them says so.
 * Below a home directory.
 */
static const struct {
	const char *path;
	const char *const *words;
} guarded[] = {
	{".npmrc", NAMES("_auth", "_password")},
	{".yarnrc", NAMES("_auth", "_password")},
	{".yarnrc.yml", NAMES("AuthToken", "AuthIdent")},
	{".pip/pip.conf", NAMES("@")},
	{".config/pip/pip.conf", NAMES("@")},
	{".m2/settings.xml", NAMES("<password>", "<passphrase>")},
	{".gradle/gradle.properties", NAMES("assword", "oken", "ecret")},
	{".condarc", NAMES("@", "/t/")},
};

/* For everybody: Rein's own, and doors to services outside that are not in /run. */
static const struct group system_hidden[] = {
	{"/etc", NAMES("rein")},
	{"/var/lib", NAMES("rein")},
	{"/var/snap/lxd/common/lxd", NAMES("unix.socket")},
	{"/var/lib/lxd", NAMES("unix.socket")},
	{"/var/lib/incus", NAMES("unix.socket")},
};

/* As root, who may read them. */
static const struct group root_hidden[] = {
	{"/etc",
	 NAMES("letsencrypt", "krb5.keytab", "wireguard", "openvpn", "rancher", "kubernetes")},
	{"/etc/NetworkManager", NAMES("system-connections")},
	{"/var/lib", NAMES("sss", "kubelet", "docker", "containerd")},
};

/*
 * As root, but not with --whole-system: installing a package adds users and makes host keys, which
 * could neither be done on hidden files nor be committed over them. The only glob: names of host
 * keys are the administrator's.
 */
static const struct group account_hidden[] = {
	{"/etc", NAMES("shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d")},
	{"/etc/security", NAMES("opasswd")},
	{"/etc/ssh", NAMES("*_key")},
	{"/etc/ssl", NAMES("private")},
	{"/etc/pki/tls", NAMES("private")},
	{"/var/spool", NAMES("cron")},
};

/* A directory that holds hidden things: open, and named without links once that is needed. */
struct place {
	int fd;
	const char *base, *dir; /* "/home/me", ".config"; or "", "/etc" */
	char real[PATH_MAX];
};

static int add(struct place *p, const char *name, struct rein_strlist *ret)
{
	char *path;

	if (!p->real[0]) {
		char given[PATH_MAX];
		bool itself = !*p->dir || rein_streq(p->dir, ".");

		if ((size_t)snprintf(given, sizeof(given), "%s%s%s", p->base,
				     *p->base && !itself ? "/" : "",
				     itself ? "" : p->dir) >= sizeof(given) ||
		    !realpath(given, p->real))
			p->real[0] = '\0';
	}
	if (!p->real[0])
		return 0; /* gone meanwhile, or no path that could be opened */
	path = rein_asprintf("%s/%s", rein_streq(p->real, "/") ? "" : p->real, name);
	if (path && rein_strlist_has(ret, path)) {
		rein_free(path);
		return 0;
	}
	return rein_strlist_take(ret, path);
}

static int add_glob(struct place *p, const char *pattern, struct rein_strlist *ret)
{
	int fd = openat(p->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && rein_glob_name(pattern, e->d_name) &&
		    add(p, e->d_name, ret) < 0)
			return -1;
	return 0;
}

static bool listed(const char *const *names, const char *name)
{
	for (; *names; names++)
		if ((*names)[0] == name[0] && (*names)[1] == name[1] && rein_streq(*names, name))
			return true;
	return false;
}

/* For a long list it is cheaper to read the directory than to ask for every name. */
static int add_listed(struct place *p, const char *const *names, struct rein_strlist *ret)
{
	int fd = openat(p->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return 1; /* may be entered but not read: ask by name */
	}
	while ((e = readdir(d)))
		if (listed(names, e->d_name) && add(p, e->d_name, ret) < 0)
			return -1;
	return 0;
}

/* base_fd and base: where relative groups start; tops: what is there, or NULL. */
static int expand(int base_fd, const char *base, const struct rein_tops *tops, const struct group *v, size_t n,
		  struct rein_strlist *ret)
{
	for (size_t i = 0; i < n; i++) {
		auto_close int fd = tops && !rein_tops_may_have(tops, v[i].dir)
					    ? -1
					    : openat(base_fd, v[i].dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct place p = {.fd = fd, .base = base, .dir = v[i].dir, .real = ""};
		size_t count = 0;
		int done = 1;

		while (fd >= 0 && v[i].names[count])
			count++;
		if (count >= LISTED_FROM)
			done = add_listed(&p, v[i].names, ret);
		if (done < 0)
			return -1;
		if (done == 0)
			continue;
		for (const char *const *name = v[i].names; fd >= 0 && *name; name++) {
			struct stat st;
			int rc = 0;

			if (strchr(*name, '*'))
				rc = add_glob(&p, *name, ret);
			else if (fstatat(fd, *name, &st, AT_SYMLINK_NOFOLLOW) == 0)
				rc = add(&p, *name, ret);
			if (rc < 0)
				return -1;
		}
	}
	return 0;
}

/* A word in the file, or a file too large or not to be read: then it is not for the box either. */
static bool says(int home_fd, const char *path, const char *const *words)
{
	auto_close int fd = openat(home_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[GUARDED_MAX + 1];
	size_t n = 0;
	ssize_t r;

	if (fd < 0)
		return errno != ENOENT && errno != ENOTDIR;
	while (n < GUARDED_MAX && (r = read(fd, text + n, GUARDED_MAX - n)) != 0) {
		if (r < 0)
			return true;
		n += (size_t)r;
	}
	if (n == GUARDED_MAX)
		return true;
	for (; *words; words++)
		if (memmem(text, n, *words, strlen(*words)))
			return true;
	return false;
}

static int expand_home(const char *home, struct rein_strlist *ret)
{
	auto_close int fd = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct rein_tops tops;

	if (fd < 0)
		return 0;
	rein_tops_read(fd, &tops);
	for (size_t i = 0; i < ARRAY_SIZE(guarded); i++) {
		const char *name = rein_basename(guarded[i].path);
		char dir[64];
		struct place p = {.fd = fd, .base = home, .dir = dir, .real = ""};

		if (!rein_tops_may_have(&tops, guarded[i].path) || !says(fd, guarded[i].path, guarded[i].words))
			continue;
		snprintf(dir, sizeof(dir), "%.*s", (int)(name - guarded[i].path), guarded[i].path);
		if (add(&p, name, ret) < 0)
			return -1;
	}
	return expand(fd, home, &tops, home_hidden, ARRAY_SIZE(home_hidden), ret);
}

/* Every home a root user could read: /root and what lies in /home. */
static int other_homes(const char *own, struct rein_strlist *ret)
{
	auto_closedir DIR *d = opendir("/home");
	struct dirent *e;

	if (!rein_streq(own, "/root") && expand_home("/root", ret) < 0)
		return -1;
	while (d && (e = readdir(d))) {
		char home[PATH_MAX];

		snprintf(home, sizeof(home), "/home/%s", e->d_name);
		if (e->d_name[0] != '.' && !rein_streq(own, home) && expand_home(home, ret) < 0)
			return -1;
	}
	return 0;
}

/* The home in a line of /etc/passwd, if it is this user's. */
static const char *home_in_line(char *line, uid_t uid)
{
	enum { UID = 2, DIR_AT = 5 };
	const char *field = NULL;
	uint64_t it = 0;

	for (int i = 0; i <= DIR_AT; i++) {
		field = strsep(&line, ":");
		if (!field || (i == UID && (!rein_parse_u64(field, UINT32_MAX, &it) || it != uid)))
			return NULL;
	}
	return *field == '/' ? field : NULL;
}

/*
 * $HOME is what somebody said; the secrets lie where the account is at home. Of the local accounts
 * only: asking for others costs more than a run. Not by fgetpwent(), which asks the kernel twice for
 * every line where in the file it is.
 */
static int account_home(uid_t uid, const char *own, struct rein_strlist *ret)
{
	FILE *f = fopen("/etc/passwd", "re");
	auto_free char *line = NULL;
	const char *home;
	size_t size = 0;
	int rc = 0;

	while (f && rc == 0 && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		home = home_in_line(line, uid);
		if (home && !rein_streq(home, own))
			rc = expand_home(home, ret);
	}
	if (f)
		fclose(f);
	return rc;
}

int rein_viewrules_hidden(const struct rein_view_opts *opts, struct rein_strlist *ret,
			  struct rein_err *err)
{
	const char *home = opts->home && opts->home[0] == '/' ? opts->home : NULL;
	char config[PATH_MAX];
	int rc = 0;

	if (home)
		rc = expand_home(home, ret);
	if (rc == 0)
		rc = account_home(opts->uid, home ? home : "", ret);
	if (rc == 0 && opts->config_dir && realpath(opts->config_dir, config))
		rc = rein_strlist_add(ret, config);
	if (rc == 0)
		rc = expand(AT_FDCWD, "", NULL, system_hidden, ARRAY_SIZE(system_hidden), ret);
	if (rc == 0 && opts->uid == 0)
		rc = other_homes(home ? home : "", ret);
	if (rc == 0 && opts->uid == 0)
		rc = expand(AT_FDCWD, "", NULL, root_hidden, ARRAY_SIZE(root_hidden), ret);
	if (rc == 0 && opts->uid == 0 && !opts->whole_system)
		rc = expand(AT_FDCWD, "", NULL, account_hidden, ARRAY_SIZE(account_hidden), ret);
	return rc < 0 ? rein_err_nomem(err) : 0;
}
