/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: the method and the path decide, the host says where it goes. */
#include "classify/internal.h"
#include "secret/secret.h"

#define BODY_SEARCHED 16384 /* bytes of a body that are searched for secrets */

struct url {
	struct rein_str scheme, host, path;
};

static struct url split(struct rein_str s)
{
	struct url u = {.scheme = STR("http")};
	const char *sep, *slash, *at, *colon;

	if (!s.p)
		s = STR("");
	sep = memmem(s.p, s.n, "://", 3);

	if (sep && sep - s.p < 12) {
		u.scheme = str_to(s, (size_t)(sep - s.p));
		s = str_from(s, u.scheme.n + 3);
	}
	slash = s.n ? memchr(s.p, '/', s.n) : NULL;
	u.host = slash ? str_to(s, (size_t)(slash - s.p)) : s;
	u.path = slash ? str_from(s, u.host.n) : STR("/");
	at = u.host.n ? memrchr(u.host.p, '@', u.host.n) : NULL;
	if (at)
		u.host = str_from(u.host, (size_t)(at - u.host.p) + 1);
	if (u.host.n && u.host.p[0] == '[')
		return u;
	colon = u.host.n ? memchr(u.host.p, ':', u.host.n) : NULL;
	if (colon)
		u.host = str_to(u.host, (size_t)(colon - u.host.p));
	return u;
}

bool host_is_metadata(struct rein_str h)
{
	return str_in(h, "169.254.169.254 169.254.170.2 metadata.google.internal metadata.google "
			 "100.100.100.200 [fd00:ec2::254] 192.0.0.192 0xa9fea9fe 2852039166") ||
	       str_starts(h, "169.254.");
}

static bool host_is_private(struct rein_str h)
{
	if (str_starts(h, "10.") || str_starts(h, "192.168."))
		return h.n > 4 && h.p[h.n - 1] >= '0' && h.p[h.n - 1] <= '9';
	if (str_starts(h, "172.") && h.n > 6) {
		int v = (h.p[4] - '0') * 10 + (h.p[5] - '0');

		return v >= 16 && v <= 31 && h.p[6] == '.';
	}
	return false;
}

static bool method_is(struct rein_str m, const char *list)
{
	char up[12];

	if (!m.n || m.n >= sizeof(up))
		return false;
	for (size_t i = 0; i < m.n; i++)
		up[i] = (char)(m.p[i] >= 'a' && m.p[i] <= 'z' ? m.p[i] - 32 : m.p[i]);
	return str_in((struct rein_str){up, m.n}, list);
}

/* Does a segment of the path, or a query value, say that something goes away? */
static bool path_deletes(struct ctx *cx, struct rein_str path)
{
	size_t i = 0;

	while (i < path.n) {
		size_t n = 0;
		struct rein_str seg;

		while (i + n < path.n && !strchr("/?&=.", path.p[i + n]))
			n++;
		seg = (struct rein_str){path.p + i, n};
		if (n && seg.p[0] == '_')
			seg = str_from(seg, 1);
		if (n > 2 && str_starts(seg, "do") && seg.p[2] >= 'A' && seg.p[2] <= 'Z')
			seg = str_from(seg, 2);
		if (verb_class(cx, seg) == VERB_DELETE)
			return true;
		i += n + 1;
	}
	return false;
}

/* Names in a GraphQL mutation: deleteUser(…), removeX, … */
static bool body_deletes(struct ctx *cx, struct rein_str body)
{
	for (size_t i = 0; i < body.n;) {
		size_t n = 0;

		while (i + n < body.n && ((body.p[i + n] >= 'a' && body.p[i + n] <= 'z') ||
					  (body.p[i + n] >= 'A' && body.p[i + n] <= 'Z') ||
					  body.p[i + n] == '_'))
			n++;
		if (n > 3 && verb_class(cx, (struct rein_str){body.p + i, n}) == VERB_DELETE)
			return true;
		i += n + 1;
	}
	return false;
}

/* {"query": "…"}: GraphQL sends its text as a string; a search engine's query is an object. */
static bool has_query(struct rein_str body)
{
	const char *at = body.n ? memmem(body.p, body.n, "\"query\"", 7) : NULL;

	for (at = at ? at + 7 : NULL; at && at < body.p + body.n && strchr(" \t:", *at); at++)
		;
	return at && at < body.p + body.n && *at != '{';
}

/* A token of a known format leaves in the body; headers are where such belong. */
static void body_secret(struct ctx *cx, const struct url *u, struct rein_str body, struct range at)
{
	struct rein_str part = str_to(body, BODY_SEARCHED);
	struct rein_secret_hit h;
	size_t from = 0;

	while (part.n && rein_secret_next(part, from, REIN_SECRET_LIKELY, &h)) {
		from = h.at + h.n;
		if (str_in(rein_str(h.kind), "value authorization url-password jwt"))
			continue; /* what people log in with */
		fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, at, show(cx, u->host),
		     "sends a secret in the body of a request");
		return;
	}
}

/* -d 'DROP TABLE x', 'q=DROP DATABASE x': stores that are asked over HTTP take SQL as it is */
static bool body_drops(struct rein_str body)
{
	static const char *const words[] = {"drop ", "truncate ", "delete from "};
	const char *eq = body.n ? memchr(body.p, '=', body.n < 12 ? body.n : 12) : NULL;
	struct rein_str sql = eq ? str_from(body, (size_t)(eq - body.p) + 1) : body;

	while (sql.n && (sql.p[0] == ' ' || sql.p[0] == '\n'))
		sql = str_from(sql, 1);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (sql.n > strlen(words[i]) && str_has_ci(str_to(sql, strlen(words[i])), words[i]))
			return true;
	return false;
}

static void judge_body(struct ctx *cx, struct rein_str method, const struct url *u,
		       struct rein_str body, struct range at)
{
	const char *host = show(cx, u->host);
	bool graphql = str_has_ci(u->path, "graphql") ||
		       (has_query(body) && !path_deletes(cx, u->path));

	if (graphql && !str_has_ci(body, "mutation") && body.n && !has_hole(body)) {
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_SAFE, REIN_REACH_READONLY, at, host,
		     "a query");
		return;
	}
	if (graphql && str_has_ci(body, "mutation") && body_deletes(cx, body)) {
		fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE, at,
		     host, "a mutation that deletes");
		return;
	}
	if (path_deletes(cx, u->path) || body_drops(body)) {
		fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE, at,
		     host, "a request that deletes something at a service");
		return;
	}
	if (str_has(u->path, "/collaborators") || str_has(u->path, "/memberships"))
		fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, at, host,
		     "changes who may do what at a service");
	if (method_is(method, "POST GET") &&
	    (str_has(u->path, "/_search") || str_has(u->path, "/_count") ||
	     str_has(u->path, "/_msearch") || str_has(u->path, "/_validate"))) {
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_SAFE, REIN_REACH_READONLY, at, host,
		     "a search");
		return;
	}
	fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, at, host,
	     "a request that changes something at a service");
}

void http_scan(struct ctx *cx, struct rein_str method, struct rein_str url, struct rein_str body,
	       bool has_body, struct range at)
{
	struct url u = split(url);
	const char *host = show(cx, u.host);

	if (str_is(u.scheme, "file")) {
		struct field f = {.s = str_from(url, 7), .at = at};

		effect_read(cx, &f);
		return;
	}
	if (str_in(u.scheme, "dict gopher ldap telnet tftp"))
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, at, host,
		     "a protocol that carries more than it seems");
	if (host_is_metadata(u.host))
		fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, at, host,
		     "asks the cloud's metadata service, which hands out credentials");
	else if (host_is_private(u.host))
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_READONLY, at, host,
		     "reaches into a private network");
	for (size_t i = 0; i < u.host.n; i++)
		if ((unsigned char)u.host.p[i] >= 0x80) {
			fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_READONLY, at, host,
			     "a host name that may only look like another");
			break;
		}
	if (str_has(u.host, "xn--"))
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_READONLY, at, host,
		     "a host name that may only look like another");
	if (method_is(method, "DELETE PURGE")) {
		fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE, at,
		     host, "deletes something at a service");
		return;
	}
	if (!has_body && method_is(method, "GET HEAD OPTIONS TRACE")) {
		if (path_deletes(cx, u.path) && str_has(u.path, "?"))
			fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, at,
			     host, "a request whose path says that it deletes");
		else
			fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_SAFE, REIN_REACH_READONLY, at, host,
			     "fetches");
		return;
	}
	if (!method_is(method, "GET HEAD POST PUT PATCH OPTIONS MKCOL MOVE COPY LOCK PROPFIND "
			       "REPORT TRACE") || has_hole(method))
		fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, at, host,
		     "a request with a method that is not known");
	body_secret(cx, &u, body, at);
	judge_body(cx, method, &u, body, at);
}
