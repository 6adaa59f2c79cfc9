/* SPDX-License-Identifier: Apache-2.0 */
/* Words, numbers and colours for people; JSON for programs. */
#include "cli/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rein/classify.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"

static pid_t pager;
static int behind_pager = -1; /* what standard output was before */
static struct sigaction before_pager;

bool rein_ui_utf8(void)
{
	static int known;

	/* reading the locale costs a tenth of a millisecond: only where it is asked for */
	if (!known) {
		setlocale(LC_CTYPE, "");
		known = rein_streq(nl_langinfo(CODESET), "UTF-8") ? 1 : -1;
	}
	return known > 0;
}

bool rein_ui_on_screen(void)
{
	return pager || isatty(STDOUT_FILENO);
}

static bool coloured(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");

	if (no && *no)
		return false;
	if (force && *force && !rein_streq(force, "0"))
		return true;
	return ((f == stdout && pager) || isatty(fileno(f))) && term && !rein_streq(term, "dumb");
}

const char *rein_ui(FILE *f, enum rein_colour c)
{
	static const char *const codes[] = {"",	       "\x1b[1m",  "\x1b[2m", "\x1b[31m",
					    "\x1b[32m", "\x1b[33m", "\x1b[36m"};

	return coloured(f) ? codes[c] : "";
}

const char *rein_ui_off(FILE *f)
{
	return coloured(f) ? "\x1b[0m" : "";
}

unsigned rein_ui_width(FILE *f)
{
	const char *columns = getenv("COLUMNS");
	struct winsize ws;
	uint64_t told = 0;

	/* a pager shows it on the terminal that was there before */
	if (ioctl(f == stdout && pager ? behind_pager : fileno(f), TIOCGWINSZ, &ws) == 0 && ws.ws_col)
		return ws.ws_col;
	return columns && rein_parse_u64(columns, USHRT_MAX, &told) ? (unsigned)told : 0;
}

static void pass_over(int sig)
{
	(void)sig;
}

void rein_ui_outlive_readers(void)
{
	/* caught, not ignored: what is executed has it as it was */
	const struct sigaction caught = {.sa_handler = pass_over, .sa_flags = SA_RESTART};
	static const int by_writing[] = {SIGPIPE, SIGXFSZ}; /* nobody reads; a limit of one's shell (ulimit -f) */
	struct sigaction was;

	for (size_t i = 0; i < ARRAY_SIZE(by_writing); i++)
		if (sigaction(by_writing[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(by_writing[i], &caught, NULL);
}

void rein_say(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%srein:%s ", rein_ui(stderr, REIN_BOLD), rein_ui_off(stderr));
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void rein_more(const char *fmt, ...)
{
	va_list ap;

	fputs("      ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void rein_json_error(struct rein_json *j, const struct rein_err *err)
{
	rein_json_key(j, "error");
	if (!err || !err->code) {
		rein_json_null(j);
		return;
	}
	rein_json_open(j, '{');
	rein_json_kstr(j, "code", rein_code_name(err->code));
	rein_json_kstr(j, "message", err->msg);
	rein_json_ki64(j, "errno", err->sys);
	rein_json_close(j, '}');
}

static void json_failure(const struct rein_err *err, FILE *f)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	struct rein_json j = {.b = &b};

	rein_json_open(&j, '{');
	rein_json_error(&j, err);
	rein_json_close(&j, '}');
	rein_buf_char(&b, '\n');
	if (!b.failed)
		fwrite(b.p, 1, b.n, f);
	fflush(f);
}

int rein_fail(const struct rein_err *err, bool json)
{
	if (json)
		json_failure(err, stdout);
	rein_say("%s%s%s", rein_ui(stderr, REIN_RED), err->msg, rein_ui_off(stderr));
	return rein_code_exit(err->code);
}

int rein_fail_last(const struct rein_err *err, bool json)
{
	rein_fail(err, false);
	if (json)
		json_failure(err, stderr);
	return rein_code_exit(err->code);
}

/* A few results may be alive at once, as arguments of one call. */
static char *slot(size_t *size)
{
	static char ring[8][4 * PATH_MAX + 1]; /* the longest path, of nothing but bytes that are escaped */
	static unsigned at;

	*size = sizeof(ring[0]);
	return ring[at++ % ARRAY_SIZE(ring)];
}

const char *rein_ui_path(const char *path)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 16);
	size_t size;
	char *s = slot(&size);

	rein_buf_escaped(&b, rein_str(path));
	snprintf(s, size, "%s", b.p ? b.p : "");
	return s;
}

/* Into s, of b.n bytes at most max, not in the middle of a character. */
static void cut(const struct rein_buf *b, char *s, size_t size, size_t max)
{
	size_t at;

	if (max > size - 1)
		max = size - 1;
	if (b->n <= max || max <= 3) {
		snprintf(s, size, "%s", b->p ? b->p : "");
		return;
	}
	for (at = max - 3; at && ((unsigned char)b->p[at] & 0xc0) == 0x80; at--)
		;
	snprintf(s, size, "%.*s...", (int)at, b->p);
}

const char *rein_ui_text(const char *text, size_t max)
{
	auto_buf struct rein_buf b = REIN_BUF(1u << 22);
	size_t size;
	char *s = slot(&size);

	rein_buf_escaped(&b, rein_str(text));
	cut(&b, s, size, max);
	return s;
}

const char *rein_ui_count(uint64_t n)
{
	char digits[24];
	size_t size, len, out = 0;
	char *s = slot(&size);

	len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			s[out++] = ',';
		s[out++] = digits[i];
	}
	s[out] = '\0';
	return s;
}

const char *rein_ui_bytes(uint64_t n)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
	double v = (double)n;
	size_t size, u = 0;
	char *s = slot(&size);

	for (; v >= 999.5 && u + 1 < ARRAY_SIZE(units); u++)
		v /= 1000;
	if (u == 0 || v >= 100)
		snprintf(s, size, "%.0f %s", v, units[u]);
	else
		snprintf(s, size, "%.1f %s", v, units[u]);
	return s;
}

const char *rein_ui_seconds(uint64_t ns)
{
	size_t size;
	char *s = slot(&size);
	double v = (double)ns / 1e9;

	if (v < 1)
		snprintf(s, size, "%.0f ms", v * 1000);
	else if (v < 120)
		snprintf(s, size, "%.1f s", v);
	else
		snprintf(s, size, "%.0f min", v / 60);
	return s;
}

const char *rein_ui_ago(uint64_t then_ns, uint64_t now_ns)
{
	uint64_t s = now_ns > then_ns ? (now_ns - then_ns) / 1000000000u : 0;
	size_t size;
	char *out = slot(&size);

	if (s < 60)
		snprintf(out, size, "%llu s ago", (unsigned long long)s);
	else if (s < 3600)
		snprintf(out, size, "%llu min ago", (unsigned long long)s / 60);
	else if (s < 86400)
		snprintf(out, size, "%llu h ago", (unsigned long long)s / 3600);
	else
		snprintf(out, size, "%llu d ago", (unsigned long long)s / 86400);
	return out;
}

static bool plain_word(const char *w)
{
	return *w && !w[strspn(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "@%+=:,./-_")];
}

/* As bash would take it back: 'plain', or $'...' where something must be escaped. */
static void add_quoted(struct rein_buf *b, const char *word)
{
	size_t start = b->n;
	const char *quote;

	rein_buf_char(b, '\'');
	rein_buf_escaped(b, rein_str(word));
	rein_buf_char(b, '\'');
	if (b->failed || (b->n - start == strlen(word) + 2 && !strchr(word, '\'')))
		return;
	b->n = start;
	rein_buf_cstr(b, "$'");
	for (; (quote = strchr(word, '\'')); word = quote + 1) {
		rein_buf_escaped(b, (struct rein_str){word, (size_t)(quote - word)});
		rein_buf_cstr(b, "\\'");
	}
	rein_buf_escaped(b, rein_str(word));
	rein_buf_char(b, '\'');
}

const char *rein_ui_command(char *const *argv, size_t argc, size_t max)
{
	auto_buf struct rein_buf b = REIN_BUF(1 << 22);
	size_t size;
	char *s = slot(&size);

	for (size_t i = 0; i < argc && b.n < size; i++) {
		if (i)
			rein_buf_char(&b, ' ');
		if (plain_word(argv[i])) {
			rein_buf_cstr(&b, argv[i]);
			continue;
		}
		add_quoted(&b, argv[i]);
	}
	cut(&b, s, size, max);
	return s;
}

void rein_ui_summary(struct rein_buf *b, const struct rein_summary *s)
{
	const struct {
		uint64_t n;
		const char *word;
	} parts[] = {{s->modified, "modified"}, {s->created, "created"}, {s->deleted, "deleted"},
		     {s->renamed, "renamed"},	{s->meta, "with new attributes"}};
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i].n)
			continue;
		rein_buf_printf(b, "%s%s %s", any ? ", " : "", rein_ui_count(parts[i].n), parts[i].word);
		any = true;
	}
	if (!any)
		rein_buf_cstr(b, "only times of directories");
}

/* Standard output leads into fd; what it was is kept. */
static bool put_pager(int fd)
{
	behind_pager = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return behind_pager >= 0 && dup2(fd, STDOUT_FILENO) >= 0;
}

void rein_ui_page(bool wanted)
{
	/* without less a long list is better than none */
	static const char usual[] = "command -v less >/dev/null && exec less; exec cat";
	const char *cmd = getenv("REIN_PAGER") ? getenv("REIN_PAGER") : getenv("PAGER");
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	int fds[2];

	if (!wanted || !isatty(STDOUT_FILENO) || (cmd && (!*cmd || rein_streq(cmd, "cat"))))
		return;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	fflush(stdout);
	pager = fork();
	if (pager == 0) {
		dup2(fds[0], STDIN_FILENO);
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", cmd ? cmd : usual, (char *)NULL);
		_exit(127);
	}
	close(fds[0]);
	if (pager < 0)
		pager = 0;
	else if (put_pager(fds[1]))
		sigaction(SIGPIPE, &ignore, &before_pager);
	close(fds[1]);
	if (pager && behind_pager < 0) { /* it has read all there is, and ends */
		while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
			;
		pager = 0;
	}
}

void rein_ui_page_end(void)
{
	int status;

	if (!pager)
		return;
	fflush(stdout);
	/* the person may look again, and who left the pager has seen enough: that is no failure to write */
	clearerr(stdout);
	dup2(behind_pager, STDOUT_FILENO);
	close(behind_pager);
	behind_pager = -1;
	sigaction(SIGPIPE, &before_pager, NULL);
	while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
		;
	pager = 0;
}

void rein_json_out(struct rein_buf *b)
{
	rein_buf_char(b, '\n');
	if (!b->failed)
		fwrite(b->p, 1, b->n, stdout);
	fflush(stdout);
}

void rein_json_summary(struct rein_json *j, const struct rein_summary *s)
{
	rein_json_open(j, '{');
	rein_json_ku64(j, "created", s->created);
	rein_json_ku64(j, "modified", s->modified);
	rein_json_ku64(j, "deleted", s->deleted);
	rein_json_ku64(j, "renamed", s->renamed);
	rein_json_ku64(j, "attributes", s->meta);
	rein_json_ku64(j, "bytes_new", s->bytes_new);
	rein_json_ku64(j, "bytes_old", s->bytes_old);
	rein_json_close(j, '}');
}

static void json_time(struct rein_json *j, const char *key, uint64_t ns)
{
	char text[40] = "";
	time_t sec = (time_t)(ns / 1000000000u);
	struct tm tm;

	if (ns && gmtime_r(&sec, &tm)) {
		size_t n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);

		snprintf(text + n, sizeof(text) - n, ".%03uZ",
			 (unsigned)(ns % 1000000000u / 1000000u));
	}
	rein_json_kstr(j, key, *text ? text : NULL);
}

static void json_reviews(struct rein_json *j, const struct rein_reviews *r)
{
	rein_json_key(j, "reviews");
	rein_json_open(j, '[');
	for (size_t i = 0; i < r->n; i++) {
		rein_json_open(j, '{');
		rein_json_ku64(j, "minimum", r->v[i].minimum);
		rein_json_key(j, "approvers");
		rein_json_open(j, '[');
		for (size_t k = 0; k < r->v[i].by.n; k++)
			rein_json_cstr(j, r->v[i].by.v[k]);
		rein_json_close(j, ']');
		json_time(j, "until", r->v[i].until_ns);
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
}

void rein_json_tx(struct rein_json *j, const struct rein_tx *t)
{
	rein_json_kstr(j, "id", t->id);
	rein_json_kstr(j, "state", rein_tx_state_name(t->state));
	rein_json_path(j, "workspace", t->workspace ? t->workspace : "");
	rein_json_path(j, "cwd", t->cwd ? t->cwd : "");
	rein_json_key(j, "command");
	rein_json_open(j, '[');
	for (size_t i = 0; i < t->argc; i++)
		rein_json_cstr(j, t->argv[i]);
	rein_json_close(j, ']');
	rein_json_kstr(j, "action", t->action);
	rein_json_kstr(j, "agent", t->agent);
	rein_json_kstr(j, "level", t->level ? rein_level_name(t->level) : NULL);
	rein_json_kstr(j, "reach", t->reach ? rein_reach_name(t->reach) : NULL);
	rein_json_ki64(j, "exit", t->status);
	rein_json_kstr(j, "reason", t->reason);
	json_reviews(j, &t->reviews);
	json_time(j, "created", t->created_ns);
	json_time(j, "ended", t->ended_ns);
	json_time(j, "decided", t->decided_ns);
	rein_json_key(j, "summary");
	rein_json_summary(j, &t->sum);
}

static const char *type_name(uint32_t mode)
{
	return S_ISREG(mode)	? "file"
	       : S_ISDIR(mode)	? "directory"
	       : S_ISLNK(mode)	? "symlink"
	       : S_ISFIFO(mode) ? "fifo"
	       : S_ISSOCK(mode) ? "socket"
	       : S_ISCHR(mode)	? "char-device"
	       : S_ISBLK(mode)	? "block-device"
				: "none";
}

bool rein_type_changed(const struct rein_change *x)
{
	return !x->from && x->kind != REIN_CHANGE_DELETED && x->before.mode && x->after.mode &&
	       (x->before.mode ^ x->after.mode) & S_IFMT;
}

const char *rein_special_type(const struct rein_change *x)
{
	const uint32_t mode = x->kind == REIN_CHANGE_DELETED || !x->after.mode ? x->before.mode : x->after.mode;
	size_t size;
	char *s;

	if (!rein_type_changed(x))
		return S_ISREG(mode) || S_ISDIR(mode) ? NULL : type_name(mode);
	s = slot(&size);
	snprintf(s, size, "%s -> %s", type_name(x->before.mode), type_name(x->after.mode));
	return s;
}

static void json_side(struct rein_json *j, const char *key, const struct rein_fp *fp)
{
	char mode[8];

	rein_json_key(j, key);
	if (!fp->mode) {
		rein_json_null(j);
		return;
	}
	snprintf(mode, sizeof(mode), "%04o", fp->mode & 07777);
	rein_json_open(j, '{');
	rein_json_kstr(j, "type", type_name(fp->mode));
	rein_json_ku64(j, "size", fp->size);
	rein_json_kstr(j, "mode", mode);
	rein_json_ku64(j, "uid", fp->uid);
	rein_json_ku64(j, "gid", fp->gid);
	rein_json_close(j, '}');
}

void rein_json_changes(struct rein_json *j, const struct rein_tx *t, const struct rein_changes *c)
{
	static const char *const words[] = {"content", "mode", "owner", "times", "xattr", "type"};

	rein_json_open(j, '[');
	for (size_t i = 0; i < c->n; i++) {
		const struct rein_change *x = &c->v[i];

		if (x->renamed_away)
			continue;
		rein_json_open(j, '{');
		rein_json_kstr(j, "kind", x->from ? "renamed" : rein_change_kind_name(x->kind));
		rein_json_path(j, "path", x->path);
		rein_json_path(j, "root", t->roots[x->root].real);
		if (x->from)
			rein_json_path(j, "from", x->from);
		rein_json_key(j, "what");
		rein_json_open(j, '[');
		for (unsigned w = 0; w < ARRAY_SIZE(words); w++)
			if (x->what & 1u << w)
				rein_json_cstr(j, words[w]);
		rein_json_close(j, ']');
		json_side(j, "before", &x->before);
		json_side(j, "after", &x->after);
		rein_json_kstr(j, "conflict", x->clash ? rein_clash_text(x->clash) : NULL);
		rein_json_kbool(j, "skipped", x->skipped);
		if (x->parted)
			rein_json_kbool(j, "parted", true);
		rein_json_close(j, '}');
	}
	rein_json_close(j, ']');
}
