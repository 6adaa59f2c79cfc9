/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protection that is taken away by a setting or an option. Programs spell their settings
 * differently (http.sslVerify, strict-ssl, NODE_TLS_REJECT_UNAUTHORIZED) but use the same words, so
 * the words decide: a check that is set to "no", a gap that is set to "yes", and at a service
 * whatever names everybody.
 */
#include "classify/internal.h"

#define KEY_MAX 64

/* "http.sslVerify" and "HTTP_SSL_VERIFY" are the same key. False: too long to be one. */
static bool squash(struct rein_str key, char to[KEY_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < key.n; i++) {
		char c = key.p[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c + 32);
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
			continue;
		if (n + 1 == KEY_MAX)
			return false;
		to[n++] = c;
	}
	to[n] = '\0';
	return n > 0;
}

static bool has_any(const char *key, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(key, words[i]))
			return true;
	return false;
}

static bool says(struct rein_str value, const char *list)
{
	char low[12];

	if (!value.n || value.n >= sizeof(low))
		return false;
	for (size_t i = 0; i < value.n; i++)
		low[i] = (char)(value.p[i] >= 'A' && value.p[i] <= 'Z' ? value.p[i] + 32
								       : value.p[i]);
	return str_in((struct rein_str){low, value.n}, list);
}

/* Does "key = value" take protection away? */
static bool opens(struct rein_str key, struct rein_str value)
{
	static const char *const checks[] = {
		"verif",	  "ssl",	  "tls",
		"certificate",	  "hostkeycheck", "rejectunauthorized",
		"checksum",	  "gpgcheck",	  "signature",
		"secure",	  "quarantine",	  "firewall",
		"protection",	  "blockpublic",  "ignorepublic",
		"restrictpublic", "contenttrust", "fsckobjects",
		"selinux",	  "sandbox",	  "sumdb",
		"httpsonly",	  "requiremfa",	  "realtimemonitoring",
		"antivirus",	  "gatekeeper",	  "lockenabled",
	};
	static const char *const gaps[] = {
		"insecure",	     "disabletls",
		"disablessl",	     "noverify",
		"skipverif",	     "skiptls",
		"skipssl",	     "noverification",
		"trustedhost",	     "unsafeperm",
		"allowuntrusted",    "allowunauth",
		"allowpublic",	     "allowblobpublic",
		"publicaccess",	     "publiclyaccessible",
		"disableprotection", "disablerealtime",
		"disableantivirus",  "disablefirewall",
		"disablelog",	     "disableaudit",
		"disableauth",	     "anonymous",
		"permitrootlogin",   "permitemptypassword",
		"nosumcheck",	     "nosumdb",
		"disablemonitoring", "disablesecurity",
		"skipsignature",
	};
	static const char *const kept[] = {"backend", "version", "cipher", "certfile", "certpath",
					   "capath",  "cafile",	 "cainfo", "mode"};
	char k[KEY_MAX];

	if (value.n > 200 || !squash(key, k))
		return false;
	if (strstr(k, "scriptshell")) /* npm runs every script with it */
		return !says(value, "bash /bin/bash sh /bin/sh zsh pwsh cmd");
	if (has_any(k, gaps, ARRAY_SIZE(gaps))) {
		if (strstr(k, "trustedhost") || strstr(k, "goinsecure") || strstr(k, "nosum"))
			return value.n && !says(value, "false 0 no off");
		return says(value,
			    "true 1 yes on enabled enable always allow y all * blob container");
	}
	if (!says(value, "false 0 no off none disabled disable never permissive ignore n"))
		return false;
	return has_any(k, checks, ARRAY_SIZE(checks)) &&
	       (!has_any(k, kept, ARRAY_SIZE(kept)) || strstr(k, "verif"));
}

bool protect_setting(struct ctx *cx, struct rein_str key, struct rein_str value, struct range at)
{
	if (str_is(key, "safe.directory")
		    ? !(value.n == 1 && (value.p[0] == '*' || value.p[0] == GLOB_STAR))
		    : !opens(key, value))
		return false;
	fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, at,
	     show(cx, key), "a setting that takes protection away");
	return true;
}

/* "config set NAME VALUE", "config set NAME=VALUE", "config NAME VALUE", "-set NAME -bool VALUE" */
void protect_config(struct ctx *cx, const struct call *c)
{
	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;
		const char *eq = s.n ? memchr(s.p, '=', s.n) : NULL;
		size_t next = i + 1;

		if (!s.n)
			continue;
		if (eq) {
			protect_setting(cx, str_to(s, (size_t)(eq - s.p)),
					str_from(s, (size_t)(eq - s.p) + 1), c->argv[i].at);
			continue;
		}
		if (next < c->argc && str_in(c->argv[next].s, "-bool -boolean -int -string -type"))
			next++;
		if (next < c->argc && protect_setting(cx, s, c->argv[next].s, c->argv[i].at))
			i = next;
	}
}

/* Words that name everybody, or all rights. */
static bool means_everybody(struct rein_str s)
{
	static const char *const words[] = {
		"0.0.0.0/0",
		"::/0",
		"allUsers",
		"AllUsers",
		"allAuthenticatedUsers",
		"public-read",
		"authenticated-read",
		"AdministratorAccess",
		"PowerUserAccess",
		"IAMFullAccess",
		"roles/owner",
		"roles/editor",
		"roles/iam.",
		"cluster-admin",
		"system:anonymous",
		"\"Principal\":\"*\"",
		"\"Principal\": \"*\"",
		"\"AWS\":\"*\"",
		"\"AWS\": \"*\"",
		"--allow-unauthenticated",
		"--publicly-accessible",
		"--no-deletion-protection",
		"--no-enable",
		"--disable-api-termination=false",
		"--no-multi-factor",
		"--allow-all",
		"--privileged",
		"Status=Suspended",
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_has(s, words[i]))
			return true;
	return false;
}

void protect_service(struct ctx *cx, const struct call *c)
{
	static const char why[] = "opens something to everybody, or takes protection away";

	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s, rest = s;
		bool bad = means_everybody(s);

		if (i + 1 < c->argc && str_starts(s, "--")) {
			struct rein_str next = c->argv[i + 1].s;

			bad |= opens(str_from(s, 2), next);
			bad |= str_is(s, "--visibility") && str_is(next, "public");
			bad |= str_is(s, "--role") && str_in(next, "Owner Contributor owner");
			bad |= str_has(s, "source") && next.n == 1 &&
			       (next.p[0] == '*' || next.p[0] == GLOB_STAR);
			bad |= str_is(s, "--default-action") && str_in(next, "Allow allow");
		}
		/* BlockPublicAcls=false,IgnorePublicAcls=false */
		while (!bad && rest.n) {
			const char *comma = memchr(rest.p, ',', rest.n);
			struct rein_str one = comma ? str_to(rest, (size_t)(comma - rest.p)) : rest;
			const char *eq = one.n ? memchr(one.p, '=', one.n) : NULL;

			if (eq)
				bad = opens(str_to(one, (size_t)(eq - one.p)),
					    str_from(one, (size_t)(eq - one.p) + 1));
			rest = str_from(rest, one.n + 1);
		}
		if (str_has(s, "\"DeleteRequest\"") || str_has(s, "\"Action\":\"DELETE\"") ||
		    str_has(s, "\"Action\": \"DELETE\""))
			fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DESTRUCTIVE, REIN_REACH_IRREVERSIBLE,
			     c->argv[i].at, NULL, "a request that deletes");
		if (bad)
			fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS,
			     REIN_REACH_IRREVERSIBLE, c->argv[i].at, show(cx, s), why);
	}
}
