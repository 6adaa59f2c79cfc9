/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads policy files and hands their texts to the policy. A file that is there and cannot be read is
 * an error, never skipped: the policy then denies.
 */
#include "engine/policyload.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "engine/conffile.h"
#include "engine/network.h"
#include "sys/file.h"

#define POLICY_D   "/etc/rein/policy.d"
#define FILE_BYTES ((size_t)4 << 20)

static int unreadable(struct rein_policy *p, const struct rein_err *err)
{
	rein_policy_break(p, err);
	return -err->code;
}

static int add_file(struct rein_policy *p, enum rein_layer layer, const char *path, bool must, struct rein_err *err)
{
	auto_buf struct rein_buf text = REIN_BUF(FILE_BYTES);
	int rc = rein_conf_read("policy", path, true, &text, err);

	if (rc == 0 && must)
		rc = rein_err_set(err, REIN_E_NOTFOUND, "there is no policy '%s'", path);
	if (rc < 0)
		return unreadable(p, err);
	return rc ? rein_policy_add(p, layer, path, (struct rein_str){text.p ? text.p : "", text.n}, err) : 0;
}

static int add_directory(struct rein_policy *p, const char *dir, struct rein_err *err)
{
	auto_strlist struct rein_strlist names = {0};
	int rc = rein_conf_list(dir, &names, err);

	if (rc < 0)
		return unreadable(p, err);
	for (size_t i = 0; i < names.n && rc == 0; i++)
		rc = add_file(p, REIN_LAYER_SYSTEM, names.v[i], true, err);
	return rc;
}

/* The copy of a trusted file; one name a project. */
static int trust_path(const char *project, char **ret, struct rein_err *err)
{
	uint64_t h = 14695981039346656037ull;
	char name[48];

	for (const char *s = project; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ull;
	snprintf(name, sizeof(name), "trusted/%016llx.yaml", (unsigned long long)h);
	return rein_conf_path(name, ret, err);
}

/* "# PROJECT\n" and then the very bytes that are trusted. */
static bool is_trusted(const char *project, const struct rein_buf *text)
{
	auto_buf struct rein_buf kept = REIN_BUF(FILE_BYTES + 8192);
	auto_free char *path = NULL;
	struct rein_err ignored = {0};
	size_t n = strlen(project);

	if (trust_path(project, &path, &ignored) < 0 || !path || rein_conf_read("policy", path, false, &kept, &ignored) <= 0)
		return false;
	return kept.n == text->n + n + 3 && !memcmp(kept.p, "# ", 2) && !memcmp(kept.p + 2, project, n) &&
	       kept.p[n + 2] == '\n' && (!text->n || !memcmp(kept.p + n + 3, text->p, text->n));
}

static int add_project(struct rein_policy *p, const char *project, struct rein_err *err)
{
	auto_buf struct rein_buf text = REIN_BUF(FILE_BYTES);
	auto_free char *path = rein_asprintf("%s/.rein.yaml", project);
	enum rein_layer layer = REIN_LAYER_PROJECT;
	int rc = path ? rein_conf_read("policy", path, false, &text, err) : rein_err_nomem(err);

	if (rc < 0)
		return unreadable(p, err);
	if (rc == 0)
		return 0;
	if (is_trusted(project, &text))
		layer = REIN_LAYER_TRUSTED;
	return rein_policy_add(p, layer, path, (struct rein_str){text.p ? text.p : "", text.n}, err);
}

static int add_layers(struct rein_policy *p, const struct rein_policy_sources *from, struct rein_err *err)
{
	auto_free char *user = NULL;
	int rc = from->only_files ? 0 : add_directory(p, POLICY_D, err);

	if (rc == 0 && !from->only_files && rein_conf_path("policy.yaml", &user, err) < 0)
		return unreadable(p, err);
	if (rc == 0 && user)
		rc = add_file(p, REIN_LAYER_USER, user, false, err);
	if (rc == 0 && from->project && !from->only_files)
		rc = add_project(p, from->project, err);
	for (size_t i = 0; rc == 0 && from->files && i < from->files->n; i++)
		rc = add_file(p, REIN_LAYER_COMMAND, from->files->v[i], true, err);
	return rc;
}

int rein_policy_load(const struct rein_policy_sources *from, struct rein_policy **ret, struct rein_err *err)
{
	int rc = rein_policy_new(ret, err);

	if (rc < 0) {
		*ret = NULL;
		return rc;
	}
	rein_policy_set_words(*ret, rein_network_word);
	rc = add_layers(*ret, from, err);
	return rc < 0 ? rc : rein_policy_seal(*ret, err);
}

static bool holds(const char *dir, const char *name)
{
	auto_free char *path = rein_asprintf("%s/%s", dir, name);

	return path && access(path, F_OK) == 0;
}

char *rein_policy_project(const char *from)
{
	auto_free char *dir = rein_strdup(from);

	while (dir && *dir) {
		char *slash = strrchr(dir, '/');

		if (holds(dir, ".git") || holds(dir, ".rein.yaml"))
			return take_ptr(dir);
		if (!slash)
			break;
		*slash = '\0';
	}
	return rein_strdup(from);
}

static int make_dirs(const char *path, struct rein_err *err)
{
	auto_free char *copy = rein_strdup(path);

	if (!copy)
		return rein_err_nomem(err);
	for (char *s = strchr(copy + 1, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return rein_err_errno(err, "cannot make '%s'", copy);
		*s = '/';
	}
	return 0;
}

int rein_policy_trust(const char *project, struct rein_err *err)
{
	auto_buf struct rein_buf text = REIN_BUF(FILE_BYTES), kept = REIN_BUF(FILE_BYTES + 8192);
	auto_free char *path = rein_asprintf("%s/.rein.yaml", project), *to = NULL;
	int rc = path ? rein_conf_read("policy", path, false, &text, err) : rein_err_nomem(err);

	if (rc == 0)
		return rein_err_set(err, REIN_E_NOTFOUND, "there is no '%s' to trust", path);
	if (rc < 0)
		return rc;
	if (trust_path(project, &to, err) < 0)
		return -err->code;
	if (!to)
		return rein_err_set(err, REIN_E_FAILED, "no place to remember it: set HOME");
	rein_buf_printf(&kept, "# %s\n", project);
	rein_buf_add(&kept, text.p, text.n);
	if (kept.failed)
		return rein_err_nomem(err);
	rc = make_dirs(to, err);
	return rc < 0 ? rc : rein_file_replace(AT_FDCWD, to, (struct rein_str){kept.p, kept.n}, REIN_SYNC_ORDERED, err);
}

int rein_policy_untrust(const char *project, struct rein_err *err)
{
	auto_free char *to = NULL;
	int rc = trust_path(project, &to, err);

	if (rc < 0)
		return rc;
	if (to && unlink(to) < 0 && errno != ENOENT)
		return rein_err_errno(err, "cannot remove '%s'", to);
	return 0;
}
