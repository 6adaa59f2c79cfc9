/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what nobody in a box should see, and its expansion. */
#include "sandbox/viewrules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/glob.h"

/* Below a home directory. The last component may be a glob. */
static const char *const home_hidden[] = {
	/* keys and agents */
	".ssh",
	".gnupg",
	".age",
	".config/sops",
	".password-store",
	".local/share/keyrings",
	".local/share/kwalletd",
	".kde/share/apps/kwallet",
	".pki",
	".config/Bitwarden*",
	".config/1Password",
	".config/op",
	".config/keepassxc",
	/* clouds and clusters */
	".aws",
	".azure",
	".config/gcloud",
	".boto",
	".s3cfg",
	".config/rclone",
	".config/doctl",
	".config/hcloud",
	".config/linode-cli",
	".oci",
	".kube",
	".config/helm",
	".docker/config.json",
	".docker/run",
	".config/containers/auth.json",
	".terraform.d/credentials.tfrc.json",
	".terraformrc",
	".vault-token",
	".config/fly",
	".fly",
	".config/netlify",
	".netlify",
	".config/heroku",
	".config/vercel",
	".local/share/com.vercel.cli",
	/* code hosts and registries */
	".netrc",
	".git-credentials",
	".config/git/credentials",
	".config/gh",
	".config/hub",
	".config/glab-cli",
	".cargo/credentials*",
	".pypirc",
	".gem/credentials",
	".m2/settings-security.xml",
	".config/composer/auth.json",
	".composer/auth.json",
	/* databases */
	".pgpass",
	".my.cnf",
	".mylogin.cnf",
	".config/mongodb",
	/* browsers and mail */
	".mozilla",
	".thunderbird",
	".config/google-chrome*",
	".config/chromium",
	".config/BraveSoftware",
	".config/microsoft-edge*",
	".config/vivaldi",
	".config/opera*",
	".config/Signal",
	".config/Slack",
	".config/discord",
	"snap/firefox",
	"snap/chromium",
	"snap/brave",
	"snap/thunderbird",
	".var/app/org.mozilla.*",
	".var/app/com.google.Chrome",
	".var/app/org.chromium.Chromium",
	".var/app/com.brave.Browser",
	".var/app/com.microsoft.Edge",
	/* Rein itself */
	".config/rein",
	".local/state/rein",
};

/* For everybody: doors to services outside, and Rein's own. */
static const char *const system_hidden[] = {
	"/etc/rein",
	"/var/lib/rein",
	"/var/snap/lxd/common/lxd/unix.socket",
	"/var/lib/lxd/unix.socket",
	"/var/lib/incus/unix.socket",
};

/* As root, who may read them. */
static const char *const root_hidden[] = {
	"/etc/shadow*",		    "/etc/gshadow*",
	"/etc/sudoers*",	    "/etc/ssh/*_key",
	"/etc/ssl/private",	    "/etc/pki/tls/private",
	"/etc/letsencrypt",	    "/etc/krb5.keytab",
	"/etc/NetworkManager/system-connections",
	"/etc/wireguard",	    "/etc/openvpn",
	"/etc/rancher",		    "/etc/kubernetes",
	"/etc/security/opasswd",    "/var/lib/sss",
	"/var/lib/kubelet",	    "/var/spool/cron",
	"/var/lib/docker",	    "/var/lib/containerd",
};

/* Directories of /run of which only the sockets go, because programs read their files. */
static const char *const run_kept[] = {"systemd", "systemd/resolve", "NetworkManager", "resolvconf",
				       "udev", "lock", "log", "credentials"};

static int add_existing(struct rein_strlist *ret, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", rein_streq(dir, "/") ? "" : dir, name) >=
	    sizeof(path))
		return 0; /* no such path can be opened either */
	if (lstat(path, &st) < 0)
		return 0;
	if (rein_strlist_has(ret, path))
		return 0;
	return rein_strlist_add(ret, path);
}

/* dir/pattern where only the last component of pattern is a glob. dir is resolved first. */
static int expand(const char *base, const char *pattern, struct rein_strlist *ret)
{
	char dir[PATH_MAX], real[PATH_MAX];
	const char *name = rein_basename(pattern);
	auto_closedir DIR *d = NULL;
	struct dirent *e;

	if ((size_t)snprintf(dir, sizeof(dir), "%s/%.*s", base, (int)(name - pattern), pattern) >=
		    sizeof(dir) ||
	    !realpath(dir, real))
		return 0;
	if (rein_glob_is_literal(name))
		return add_existing(ret, real, name);
	d = opendir(real);
	if (!d)
		return 0;
	while ((e = readdir(d)))
		if (rein_glob_name(name, e->d_name) && !rein_streq(e->d_name, ".") &&
		    !rein_streq(e->d_name, "..") && add_existing(ret, real, e->d_name) < 0)
			return -1;
	return 0;
}

static int expand_all(const char *base, const char *const *v, size_t n, struct rein_strlist *ret)
{
	for (size_t i = 0; i < n; i++)
		if (expand(base, v[i], ret) < 0)
			return -1;
	return 0;
}

/* Every home a root user could read: /root and what lies in /home. */
static int other_homes(struct rein_strlist *ret)
{
	auto_closedir DIR *d = opendir("/home");
	struct dirent *e;

	if (expand_all("/root", home_hidden, ARRAY_SIZE(home_hidden), ret) < 0)
		return -1;
	while (d && (e = readdir(d))) {
		char home[PATH_MAX];

		if (e->d_name[0] == '.')
			continue;
		snprintf(home, sizeof(home), "/home/%s", e->d_name);
		if (expand_all(home, home_hidden, ARRAY_SIZE(home_hidden), ret) < 0)
			return -1;
	}
	return 0;
}

int rein_viewrules_hidden(const struct rein_view_opts *opts, struct rein_strlist *ret,
			  struct rein_err *err)
{
	bool has_home = opts->home && opts->home[0] == '/';
	int rc = 0;

	if (has_home)
		rc = expand_all(opts->home, home_hidden, ARRAY_SIZE(home_hidden), ret);
	if (rc == 0 && opts->config_dir)
		rc = expand("", opts->config_dir, ret);
	if (rc == 0)
		rc = expand_all("", system_hidden, ARRAY_SIZE(system_hidden), ret);
	if (rc == 0 && opts->uid == 0)
		rc = other_homes(ret);
	if (rc == 0 && opts->uid == 0)
		rc = expand_all("", root_hidden, ARRAY_SIZE(root_hidden), ret);
	return rc < 0 ? rein_err_nomem(err) : 0;
}

struct sockets {
	struct rein_strlist *ret;
	const char *run;
	size_t run_len;
};

static bool kept(const struct sockets *s, const char *path)
{
	const char *rel = path + s->run_len;

	if (*rel == '\0')
		return true; /* /run itself is never hidden as a whole */
	for (size_t i = 0; i < ARRAY_SIZE(run_kept); i++)
		if (rein_streq(rel + 1, run_kept[i]))
			return true;
	return false;
}

/* 1: dir held a socket and was hidden as a whole; 0: not; -1: out of memory */
static int scan_run(const struct sockets *s, const char *dir, int depth)
{
	auto_closedir DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[PATH_MAX];
		int rc = 0;

		if (rein_streq(e->d_name, ".") || rein_streq(e->d_name, "..") ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= sizeof(path))
			continue;
		if (e->d_type == DT_SOCK && !kept(s, dir))
			return rein_strlist_add(s->ret, dir) < 0 ? -1 : 1;
		if (e->d_type == DT_SOCK || rein_streq(path + s->run_len, "/user"))
			rc = rein_strlist_add(s->ret, path);
		else if (e->d_type == DT_DIR && depth > 0)
			rc = scan_run(s, path, depth - 1);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int rein_viewrules_sockets(const char *run, struct rein_strlist *ret, struct rein_err *err)
{
	struct sockets s = {.ret = ret, .run = run, .run_len = strlen(run)};

	return scan_run(&s, run, 3) < 0 ? rein_err_nomem(err) : 0;
}
