/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects to facts: this is where severity comes from. The level depends on what is touched and how,
 * not on which program does it.
 */
#include <stdarg.h>

#include "classify/internal.h"

const char *cx_printf(struct ctx *cx, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(text))
		n = sizeof(text) - 1;
	return arena_dup(cx->a, text, (size_t)n);
}

const char *show(struct ctx *cx, struct rein_str s)
{
	struct sbuf out = {.a = cx->a};

	for (size_t i = 0; i < s.n && i < 240; i++) {
		if (s.p[i] == HOLE)
			sbuf_add(&out, "…", sizeof("…") - 1);
		else if (s.p[i] == GLOB_STAR)
			sbuf_char(&out, '*');
		else if (s.p[i] == GLOB_ONE)
			sbuf_char(&out, '?');
		else
			sbuf_char(&out, s.p[i]);
	}
	return out.p ? out.p : "";
}

static enum rein_level weakest(const struct ctx *cx)
{
	enum rein_level level = REIN_LEVEL_DESTRUCTIVE;

	for (size_t i = 0; i < cx->n_facts; i++)
		if (cx->facts[i].level < level)
			level = cx->facts[i].level;
	return level;
}

/* The worst facts are kept when there are more than fit. */
static struct rein_fact *slot(struct ctx *cx, const struct rein_fact *f)
{
	if (cx->n_facts < REIN_VERDICT_FACTS)
		return &cx->facts[cx->n_facts++];
	for (size_t i = cx->n_facts; i-- > 0;)
		if (cx->facts[i].level < f->level)
			return &cx->facts[i];
	return NULL;
}

/* Of a database's client only what it does to the database: it can also run programs, and write files. */
static bool is_own(const struct ctx *cx, enum rein_fact_kind kind)
{
	return cx->own || (cx->own_store && (kind == REIN_FACT_SQL || kind == REIN_FACT_PRIVILEGE));
}

struct rein_fact *fact(struct ctx *cx, enum rein_fact_kind kind, enum rein_level level,
		       enum rein_reach reach, struct range at, const char *target,
		       const char *reason)
{
	struct rein_fact f = {
		.kind = kind,
		.level = level,
		.reach = reach,
		.start = at.start,
		.end = at.end,
		.target = target,
		.reason = reason,
		.program = cx->program,
		.call = cx->call,
		.cwd = cx->cwd_unknown ? (struct rein_str){0} : cx->cwd,
	};
	struct rein_fact *to;

	if (cx->dry) {
		f.level = REIN_LEVEL_SAFE;
		f.reach = REIN_REACH_READONLY;
	}
	if (is_own(cx, kind) && f.level > REIN_LEVEL_RISKY)
		f.level = REIN_LEVEL_RISKY;
	if (is_own(cx, kind) && f.reach > REIN_REACH_CONTAINED)
		f.reach = REIN_REACH_CONTAINED;
	if (cx->remote && f.reach == REIN_REACH_CONTAINED)
		f.reach = REIN_REACH_IRREVERSIBLE;
	if (!f.end && cx->at.end) {
		f.start = cx->at.start;
		f.end = cx->at.end;
	}
	if (f.level > cx->level)
		cx->level = f.level;
	if (f.reach > cx->reach)
		cx->reach = f.reach;
	if (f.level > REIN_LEVEL_SAFE && (!cx->has_worst || f.level > cx->worst.level)) {
		cx->worst = f;
		cx->has_worst = true;
	}
	if (cx->n_facts == REIN_VERDICT_FACTS && f.level <= cx->weakest)
		return NULL; /* no room for one that is no worse: keeps many commands linear */
	for (size_t i = cx->n_facts; i-- > 0;) {
		const struct rein_fact *o = &cx->facts[i];

		if (o->start == f.start && o->end == f.end && o->kind == f.kind && o->level == f.level &&
		    o->reason == f.reason)
			return NULL;
	}
	to = slot(cx, &f);
	if (to)
		*to = f;
	if (cx->n_facts == REIN_VERDICT_FACTS)
		cx->weakest = weakest(cx);
	return to;
}

struct apart apart_begin(struct ctx *cx)
{
	struct apart before = {cx->level, cx->reach, cx->incomplete};

	cx->level = REIN_LEVEL_SAFE;
	cx->reach = REIN_REACH_READONLY;
	return before;
}

bool apart_end(struct ctx *cx, const struct apart *before)
{
	bool reads = cx->level == REIN_LEVEL_SAFE && cx->reach <= REIN_REACH_READONLY &&
		     cx->incomplete == before->incomplete;

	cx->level = before->level > cx->level ? before->level : cx->level;
	cx->reach = before->reach > cx->reach ? before->reach : cx->reach;
	return reads;
}

#define LOCAL REIN_REACH_CONTAINED
#define RONLY REIN_REACH_READONLY

struct rule {
	enum rein_level level;
	const char *why;
};

static void judged(struct ctx *cx, enum rein_fact_kind kind, const struct rule *table,
		   const struct spot *s, const struct field *f)
{
	const struct rule *r = &table[s->place];

	if (!r->level)
		return;
	fact(cx, kind, r->level, r->level == REIN_LEVEL_SAFE && kind == REIN_FACT_READ ? RONLY : LOCAL,
	     f->at, show(cx, f->s), r->why);
}

static const char *why_or(const struct know_path *k, const char *other)
{
	return k->why ? k->why : other;
}

/* What other users keep for themselves, or a whole tree of it: root may look into all of that. */
static bool is_closed(const struct ctx *cx, const struct spot *s)
{
	static const char *const dirs[] = {"/root",	 "/home",	 "/var/lib",
					   "/var/spool", "/var/backups", "/var/mail"};

	if (s->place == PLACE_UNKNOWN || s->place == PLACE_SYSTEM_ROOT ||
	    s->place == PLACE_HOME_ROOT)
		return true;
	if (s->place <= PLACE_TMP_ROOT ||
	    (cx->home.n > 1 && str_starts(s->path, "/home/") && s->place == PLACE_HOME &&
	     s->path.n > cx->home.n && !memcmp(s->path.p, cx->home.p, cx->home.n)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (str_starts(s->path, dirs[i]))
			return true;
	return false;
}

void effect_read(struct ctx *cx, const struct field *f)
{
	struct spot s;
	struct vfile *v;

	if (!f->s.n)
		return;
	/* lynx -dump https://… | sh: an address where others take a file */
	if (str_starts(f->s, "http://") || str_starts(f->s, "https://") ||
	    str_starts(f->s, "ftp://"))
		cx->seen |= TAINT_NET;
	s = path_spot(cx, f->s);
	if (s.place == PLACE_DATA || (s.place == PLACE_NULL && !s.secret))
		return;
	v = cx->files ? vfile_find(cx, f->s) : NULL;
	cx->seen |= v ? v->data.taint : is_far(&s) ? TAINT_FILE | TAINT_FAR : TAINT_FILE;
	if (s.secret || (f->taint & TAINT_KEYS && has_hole(f->s))) {
		cx->seen |= TAINT_SECRET;
		fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, RONLY, f->at, show(cx, f->s),
		     s.secret ? why_or(s.secret, "reads credentials")
			      : "reads credentials that were searched for");
	} else if (v && (v->data.taint & TAINT_SECRET)) {
		fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, RONLY, f->at, show(cx, f->s),
		     "reads a copy of credentials");
	} else if (s.place == PLACE_DEVICE) {
		fact(cx, REIN_FACT_DEVICE, REIN_LEVEL_RISKY, RONLY, f->at, show(cx, f->s),
		     "reads a raw device");
	} else if (s.place == PLACE_NET) {
		cx->seen |= TAINT_NET;
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, f->at,
		     show(cx, f->s), "opens a network connection from the shell");
	} else if (cx->privileged && is_closed(cx, &s)) {
		fact(cx, REIN_FACT_PRIVILEGE, REIN_LEVEL_RISKY, RONLY, f->at, show(cx, f->s),
		     "reads as another user what is closed to this one");
	} else {
		fact(cx, REIN_FACT_READ, REIN_LEVEL_SAFE, RONLY, f->at, show(cx, f->s), "reads");
	}
}

static const struct rule write_rules[] = {
	[PLACE_WORKSPACE] = {REIN_LEVEL_SAFE, "writes in the workspace"},
	[PLACE_WORKSPACE_ROOT] = {REIN_LEVEL_SAFE, "writes in the workspace"},
	[PLACE_REGEN] = {REIN_LEVEL_SAFE, "writes in the workspace"},
	[PLACE_PRECIOUS] = {REIN_LEVEL_DANGEROUS, "writes into the repository's own data"},
	[PLACE_TMP] = {REIN_LEVEL_SAFE, "writes a temporary file"},
	[PLACE_TMP_ROOT] = {REIN_LEVEL_SAFE, "writes a temporary file"},
	[PLACE_HOME] = {REIN_LEVEL_RISKY, "writes in the home directory, outside the workspace"},
	[PLACE_HOME_ROOT] = {REIN_LEVEL_RISKY, "writes in the home directory"},
	[PLACE_OTHER] = {REIN_LEVEL_RISKY, "writes outside the workspace"},
	[PLACE_SYSTEM] = {REIN_LEVEL_DANGEROUS, "writes into a system directory"},
	[PLACE_SYSTEM_ROOT] = {REIN_LEVEL_DANGEROUS, "writes into a system directory"},
	[PLACE_DEVICE] = {REIN_LEVEL_DESTRUCTIVE, "overwrites a raw device"},
	[PLACE_NULL] = {0, NULL},
	[PLACE_PROC] = {REIN_LEVEL_DANGEROUS, "changes kernel settings"},
	[PLACE_NET] = {REIN_LEVEL_DANGEROUS, "opens a network connection from the shell"},
	[PLACE_UNKNOWN] = {REIN_LEVEL_RISKY, "writes to a path that is not known"},
	[PLACE_DATA] = {0, NULL},
};

/* Things that are wrong to write wherever they lie. True: said. */
static bool write_special(struct ctx *cx, const struct spot *s, const struct field *f)
{
	if (s->persist)
		fact(cx, REIN_FACT_PERSIST, REIN_LEVEL_DANGEROUS, LOCAL, f->at, show(cx, f->s),
		     why_or(s->persist, "writes a file that runs by itself later"));
	else if (s->agent)
		fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, LOCAL, f->at, show(cx, f->s),
		     why_or(s->agent, "changes the configuration of an agent or its guard"));
	else if (s->secret) /* cp .env.example .env, openssl -keyout test.pem: a project's own can be put back */
		fact(cx, REIN_FACT_SECRET,
		     s->place == PLACE_WORKSPACE || s->place == PLACE_REGEN ? REIN_LEVEL_RISKY : REIN_LEVEL_DANGEROUS,
		     LOCAL, f->at, show(cx, f->s), "writes a file that holds credentials");
	else if (s->ci)
		fact(cx, REIN_FACT_PERSIST, REIN_LEVEL_RISKY, LOCAL, f->at, show(cx, f->s),
		     "changes what continuous integration runs");
	else
		return false;
	return true;
}

void effect_write(struct ctx *cx, const struct field *f, bool append)
{
	struct spot s;

	if (!f->s.n) /* no file has an empty name: sed -i '' of the BSDs */
		return;
	s = path_spot(cx, f->s);
	if (s.place == PLACE_NET) {
		fact(cx, REIN_FACT_CONNECT, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, f->at,
		     show(cx, f->s), "sends data over a network connection of the shell");
		return;
	}
	if (str_has(s.path, "/proc/sysrq-trigger")) {
		fact(cx, REIN_FACT_DEVICE, REIN_LEVEL_DESTRUCTIVE, LOCAL, f->at, show(cx, f->s),
		     "makes the kernel act at once (reboot, crash)");
		return;
	}
	if (s.log && !append) {
		fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DESTRUCTIVE, LOCAL, f->at,
		     show(cx, f->s), "overwrites a log of the system");
		return;
	}
	if (write_special(cx, &s, f))
		return;
	if (!append &&
	    (str_ends(f->s, ".db") || str_ends(f->s, ".sqlite") || str_ends(f->s, ".sqlite3")))
		fact(cx, REIN_FACT_WRITE,
		     s.place == PLACE_HOME || s.place == PLACE_OTHER ? REIN_LEVEL_DANGEROUS : REIN_LEVEL_RISKY,
		     LOCAL, f->at, show(cx, f->s), "overwrites a database");
	/* sed -i … $(git ls-files): which file is not known, but where it lies */
	if (s.place == PLACE_UNKNOWN && names_own(cx, f))
		s.place = PLACE_WORKSPACE;
	judged(cx, REIN_FACT_WRITE, write_rules, &s, f);
}

static const struct rule make_rules[] = {
	[PLACE_WORKSPACE] = {REIN_LEVEL_SAFE, "creates a path in the workspace"},
	[PLACE_WORKSPACE_ROOT] = {REIN_LEVEL_SAFE, "creates a path in the workspace"},
	[PLACE_REGEN] = {REIN_LEVEL_SAFE, "creates a path in the workspace"},
	[PLACE_PRECIOUS] = {REIN_LEVEL_RISKY, "creates a path in the repository's own data"},
	[PLACE_TMP] = {REIN_LEVEL_SAFE, "creates a temporary path"},
	[PLACE_TMP_ROOT] = {REIN_LEVEL_SAFE, "creates a temporary path"},
	[PLACE_HOME] = {REIN_LEVEL_SAFE, "creates a path in the home directory"},
	[PLACE_HOME_ROOT] = {REIN_LEVEL_SAFE, "creates a path in the home directory"},
	[PLACE_OTHER] = {REIN_LEVEL_SAFE, "creates a path"},
	[PLACE_SYSTEM] = {REIN_LEVEL_RISKY, "creates a path in a system directory"},
	[PLACE_SYSTEM_ROOT] = {REIN_LEVEL_RISKY, "creates a path in a system directory"},
	[PLACE_DEVICE] = {REIN_LEVEL_RISKY, "creates a device path"},
	[PLACE_PROC] = {REIN_LEVEL_RISKY, "creates a kernel object"},
	[PLACE_UNKNOWN] = {REIN_LEVEL_SAFE, "creates a path"},
	[PLACE_DATA] = {0, NULL},
};

void effect_make(struct ctx *cx, const struct field *f)
{
	struct spot s = path_spot(cx, f->s);

	if (s.persist || s.agent) {
		write_special(cx, &s, f);
		return;
	}
	if (s.log)
		fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, LOCAL, f->at, show(cx, f->s),
		     "changes the times of a log of the system");
	judged(cx, REIN_FACT_WRITE, make_rules, &s, f);
}

void effect_modify(struct ctx *cx, const struct field *f)
{
	effect_write(cx, f, true);
}

static const struct rule delete_rules[] = {
	[PLACE_WORKSPACE] = {REIN_LEVEL_RISKY, "deletes in the workspace"},
	[PLACE_WORKSPACE_ROOT] = {REIN_LEVEL_DESTRUCTIVE, "deletes the whole workspace"},
	[PLACE_REGEN] = {REIN_LEVEL_RISKY, "deletes what can be built again"},
	[PLACE_PRECIOUS] = {REIN_LEVEL_DESTRUCTIVE, "deletes the repository's own data"},
	[PLACE_TMP] = {REIN_LEVEL_RISKY, "deletes temporary files"},
	[PLACE_TMP_ROOT] = {REIN_LEVEL_DESTRUCTIVE, "deletes everybody's temporary files"},
	[PLACE_HOME] = {REIN_LEVEL_DANGEROUS, "deletes in the home directory"},
	[PLACE_HOME_ROOT] = {REIN_LEVEL_DESTRUCTIVE, "deletes a home directory"},
	[PLACE_OTHER] = {REIN_LEVEL_DANGEROUS, "deletes outside the workspace"},
	[PLACE_SYSTEM] = {REIN_LEVEL_DESTRUCTIVE, "deletes in a system directory"},
	[PLACE_SYSTEM_ROOT] = {REIN_LEVEL_DESTRUCTIVE, "deletes a system directory"},
	[PLACE_DEVICE] = {REIN_LEVEL_DESTRUCTIVE, "deletes a device"},
	[PLACE_PROC] = {REIN_LEVEL_DESTRUCTIVE, "deletes kernel objects"},
	[PLACE_UNKNOWN] = {REIN_LEVEL_DESTRUCTIVE, "deletes a path that is not known"},
	[PLACE_NULL] = {REIN_LEVEL_DANGEROUS, "deletes a device"},
	[PLACE_NET] = {REIN_LEVEL_RISKY, "deletes"},
	[PLACE_DATA] = {0, NULL},
};

void effect_delete(struct ctx *cx, const struct field *f, bool recursive)
{
	struct spot s = path_spot(cx, f->s);
	bool far = s.place == PLACE_HOME || s.place == PLACE_OTHER;

	if (far && (recursive || s.globs || s.holes)) {
		fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DESTRUCTIVE, LOCAL, f->at, show(cx, f->s),
		     s.place == PLACE_HOME ? "deletes a tree in the home directory"
					   : "deletes a tree outside the workspace");
		return;
	}
	if (s.log || s.secret || s.agent) {
		fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DESTRUCTIVE, LOCAL, f->at, show(cx, f->s),
		     s.log ? "deletes a log of the system" : "deletes credentials or protection");
		return;
	}
	judged(cx, REIN_FACT_DELETE, delete_rules, &s, f);
}

void effect_attr(struct ctx *cx, const struct field *f, bool recursive, bool bad_mode)
{
	struct spot s = path_spot(cx, f->s);
	bool root = s.place == PLACE_SYSTEM_ROOT || s.place == PLACE_HOME_ROOT;
	enum rein_level level = REIN_LEVEL_SAFE;
	const char *why = "changes mode or owner in the workspace";

	if (recursive && (root || s.place == PLACE_SYSTEM)) {
		level = REIN_LEVEL_DESTRUCTIVE;
		why = "changes modes or owners of a whole tree that is not the workspace";
	} else if (s.place == PLACE_SYSTEM || root || s.place == PLACE_DEVICE ||
		   s.place == PLACE_PROC || s.secret || s.persist || s.log) {
		level = REIN_LEVEL_DANGEROUS;
		why = "changes mode or owner of a protected path";
	} else if (bad_mode) {
		level = REIN_LEVEL_DANGEROUS;
		why = "gives everybody access or nobody any, or runs as the owner";
	} else if (s.place == PLACE_UNKNOWN && recursive) {
		level = REIN_LEVEL_DANGEROUS;
		why = "changes a tree that is not known";
	} else if (s.place == PLACE_OTHER || s.place == PLACE_HOME || s.place == PLACE_UNKNOWN) {
		level = REIN_LEVEL_RISKY;
		why = "changes mode or owner outside the workspace";
	}
	fact(cx, REIN_FACT_WRITE, level, LOCAL, f->at, show(cx, f->s), why);
}

void effect_device(struct ctx *cx, const struct field *f)
{
	fact(cx, REIN_FACT_DEVICE, REIN_LEVEL_DESTRUCTIVE, LOCAL, f->at, show(cx, f->s),
	     "destroys what is stored on a device or volume");
}

void effect_upload(struct ctx *cx, const struct field *f)
{
	struct spot s = path_spot(cx, f->s);
	bool own = s.place <= PLACE_TMP_ROOT || s.place == PLACE_UNKNOWN;
	struct data d = cx->files ? file_data(cx, f) : data_unknown(0);

	effect_read(cx, f);
	if (d.taint & (TAINT_SECRET | TAINT_STORE))
		effect_send(cx, &d, f->at);
	fact(cx, REIN_FACT_SEND, own ? REIN_LEVEL_RISKY : REIN_LEVEL_DANGEROUS,
	     REIN_REACH_IRREVERSIBLE, f->at, show(cx, f->s),
	     own ? "sends a file over the network"
		 : "sends a file from outside the workspace over the network");
}

void effect_send(struct ctx *cx, const struct data *d, struct range at)
{
	if (d->taint & TAINT_SECRET)
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, at, NULL,
		     "sends credentials over the network");
	else if (d->taint & TAINT_STORE)
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, at, NULL,
		     "sends the contents of a database over the network");
	else if (d->taint & TAINT_FAR)
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, at, NULL,
		     "sends a file from outside the workspace over the network");
	else
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, at, NULL,
		     "sends data over the network");
}

/* ------------------------------------------------------------ code */

/* source: by the shell itself. */
static bool is_shell_lang(const char *lang)
{
	return !lang || !strcmp(lang, "shell") || !strcmp(lang, "source");
}

void effect_code(struct ctx *cx, const struct data *d, const char *lang, struct range at)
{
	enum rein_level level = REIN_LEVEL_DANGEROUS;
	const char *why = "runs code that cannot be seen";

	if (d->known && !has_hole(d->text)) {
		if (is_shell_lang(lang)) {
			struct io io = {.in = data_unknown(TAINT_INPUT)};

			if (lang && !strcmp(lang, "source"))
				run_here(cx, d->text, at, &io);
			else
				run_text(cx, d->text, at, &io);
		} else {
			code_scan(cx, lang, d->text, at);
		}
		if (d->taint & TAINT_DECODED)
			fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, at, NULL,
			     "runs code that was encoded");
		return;
	}
	if (d->taint & TAINT_NET)
		why = "runs code from the network that nobody looked at";
	else if (d->taint & TAINT_DECODED)
		why = "runs code that was encoded";
	else if (d->taint & TAINT_FILE) {
		why = "runs the contents of a file";
		level = REIN_LEVEL_RISKY;
	}
	fact(cx, REIN_FACT_EXEC, level, LOCAL, at, NULL, why);
}

/* k3s-uninstall.sh, ./drop-db.py: not looked into, but the name says it */
void effect_name(struct ctx *cx, const struct field *f)
{
	struct rein_str stem = str_base(f->s);
	const char *dot = stem.p && stem.n ? memrchr(stem.p, '.', stem.n) : NULL;

	if (dot && dot > stem.p)
		stem = str_to(stem, (size_t)(dot - stem.p));
	if (verb_class(cx, stem) == VERB_DELETE)
		fact(cx, REIN_FACT_DELETE, REIN_LEVEL_DANGEROUS, REIN_REACH_CONTAINED, f->at, show(cx, f->s),
		     "a program whose name says that it removes something");
}

/* A file that is run by an interpreter, sourced, or executed. */
void effect_script(struct ctx *cx, const struct field *f, const char *lang)
{
	struct spot s = path_spot(cx, f->s);
	struct data d;
	struct vfile *v;

	if (!f->s.n || s.place == PLACE_DATA)
		return;
	d = file_data(cx, f);
	v = vfile_find(cx, f->s);
	if (v || d.known || s.place == PLACE_NULL || s.place == PLACE_NET) {
		effect_code(cx, &d, lang, f->at);
		return;
	}
	if (f->taint & (TAINT_NET | TAINT_DECODED)) {
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, f->at, show(cx, f->s),
		     "runs a file whose name came from elsewhere");
		return;
	}
	if (str_starts(f->s, "http://") || str_starts(f->s, "https://")) {
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, f->at, show(cx, f->s),
		     "runs code from the network that nobody looked at");
		return;
	}
	if (s.place == PLACE_PROC || s.place == PLACE_DEVICE) {
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, f->at, show(cx, f->s),
		     "runs code from another process or a device");
		return;
	}
	if (s.secret)
		effect_read(cx, f);
	effect_name(cx, f);
	if (cx->fetched && !is_far(&s)) {
		fact(cx, REIN_FACT_EXEC, REIN_LEVEL_DANGEROUS, LOCAL, f->at, show(cx, f->s),
		     "runs a program that may have been downloaded just now");
		return;
	}
	fact(cx, REIN_FACT_EXEC, REIN_LEVEL_RISKY, LOCAL, f->at, show(cx, f->s),
	     "runs a program whose contents were not looked at");
}

/* ------------------------------------------------------------ environment */

static bool env_match(struct rein_str name, const struct know_env *e)
{
	const char *pat = e->pattern;
	size_t n = e->len;

	if (pat[n - 1] == '*')
		return name.n >= n - 1 && !memcmp(name.p, pat, n - 1);
	if (pat[n - 1] != name.p[name.n - 1])
		return false;
	if (pat[0] == '*')
		return name.n >= n - 1 && !memcmp(name.p + name.n - (n - 1), pat + 1, n - 1);
	return name.n == n && !memcmp(name.p, pat, n);
}

static const struct know_env *env_in(const struct know *k, struct rein_str name)
{
	const unsigned shelves[] = {KNOW_SHELVES - 1, know_env_shelf(name.n ? name.p[0] : '*')};
	const struct know_env *found = NULL;

	for (size_t s = 0; name.n && s < ARRAY_SIZE(shelves); s++)
		for (size_t i = k->env_shelves[shelves[s]]; i < k->env_shelves[shelves[s] + 1]; i++) {
			const struct know_env *e = &k->envs[k->env_shelved[i]];

			if ((!found || e < found) && env_match(name, e))
				found = e;
		}
	return found;
}

static const struct know_env *env_find(struct ctx *cx, struct rein_str name)
{
	struct env_memo *m = &cx->envs[(name.n ? (unsigned char)name.p[name.n - 1] : 0) % CX_ENVS];
	const struct know *extra = cx_extra(cx);
	const struct know_env *e;

	if (m->name.n && rein_str_eq(m->name, name))
		return m->found;
	e = extra ? env_in(extra, name) : NULL;
	*m = (struct env_memo){name, e ? e : env_in(&know_builtin, name)};
	return m->found;
}

bool env_is_secret(struct ctx *cx, struct rein_str name)
{
	const struct know_env *e = env_find(cx, name);

	return e && e->cls == KENV_SECRET;
}

/* Where only root installs: /usr/lib/postgresql/15/bin, /opt/node/bin */
static bool is_installed(struct rein_str dir)
{
	return (str_starts(dir, "/usr/") || str_starts(dir, "/opt/") || str_starts(dir, "/nix/store/")) &&
	       str_ends(dir, "/bin") && !str_has(dir, "/../") && is_literal(dir);
}

/* Only the old PATH, system directories, and the usual ones of the home directory or project? */
static bool path_is_tame(struct ctx *cx, struct rein_str s)
{
	static const struct rein_str usual[] = {
		WORD("\001"), WORD("/bin"), WORD("/sbin"), WORD("/usr/bin"), WORD("/usr/sbin"),
		WORD("/usr/local/bin"), WORD("/usr/local/sbin"), WORD("/opt/homebrew/bin"),
		WORD("/opt/homebrew/sbin"), WORD("/snap/bin"), WORD("/usr/local/go/bin"),
	};
	static const char *const own[] = {"/bin", "/.local/bin", "/.cargo/bin", "/go/bin", "/.bun/bin",
					  "/.deno/bin", "/.npm-global/bin", "/.poetry/bin"};

	while (s.n) {
		const char *colon = memchr(s.p, ':', s.n);
		struct rein_str dir = colon ? str_to(s, (size_t)(colon - s.p)) : s;
		bool ok = str_among(dir, usual, ARRAY_SIZE(usual)) || is_installed(dir) || str_ends(dir, "node_modules/.bin") || str_ends(dir, "venv/bin");
		for (size_t i = 0; !ok && i < ARRAY_SIZE(own); i++)
			ok = dir.n == cx->home.n + strlen(own[i]) &&
			     !memcmp(dir.p, cx->home.p, cx->home.n) && str_ends(dir, own[i]);
		if (!ok)
			return false;
		s = str_from(s, dir.n + 1);
	}
	return true;
}

/* Besides, directories of the workspace itself: what lies there could be run by its path just as
 * well. */
static bool path_is_own(struct ctx *cx, struct rein_str s)
{
	while (s.n) {
		const char *colon = memchr(s.p, ':', s.n);
		struct rein_str dir = colon ? str_to(s, (size_t)(colon - s.p)) : s;
		enum place p = path_is_tame(cx, dir) ? PLACE_WORKSPACE : path_spot(cx, dir).place;

		if (!dir.n || dir.p[0] == '.' || !(dir.p[0] == '/' || dir.p[0] == HOLE) ||
		    (p != PLACE_WORKSPACE && p != PLACE_REGEN))
			return false;
		s = str_from(s, dir.n + 1);
	}
	return true;
}

/* A variable that the commands after it will see. */
void effect_env(struct ctx *cx, struct rein_str name, const struct field *value, struct range at)
{
	const struct know_env *e = env_find(cx, name);

	if (value && protect_setting(cx, name, value->s, at))
		return;
	if (!e) {
		if (value)
			hint_variable(cx, name, value, at);
		return;
	}
	if (str_is(name, "PATH") && value && path_is_tame(cx, value->s))
		return;
	if (str_is(name, "PATH") && value && path_is_own(cx, value->s)) {
		fact(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_RISKY, LOCAL, at, show(cx, name),
		     "runs programs of the workspace in the place of others");
		return;
	}
	if ((str_is(name, "HISTFILE") && value && (str_is(value->s, "/dev/null") || !value->s.n)) ||
	    (str_in(name, "HISTSIZE HISTFILESIZE") && value && str_is(value->s, "0"))) {
		fact(cx, REIN_FACT_PROTECTION, REIN_LEVEL_DANGEROUS, LOCAL, at, show(cx, name),
		     "stops the shell from keeping its history");
		return;
	}
	if (e->cls == KENV_EXEC && value && value->s.n) {
		if (str_in(value->s, "cat less more true : vi vim nano emacs bat delta never "
				     "code ssh") ||
		    str_is(value->s, "code --wait") || str_is(value->s, "less -R") ||
		    str_is(value->s, "less -FRX") || env_is_tame(cx, name, value->s))
			return;
		fact(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_DANGEROUS, LOCAL, at,
		     show(cx, name), e->why ? e->why : "makes other programs run or load this");
		return;
	}
	/* an address is a credential when a password is in it */
	if (e->cls == KENV_SECRET && value && str_ends(name, "_URL") &&
	    !memchr(value->s.p, '@', value->s.n))
		return;
	/* PGPASSWORD=x psql: how a client is given what it logs in with */
	if (str_in(name, "PGPASSWORD MYSQL_PWD REDISCLI_AUTH"))
		return;
	if (e->cls == KENV_SECRET && value && value->s.n && is_literal(value->s)) {
		fact(cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, LOCAL, at, show(cx, name),
		     "puts a credential into the environment");
		return;
	}
	if (e->cls == KENV_CONFIG)
		fact(cx, REIN_FACT_ENVIRONMENT, REIN_LEVEL_RISKY, LOCAL, at, show(cx, name),
		     e->why ? e->why : "changes what other programs do");
}
