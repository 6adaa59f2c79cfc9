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

/* This machine: what is said to it is heard by nobody on the way. 127.evil.example is another. */
bool host_is_here(struct rein_str h)
{
	for (size_t i = 0; str_starts(h, "127.") && i < h.n; i++)
		if (h.p[i] != '.' && (h.p[i] < '0' || h.p[i] > '9'))
			return false;
	return str_starts(h, "127.") || str_in(h, "localhost host.rein.internal") || str_starts(h, "[::1]");
}

/* 203.0.113.8, [2001:db8::1]: no name, and nobody who vouches for it */
static bool host_is_number(struct rein_str h)
{
	bool dots = false;

	if (host_is_here(h))
		return false;

	if (h.n && h.p[0] == '[')
		return true;
	for (size_t i = 0; i < h.n; i++) {
		dots |= h.p[i] == '.';
		if (h.p[i] != '.' && (h.p[i] < '0' || h.p[i] > '9'))
			return false;
	}
	return dots;
}

static bool host_deceives(struct rein_str h)
{
	for (size_t i = 0; i < h.n; i++)
		if ((unsigned char)h.p[i] >= 0x80)
			return true;
	return str_has(h, "xn--");
}

bool url_is_plain(struct rein_str url)
{
	const char *at;

	while (url.n && (at = memmem(url.p, url.n, "http://", 7))) {
		url = str_from(url, (size_t)(at - url.p));
		if (!host_is_here(split(url).host))
			return true;
		url = str_from(url, 7);
	}
	return false;
}

bool url_is_odd(struct rein_str url)
{
	const char *at = url.n ? memmem(url.p, url.n, "://", 3) : NULL;
	struct url u;

	if (!at)
		return false;
	while (at > url.p && at[-1] >= 'a' && at[-1] <= 'z') /* git+https://, --source=https:// */
		at--;
	u = split(str_from(url, (size_t)(at - url.p)));
	return host_is_number(u.host) || host_deceives(u.host);
}

bool is_engine_socket(struct rein_str path)
{
	return str_in(str_base(path), "docker.sock containerd.sock podman.sock crio.sock buildkitd.sock "
				      "dockerd.sock cri-dockerd.sock docker-raw.sock");
}

/* Variables that are named after a service, and what the names of its hosts hold. */
static const struct {
	struct rein_str name;
	const char *hosts[3];
} services[] = {
	{STR("GITHUB_"), {"github", "git."}},
	{STR("GH_"), {"github", "git."}},
	{STR("GITLAB_"), {"gitlab", "git."}},
	{STR("BITBUCKET_"), {"bitbucket"}},
	{STR("AWS_"), {"amazonaws.", "aws.", "amazon."}},
	{STR("OPENAI_"), {"openai", "azure"}},
	{STR("ANTHROPIC_"), {"anthropic", "claude"}},
	{STR("HF_"), {"huggingface", "hf."}},
	{STR("HUGGINGFACE_"), {"huggingface", "hf."}},
	{STR("NPM_"), {"npm"}},
	{STR("PYPI_"), {"pypi"}},
	{STR("TWINE_"), {"pypi"}},
	{STR("CARGO_REGISTRY_"), {"crates"}},
	{STR("DOCKERHUB_"), {"docker"}},
	{STR("CLOUDFLARE_"), {"cloudflare"}},
	{STR("DIGITALOCEAN_"), {"digitalocean"}},
	{STR("STRIPE_"), {"stripe"}},
	{STR("SLACK_"), {"slack"}},
	{STR("HEROKU_"), {"heroku"}},
	{STR("VERCEL_"), {"vercel"}},
	{STR("NETLIFY_"), {"netlify"}},
	{STR("SENTRY_"), {"sentry"}},
	{STR("DATADOG_"), {"datadog"}},
	{STR("DD_API"), {"datadog"}},
	{STR("DD_APP"), {"datadog"}},
	{STR("AZURE_"), {"azure", "microsoft", "windows.net"}},
	{STR("GOOGLE_"), {"google"}},
	{STR("GEMINI_"), {"google"}},
	{STR("TWILIO_"), {"twilio"}},
	{STR("SENDGRID_"), {"sendgrid"}},
	{STR("MAILGUN_"), {"mailgun"}},
	{STR("DISCORD_"), {"discord"}},
	{STR("TELEGRAM_"), {"telegram"}},
	{STR("LINEAR_"), {"linear"}},
	{STR("NOTION_"), {"notion"}},
	{STR("CIRCLECI_"), {"circleci"}},
	{STR("CIRCLE_"), {"circleci"}},
	{STR("FLY_"), {"fly."}},
	{STR("PULUMI_"), {"pulumi"}},
};

/* github.com.x.example is none of github's */
static bool host_belongs(struct rein_str host, const char *const *words, size_t n)
{
	const char *com = memmem(host.p, host.n, ".com.", 5);

	if (com && memchr(com + 5, '.', host.n - (size_t)(com + 5 - host.p)))
		return false;
	for (size_t i = 0; i < n && words[i]; i++)
		if (str_has_ci(host, words[i]))
			return true;
	return false;
}

void http_token(struct ctx *cx, const struct field *value, struct rein_str url)
{
	struct url u = split(url);
	struct rein_str text = {0};

	if (!u.host.n || has_hole(u.host) || host_is_here(u.host) || !memchr(u.host.p, '.', u.host.n))
		return;
	/* the words as they were written: their value is not known, their names are */
	if (cx->act && cx->act->text && value->at.end <= cx->act->text_n && value->at.start < value->at.end)
		text = (struct rein_str){cx->act->text + value->at.start, value->at.end - value->at.start};
	for (size_t i = 0; i + 1 < text.n; i++) {
		struct rein_str name = str_from(text, i + 1);

		if (text.p[i] != '$')
			continue;
		if (name.n && name.p[0] == '{')
			name = str_from(name, 1);
		for (size_t k = 0; k < ARRAY_SIZE(services); k++)
			if (name.n > services[k].name.n && !memcmp(name.p, services[k].name.p, services[k].name.n) &&
			    !host_belongs(u.host, services[k].hosts, ARRAY_SIZE(services[k].hosts))) {
				fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, value->at,
				     show(cx, u.host), "sends a credential of one service to another");
				return;
			}
	}
}

/* /v1/secret/data/x, /api/v1/namespaces/x/secrets/y, x.vault.azure.net/secrets/y: the value, not the page about it */
static bool path_is_secret(const struct url *u)
{
	struct rein_str p = u->path;
	bool api = str_starts(p, "/v1/") || str_starts(p, "/v2/") || str_starts(p, "/v3/") || str_starts(p, "/api/") ||
		   str_has(u->host, "vault");

	if (!api || str_has(p, "/actions/secrets") || str_has(p, "/metadata/") || str_starts(p, "/v1/sys/"))
		return false;
	if (str_has(p, "/secret/") || str_has(p, "/secrets/"))
		return true;
	if (str_starts(p, "/v1/kv/"))
		return str_starts(p, "/v1/kv/data/") || str_has_ci(p, "secret") || str_has_ci(p, "passw");
	return str_ends(p, "/secrets") || (str_has(u->host, "vault") && str_has(p, "/creds/"));
}

/* /scriptText, /_exec: what is sent there is run */
static bool path_runs(struct rein_str path)
{
	while (path.n) {
		size_t n = 0;

		while (n < path.n && !strchr("/?", path.p[n]))
			n++;
		if (n && str_in(str_to(path, n), "scriptText script exec eval shell cmd execute run-command _execute "
						 "runscript groovy"))
			return true;
		if (n < path.n && path.p[n] == '?')
			return false;
		path = str_from(path, n + 1);
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

		while (i + n < path.n &&
		       !strchr("/?&=.[\002\003",
			       path.p[i + n])) /* an unquoted ? is a pattern of the shell */
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
	if (path_runs(u->path))
		fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, at, host,
		     "a request that runs code at a service");
	fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, at, host,
	     "a request that changes something at a service");
}

static void request(struct ctx *cx, struct rein_str method, struct rein_str url, struct rein_str body, bool has_body,
		    struct range at)
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
	if (host_deceives(u.host))
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_READONLY, at, host,
		     "a host name that may only look like another");
	if (method_is(method, "DELETE PURGE")) {
		fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE, at,
		     host, "deletes something at a service");
		return;
	}
	if (!has_body && method_is(method, "GET HEAD OPTIONS TRACE")) {
		if (path_is_secret(&u)) {
			cx->seen |= TAINT_SECRET;
			fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, at, host,
			     "reads the value of a secret");
		} else if (path_deletes(cx, u.path) && str_has(u.path, "?"))
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

void http_scan(struct ctx *cx, struct rein_str method, struct rein_str url, struct rein_str body,
	       bool has_body, struct range at)
{
	bool own = cx->act->offline && !cx->remote && !cx->by_socket && host_is_here(split(url).host);

	cx->own += own;
	request(cx, method, url, body, has_body, at);
	cx->own -= own;
}
