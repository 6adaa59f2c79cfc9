/* SPDX-License-Identifier: Apache-2.0 */
/* Does a program that would start fit what a rule says of programs, sub-commands, options and words? */
#include "policy/judging.h"

/* Options that take the next word, for programs whose sub-command stands behind them. */
static const struct {
	const char *program;
	const char *options; /* each with a space on both sides */
} valued[] = {
	{"git", " -C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source "},
	{"docker", " -H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey "},
	{"podman", " --connection -c --log-level --root --runroot --storage-driver --url "},
	{"kubectl", " -n --namespace --context --kubeconfig -s --server --cluster --user --as --token -v --v "
		    "--as-group --as-uid --request-timeout "},
	{"helm", " -n --namespace --kube-context --kubeconfig --registry-config --repository-config "},
	{"npm", " --prefix -w --workspace --registry --userconfig -C "},
	{"yarn", " --cwd "},
	{"pnpm", " -C --dir --filter -F "},
	{"cargo", " -C --config -Z --color "},
	{"aws", " --profile --region --output --endpoint-url --query "},
	{"gcloud", " --project --account --configuration --format --impersonate-service-account "},
	{"az", " --subscription -o --output --query "},
	{"terraform", " "},
	{"gh", " -R --repo --hostname "},
	{"systemctl", " -H --host -M --machine -t --type -p --property -n --lines -o --output -s --signal "},
	{"apt-get", " -o -c -t --target-release --config-file --option "},
	{"apt", " -o -c -t --target-release --config-file --option "},
	{"pip", " --python --log --proxy --retries --timeout --cert --cache-dir "},
};

/* Those that take none, of any of them; what starts with --no- takes none either. */
static const char plain_options[] =
	" -p -P -q -qq -v -vv -y -D -h -g -s -r -f -a -l --paginate --bare --literal-pathspecs --glob-pathspecs "
	"--noglob-pathspecs --icase-pathspecs --quiet --silent --verbose --debug --yes --assume-yes --help --version "
	"--global --system --user --now --all --full --force --json --locked --offline --frozen --tls --tlsverify --remote "
	"--isolated --only-show-errors ";

static const char *options_of(struct rein_str program)
{
	for (size_t i = 0; i < ARRAY_SIZE(valued); i++)
		if (rein_str_eq(rein_str(valued[i].program), program))
			return valued[i].options;
	return NULL;
}

struct rein_str base_of(struct rein_str s)
{
	/* longer than the kernel takes: no name of a program, and not to be searched for every rule */
	const char *slash = s.n && s.n <= WORD_LONG ? memrchr(s.p, '/', s.n) : NULL;

	return slash ? (struct rein_str){slash + 1, (size_t)(s.p + s.n - slash - 1)} : s;
}

static bool takes_next(const char *options, struct rein_str w)
{
	char key[64];

	if (w.n + 3 > sizeof(key))
		return false;
	key[0] = ' ';
	memcpy(key + 1, w.p, w.n);
	key[w.n + 1] = ' ';
	key[w.n + 2] = '\0';
	return strstr(options, key) != NULL;
}

static bool is_option(struct rein_str w)
{
	return w.n > 1 && w.p[0] == '-';
}

/* "push", or "remote add": the words from `at` on, options between them left out. */
static enum match words_are(const char *want, const struct rein_call *c, size_t at)
{
	enum match m = MATCH_YES;

	while (*want) {
		size_t n = strcspn(want, " ");
		struct rein_str one = {want, n};
		char pattern[128];
		const char *list[] = {pattern};
		struct strs single = {list, 1};
		enum match k;

		while (at < c->n && is_option(c->words[at]))
			at++;
		if (at >= c->n || n >= sizeof(pattern))
			return MATCH_NO;
		memcpy(pattern, one.p, n);
		pattern[n] = '\0';
		k = match_word(&single, c->words[at++]);
		if (k < m)
			m = k;
		if (m == MATCH_NO)
			return m;
		want += n;
		want += strspn(want, " ");
	}
	return m;
}

static bool takes_none(struct rein_str w)
{
	return memchr(w.p, '=', w.n) || (w.n > 5 && !memcmp(w.p, "--no-", 5)) || takes_next(plain_options, w);
}

static enum match match_subcommand(const struct strs *patterns, const struct rein_call *c, bool allows)
{
	const char *options = options_of(base_of(c->words[0]));
	enum match best = MATCH_NO;
	bool unsure = false; /* an option whose arity is not known stood before */
	bool second = false; /* and this is the word after the one it may have taken */

	for (size_t i = 1; i < c->n; i++) {
		struct rein_str w = c->words[i];

		if (is_option(w)) {
			if (options && takes_next(options, w))
				i++;
			else if (options ? !takes_none(w) : !memchr(w.p, '=', w.n))
				unsure = true;
			continue;
		}
		for (size_t k = 0; k < patterns->n; k++) {
			enum match m = words_are(patterns->v[k], c, i);

			/* of a program whose options we know, a strange one most likely takes nothing */
			if (m == MATCH_YES && unsure && (!options || allows || second))
				m = MATCH_MAYBE;
			if (m > best)
				best = m;
		}
		/* the word may have been that option's value: the next one is a candidate too */
		if (!unsure || !is_option(c->words[i - 1]))
			break;
		second = true;
	}
	return best;
}

#define CLUSTER 16 /* no more options than these in one word */

/* How much of a word is known from its beginning on, of at most so many bytes. */
static size_t known(struct rein_str w, size_t max)
{
	size_t n = 0;

	while (n < w.n && n < max && (w.p[n] < REIN_WORD_ANY || w.p[n] > REIN_WORD_ONE))
		n++;
	return n;
}

static enum match match_flag(const char *flag, struct rein_str w)
{
	size_t n = strlen(flag), sure = known(w, n + 1), name = w.n;
	const char *equal;

	if (w.n && w.p[0] == REIN_WORD_ANY)
		return MATCH_MAYBE;
	if (!w.n || (w.p[0] != '-' && w.p[0] != '+'))
		return MATCH_NO;
	if (w.n >= n && !memcmp(w.p, flag, n) && (w.n == n || w.p[n] == '='))
		return MATCH_YES;
	/* the rest is only known when it runs: it may be this option, or one of a cluster */
	if (sure < w.n && sure <= n && !memcmp(w.p, flag, sure))
		return MATCH_MAYBE;
	if (n == 2 && w.n > 1 && w.p[0] == flag[0] && w.p[1] != '-' &&
	    known(w, CLUSTER) < (w.n < CLUSTER ? w.n : CLUSTER))
		return MATCH_MAYBE;
	equal = memchr(w.p, '=', w.n < n ? w.n : n);
	if (equal)
		name = (size_t)(equal - w.p);
	if (flag[0] == '-' && flag[1] == '-') /* an abbreviation */
		return name > 2 && name < n && !memcmp(w.p, flag, name) ? MATCH_MAYBE : MATCH_NO;
	if (n == 2 && w.n > 1 && w.p[0] == flag[0] && w.p[1] != '-' && memchr(w.p + 1, flag[1], w.n - 1)) {
		for (size_t i = 1; i < w.n; i++)
			if (!((w.p[i] >= 'a' && w.p[i] <= 'z') || (w.p[i] >= 'A' && w.p[i] <= 'Z')))
				return MATCH_MAYBE;
		return w.n <= 6 ? MATCH_YES : MATCH_MAYBE; /* a cluster, or a value that is attached */
	}
	return MATCH_NO;
}

static enum match match_flags(const struct strs *flags, const struct rein_call *c)
{
	enum match best = MATCH_NO;

	for (size_t i = 1; i < c->n && !rein_str_eq(c->words[i], STR("--")); i++)
		for (size_t k = 0; k < flags->n; k++) {
			enum match m = match_flag(flags->v[k], c->words[i]);

			if (m > best)
				best = m;
		}
	return best;
}

static bool from_system(struct rein_str program)
{
	static const char *const dirs[] = {"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/",
					   "/usr/local/sbin/"};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		size_t n = strlen(dirs[i]);

		if (program.n > n && !memcmp(program.p, dirs[i], n) && !memchr(program.p + n, '/', program.n - n))
			return true;
	}
	return false;
}

static enum match match_program(const struct rule *r, struct rein_str program)
{
	struct rein_str base;
	enum match m;

	if (program.n > WORD_LONG) /* longer than the kernel takes: whatever becomes of it */
		return MATCH_MAYBE;
	base = base_of(program);

	if (program.n == base.n)
		return match_word(&r->program, program);
	m = match_word(&r->program, program);
	if (m == MATCH_YES)
		return m;
	m = match_word(&r->program, base);
	/* ./git is called git but need not be it: no reason to allow, reason enough to stop */
	if (m == MATCH_YES && r->c.decide - 1 == REIN_ALLOW && !from_system(program))
		return MATCH_MAYBE;
	return m;
}

static enum match match_arguments(const struct strs *patterns, const struct rein_call *c)
{
	enum match best = MATCH_NO;

	for (size_t i = 1; i < c->n; i++) {
		enum match m = match_word(patterns, c->words[i]);

		if (m > best)
			best = m;
	}
	return best;
}

enum match match_call(const struct rule *r, const struct rein_call *c)
{
	enum match m = MATCH_YES;

	if (r->program.n)
		m = match_program(r, c->words[0]);
	if (m && r->subcommand.n)
		m = least(m, match_subcommand(&r->subcommand, c, r->c.decide - 1 == REIN_ALLOW));
	if (m && r->flags.n)
		m = least(m, match_flags(&r->flags, c));
	if (m && r->arguments.n)
		m = least(m, match_arguments(&r->arguments, c));
	return m;
}
