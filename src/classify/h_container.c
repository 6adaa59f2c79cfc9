/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and clusters: what a command does inside of one, what one is given of the machine around it. */
#include "classify/handlers.h"

#define LOCAL REIN_REACH_CONTAINED
#define GONE  REIN_REACH_IRREVERSIBLE

static void docker_mount(struct ctx *cx, const struct got *g)
{
	struct field f = g->val;
	const char *src, *end;
	struct spot s;

	if (!f.s.p || !f.s.n)
		return;
	src = memmem(f.s.p, f.s.n, "src=", 4);
	if (!src)
		src = memmem(f.s.p, f.s.n, "source=", 7);
	if (src) {
		const char *eq = memchr(src, '=', 8);

		f.s = str_from(f.s, (size_t)(eq - f.s.p) + 1);
		end = f.s.n ? memchr(f.s.p, ',', f.s.n) : NULL;
	} else if (str_starts(f.s, "type=")) {
		return;
	} else {
		end = f.s.n ? memchr(f.s.p, ':', f.s.n) : NULL;
		if (!end)
			return;
	}
	if (end)
		f.s.n = (size_t)(end - f.s.p);
	if (!f.s.n || (f.s.p[0] != '/' && f.s.p[0] != '.' && f.s.p[0] != '~'))
		return;
	s = path_spot(cx, f.s);
	if (str_has(f.s, "docker.sock") || s.secret || s.place == PLACE_SYSTEM ||
	    s.place == PLACE_SYSTEM_ROOT || s.place == PLACE_HOME_ROOT || s.place == PLACE_PROC ||
	    s.place == PLACE_DEVICE)
		h_fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, LOCAL, g->at, f.s,
		       "gives a container the system's own files");
}

/* A command that is run elsewhere, looked at by itself. True: it only reads. */
static bool runs_there(struct ctx *cx, struct call *c, struct field *v, size_t n)
{
	const struct know_cmd *k = is_literal(v[0].s) ? know_find(cx, str_base(v[0].s)) : NULL;
	struct apart before = apart_begin(cx);
	struct data d;
	bool code = false; /* without any, a shell or interpreter takes what is typed */

	for (size_t i = 1; i < n; i++)
		code |= v[i].s.n && v[i].s.p[0] != '-';
	cx->remote++;
	d = exec_argv(cx, v, n, c->io);
	cx->remote--;
	return apart_end(cx, &before) && !(d.taint & TAINT_SECRET) &&
	       (code || !k || (k->handler != HANDLE_shell && k->handler != HANDLE_interp));
}

struct data h_docker(struct ctx *cx, struct call *c)
{
	struct rein_str sub = rein_str(c->cmd->name);
	const struct got *host = call_opt(c, "-H");

	if (str_in(sub, "run exec create") && c->ops.n > 1 && runs_there(cx, c, c->ops.v + 1, c->ops.n - 1) &&
	    str_is(sub, "exec"))
		c->acts |= ACT_RDONLY; /* docker exec web ls */
	call_base(cx, c);
	if (!host)
		host = call_opt(c, "--host");
	if (host && str_starts(host->val.s, "tcp://"))
		h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, GONE, host->at, host->val.s,
		       "commands the containers of another machine");
	for (size_t i = 0; i < c->n_got; i++) {
		const struct got *g = &c->got[i];
		const char *n = g->opt->name;

		if (!strcmp(n, "-v") || !strcmp(n, "--volume") || !strcmp(n, "--mount"))
			docker_mount(cx, g);
		else if (!strcmp(g->opt->key, "-f") && c->cmd->level && str_has(g->val.s, "://"))
			h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, g->at, g->val.s,
			       "starts what comes from the network and nobody looked at");
		else if (str_in(rein_str(n), "--pid --net --network --ipc --uts --userns --cgroupns") &&
			 str_is(g->val.s, "host"))
			h_fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, LOCAL, g->at, g->val.s,
			       "a container that shares the host's namespaces");
		else if (g->opt->role != ROLE_NONE && g->opt->role != ROLE_DATA &&
			 g->opt->role != ROLE_ENV)
			role_effect(cx, c, g->opt->role, &g->val);
	}
	if (str_is(sub, "inspect"))
		for (size_t i = 0; i < c->n_got; i++)
			if (str_in(rein_str(c->got[i].opt->name), "-f --format") &&
			    (str_has(c->got[i].val.s, "Env") || str_has(c->got[i].val.s, "json .Config") ||
			     str_has(c->got[i].val.s, "json .}}")))
				h_fact(cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, REIN_REACH_READONLY, c->got[i].at,
				       c->got[i].val.s, "shows the environment of a container");
	if (str_in(sub, "build bake"))
		for (size_t i = 0; i < c->ops.n; i++)
			if (str_has(c->ops.v[i].s, "://") || str_starts(c->ops.v[i].s, "git@"))
				h_fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, c->ops.v[i].at,
				       c->ops.v[i].s, "builds what comes from the network");
	if (str_is(sub, "cp")) {
		for (size_t i = 0; i < c->ops.n; i++)
			if (!memchr(c->ops.v[i].s.p, ':', c->ops.v[i].s.n)) {
				if (i)
					effect_write(cx, &c->ops.v[i], false);
				else
					effect_read(cx, &c->ops.v[i]);
			}
	}
	return data_unknown(TAINT_FILE);
}

/* What --patch and --overrides say, as far as a word tells. */
static void kubectl_texts(struct ctx *cx, const struct call *c)
{
	static const char *const given[] = {"hostPID: true", "hostNetwork: true", "hostIPC: true",
					    "hostPath:",     "privileged: true",  "cluster-admin"};
	static const char *const rights[] = {
		"hostPID",  "hostNetwork",	   "hostIPC",
		"hostPath", "\"privileged\":true", "\"privileged\": true",
	};

	for (size_t i = 1; i < c->argc; i++) {
		struct rein_str s = c->argv[i].s;

		if (str_has(s, "finalizers"))
			h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, GONE, c->argv[i].at, s,
			       "takes away what holds a deletion back");
		if (str_has(s, "pod-security.kubernetes.io/") && str_has(s, "=privileged"))
			h_fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, GONE, c->argv[i].at, s,
			       "lets pods have rights on their nodes");
		for (size_t k = 0; k < ARRAY_SIZE(rights); k++)
			if (str_has(s, rights[k]) && str_has(s, "{"))
				h_fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->argv[i].at, s,
				       "a pod with rights on its node");
	}
	/* kubectl apply -f - <<EOF */
	for (size_t k = 0; c->io->piped && k < ARRAY_SIZE(given); k++)
		if (str_has(c->io->in.text, given[k]))
			h_fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->argv[0].at,
			       rein_str(given[k]), "a pod with rights on its node, or rights for somebody");
}

/* apply -f https://…, curl … | apply -f -: what nobody looked at runs in a cluster */
static void kubectl_sources(struct ctx *cx, const struct call *c)
{
	if (c->cmd->level < REIN_LEVEL_RISKY)
		return;
	for (size_t i = 0; i < c->n_got; i++) {
		struct rein_str v = c->got[i].val.s;

		if (!str_in(rein_str(c->got[i].opt->key), "-f -k"))
			continue;
		if (str_starts(v, "http://") || str_starts(v, "https://") || str_starts(v, "git@") ||
		    str_starts(v, "github.com/") ||
		    (str_in(v, "- /dev/stdin") && c->io->piped && c->io->in.taint & TAINT_NET))
			h_fact(cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, GONE, c->got[i].at, v,
			       "gives a cluster what comes from the network and nobody looked at");
	}
}

struct data h_kubectl(struct ctx *cx, struct call *c)
{
	struct rein_str sub = rein_str(c->cmd->name);
	const struct got *out = call_opt(c, "-o");

	if (!out)
		out = call_opt(c, "--output");
	if (str_in(sub, "exec debug run") && c->dashdash != (size_t)-1 && c->ops.n > c->dashdash &&
	    runs_there(cx, c, c->ops.v + c->dashdash, c->ops.n - c->dashdash) && str_is(sub, "exec"))
		c->acts |= ACT_RDONLY; /* kubectl exec pod -- ls */
	call_base(cx, c);
	for (size_t i = 0; i < c->n_got; i++)
		if (c->got[i].opt->role != ROLE_NONE && c->got[i].opt->role != ROLE_DATA)
			role_effect(cx, c, c->got[i].opt->role, &c->got[i].val);
	kubectl_texts(cx, c);
	kubectl_sources(cx, c);
	for (size_t i = 1; i < c->argc && str_is(sub, "get"); i++)
		if (str_starts(c->argv[i].s, "--raw") &&
		    (str_has(c->argv[i].s, "secret") ||
		     (i + 1 < c->argc && str_has(c->argv[i + 1].s, "secret"))))
			h_fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
			       c->argv[i].at, c->argv[i].s, "reads the values of secrets");
	/* get pods,secrets -o yaml */
	if (str_is(sub, "get") && c->ops.n &&
	    (str_starts(c->ops.v[0].s, "secret") || str_has(c->ops.v[0].s, ",secret")) &&
	    (out ? !str_in(out->val.s, "name wide") : call_word(c, "--template")))
		h_fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY,
		       c->ops.v[0].at, c->ops.v[0].s, "reads the values of secrets");
	if (str_is(sub, "debug") && c->ops.n && str_starts(c->ops.v[0].s, "node"))
		h_fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_DANGEROUS, GONE, c->ops.v[0].at,
		       c->ops.v[0].s, "opens a privileged shell on a node");
	return data_unknown(TAINT_NET);
}
