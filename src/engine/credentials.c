/* SPDX-License-Identifier: Apache-2.0 */
/* See credentials.h. */
#include "engine/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "sandbox/net/credential.h"
#include "sandbox/net/rule.h"

/* May the run reach this place, in a way that the gate can read? */
static bool reaches(const struct rein_run *r, const struct rein_net_place *p, const char **why)
{
	uint32_t ignored;
	int at = rein_rules_name(r->network.rules, r->network.nrules, p->host, p->port, &ignored);
	bool open = r->net == REIN_NET_OPEN && !r->network.complete;

	*why = "no rule allows";
	if (r->net != REIN_NET_RESTRICTED && r->net != REIN_NET_OPEN)
		return false;
	if (at < 0)
		return open &&
		       !rein_rules_deny_name(r->network.rules, r->network.nrules, p->host, p->port);
	*why = "with 'raw' nobody looks at what is sent to";
	return !(r->network.rules[at].flags & REIN_RULE_RAW);
}

static int check_places(const struct rein_run *r, const struct rein_net_credential *c,
			struct rein_err *err)
{
	const char *why;

	for (uint32_t i = 0; i < c->nplaces; i++)
		if (!reaches(r, &c->places[i], &why))
			return rein_err_set(err, REIN_E_USAGE,
					    "credential %s: %s %s:%u (--allow-host %s:%u)", c->name,
					    why, c->places[i].host, c->places[i].port,
					    c->places[i].host, c->places[i].port);
	return 0;
}

static bool any_place(const struct rein_run *r, const struct rein_net_credential *c)
{
	const char *ignored;

	for (uint32_t i = 0; i < c->nplaces; i++)
		if (reaches(r, &c->places[i], &ignored))
			return true;
	return false;
}

/* --- where the secret is --- */

static int from_variable(const struct rein_run_opts *o, struct rein_run *r, const char *variable,
			 struct rein_net_credential *c, struct rein_err *err)
{
	const char *value = getenv(variable);

	if (!value || !*value)
		return rein_err_set(err, REIN_E_NOTFOUND, "credential %s: $%s is not set", c->name,
				    variable);
	if (rein_strlist_has(&o->env, variable))
		return rein_err_set(err, REIN_E_USAGE,
				    "credential %s: --env %s would show it to the command", c->name,
				    variable);
	if (rein_strlist_add(&r->credential_vars, variable) < 0)
		return rein_err_nomem(err);
	return rein_credential_set(c, (struct rein_str){value, strlen(value)}, err);
}

/* A policy has no shell before it. */
static char *at_home(const char *path)
{
	const char *home = getenv("HOME");

	return rein_starts(path, "~/") && home ? rein_asprintf("%s%s", home, path + 1)
					       : rein_strdup(path);
}

static int from_file(struct rein_run *r, const char *name, struct rein_net_credential *c,
		     struct rein_err *err)
{
	auto_free char *path = at_home(name), *real = path ? realpath(path, NULL) : NULL;
	auto_close int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
	char text[REIN_CREDENTIAL_MAX + 2];
	size_t n = 0;
	struct stat st;
	int rc;

	if (!path)
		return rein_err_nomem(err);
	if (fd < 0 || fstat(fd, &st) < 0 || (S_ISREG(st.st_mode) && !real))
		return rein_err_errno(err, "credential %s: open '%s'", c->name, path);
	if (rein_strlist_add(&r->credential_files, path) < 0)
		return rein_err_nomem(err);
	while (n < sizeof(text)) {
		ssize_t got = read(fd, text + n, sizeof(text) - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return rein_err_errno(err, "credential %s: read '%s'", c->name, path);
		if (got == 0)
			break;
		n += (size_t)got;
	}
	rc = rein_credential_set(c, (struct rein_str){text, n}, err);
	explicit_bzero(text, sizeof(text));
	if (rc == 0 && S_ISREG(st.st_mode) && !rein_strlist_has(&r->hide, real) &&
	    rein_strlist_add(&r->hide, real) < 0)
		return rein_err_nomem(err);
	return rc;
}

/* --- joining --- */

static bool has(const struct rein_run *r, const char *name)
{
	for (size_t i = 0; i < r->network.ncredentials; i++)
		if (rein_streq(r->credentials[i].name, name))
			return true;
	return false;
}

static int take(const struct rein_run_opts *o, struct rein_run *r, const char *text, bool asked,
		struct rein_err *err)
{
	struct rein_credential_from from;
	struct rein_net_credential *c = &r->credentials[r->network.ncredentials];

	if (rein_credential_parse(text, c, &from, err) < 0)
		return -err->code;
	if (has(r, c->name))
		return asked ? rein_err_set(err, REIN_E_USAGE, "credential %s is there twice",
					    c->name)
			     : 0;
	/* a policy's are for whoever can use them */
	if (!asked && !any_place(r, c))
		return 0;
	if ((asked && check_places(r, c, err) < 0) ||
	    (from.kind == REIN_CREDENTIAL_ENV ? from_variable(o, r, from.name, c, err)
					      : from_file(r, from.name, c, err)) < 0)
		return -err->code;
	r->network.ncredentials++;
	return 0;
}

int rein_credentials_join(const struct rein_run_opts *o, struct rein_run *r, struct rein_err *err)
{
	const struct rein_policy_list *policy = &r->settings.credentials;
	size_t n = o->credentials.n + policy->n;

	if (!n)
		return 0;
	if (n > REIN_CREDENTIALS)
		return rein_err_set(err, REIN_E_LIMIT, "more than %d credentials",
				    REIN_CREDENTIALS);
	r->credentials = rein_calloc(n, sizeof(*r->credentials));
	if (!r->credentials)
		return rein_err_nomem(err);
	r->network.credentials = r->credentials;
	r->ncredentials = n;
	for (size_t i = 0; i < o->credentials.n; i++)
		if (take(o, r, o->credentials.v[i], true, err) < 0)
			return -err->code;
	for (size_t i = 0; i < policy->n; i++)
		if (take(o, r, policy->v[i], false, err) < 0)
			return rein_err_prefix(err, "the policy's network.credentials");
	return 0;
}

int rein_credentials_env(const struct rein_run *r, struct rein_strlist *to, struct rein_err *err)
{
	for (size_t i = 0; i < r->network.ncredentials; i++) {
		const struct rein_net_credential *c = &r->credentials[i];

		if (rein_strlist_take(
			    to, rein_asprintf("%s=%.*s", c->name, (int)c->n, c->placeholder)) < 0)
			return rein_err_nomem(err);
	}
	return 0;
}

void rein_credentials_done(struct rein_run *r)
{
	if (r->credentials)
		explicit_bzero(r->credentials, r->ncredentials * sizeof(*r->credentials));
	rein_free(take_ptr(r->credentials));
	rein_strlist_done(&r->credential_vars);
	rein_strlist_done(&r->credential_files);
}

int rein_credentials_word(const char *word, struct rein_err *err)
{
	auto_free struct rein_net_credential *c = rein_alloc(sizeof(*c));
	struct rein_credential_from from;

	if (!c)
		return rein_err_nomem(err);
	if (rein_credential_parse(word, c, &from, err) < 0)
		return -err->code;
	/* a policy is not of one place: what is there under such a name is anybody's */
	if (from.kind == REIN_CREDENTIAL_FILE && from.name[0] != '/' &&
	    !rein_starts(from.name, "~/"))
		return rein_err_set(
			err, REIN_E_INVALID,
			"credential %s: '%s' must be an absolute path, or begin with ~/", c->name,
			from.name);
	return 0;
}
