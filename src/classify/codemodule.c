/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of languages: which of them only compute, and of those that can change things, which calls do
 * not. Any other is not proven harmless.
 */
#include "classify/code.h"

/* They only compute, or what they do is known call by call. */
static const struct rein_str safe_modules[] = {
	WORD("json"), WORD("sys"), WORD("re"), WORD("math"), WORD("datetime"), WORD("time"), WORD("collections"),
	WORD("itertools"), WORD("functools"), WORD("string"), WORD("random"), WORD("hashlib"), WORD("textwrap"),
	WORD("statistics"), WORD("decimal"), WORD("fractions"), WORD("operator"), WORD("typing"), WORD("enum"),
	WORD("dataclasses"), WORD("uuid"), WORD("calendar"), WORD("copy"), WORD("pprint"), WORD("unicodedata"),
	WORD("struct"), WORD("bisect"), WORD("heapq"), WORD("csv"), WORD("html"), WORD("locale"), WORD("platform"),
	WORD("shlex"), WORD("difflib"), WORD("base64"), WORD("binascii"), WORD("io"), WORD("os"), WORD("os.path"),
	WORD("pathlib"), WORD("glob"), WORD("fnmatch"), WORD("tomllib"), WORD("yaml"), WORD("toml"), WORD("ast"),
	WORD("tokenize"), WORD("keyword"), WORD("argparse"), WORD("logging"), WORD("warnings"), WORD("contextlib"),
	WORD("inspect"), WORD("traceback"), WORD("timeit"), WORD("zlib"), WORD("gzip"), WORD("secrets"),
	WORD("numbers"), WORD("numpy"), WORD("pandas"), WORD("torch"), WORD("tensorflow"), WORD("scipy"),
	WORD("sklearn"), WORD("matplotlib"), WORD("django"), WORD("flask"), WORD("rich"), WORD("packaging"),
	WORD("importlib.metadata"), WORD("pkg_resources"), WORD("site"), WORD("sysconfig"),
	WORD("xml.etree.ElementTree"), WORD("urllib.parse"), WORD("colorsys"), WORD("this"), WORD("__future__"),
	WORD("abc"), WORD("codecs"), WORD("types"), WORD("array"), WORD("queue"), WORD("cmath"), WORD("sqlite3"),
	WORD("pkgutil"), WORD("email"), WORD("ipaddress"), WORD("zoneinfo"), WORD("configparser"), WORD("gc"), WORD("errno"),
	WORD("threading"), WORD("concurrent.futures"), WORD("dateutil"), WORD("pytz"), WORD("tabulate"), WORD("jsonschema"),
	WORD("attr"), WORD("attrs"), WORD("pydantic"), WORD("bs4"), WORD("mimetypes"), WORD("plistlib"), WORD("contextvars"),
	WORD("shutil"), WORD("tempfile"), WORD("path"), WORD("fs"), WORD("util"), WORD("url"), WORD("querystring"),
	WORD("crypto"), WORD("assert"), WORD("events"), WORD("buffer"), WORD("string_decoder"), WORD("punycode"),
	WORD("node:path"), WORD("node:fs"), WORD("node:util"), WORD("node:url"), WORD("node:crypto"),
	WORD("node:assert"), WORD("node:os"), WORD("perf_hooks"), WORD("v8"), WORD("node:perf_hooks"),
	WORD("./package.json"), WORD("../package.json"), WORD("semver"), WORD("lodash"), WORD("typescript"),
	WORD("strict"), WORD("POSIX"), WORD("List::Util"), WORD("Data::Dumper"), WORD("JSON"), WORD("JSON::PP"),
	WORD("Time::HiRes"), WORD("Scalar::Util"), WORD("MIME::Base64"), WORD("Digest::MD5"), WORD("Digest::SHA"),
	WORD("Encode"), WORD("utf8"), WORD("feature"), WORD("integer"), WORD("bigint"), WORD("Text::Wrap"),
	WORD("Time::Local"), WORD("set"), WORD("date"), WORD("bigdecimal"), WORD("digest"), WORD("prettyprint"),
	WORD("pp"), WORD("psych"), WORD("optparse"), WORD("fileutils"), WORD("English"), WORD("rubygems"),
	WORD("erb"),
};

static bool is_safe_module(struct rein_str name)
{
	return str_among(name, safe_modules, ARRAY_SIZE(safe_modules));
}

/* os.replace, shutil.chown and fs.cpSync are not on every list of what is bad. */
bool code_may_act(const struct code *c, struct rein_str name)
{
	static const char os[] =
		"getcwd getcwdb listdir walk fwalk scandir stat lstat fstat statvfs getenv getenvb "
		"getpid getppid getuid geteuid getgid getegid getgroups cpu_count process_cpu_count "
		"uname access readlink get_terminal_size fspath fsencode fsdecode times getloadavg "
		"urandom strerror sysconf getlogin isatty get_exec_path sched_getaffinity chdir close "
		"read pipe dup _exit getpgid getsid getrandom waitpid wait umask nice";
	static const char shutil[] = "which disk_usage get_terminal_size get_archive_formats get_unpack_formats";
	static const char node[] =
		"existsSync exists statSync stat lstatSync lstat fstatSync readdirSync readdir "
		"accessSync access realpathSync realpath readlinkSync readlink opendirSync opendir "
		"statfsSync readSync read closeSync close gzipSync gunzipSync deflateSync inflateSync "
		"brotliCompressSync brotliDecompressSync pbkdf2Sync scryptSync generateKeyPairSync "
		"generateKeySync hkdfSync randomFillSync watch constants";
	struct rein_str last = code_last(name);

	if (code_lang_is(c, LANG_PYTHON)) {
		if (str_starts(name, "os.path.") || str_starts(name, "os.environ.") || str_starts(name, "os.sched"))
			return false;
		return (str_starts(name, "os.") && !str_in(last, os)) ||
		       (str_starts(name, "shutil.") && !str_in(last, shutil));
	}
	return code_lang_is(c, LANG_NODE) && (str_ends(last, "Sync") || str_starts(name, "fs.")) &&
	       !str_in(last, node);
}

/* import a, b.c as d / from x import y / require("x") / use X; */
void code_import(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s, mod = {0};
	bool py = code_lang_is(c, LANG_PYTHON);

	if (py && str_is(name, "import") && k > 1 && str_is(c->t[k - 2].s, "from"))
		return; /* what follows are names in the module, which was looked at */
	if (py && (str_is(name, "import") || str_is(name, "from"))) {
		for (size_t j = k + 1; j < c->n; j++) {
			struct rein_str top;
			const char *dot;

			if (c->t[j].kind != TOK_NAME)
				break;
			mod = c->t[j].s;
			dot = memchr(mod.p, '.', mod.n);
			top = dot ? str_to(mod, (size_t)(dot - mod.p)) : mod;
			if (!is_safe_module(mod) && (!dot || !is_safe_module(top)) &&
			    !str_in(top, "subprocess socket urllib requests http"))
				code_say(c, REIN_LEVEL_RISKY, mod,
					 "code that uses a module whose effects are not known");
			if (str_is(name, "from"))
				break;
			j++;
			if (j + 1 < c->n && c->t[j].kind == TOK_NAME && str_is(c->t[j].s, "as"))
				j += 2;
			if (!code_punct(c, j, ','))
				break;
		}
		return;
	}
	if (code_lang_is(c, LANG_NODE | LANG_RUBY) &&
	    str_in(name, "require import require_relative") && code_is_call(c, k)) {
		size_t after;

		if (code_literal(c, k, &mod, &after)) {
			if (str_is(mod, "child_process") || str_is(mod, "node:child_process"))
				code_say(c, REIN_LEVEL_RISKY, mod, "code that can run other programs");
			else if (!is_safe_module(mod))
				code_say(c, REIN_LEVEL_RISKY, mod,
					 "code that uses a module whose effects are not known");
		} else {
			code_say(c, REIN_LEVEL_DANGEROUS, name, "code that loads a module by a computed name");
		}
		return;
	}
	if (code_lang_is(c, LANG_PERL) && str_in(name, "do require") && k + 1 < c->n &&
	    c->t[k + 1].kind == TOK_STR) {
		struct field f = {.s = c->t[k + 1].s, .at = c->at};

		effect_script(c->cx, &f, "perl");
	}
	if (code_lang_is(c, LANG_PERL) && str_in(name, "use require") && k + 1 < c->n &&
	    c->t[k + 1].kind == TOK_NAME) {
		struct sbuf colons = {.a = c->cx->a};

		mod = c->t[k + 1].s;
		for (size_t i = 0; i < mod.n; i++) {
			if (mod.p[i] == '.')
				sbuf_add(&colons, "::", 2);
			else
				sbuf_char(&colons, mod.p[i]);
		}
		if (!is_safe_module(sbuf_view(&colons)) && !str_is(mod, "File.Path"))
			code_say(c, REIN_LEVEL_RISKY, sbuf_view(&colons),
				 "code that uses a module whose effects are not known");
	}
}
