/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that talk to the network. */
#include "classify/handlers.h"

static struct data from_net(struct ctx *cx)
{
	return data_unknown(TAINT_NET | (cx->seen & TAINT_SECRET));
}

/* The @file, @- and name=@file forms of curl's data options. */
static void body_arg(struct ctx *cx, struct call *c, const struct got *g, bool form,
		     struct rein_str *body)
{
	struct rein_str v = g->val.s;
	struct field f = g->val;
	const char *at = NULL;

	if (!v.p || !v.n)
		return;
	if (form || !strcmp(g->opt->name, "--data-urlencode") ||
	    !strcmp(g->opt->name, "--url-query")) {
		at = v.n ? memchr(v.p, '@', v.n) : NULL;
		if (!at && form && v.n)
			at = memmem(v.p, v.n, "=<", 2) ? (const char *)memmem(v.p, v.n, "=<", 2) + 1
						       : NULL;
	} else if (v.n && v.p[0] == '@') {
		at = v.p;
	}
	if (g->val.taint & TAINT_SECRET)
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, g->val.at,
		     NULL, "sends credentials over the network");
	if (!at) {
		*body = v;
		return;
	}
	f.s = str_from(v, (size_t)(at - v.p) + 1);
	{
		const char *semi = f.s.n ? memchr(f.s.p, ';', f.s.n) : NULL;

		if (semi)
			f.s.n = (size_t)(semi - f.s.p);
	}
	if (str_is(f.s, "-") || str_is(f.s, "/dev/stdin")) {
		effect_send(cx, &c->io->in, g->val.at);
		if (c->io->in.known)
			*body = c->io->in.text;
		return;
	}
	effect_upload(cx, &f);
}

static struct rein_str url_file(struct rein_str url)
{
	struct rein_str base;
	const char *q;

	base = str_base(url);
	q = base.n ? memchr(base.p, '?', base.n) : NULL;
	if (q)
		base.n = (size_t)(q - base.p);
	return base.n ? base : STR("index.html");
}

/* -H @file and -b file send what is in it; -w '%output{file}' writes */
static void curl_files(struct ctx *cx, const struct got *g)
{
	const char *at = g->val.s.n ? memmem(g->val.s.p, g->val.s.n, "%output{", 8) : NULL;
	struct field f = g->val;

	if (!strcmp(g->opt->key, "-H") && f.s.n > 1 && f.s.p[0] == '@') {
		f.s = str_from(f.s, 1);
		effect_upload(cx, &f);
	} else if (!strcmp(g->opt->key, "-b") && f.s.n && !memchr(f.s.p, '=', f.s.n) &&
		   path_spot(cx, f.s).secret) {
		effect_upload(cx, &f);
	} else if (!strcmp(g->opt->key, "-w") && at) {
		const char *end;

		f.s = str_from(f.s, (size_t)(at - f.s.p) + 8);
		end = f.s.n ? memchr(f.s.p, '}', f.s.n) : NULL;
		if (end)
			f.s.n = (size_t)(end - f.s.p);
		if (str_starts(f.s, ">>"))
			f.s = str_from(f.s, 2);
		if (f.s.n)
			effect_write(cx, &f, false);
	}
}

/* -H, -u, -b, -A: all that is said to the host beside the body */
static void http_headers(struct ctx *cx, const struct call *c, struct rein_str url)
{
	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].val.taint & TAINT_SECRET && c->got[i].opt->role != ROLE_BODY &&
		    c->got[i].opt->role != ROLE_URL)
			http_token(cx, &c->got[i].val, url);
}

static void engine_socket(struct ctx *cx, const struct field *f, bool changes)
{
	if (is_engine_socket(f->s))
		fact(cx, REIN_FACT_PRIVILEGE, changes ? REIN_LEVEL_DANGEROUS : REIN_LEVEL_RISKY,
		     REIN_REACH_CONTAINED, f->at, show(cx, f->s),
		     "talks to the container engine, which can do anything here");
}

struct data h_curl(struct ctx *cx, struct call *c)
{
	struct rein_str method = {0}, body = STR("");
	bool has_body = false, get = call_has(c, "-G") || call_has(c, "--get");
	struct fields urls = c->ops;
	bool to_file = false;

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		curl_files(cx, &c->got[i]);
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];
		const char *n = g->opt->name;

		switch (g->opt->role) {
		case ROLE_METHOD:
			method = g->val.s;
			break;
		case ROLE_BODY:
			has_body = !get && strcmp(n, "--url-query") != 0;
			body_arg(cx, c, g, !strcmp(n, "-F") || !strcmp(n, "--form"), &body);
			break;
		case ROLE_UPLOAD:
			if (str_is(g->val.s, "-") || str_is(g->val.s, ".")) {
				effect_send(cx, &c->io->in, g->val.at);
			} else {
				effect_upload(cx, &g->val);
			}
			if (!method.n)
				method = STR("PUT");
			has_body = true;
			break;
		case ROLE_URL:
			fields_push(cx, &urls, g->val);
			break;
		case ROLE_WRITE:
			if (str_is(g->val.s, "-"))
				break;
			effect_write(cx, &g->val, false);
			if (!strcmp(n, "-o") || !strcmp(n, "--output")) {
				struct data d = data_unknown(TAINT_NET);

				for (size_t k = 0; k < c->ops.n; k++)
					if (str_starts(c->ops.v[k].s, "file://"))
						d = file_data(cx, &c->ops.v[k]);
				vfile_put(cx, g->val.s, d, false);
				to_file = true;
			}
			break;
		case ROLE_DATA:
			break; /* headers are looked at with the address */
		default:
			role_effect(cx, c, g->opt->role, &g->val);
		}
	}
	if (!method.n)
		method = has_body ? STR("POST") : call_has(c, "-I") ? STR("HEAD") : STR("GET");
	for (size_t i = 0; i + 1 < c->argc; i++)
		if (str_in(c->argv[i].s, "--unix-socket --abstract-unix-socket"))
			engine_socket(cx, &c->argv[i + 1], has_body || !str_in(method, "GET HEAD"));
	cx->by_socket = call_has(c, "--unix-socket") && !server_is_tmp(cx, call_opt(c, "--unix-socket")->val.s);
	for (size_t i = 0; i < urls.n; i++) {
		if (urls.v[i].taint & TAINT_SECRET)
			fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     urls.v[i].at, NULL, "sends credentials in an address");
		http_scan(cx, method, urls.v[i].s, body, has_body, urls.v[i].at);
		http_headers(cx, c, urls.v[i].s);
		if (call_has(c, "-O") || call_has(c, "--remote-name")) {
			struct field f = urls.v[i];

			f.s = url_file(urls.v[i].s);
			effect_write(cx, &f, false);
			vfile_put(cx, f.s, data_unknown(TAINT_NET), false);
			to_file = true;
		}
	}
	cx->by_socket = false;
	return to_file ? data_known(STR("")) : from_net(cx);
}

struct data h_wget(struct ctx *cx, struct call *c)
{
	const struct got *out = call_opt(c, "-O");
	struct rein_str method = STR("GET"), body = STR("");
	bool has_body = false;

	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_METHOD) {
			method = g->val.s;
		} else if (g->opt->role == ROLE_BODY) {
			body = g->val.s;
			has_body = true;
			if (g->val.taint & TAINT_SECRET)
				effect_send(cx, &(struct data){.taint = TAINT_SECRET}, g->val.at);
		} else if (g->opt->role == ROLE_UPLOAD) {
			effect_upload(cx, &g->val);
			has_body = true;
		} else if (g->opt != (out ? out->opt : NULL)) {
			role_effect(cx, c, g->opt->role, &g->val);
		}
	}
	if (has_body && str_is(method, "GET"))
		method = STR("POST");
	if (!out)
		out = call_opt(c, "--output-document");
	for (size_t i = 0; i < c->ops.n; i++) {
		struct field f = c->ops.v[i];

		http_scan(cx, method, f.s, body, has_body, f.at);
		http_headers(cx, c, f.s);
		if (!out && !call_has(c, "--spider")) {
			f.s = url_file(f.s);
			effect_write(cx, &f, false);
			vfile_put(cx, f.s, data_unknown(TAINT_NET), false);
		}
	}
	if (out && !str_in(out->val.s, "- /dev/stdout")) {
		effect_write(cx, &out->val, false);
		vfile_put(cx, out->val.s, data_unknown(TAINT_NET), false);
	}
	return out ? from_net(cx) : data_known(STR(""));
}

/* http [METHOD] URL [name=value …] */
struct data h_http(struct ctx *cx, struct call *c)
{
	struct rein_str method = {0}, url = STR("");
	struct range at = c->argv[0].at;
	bool has_body = c->io->piped;
	size_t i = 0;

	call_base(cx, c);
	call_effects(cx, c);
	if (i < c->ops.n && c->ops.v[0].s.n >= 3) {
		bool upper = true;

		for (size_t k = 0; k < c->ops.v[0].s.n; k++)
			upper &= (c->ops.v[0].s.p[k] >= 'A' && c->ops.v[0].s.p[k] <= 'Z');
		if (upper || str_in(c->ops.v[0].s, "get post put delete patch head options")) {
			method = c->ops.v[0].s;
			i++;
		}
	}
	if (i < c->ops.n) {
		url = c->ops.v[i].s;
		at = c->ops.v[i++].at;
	}
	for (; i < c->ops.n; i++) {
		struct field f = c->ops.v[i];
		const char *file = f.s.n ? memchr(f.s.p, '@', f.s.n) : NULL;

		if (f.taint & TAINT_SECRET)
			http_token(cx, &f, url);
		if (str_has(f.s, "==") || (str_has(f.s, ":") && !str_has(f.s, "=")))
			continue;
		has_body = true;
		if (file) {
			f.s = str_from(f.s, (size_t)(file - f.s.p) + 1);
			effect_upload(cx, &f);
		}
	}
	if (!method.n)
		method = has_body && !c->io->piped ? STR("POST") : c->io->piped ? STR("POST") : STR("GET");
	http_scan(cx, method, url, STR(""), has_body, at);
	return from_net(cx);
}

struct data h_nc(struct ctx *cx, struct call *c)
{
	bool exec = false;

	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];

		if (g->opt->role == ROLE_PROG || g->opt->role == ROLE_SHELL) {
			exec = true;
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     g->at, show(cx, g->val.s), "gives a program to the network");
			role_effect(cx, c, ROLE_SHELL, &g->val);
		}
	}
	if (call_has(c, "-z") && !exec)
		return data_unknown(0);
	if (c->acts & ACT_LISTEN)
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
		     c->argv[0].at, NULL, "waits for connections from the network");
	else
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE,
		     c->argv[0].at, c->ops.n ? show(cx, c->ops.v[0].s) : NULL,
		     "a raw network connection");
	for (size_t i = 1; i < c->argc; i++)
		engine_socket(cx, &c->argv[i], true);
	if (c->io->piped)
		effect_send(cx, &c->io->in, c->argv[0].at);
	return data_unknown(TAINT_NET);
}

static void socat_address(struct ctx *cx, struct call *c, const struct field *f, bool *net,
			  bool *exec)
{
	struct field v = *f;
	const char *colon = f->s.n ? memchr(f->s.p, ':', f->s.n) : NULL;
	struct rein_str kind = colon ? str_to(f->s, (size_t)(colon - f->s.p)) : f->s;
	struct io io = {.in = data_unknown(TAINT_NET), .piped = true};
	char up[24] = "";

	for (size_t i = 0; i < kind.n && i < sizeof(up) - 1; i++)
		up[i] = (char)(kind.p[i] >= 'a' && kind.p[i] <= 'z' ? kind.p[i] - 32 : kind.p[i]);
	v.s = colon ? str_from(f->s, kind.n + 1) : STR("");
	engine_socket(cx, &v, true);
	if (str_in(rein_str(up), "EXEC SYSTEM SHELL")) {
		struct sbuf t = {.a = cx->a};
		const char *comma;

		*exec = true;
		for (size_t i = 0; i < v.s.n; i++) {
			if (v.s.p[i] == '\\' && i + 1 < v.s.n)
				i++;
			sbuf_char(&t, v.s.p[i]);
		}
		v.s = sbuf_view(&t);
		comma = v.s.n ? memchr(v.s.p, ',', v.s.n) : NULL;
		if (comma)
			v.s.n = (size_t)(comma - v.s.p);
		run_text(cx, v.s, f->at, &io);
	} else if (str_in(rein_str(up), "OPEN FILE GOPEN CREATE CREAT PIPE FIFO") ||
		   (f->s.n && f->s.p[0] == '/')) {
		const char *comma;

		if (f->s.p[0] == '/')
			v.s = f->s;
		comma = v.s.n ? memchr(v.s.p, ',', v.s.n) : NULL;
		if (comma)
			v.s.n = (size_t)(comma - v.s.p);
		/* the second address is written, and without -u the first one as well */
		if (str_has(f->s, "rdonly") || (call_has(c, "-u") && f == c->ops.v) ||
		    (call_has(c, "-U") && f != c->ops.v))
			effect_read(cx, &v);
		else
			effect_write(cx, &v, str_has(f->s, "append"));
	} else if (!str_in(rein_str(up), "STDIO STDIN STDOUT STDERR - UNIX-CONNECT UNIX PTY FD")) {
		*net = true;
		if (str_has(rein_str(up), "LISTEN"))
			fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     f->at, show(cx, f->s), "waits for connections from the network");
	}
}

/* socat -u FILE:log STDOUT, socat -u TCP:host:1 -: nothing but what comes is shown */
static bool socat_shows(const struct call *c)
{
	struct rein_str from, to;

	if (c->ops.n != 2 || !(call_has(c, "-u") || call_has(c, "-U")))
		return false;
	from = c->ops.v[call_has(c, "-u") ? 0 : 1].s;
	to = c->ops.v[call_has(c, "-u") ? 1 : 0].s;
	return str_in(to, "- STDOUT stdout STDIO stdio") && !str_has_ci(from, "listen") &&
	       !str_has_ci(from, "recv") && !str_has_ci(from, "bind") && is_literal(from);
}

struct data h_socat(struct ctx *cx, struct call *c)
{
	bool net = false, exec = false;

	for (size_t i = 0; i < c->ops.n; i++)
		socat_address(cx, c, &c->ops.v[i], &net, &exec);
	if (exec || !socat_shows(c))
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE,
		     c->argv[0].at, NULL, "joins two channels");
	if (net && exec)
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
		     c->argv[0].at, NULL, "gives a program to the network");
	if (net && c->io->piped)
		effect_send(cx, &c->io->in, c->argv[0].at);
	return data_unknown(TAINT_NET);
}

/* dig, nslookup, host: a name made of unknown data carries that data out */
struct data h_dns(struct ctx *cx, struct call *c)
{
	call_base(cx, c);
	for (size_t i = 0; i < c->ops.n; i++) {
		if (c->ops.v[i].taint & (TAINT_SECRET | TAINT_FILE) && has_hole(c->ops.v[i].s))
			fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     c->ops.v[i].at, show(cx, c->ops.v[i].s),
			     "carries data out in a name lookup");
		else if (has_hole(c->ops.v[i].s) && c->ops.v[i].s.n > 1 &&
			 !(c->ops.v[i].taint & (TAINT_ENV | TAINT_INPUT | TAINT_NUMBER)))
			fact(cx, REIN_FACT_SEND, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE,
			     c->ops.v[i].at, show(cx, c->ops.v[i].s),
			     "may carry data out in a name lookup");
	}
	call_effects(cx, c);
	return data_unknown(TAINT_NET);
}
