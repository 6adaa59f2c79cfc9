/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that take a password and do not say so: curl -u, mysql -p, sshpass -p. Only redaction looks
 * for them: what they mean depends on the program beside them, which is a guess good enough to hide a
 * word and not good enough to accuse somebody.
 */
#include "record/terse.h"

#include <strings.h>

#include "base/auto.h"

struct terse_hit {
	size_t at, n;
};

static bool has(struct rein_str t, size_t at, const char *lit)
{
	size_t n = strlen(lit);

	return t.n - at >= n && memcmp(t.p + at, lit, n) == 0;
}

/* A reference to a value is no secret. */
static bool reference(struct rein_str v)
{
	return v.n == 0 || strchr("$<*%[{", v.p[0]) != NULL;
}

/* A word, or what stands in quotes. */
static bool value_at(struct rein_str t, size_t i, struct terse_hit *h)
{
	char quote = 0;
	size_t from, n = 0;

	while (i < t.n && (t.p[i] == ' ' || t.p[i] == '\\'))
		i++;
	if (i < t.n && (t.p[i] == '"' || t.p[i] == '\''))
		quote = t.p[i++];
	from = i;
	for (; from + n < t.n; n++) {
		char c = t.p[from + n];

		if (quote ? c == quote || c == '\n' || c == '\\' : c && strchr(" \t\r\n\"'&;,)}|<>", c))
			break;
	}
	if (n < 4 || reference((struct rein_str){t.p + from, n}))
		return false;
	*h = (struct terse_hit){from, n};
	return true;
}

enum { ATTACHED = 1, NEXT = 2, PAIR = 4, PERCENT = 8 };

/* Options that take a password and do not say so. */
static const struct {
	const char *program, *option;
	unsigned form;	  /* -pVALUE, -p VALUE; PAIR: user:VALUE, PERCENT: user%VALUE */
	const char *with; /* only with this word, or NULL */
} terse[] = {
	{"curl", "-u", ATTACHED | NEXT | PAIR, NULL},
	{"curl", "--user", NEXT | PAIR, NULL},
	{"curl", "-U", ATTACHED | NEXT | PAIR, NULL},
	{"curl", "--proxy-user", NEXT | PAIR, NULL},
	{"http", "-a", NEXT | PAIR, NULL},
	{"https", "-a", NEXT | PAIR, NULL},
	{"mysql", "-p", ATTACHED, NULL},
	{"mysqldump", "-p", ATTACHED, NULL},
	{"mysqladmin", "-p", ATTACHED, NULL},
	{"mariadb", "-p", ATTACHED, NULL},
	{"sshpass", "-p", ATTACHED | NEXT, NULL},
	{"docker", "-p", ATTACHED | NEXT, "login"},
	{"podman", "-p", ATTACHED | NEXT, "login"},
	{"helm", "-p", NEXT, "login"},
	{"oc", "-p", NEXT, "login"},
	{"az", "-p", NEXT, "login"},
	{"redis-cli", "-a", NEXT, NULL},
	{"mongo", "-p", ATTACHED | NEXT, NULL},
	{"mongosh", "-p", ATTACHED | NEXT, NULL},
	{"mongodump", "-p", ATTACHED | NEXT, NULL},
	{"mongorestore", "-p", ATTACHED | NEXT, NULL},
	{"ldapsearch", "-w", NEXT, NULL},
	{"ldapmodify", "-w", NEXT, NULL},
	{"ldapadd", "-w", NEXT, NULL},
	{"smbclient", "-U", NEXT | PERCENT, NULL},
	{"zip", "-P", NEXT, NULL},
	{"unzip", "-P", NEXT, NULL},
	{"7z", "-p", ATTACHED, NULL},
	{"ipmitool", "-P", NEXT, NULL},
	{"sqlcmd", "-P", ATTACHED | NEXT, NULL},
};

/* Is there such a word in the command the byte at stands in? */
static bool command_has(struct rein_str t, size_t at, const char *word)
{
	size_t n = strlen(word), from = at;

	while (from && !strchr(";|&\n(`", t.p[from - 1]))
		from--;
	for (size_t i = from; i + n <= t.n && i < at; i++)
		if (memcmp(t.p + i, word, n) == 0 &&
		    (i == 0 || strchr(" \t\n/'\"(;|&`", t.p[i - 1])) &&
		    (i + n == t.n || strchr(" \t\n'\"", t.p[i + n])))
			return true;
	return false;
}

static bool terse_option(struct rein_str t, size_t at, struct terse_hit *h)
{
	if (at && !strchr(" \t'\"", t.p[at - 1]))
		return false;
	for (size_t k = 0; k < ARRAY_SIZE(terse); k++) {
		size_t n = strlen(terse[k].option), from = at + n;
		const char *mark;

		if (!has(t, at, terse[k].option) || from >= t.n)
			continue;
		if (!(terse[k].form & (t.p[from] == ' ' || t.p[from] == '=' ? NEXT : ATTACHED)))
			continue;
		if (!command_has(t, at, terse[k].program) ||
		    (terse[k].with && !command_has(t, at, terse[k].with)) ||
		    !value_at(t, from + (t.p[from] == '='), h))
			continue;
		if (!(terse[k].form & (PAIR | PERCENT)))
			return true;
		mark = memchr(t.p + h->at, terse[k].form & PAIR ? ':' : '%', h->n);
		if (!mark || mark + 1 == t.p + h->at + h->n)
			continue; /* only a name: it will be asked for */
		h->n -= (size_t)(mark + 1 - (t.p + h->at));
		h->at = (size_t)(mark + 1 - t.p);
		if (!reference((struct rein_str){t.p + h->at, h->n}))
			return true;
	}
	return false;
}

bool rein_terse_find(struct rein_str t, size_t from, size_t *ret_at, size_t *ret_len)
{
	for (size_t i = from; i < t.n; i++) {
		struct terse_hit h;

		if (t.p[i] != '-' || !terse_option(t, i, &h) || h.at < from)
			continue;
		*ret_at = h.at;
		*ret_len = h.n;
		return true;
	}
	return false;
}
