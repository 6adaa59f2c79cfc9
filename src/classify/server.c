/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which server a client of a database speaks to. In a box without a network it can be one of the box's own: then whatever
 * becomes of its data is seen in the box's files, like anything else. Said only where nothing leaves it open: every host
 * that is named, by options, words and variables, is this box, and every option is known.
 */
#include <strings.h>

#include "classify/value.h"

/* What the words of a client mean; options by the first of their names. */
static const struct client {
	const char *names;
	const char *hosts, *sockets, *addresses, *others; /* options; others: who has one of these may go anywhere */
	const char *host_var; /* names the host where no word does */
	const char *vars;     /* lead elsewhere whatever the words say */
	const char *schemes;
	bool here; /* where nothing says otherwise it is localhost */
} clients[] = {
	{.names = "psql pgcli ysqlsh pg_dump pg_dumpall pg_restore pg_basebackup createdb createuser dropdb dropuser vacuumdb "
		  "reindexdb clusterdb pgbench",
	 .hosts = "-h",
	 .addresses = "-d --maintenance-db",
	 .host_var = "PGHOST",
	 .vars = "PGHOSTADDR PGSERVICE",
	 .schemes = "postgresql postgres"},
	{.names = "mysql mariadb mysqldump mariadb-dump mysqladmin mariadb-admin mysqlimport mysqlcheck",
	 .hosts = "-h",
	 .sockets = "-S"},
	{.names = "redis-cli valkey-cli keydb-cli",
	 .hosts = "-h",
	 .sockets = "-s",
	 .addresses = "-u",
	 .others = "--cluster",
	 .schemes = "redis rediss",
	 .here = true},
	{.names = "mongo mongosh mongodump mongorestore mongoexport mongoimport",
	 .hosts = "-h --host",
	 .addresses = "--uri",
	 .schemes = "mongodb",
	 .here = true},
};

enum said { ELSEWHERE = 0, NOTHING, HERE };

static const struct client *client_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		if (str_in(rein_str(name), clients[i].names))
			return &clients[i];
	return NULL;
}

static bool is_option_of(const struct got *g, const char *list)
{
	return list && str_in(rein_str(g->opt->key), list);
}

/* One in the workspace may be there for others. */
bool server_is_tmp(struct ctx *cx, struct rein_str path)
{
	struct spot s = path_spot(cx, path);

	if (!is_literal(path) || s.place == PLACE_WORKSPACE || s.place == PLACE_WORKSPACE_ROOT || s.place == PLACE_REGEN ||
	    s.place == PLACE_PRECIOUS)
		return false;
	return str_is(s.path, "/tmp") || str_starts(s.path, "/tmp/") || str_starts(s.path, "/var/tmp/");
}

static bool host_is_own(struct ctx *cx, struct rein_str h)
{
	const char *colon = h.n ? memchr(h.p, ':', h.n) : NULL;

	if (!is_literal(h))
		return false;
	if (h.n && h.p[0] == '/')
		return server_is_tmp(cx, h);
	if (str_in(h, "::1 [::1]"))
		return true;
	if (colon) { /* localhost:27017 */
		for (const char *p = colon + 1; p < h.p + h.n; p++)
			if (*p < '0' || *p > '9')
				return false;
		h = str_to(h, (size_t)(colon - h.p));
	}
	return host_is_here(h) && !str_in(h, "host.rein.internal [::1]");
}

/* scheme://[user[:password]@]host[:port][/name][?what=how…] */
static enum said url_says(struct ctx *cx, const struct client *k, struct rein_str s, const char *sep)
{
	struct rein_str scheme = str_to(s, (size_t)(sep - s.p)), rest = str_from(s, scheme.n + 3), host;
	size_t n = 0;
	const char *at;

	if (!k->schemes || !str_in(scheme, k->schemes) || str_has(rest, "%"))
		return ELSEWHERE;
	while (n < rest.n && !strchr("/?#", rest.p[n]))
		n++;
	host = str_to(rest, n);
	rest = str_from(rest, n);
	if (str_has_ci(rest, "host") || str_has_ci(rest, "service"))
		return ELSEWHERE;
	at = host.n ? memrchr(host.p, '@', host.n) : NULL;
	if (at)
		host = str_from(host, (size_t)(at - host.p) + 1);
	if (str_starts(host, "[::1]:"))
		host = str_to(host, 5);
	if (!host.n)
		return NOTHING;
	return host_is_own(cx, host) ? HERE : ELSEWHERE;
}

/* host=localhost dbname=x, as libpq takes it */
static enum said pairs_say(struct ctx *cx, struct rein_str s)
{
	enum said said = NOTHING;

	if (memchr(s.p, '\'', s.n) || memchr(s.p, '\\', s.n) || str_has(s, " =") || str_has(s, "= "))
		return ELSEWHERE;
	while (s.n) {
		size_t n = 0;
		struct rein_str pair;

		while (n < s.n && !strchr(" \t\n", s.p[n]))
			n++;
		pair = str_to(s, n);
		s = str_from(s, n + (n < s.n));
		if (str_starts(pair, "hostaddr=") || str_starts(pair, "service="))
			return ELSEWHERE;
		if (!str_starts(pair, "host="))
			continue;
		if (!host_is_own(cx, str_from(pair, 5)))
			return ELSEWHERE;
		said = HERE;
	}
	return said;
}

/* A word that may be the name of a database, or say where it is. */
static enum said address_says(struct ctx *cx, const struct client *k, const struct call *c, struct rein_str s)
{
	const char *sep = s.n ? memmem(s.p, s.n, "://", 3) : NULL;

	if (!is_literal(s))
		return ELSEWHERE;
	if (sep)
		return url_says(cx, k, s, sep);
	if (k->host_var && s.n && memchr(s.p, '=', s.n))
		return pairs_say(cx, s);
	/* mongosh host:port/name */
	if (c->top->handler == HANDLE_mongo && !str_ends(s, ".js") && (str_has(s, "/") || str_has(s, ":") || str_has(s, "."))) {
		const char *slash = memchr(s.p, '/', s.n);

		return host_is_own(cx, slash ? str_to(s, (size_t)(slash - s.p)) : s) ? HERE : ELSEWHERE;
	}
	return NOTHING;
}

static enum said variables_say(struct ctx *cx, const struct client *k, bool named)
{
	struct rein_str value;
	const char *list = k->vars;

	while (list && *list) {
		size_t n = strcspn(list, " ");

		if (val_exported(cx, (struct rein_str){list, n}, &value) && value.n)
			return ELSEWHERE;
		list += n + (list[n] == ' ');
	}
	if (named || !k->host_var || !val_exported(cx, rein_str(k->host_var), &value) || !value.n)
		return NOTHING;
	return host_is_own(cx, value) ? HERE : ELSEWHERE;
}

static enum said option_says(struct ctx *cx, const struct client *k, const struct call *c, const struct got *g)
{
	if (is_option_of(g, k->others))
		return ELSEWHERE;
	if (g->opt->arg == 1 && g->val.s.n && g->val.s.p[0] == '-') /* another program's letter: it may have taken an option */
		return ELSEWHERE;
	if (is_option_of(g, k->hosts))
		return host_is_own(cx, g->val.s) ? HERE : ELSEWHERE;
	if (is_option_of(g, k->sockets))
		return server_is_tmp(cx, g->val.s) ? HERE : ELSEWHERE;
	if (is_option_of(g, k->addresses))
		return address_says(cx, k, c, g->val.s);
	return NOTHING;
}

bool server_is_own(struct ctx *cx, const struct call *c)
{
	const struct client *k = cx->act->offline && !cx->remote ? client_of(c->top->name) : NULL;
	enum said said;
	bool named = false;

	if (!k || c->has_unknown || c->hole_opt)
		return false;
	for (size_t i = 0; i < c->n_got; i++) {
		said = option_says(cx, k, c, &c->got[i]);
		if (said == ELSEWHERE)
			return false;
		named |= said == HERE;
	}
	/* what redis-cli is given is a command of the store */
	for (size_t i = 0; i < c->ops.n && c->top->handler != HANDLE_redis; i++) {
		said = address_says(cx, k, c, c->ops.v[i].s);
		if (said == ELSEWHERE || c->ops.v[i].multi)
			return false;
		named |= said == HERE;
	}
	said = variables_say(cx, k, named);
	return said != ELSEWHERE && (named || said == HERE || k->here);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* \c app keeps the server; \c app me host and \c postgresql://host/app may not. */
static bool stays(struct rein_str args)
{
	size_t n = 0, words = 0;

	while (n < args.n && args.p[n] != '\n' && args.p[n] != '\\' && args.p[n] != ';') {
		words += !is_blank(args.p[n]) && (!n || is_blank(args.p[n - 1]));
		if (strchr("=:\"'-/", args.p[n]) || args.p[n] == HOLE)
			return false;
		n++;
	}
	return words < 2;
}

static bool begins(struct rein_str s, const char *what)
{
	return s.n >= strlen(what) && !strncasecmp(s.p, what, strlen(what));
}

bool server_changes(struct rein_str text)
{
	for (size_t i = 0; i < text.n; i++) {
		struct rein_str left = str_from(text, i);
		size_t n = 1;

		if (text.p[i] != '\\') {
			if (begins(left, "connect") || begins(left, "mongo("))
				return true;
			continue;
		}
		while (n < left.n && (left.p[n] | 32) >= 'a' && (left.p[n] | 32) <= 'z')
			n++;
		if (str_in(str_to(left, n), "\\c \\connect \\r") && !stays(str_from(left, n)))
			return true;
		i += n - 1;
	}
	return false;
}
