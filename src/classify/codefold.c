/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "#{`id`}", f"{os.system(x)}", `${exec(x)}`: code in the middle of a text. It is put behind the program, so
 * that it is read with all that the program says of its names.
 */
#include "classify/code.h"

/* The end of what stands between braces; s begins behind the opening one. */
static size_t inside(struct rein_str s, char open, char close)
{
	size_t depth = 1, i = 0;

	for (; i < s.n; i++) {
		depth += s.p[i] == open;
		if (s.p[i] == close && !--depth)
			break;
	}
	return i;
}

/* Does code begin here, in the middle of a text? Returns how long what says so is. */
static size_t opens_code(enum code_lang lang, struct rein_str s, bool python)
{
	if (lang == LANG_PYTHON)
		return python && s.p[0] == '{' ? (s.n > 1 && s.p[1] == '{' ? 0 : 1) : 0;
	if (lang == LANG_JULIA)
		return str_starts(s, "$(") ? 2 : 0;
	if (lang == LANG_PERL)
		return str_starts(s, "@{") || str_starts(s, "${\\") ? 2 : 0;
	if (lang == LANG_PHP)
		return str_starts(s, "{$") || str_starts(s, "${") ? 1 : 0;
	return str_starts(s, lang == LANG_NODE ? "${" : "#{") ? 2 : 0;
}

static struct rein_str unfold(struct ctx *cx, enum code_lang lang, struct rein_str text, struct sbuf *to,
			      unsigned depth)
{
	bool python = false;
	char quote = 0;

	if (!(lang & (LANG_PYTHON | LANG_NODE | LANG_PERL | LANG_RUBY | LANG_PHP | LANG_JULIA | LANG_ELIXIR)) ||
	    depth > 4)
		return text;
	for (size_t i = 0; i < text.n; i++) {
		struct rein_str rest = str_from(text, i), code;
		size_t skip;

		if (lang == LANG_PYTHON && !python && i && strchr("\"'", text.p[i]) &&
		    strchr("fF", text.p[i - 1])) {
			python = true;
			quote = text.p[i];
			continue;
		}
		if (python && text.p[i] == quote)
			python = false;
		skip = opens_code(lang, rest, python);
		if (!skip)
			continue;
		code = str_from(rest, skip);
		code.n = inside(code, lang == LANG_JULIA ? '(' : '{', lang == LANG_JULIA ? ')' : '}');
		if (!cx_work(cx, code.n + 1))
			break;
		if (!to->n)
			sbuf_str(to, text);
		sbuf_char(to, '\n');
		for (size_t k = 0; k < code.n; k++)
			if (code.p[k] != '\\' || k + 1 == code.n || !strchr("\"'", code.p[k + 1]))
				sbuf_char(to, code.p[k]);
		unfold(cx, lang, code, to, depth + 1);
		i += skip + code.n;
	}
	return to->n ? sbuf_view(to) : text;
}

struct rein_str code_unfold(struct ctx *cx, enum code_lang lang, struct rein_str text)
{
	struct sbuf to = {.a = cx->a};

	return unfold(cx, lang, text, &to, 0);
}
