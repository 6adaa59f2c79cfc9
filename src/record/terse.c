/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that take a password and do not say so: curl -u, mysql -p, sshpass -p. Only redaction looks
 * for them: what they mean depends on the program beside them, which is a guess good enough to hide a
 * word and not good enough to accuse somebody.
 *
 * The text is read once, forward. A program's name opens it; it is open to the end of its command, and its options are
 * looked for that long. Quotes count from the name on: a command may stand in some itself (sh -c '...').
 */
#include "record/terse.h"

#include "base/auto.h"

struct terse_hit {
	size_t at, n;
};

enum program {
	CURL,
	HTTPIE,
	MYSQL,
	SSHPASS,
	REGISTRY,
	LOGIN,
	REDIS,
	MONGO,
	LDAP,
	SMB,
	ZIP,
	SEVENZIP,
	IPMI,
	SQLCMD,
	MOSQUITTO,
	KEYTOOL,
	ACCOUNT,
	HTPASSWD,
	NPROGRAMS,
};

static const struct {
	const char *name;
	unsigned char program;
	bool ends; /* its own options follow: the other's are over */
} names[] = {
	{"curl", CURL, false},
	{"http", HTTPIE, false},	{"https", HTTPIE, false},
	{"mysql", MYSQL, false},	{"mysqldump", MYSQL, false},	 {"mysqladmin", MYSQL, false},
	{"mysqlimport", MYSQL, false},	{"mysqlshow", MYSQL, false},	 {"mysqlcheck", MYSQL, false},
	{"mysqlslap", MYSQL, false},	{"mysqlpump", MYSQL, false},	 {"mysqlbinlog", MYSQL, false},
	{"mysqlsh", MYSQL, false},	{"mycli", MYSQL, false},	 {"mariadb", MYSQL, false},
	{"mariadb-dump", MYSQL, false}, {"mariadb-admin", MYSQL, false}, {"mariadb-import", MYSQL, false},
	{"mariadb-show", MYSQL, false}, {"mariadb-check", MYSQL, false},
	{"sshpass", SSHPASS, false},	{"ssh", SSHPASS, true},		 {"scp", SSHPASS, true},
	{"sftp", SSHPASS, true},	{"rsync", SSHPASS, true},
	{"docker", REGISTRY, false},	{"podman", REGISTRY, false},	 {"buildah", REGISTRY, false},
	{"skopeo", REGISTRY, false},	{"nerdctl", REGISTRY, false},	 {"helm", REGISTRY, false},
	{"oc", REGISTRY, false},	{"az", REGISTRY, false},	 {"login", LOGIN, false},
	{"redis-cli", REDIS, false},
	{"mongo", MONGO, false},	{"mongosh", MONGO, false},	 {"mongodump", MONGO, false},
	{"mongorestore", MONGO, false}, {"mongoexport", MONGO, false},	 {"mongoimport", MONGO, false},
	{"cqlsh", MONGO, false},
	{"ldapsearch", LDAP, false},	{"ldapmodify", LDAP, false},	 {"ldapadd", LDAP, false},
	{"ldapdelete", LDAP, false},	{"ldapwhoami", LDAP, false},
	{"smbclient", SMB, false},	{"zip", ZIP, false},		 {"unzip", ZIP, false},
	{"7z", SEVENZIP, false},	{"7za", SEVENZIP, false},	 {"7zz", SEVENZIP, false},
	{"ipmitool", IPMI, false},	{"sqlcmd", SQLCMD, false},	 {"bcp", SQLCMD, false},
	{"mosquitto_pub", MOSQUITTO, false}, {"mosquitto_sub", MOSQUITTO, false},
	{"keytool", KEYTOOL, false},	{"jarsigner", KEYTOOL, false},
	{"useradd", ACCOUNT, false},	{"usermod", ACCOUNT, false},
	{"htpasswd", HTPASSWD, false},
};

enum {
	ATTACHED = 1, /* -pVALUE */
	NEXT = 2,     /* -p VALUE */
	PAIR = 4,     /* of user:VALUE */
	PERCENT = 8,  /* of user%VALUE */
	CLUSTER = 16, /* also behind others: -sSu VALUE */
	OPERAND = 32, /* it says that the last operand is one */
};

static const struct {
	unsigned char program, form;
	const char *option;
	unsigned with; /* bits of programs that must be there as well */
} terse[] = {
	{CURL, ATTACHED | NEXT | PAIR | CLUSTER, "-u", 0},
	{CURL, NEXT | PAIR, "--user", 0},
	{CURL, ATTACHED | NEXT | PAIR | CLUSTER, "-U", 0},
	{CURL, NEXT | PAIR, "--proxy-user", 0},
	{CURL, NEXT | PAIR, "-E", 0},
	{CURL, NEXT | PAIR, "--cert", 0},
	{CURL, NEXT, "--oauth2-bearer", 0},
	{HTTPIE, NEXT | PAIR, "-a", 0},
	{HTTPIE, NEXT | PAIR, "--auth", 0},
	{MYSQL, ATTACHED, "-p", 0},
	{SSHPASS, ATTACHED | NEXT, "-p", 0},
	{REGISTRY, ATTACHED | NEXT, "-p", 1u << LOGIN},
	{REDIS, NEXT, "-a", 0},
	{MONGO, ATTACHED | NEXT, "-p", 0},
	{LDAP, NEXT, "-w", 0},
	{SMB, NEXT | PERCENT, "-U", 0},
	{ZIP, ATTACHED | NEXT, "-P", 0},
	{SEVENZIP, ATTACHED, "-p", 0},
	{IPMI, NEXT, "-P", 0},
	{SQLCMD, ATTACHED | NEXT, "-P", 0},
	{MOSQUITTO, NEXT, "-P", 0},
	{KEYTOOL, NEXT, "-storepass", 0},
	{KEYTOOL, NEXT, "-keypass", 0},
	{ACCOUNT, ATTACHED | NEXT, "-p", 0},
	{HTPASSWD, CLUSTER | OPERAND, "-b", 0},
};

static bool has(struct rein_str t, size_t at, const char *lit)
{
	size_t n = strlen(lit);

	return t.n - at >= n && memcmp(t.p + at, lit, n) == 0;
}

/* Is there one of these at i? Both ends of the text count as blanks. */
static bool is_one_of(struct rein_str t, size_t i, const char *chars)
{
	return i >= t.n || (t.p[i] && strchr(chars, t.p[i]));
}

static bool is_blank(struct rein_str t, size_t i)
{
	return is_one_of(t, i, " \t\n\r");
}

/* A reference to a value is no secret. */
static bool is_reference(struct rein_str v)
{
	return v.n == 0 || strchr("$<*%[{", v.p[0]) != NULL;
}

/* 8080:80, 127.0.0.1:3306:3306/tcp: what docker run publishes, beside the name of a database. */
static bool is_port(struct rein_str v)
{
	if (!memchr(v.p, ':', v.n))
		return false;
	for (size_t i = 0; i < v.n; i++)
		if (!strchr("0123456789.:/tcpud", v.p[i]))
			return false;
	return true;
}

/* A word, or what stands in quotes. */
static struct terse_hit word_at(struct rein_str t, size_t i)
{
	char quote = 0;
	size_t from, n = 0;

	while (i < t.n && (t.p[i] == ' ' || t.p[i] == '\t' || t.p[i] == '\\' || (t.p[i] == '\n' && t.p[i - 1] == '\\')))
		i++;
	if (i < t.n && (t.p[i] == '"' || t.p[i] == '\''))
		quote = t.p[i++];
	from = i;
	for (; from + n < t.n; n++) {
		char c = t.p[from + n];

		if (quote ? c == quote || c == '\n' || c == '\\' : c && strchr(" \t\r\n\"'&;,)}|<>", c))
			break;
	}
	return (struct terse_hit){from, n};
}

static bool value_at(struct rein_str t, size_t i, struct terse_hit *h)
{
	struct terse_hit w = word_at(t, i);
	const struct rein_str v = {t.p + w.at, w.n};

	if (w.n < 4 || is_reference(v) || is_port(v))
		return false;
	*h = w;
	return true;
}

/* htpasswd -b [FILE] USER VALUE; without the file where it only prints (-n). at: its options' first that has a b in it. */
static bool operand(struct rein_str t, size_t at, struct terse_hit *h)
{
	struct terse_hit w = word_at(t, at);
	int left = 3;

	for (; w.n; w = word_at(t, w.at + w.n + is_one_of(t, w.at + w.n, "\"'"))) {
		const struct rein_str v = {t.p + w.at, w.n};

		if (v.p[0] != '-') {
			if (--left)
				continue;
			*h = w;
			return v.n >= 4 && !is_reference(v);
		}
		left -= memchr(v.p, 'n', v.n) != NULL;
		if (v.p[v.n - 1] == 'C' || v.p[v.n - 1] == 'r') /* they take a number */
			w = word_at(t, w.at + w.n);
	}
	return false;
}

/* Where the option's value may begin, or 0: it is another one. */
static size_t behind_option(struct rein_str t, size_t at, size_t row)
{
	const unsigned form = terse[row].form;
	const char *option = terse[row].option;
	size_t end = at + strlen(option);

	if (has(t, at, option) && end < t.n && (is_one_of(t, end, " \t=\\") ? form & NEXT : form & ATTACHED))
		return end + (t.p[end] == '=');
	if (!(form & CLUSTER))
		return 0;
	for (end = at + 1; end < t.n && ((t.p[end] >= 'a' && t.p[end] <= 'z') || (t.p[end] >= 'A' && t.p[end] <= 'Z')); end++)
		;
	if (end - at < 2 || end >= t.n || !is_blank(t, end))
		return 0;
	if (form & OPERAND)
		return memchr(t.p + at, option[1], end - at) ? end : 0;
	return t.p[end - 1] == option[1] ? end : 0;
}

static bool may_be_option(struct rein_str t, size_t at)
{
	return t.p[at] == '-' && (!at || is_one_of(t, at - 1, " \t\n'\""));
}

/* Most texts of a record are no commands, and have none. */
static bool has_options(struct rein_str t)
{
	for (size_t i = 0; i < t.n; i++) {
		const char *dash = memchr(t.p + i, '-', t.n - i);

		if (!dash)
			return false;
		i = (size_t)(dash - t.p);
		if (may_be_option(t, i))
			return true;
	}
	return false;
}

static bool option_at(struct rein_str t, size_t at, uint32_t open, struct terse_hit *h)
{
	for (size_t k = 0; k < ARRAY_SIZE(terse); k++) {
		const char *mark;
		size_t from;

		if (!(open & 1u << terse[k].program) || (open & terse[k].with) != terse[k].with)
			continue;
		from = behind_option(t, at, k);
		if (!from)
			continue;
		if (terse[k].form & OPERAND) {
			if (operand(t, at, h))
				return true;
			continue;
		}
		if (!value_at(t, from, h))
			continue;
		if (!(terse[k].form & (PAIR | PERCENT)))
			return true;
		mark = memchr(t.p + h->at, terse[k].form & PAIR ? ':' : '%', h->n);
		if (!mark || mark + 1 == t.p + h->at + h->n)
			continue; /* only a name: it will be asked for */
		h->n -= (size_t)(mark + 1 - (t.p + h->at));
		h->at = (size_t)(mark + 1 - t.p);
		if (!is_reference((struct rein_str){t.p + h->at, h->n}))
			return true;
	}
	return false;
}

/*
 * Does this byte end a command? Inside a word it does not (an address's &, a header's ;), nor does a line's end that is
 * escaped.
 */
static bool ends_command(struct rein_str t, size_t i)
{
	const char c = t.p[i];

	if (c == '\n')
		return !i || t.p[i - 1] != '\\';
	if (c != ';' && c != '|' && c != '&')
		return false;
	return !i || is_blank(t, i - 1) || is_blank(t, i + 1) || t.p[i - 1] == c || (i + 1 < t.n && t.p[i + 1] == c);
}

/* A quote that opens nothing closes one in which the whole command stands. */
static bool closes_outer(struct rein_str t, size_t i)
{
	return is_one_of(t, i + 1, " \t\r\n;|&),]}\\");
}

static void go_on(struct rein_terse *s, struct rein_str t, size_t i)
{
	const char c = t.p[i];
	const bool quote = c == '\'' || c == '"', end = ends_command(t, i);

	if (!quote && !end)
		return;
	for (unsigned k = 0; k < NPROGRAMS; k++) {
		if (!(s->open & 1u << k))
			continue;
		if (quote && s->quote[k] == c)
			s->quote[k] = 0;
		else if (quote && !s->quote[k] && !closes_outer(t, i))
			s->quote[k] = c;
		else if (end && !s->quote[k])
			s->open &= ~(1u << k);
	}
}

static void enter(struct rein_terse *s, struct rein_str t, size_t i)
{
	_Static_assert(NPROGRAMS <= 32 && NPROGRAMS <= sizeof(s->quote), "bits of a word");
	if (i && ((t.p[i - 1] >= 'a' && t.p[i - 1] <= 'z') || !is_one_of(t, i - 1, " \t\n/'\"(;|&`=")))
		return; /* letters first: most are behind another */
	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		if (names[k].name[0] != t.p[i] || !has(t, i, names[k].name) ||
		    !is_one_of(t, i + strlen(names[k].name), " \t\n\r'\"\\,"))
			continue;
		s->quote[names[k].program] = 0;
		if (names[k].ends)
			s->open &= ~(1u << names[k].program);
		else
			s->open |= 1u << names[k].program;
	}
}

bool rein_terse_next(struct rein_terse *s, struct rein_str t, size_t from, size_t *ret_at, size_t *ret_len)
{
	if (!s->at && !has_options(t))
		s->at = t.n;
	while (s->at < t.n) {
		const size_t i = s->at++;
		struct terse_hit h;

		if (s->open)
			go_on(s, t, i);
		enter(s, t, i);
		if (!s->open || !may_be_option(t, i) || !option_at(t, i, s->open, &h) || h.at < from)
			continue;
		*ret_at = h.at;
		*ret_len = h.n;
		return true;
	}
	return false;
}
