/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inline programs: which calls delete, execute, write or connect, with literal arguments followed. What is
 * only printed stays data; what cannot be told is never safe.
 */
#include <assert.h>

#include "classify/code.h"

#define S(text, kind) {text, sizeof(text) - 1, kind}
static const struct sink_name sinks[] = {
	S("system", SINK_SHELL), S("os.system", SINK_SHELL), S("os.popen", SINK_SHELL),
	S("popen", SINK_SHELL), S("os.popen2", SINK_SHELL), S("subprocess.run", SINK_SHELL),
	S("subprocess.call", SINK_SHELL), S("subprocess.Popen", SINK_SHELL),
	S("subprocess.check_output", SINK_SHELL), S("subprocess.check_call", SINK_SHELL),
	S("subprocess.getoutput", SINK_SHELL), S("subprocess.getstatusoutput", SINK_SHELL),
	S("commands.getoutput", SINK_SHELL), S("pty.spawn", SINK_SHELL), S("os.execl", SINK_SHELL),
	S("os.execv", SINK_SHELL), S("os.execvp", SINK_SHELL), S("os.execlp", SINK_SHELL),
	S("os.execve", SINK_SHELL), S("os.spawnl", SINK_SHELL), S("os.spawnlp", SINK_SHELL),
	S("os.posix_spawn", SINK_SHELL), S("os.startfile", SINK_SHELL), S("asyncio.create_subprocess_shell", SINK_SHELL),
	S("exec", SINK_SHELL), S(".execSync", SINK_SHELL), S("execSync", SINK_SHELL),
	S(".exec", SINK_NONE), S("execFile", SINK_SHELL), S("execFileSync", SINK_SHELL),
	S(".execFileSync", SINK_SHELL), S(".execFile", SINK_SHELL), S("spawn", SINK_SHELL),
	S(".spawn", SINK_SHELL), S("spawnSync", SINK_SHELL), S(".spawnSync", SINK_SHELL),
	S("child_process.exec", SINK_SHELL), S("cp.exec", SINK_SHELL), S("shell_exec", SINK_SHELL),
	S("passthru", SINK_SHELL), S("proc_open", SINK_SHELL), S("pcntl_exec", SINK_SHELL),
	S("Kernel.system", SINK_SHELL), S("Kernel.exec", SINK_SHELL), S("Kernel.spawn", SINK_SHELL),
	S("IO.popen", SINK_SHELL), S("Open3.capture2", SINK_SHELL), S("Open3.capture3", SINK_SHELL),
	S("Open3.popen3", SINK_SHELL), S("Process.spawn", SINK_SHELL), S("os.execute", SINK_SHELL),
	S("io.popen", SINK_SHELL), S("Bun.spawn", SINK_SHELL), S("Deno.run", SINK_SHELL),
	S("Deno.Command", SINK_SHELL), S("System.cmd", SINK_SHELL), S("qx", SINK_SHELL),
	S("Runtime.getRuntime", SINK_SHELL), S("system2", SINK_SHELL), S("shell", SINK_SHELL),
	S("shutil.rmtree", SINK_RDEL), S("rmtree", SINK_RDEL), S("remove_tree", SINK_RDEL),
	S(".rm_rf", SINK_RDEL), S(".rm_r", SINK_RDEL), S(".remove_dir", SINK_RDEL),
	S(".remove_entry_secure", SINK_RDEL), S(".remove_entry", SINK_RDEL), S(".rmSync", SINK_RDEL),
	S("rmSync", SINK_RDEL), S("fs.rm", SINK_RDEL), S(".rmdirSync", SINK_RDEL),
	S("fs.rmdir", SINK_RDEL), S("rimraf", SINK_RDEL), S("rimraf.sync", SINK_RDEL),
	S("fs.promises.rm", SINK_RDEL), S("fsPromises.rm", SINK_RDEL), S(".emptyDirSync", SINK_RDEL),
	S(".removeSync", SINK_RDEL), S("Deno.remove", SINK_RDEL), S("Deno.removeSync", SINK_RDEL),
	S("File.rm_rf", SINK_RDEL), S("os.removedirs", SINK_RDEL), S("Dir.unlink", SINK_RDEL),
	S("Dir.rmdir", SINK_RDEL), S("Dir.delete", SINK_RDEL), S("send2trash", SINK_RDEL),
	S("os.remove", SINK_DEL), S("os.unlink", SINK_DEL), S("os.rmdir", SINK_DEL),
	S("unlink", SINK_DEL), S(".unlink", SINK_DEL), S(".unlinkSync", SINK_DEL),
	S("unlinkSync", SINK_DEL), S("File.delete", SINK_DEL), S("FileUtils.rm", SINK_DEL),
	S("FileUtils.rm_f", SINK_DEL), S("rmdir", SINK_DEL), S(".rmdir", SINK_DEL),
	S("os.truncate", SINK_DEL), S("truncate", SINK_DEL), S("symlink", SINK_WRITE), S("os.rename", SINK_WRITE), S("os.replace", SINK_WRITE),
	S("shutil.move", SINK_WRITE), S(".renameSync", SINK_WRITE), S("rename", SINK_WRITE),
	S("FileUtils.mv", SINK_WRITE), S("FileUtils.cp_r", SINK_READ), S("FileUtils.cp", SINK_READ),
	S("shutil.copy", SINK_READ), S("shutil.copy2", SINK_READ), S(".copyFileSync", SINK_READ), S(".cpSync", SINK_READ), S("shutil.copyfile", SINK_READ), S("shutil.copytree", SINK_READ),
	S("shutil.make_archive", SINK_WRITE), S(".truncateSync", SINK_WRITE),
	S("open", SINK_OPEN), S("builtins.open", SINK_OPEN), S("File.open", SINK_OPEN), S("fopen", SINK_OPEN), S("io.open", SINK_OPEN),
	S("os.open", SINK_OPEN), S("codecs.open", SINK_OPEN), S("gzip.open", SINK_OPEN), S("bz2.open", SINK_OPEN), S("lzma.open", SINK_OPEN),
	S("np.save", SINK_WRITE), S("np.savetxt", SINK_WRITE), S("numpy.save", SINK_WRITE), S("numpy.savetxt", SINK_WRITE),
	S(".symlink_to", SINK_WRITE), S(".hardlink_to", SINK_WRITE), S("process.dlopen", SINK_DYN), S("File.new", SINK_OPEN),
	S("IO.read", SINK_READ), S("IO.readlines", SINK_READ), S("File.read", SINK_READ),
	S("File.readlines", SINK_READ), S("File.foreach", SINK_READ), S("File.binread", SINK_READ),
	S(".readFileSync", SINK_READ), S("readFileSync", SINK_READ), S(".readFile", SINK_READ),
	S(".createReadStream", SINK_READ), S("file_get_contents", SINK_READ), S("readfile", SINK_READ),
	S("file", SINK_READ), S(".read_text", SINK_READ), S(".read_bytes", SINK_READ),
	S("Path", SINK_READ), S("pathlib.Path", SINK_READ), S("pathlib.PurePath", SINK_READ),
	S("Deno.readTextFile", SINK_READ), S("Bun.file", SINK_READ), S("np.loadtxt", SINK_READ), S("numpy.loadtxt", SINK_READ), S("numpy.genfromtxt", SINK_READ),
	S("pd.read_csv", SINK_READ), S("pandas.read_csv", SINK_READ), S("pandas.read_table", SINK_READ), S("show_source", SINK_READ), S("highlight_file", SINK_READ),
	S(".writeFileSync", SINK_WRITE), S(".writeFile", SINK_WRITE), S("file_put_contents", SINK_WRITE),
	S("File.write", SINK_WRITE), S("IO.write", SINK_WRITE), S(".write_text", SINK_WRITE),
	S(".write_bytes", SINK_WRITE), S(".appendFileSync", SINK_WRITE),
	S(".createWriteStream", SINK_WRITE), S(".symlinkSync", SINK_WRITE), S("os.symlink", SINK_WRITE),
	S("os.mkdir", SINK_MAKE), S("os.makedirs", SINK_MAKE), S(".mkdirSync", SINK_MAKE),
	S(".mkdir", SINK_MAKE), S("mkdir", SINK_MAKE), S(".touch", SINK_MAKE),
	S("os.chmod", SINK_ATTR), S("os.chown", SINK_ATTR), S(".chmodSync", SINK_ATTR),
	S("chmod", SINK_ATTR), S("File.chmod", SINK_ATTR), S("chown", SINK_ATTR),
	S("eval", SINK_DYN), S("__import__", SINK_DYN), S("getattr", SINK_DYN), S("compile", SINK_DYN),
	S("execfile", SINK_DYN), S("importlib.import_module", SINK_DYN), S("Function", SINK_DYN),
	S("vm.runInThisContext", SINK_DYN), S("vm.runInNewContext", SINK_DYN), S("globals", SINK_DYN),
	S("instance_eval", SINK_DYN), S("class_eval", SINK_DYN), S(".instance_eval", SINK_DYN),
	S("create_function", SINK_DYN), S("assert", SINK_NONE), S("call_user_func", SINK_DYN),
	S("loadstring", SINK_DYN), S("load", SINK_DYN), S("dofile", SINK_DYN), S("runpy.run_path", SINK_DYN),
	S("runpy.run_module", SINK_DYN), S("types.FunctionType", SINK_DYN), S("builtins.exec", SINK_DYN),
	S("builtins.eval", SINK_DYN), S("sys.modules", SINK_DYN), S("globals", SINK_DYN), S(".send", SINK_NONE), S("include", SINK_DYN), S("pickle.loads", SINK_DYN), S("pickle.load", SINK_DYN), S("marshal.load", SINK_DYN), S("yaml.unsafe_load", SINK_DYN), S("code.interact", SINK_DYN),
	S("marshal.loads", SINK_DYN), S(".read_pickle", SINK_DYN), S("joblib.load", SINK_DYN), S("dill.load", SINK_DYN), S("package.loadlib", SINK_DYN), S("ctypes.CDLL", SINK_DYN), S("process.binding", SINK_DYN),
	S("base64.b64decode", SINK_DECODE), S("b64decode", SINK_DECODE), S("bytes.fromhex", SINK_DECODE),
	S("bytearray.fromhex", SINK_DECODE), S("binascii.unhexlify", SINK_DECODE), S("atob", SINK_DECODE),
	S("codecs.decode", SINK_DECODE), S("zlib.decompress", SINK_DECODE), S("base64_decode", SINK_DECODE),
	S("Base64.decode64", SINK_DECODE), S("decode_base64", SINK_DECODE), S("gzinflate", SINK_DECODE),
	S("str_rot13", SINK_DECODE), S("unpack", SINK_DECODE), S("pack", SINK_DECODE),
	S("hex2bin", SINK_DECODE), S("Buffer.from", SINK_DECODE), S("String.fromCharCode", SINK_DECODE),
	S("socket.socket", SINK_NET), S("socket.create_connection", SINK_NET), S("socket", SINK_NET),
	S("urllib.request.urlopen", SINK_NET), S("urllib.request.urlretrieve", SINK_NET),
	S("urlopen", SINK_NET), S("requests.get", SINK_NET), S("requests.post", SINK_NET),
	S("requests.put", SINK_NET), S("requests.delete", SINK_NET), S("http.client.HTTPConnection", SINK_NET),
	S("http.client.HTTPSConnection", SINK_NET), S("fetch", SINK_NET), S("axios", SINK_NET),
	S("axios.get", SINK_NET), S("axios.post", SINK_NET), S("http.get", SINK_NET),
	S("https.get", SINK_NET), S("https.request", SINK_NET), S("http.request", SINK_NET),
	S("net.connect", SINK_NET), S("net.Socket", SINK_NET), S("net.createConnection", SINK_NET),
	S("dgram.createSocket", SINK_NET), S("TCPSocket.new", SINK_NET), S("TCPSocket.open", SINK_NET),
	S("Net.HTTP.get", SINK_NET), S("Net.HTTP.post", SINK_NET), S("IO.Socket.INET.new", SINK_NET),
	S("fsockopen", SINK_NET), S("curl_exec", SINK_NET), S("URI.open", SINK_NET),
	S("LWP.Simple.get", SINK_NET), S("dns.resolve", SINK_NET), S("httpd", SINK_NET), S("smtplib.SMTP", SINK_NET),
	S(".execute", SINK_SQL), S(".executescript", SINK_SQL), S(".executemany", SINK_SQL),
	S(".query", SINK_SQL), S("mysqli_query", SINK_SQL), S("pg_query", SINK_SQL),
	S("os.environ", SINK_ENV), S("process.env", SINK_ENV), S("ENV", SINK_ENV), S("ENV.to_h", SINK_ENV), S("ENV.to_h.to_s", SINK_ENV), S("ENV.to_json", SINK_ENV), S("ENV.to_a", SINK_ENV), S("ENV.inspect", SINK_ENV), S("ENV.each", SINK_ENV),
	S("ENV.each_pair", SINK_ENV), S("ENV.map", SINK_ENV), S("ENV.sort", SINK_ENV), S("_ENV", SINK_ENV), S("_SERVER", SINK_ENV),
	S("os.environ.items", SINK_ENV), S("os.environ.copy", SINK_ENV), S("os.environ.values", SINK_ENV), S("Deno.env.toObject", SINK_ENV), S("getenv", SINK_ENV),
	S("os.kill", SINK_RISKY), S("process.kill", SINK_RISKY), S("kill", SINK_RISKY),
	S("os.fork", SINK_RISKY), S("fork", SINK_RISKY), S("os.setuid", SINK_RISKY),
	S("os.setgid", SINK_RISKY), S("syscall", SINK_RISKY), S("os._exit", SINK_NONE),
	S("setTimeout", SINK_NONE), S("input", SINK_NONE),
};
/* Names that mean this only in R and Julia. */
static const struct sink_name science[] = {
	S("file.remove", SINK_DEL), S("file.rename", SINK_WRITE), S("download.file", SINK_NET), S("install.packages", SINK_RISKY),
	S("remotes.install_github", SINK_RISKY), S("devtools.install_github", SINK_RISKY), S("source", SINK_DYN), S("sys.source", SINK_DYN),
	S("readLines", SINK_READ), S("readRDS", SINK_READ), S("read.csv", SINK_READ),
	S("Sys.getenv", SINK_ENV), S("Base.rm", SINK_RDEL), S("Downloads.download", SINK_NET), S("download", SINK_NET), S("Pkg.add", SINK_RISKY),
	S("Pkg.rm", SINK_RISKY), S("include_string", SINK_DYN), S("Meta.parse", SINK_DYN), S("ccall", SINK_DYN),
};
#undef S

/* Modules that only compute. Anything else imported is not proven harmless. */
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

/* Names whose mere mention in a language with loose quoting must not be missed. */
static const struct rein_str raw_words[] = {
	WORD("system"), WORD("exec"), WORD("qx"), WORD("unlink"), WORD("rmtree"), WORD("remove_tree"), WORD("eval"),
	WORD("open"), WORD("popen"), WORD("fork"), WORD("socket"), WORD("rm_rf"), WORD("rm_r"), WORD("spawn"),
	WORD("sysopen"), WORD("require"), WORD("syscall"), WORD("rename"), WORD("rmdir"), WORD("kill"),
	WORD("dofile"), WORD("loadstring"),
};

static bool is_safe_module(struct rein_str name)
{
	return str_among(name, safe_modules, ARRAY_SIZE(safe_modules));
}

/* The names that end in the same byte, in the order of their table: made once for a text. */
struct sink_index {
	uint16_t first[2][256], next[2][ARRAY_SIZE(sinks) > ARRAY_SIZE(science) ? ARRAY_SIZE(sinks) : ARRAY_SIZE(science)];
};

static void index_table(const struct sink_name *table, size_t n, uint16_t first[256], uint16_t *next)
{
	for (size_t k = n; k-- > 0;) {
		unsigned char last = (unsigned char)table[k].name[table[k].n - 1];

		next[k] = first[last];
		first[last] = (uint16_t)(k + 1);
	}
}

static const struct sink_index *sink_index(struct ctx *cx)
{
	if (!cx->sinks) {
		cx->sinks = arena_new(cx->a, struct sink_index);
		index_table(sinks, ARRAY_SIZE(sinks), cx->sinks->first[0], cx->sinks->next[0]);
		index_table(science, ARRAY_SIZE(science), cx->sinks->first[1], cx->sinks->next[1]);
	}
	return cx->sinks;
}

static enum sink sink_in(const struct code *c, bool scientific, struct rein_str name)
{
	const struct sink_name *table = scientific ? science : sinks;
	const struct sink_index *x = sink_index(c->cx);
	const uint16_t *next = x->next[scientific];

	if (!name.n)
		return SINK_NONE;
	for (size_t k = x->first[scientific][(unsigned char)name.p[name.n - 1]]; k; k = next[k - 1]) {
		const struct sink_name *s = &table[k - 1];

		if (s->sink != SINK_NONE && s->n <= name.n && (s->n == name.n || s->name[0] == '.') &&
		    !memcmp(name.p + name.n - s->n, s->name, s->n))
			return s->sink;
	}
	return SINK_NONE;
}

static enum sink sink_of(const struct code *c, struct rein_str name)
{
	enum sink found = SINK_NONE;

	if (code_lang_is(c, LANG_R | LANG_JULIA))
		found = sink_in(c, true, name);
	if (code_lang_is(c, LANG_JULIA) && str_is(name, "rm")) /* R's forgets variables */
		found = SINK_RDEL;
	return found != SINK_NONE ? found : sink_in(c, false, name);
}

static bool punct(const struct code *c, size_t k, char ch)
{
	return k < c->n && c->t[k].kind == TOK_PUNCT && c->t[k].c == ch;
}

/* The first literal argument of the call whose name is token k. False: not literal. */
static bool literal_arg(const struct code *c, size_t k, struct rein_str *ret, size_t *after)
{
	struct sbuf both = {.a = c->cx->a};
	size_t j = k + 1;

	if (punct(c, j, '('))
		j++;
	/* open(my $fh, "<", "file") */
	*after = j;
	if (j >= c->n || c->t[j].kind != TOK_STR)
		return false;
	*ret = c->t[j].s;
	*after = j + 1;
	if (c->t[j].joined)
		return false;
	/* "a" + "b" and "a" "b" are literal too */
	while (*after < c->n) {
		size_t s = *after;

		if (punct(c, s, '+') || (punct(c, s, '.') && code_lang_is(c, LANG_PERL | LANG_PHP)))
			s++;
		if (s >= c->n || c->t[s].kind != TOK_STR)
			return s == *after;
		if (!both.n)
			sbuf_str(&both, *ret);
		sbuf_str(&both, c->t[s].s);
		*ret = sbuf_view(&both);
		*after = s + 1;
	}
	return true;
}

static bool is_call(const struct code *c, size_t k)
{
	if (punct(c, k + 1, '('))
		return true;
	return code_lang_is(c, LANG_RUBY | LANG_PERL | LANG_PHP | LANG_LUA) && k + 1 < c->n &&
	       (c->t[k + 1].kind == TOK_STR || (c->t[k + 1].kind == TOK_NUM && code_lang_is(c, LANG_PERL)) || c->t[k + 1].kind == TOK_NAME ||
		punct(c, k + 1, '$') || punct(c, k + 1, '<'));
}

static void say(struct code *c, enum rein_level level, struct rein_str what, const char *why)
{
	fact(c->cx, REIN_FACT_EXEC, level, REIN_REACH_CONTAINED, c->at, show(c->cx, what), why);
}

/* sh -c …, or a script: anything after the shell that is no option of it */
static bool has_code(const struct fields *argv)
{
	for (size_t i = 1; i < argv->n; i++)
		if (str_is(argv->v[i].s, "-c") || (argv->v[i].s.n && argv->v[i].s.p[0] != '-' && !str_in(argv->v[i].s, "sh bash zsh dash ksh")))
			return true;
	return false;
}

static void shell_call(struct code *c, size_t k)
{
	struct io io = {.in = data_unknown(TAINT_INPUT)};
	struct rein_str arg;
	struct fields argv = {0};
	size_t j = k + 1, after;

	if (punct(c, j, '('))
		j++;
	if (punct(c, j, '[') || (j + 1 < c->n && c->t[j].kind == TOK_STR && punct(c, j + 1, ','))) {
		/* a list, or several strings: an argument vector, up to JavaScript's {stdio: …} */
		for (; j < c->n && !punct(c, j, ')') && !punct(c, j, '{') && argv.n < 64; j++) {
			if (c->t[j].kind == TOK_STR) {
				struct field f = {.s = c->t[j].joined ? STR("\001") : c->t[j].s,
						  .at = c->at};

				fields_push(c->cx, &argv, f);
			} else if (c->t[j].kind == TOK_NAME && !punct(c, j + 1, '=') && argv.n) {
				struct field f = {.s = STR("\001"), .at = c->at};

				fields_push(c->cx, &argv, f);
			}
		}
		if (argv.n && str_in(str_base(argv.v[0].s), "sh bash zsh dash ksh") && !has_code(&argv))
			say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "code that opens a shell");
		else
			say(c, REIN_LEVEL_RISKY, c->t[k].s, "code that runs another program");
		if (argv.n == 1)
			run_text(c->cx, argv.v[0].s, c->at, &io);
		else if (argv.n)
			exec_argv(c->cx, argv.v, argv.n, &io);
		return;
	}
	if (literal_arg(c, k, &arg, &after)) {
		bool bare = str_in(str_base(arg), "sh bash zsh dash ksh");

		say(c, bare ? REIN_LEVEL_DANGEROUS : REIN_LEVEL_RISKY, c->t[k].s,
		    bare ? "code that opens a shell" : "code that runs another program");
		run_text(c->cx, arg, c->at, &io);
		return;
	}
	say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "code that runs a program that is not known");
}

/* fs.rmSync(x), FileUtils.rm_rf(x): the path is what is given, not what it is called on. */
static bool takes_path(struct rein_str name)
{
	return str_ends(name, "Sync") || str_in(name, ".rm_rf .rm_r .remove_dir .remove_entry .remove_entry_secure");
}

static struct field path_arg(struct code *c, size_t k)
{
	struct field f = {.s = STR("\001"), .at = c->at};
	size_t after;

	if (c->t[k].s.n && c->t[k].s.p[0] == '.' && !str_starts(c->t[k].s, ".write_") && !str_ends(c->t[k].s, "link_to") &&
	    literal_arg(c, k, &f.s, &after))
		return f;
	f.s = STR("\001");
	if (c->t[k].s.n && c->t[k].s.p[0] == '.' && !(takes_path(c->t[k].s) && punct(c, k + 1, '(') && !punct(c, k + 2, ')'))) {
		/* Path("x").unlink(): the string before it */
		for (size_t j = k; j-- > 0 && k - j < 8;)
			if (c->t[j].kind == TOK_STR) {
				f.s = c->t[j].s;
				return f;
			}
	}
	if (literal_arg(c, k, &f.s, &after))
		return f;
	if (k + 2 < c->n && c->t[k + 1].kind == TOK_PUNCT) {
		/* os.path.join("/a", x), glob("…"), expanduser("~"): the first string inside */
		for (size_t j = k + 2; j < c->n && j < k + 8 && !punct(c, j, ')'); j++)
			if (c->t[j].kind == TOK_STR && !(j > 1 && str_in(c->t[j - 2].s, "require import"))) {
				struct sbuf t = {.a = c->cx->a};

				sbuf_str(&t, c->t[j].s);
				if (!punct(c, j + 1, ')'))
					sbuf_char(&t, HOLE);
				f.s = sbuf_view(&t);
				break;
			}
	}
	if (f.s.n && f.s.p[0] == '~') {
		struct sbuf t = {.a = c->cx->a};

		sbuf_str(&t, c->cx->home);
		sbuf_str(&t, str_from(f.s, 1));
		f.s = sbuf_view(&t);
	}
	return f;
}

/* open(path, mode), open(my $fh, "<", path), open("> path") */
static void open_call(struct code *c, size_t k)
{
	struct field f = path_arg(c, k);
	bool write = false, append = false;
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	for (size_t j = k + 1; j < c->n && j < k + 14 && !punct(c, j, ')') && !punct(c, j, ';'); j++) {
		if (c->t[j].kind != TOK_STR)
			continue;
		if (str_in(c->t[j].s, "w wb w+ wt x xb r+ >") || str_starts(c->t[j].s, ">"))
			write = true;
		if (str_in(c->t[j].s, "a ab a+ >>"))
			write = append = true;
		if (code_lang_is(c, LANG_PERL) && (str_in(c->t[j].s, "|- -|") || str_ends(c->t[j].s, "|") ||
					   str_starts(c->t[j].s, "|"))) {
			say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "opens a pipe to a program");
			run_text(c->cx, c->t[j].s, c->at, &io);
		}
		if (code_lang_is(c, LANG_PERL) && !str_in(c->t[j].s, "< > >> +< <:utf8 >:utf8"))
			f.s = c->t[j].s;
		if (code_lang_is(c, LANG_RUBY) && str_starts(c->t[j].s, "|"))
			say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "opens a pipe to a program");
	}
	if (f.s.n && f.s.p[0] == '<')
		f.s = str_from(f.s, 1);
	while (f.s.n && (f.s.p[0] == '>' || f.s.p[0] == ' ')) {
		write = true;
		f.s = str_from(f.s, 1);
	}
	if (write)
		effect_write(c->cx, &f, append);
	else if (!has_hole(f.s) || f.s.n > 1)
		effect_read(c->cx, &f);
}

/* deleteIndex, drop_database, clearObjects: a verb and a noun on some object */
static bool names_destruction(struct rein_str name)
{
	static const char *const verbs[] = {"delete", "drop",	  "clear", "destroy", "truncate",
					    "purge",  "wipe",	  "erase", "flush"};
	struct rein_str last = name;
	const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;

	if (dot)
		last = str_from(name, (size_t)(dot - name.p) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		size_t n = strlen(verbs[i]);

		if (last.n > n + 2 && !strncasecmp(last.p, verbs[i], n) &&
		    (last.p[n] == '_' || (last.p[n] >= 'A' && last.p[n] <= 'Z')))
			return true;
	}
	return false;
}

/* array_map("unlink", …) */
static bool names_call(const struct code *c, struct rein_str text)
{
	enum sink s = sink_of(c, text);

	return s == SINK_SHELL || s == SINK_DEL || s == SINK_RDEL || s == SINK_DYN;
}

/*
 * Modules that can change things are harmless only in the calls that are known to be: os.replace, shutil.chown and
 * fs.cpSync are not on every list of what is bad.
 */
static bool may_act(const struct code *c, struct rein_str name)
{
	static const char os[] =
		"getcwd getcwdb listdir walk fwalk scandir stat lstat fstat statvfs getenv getenvb getpid getppid getuid geteuid getgid "
		"getegid getgroups cpu_count process_cpu_count uname access readlink get_terminal_size fspath fsencode fsdecode times "
		"getloadavg urandom strerror sysconf getlogin isatty get_exec_path sched_getaffinity chdir close read pipe dup "
		"_exit getpgid getsid getrandom waitpid wait umask nice";
	static const char shutil[] = "which disk_usage get_terminal_size get_archive_formats get_unpack_formats";
	static const char node[] =
		"existsSync exists statSync stat lstatSync lstat fstatSync readdirSync readdir accessSync access realpathSync realpath "
		"readlinkSync readlink opendirSync opendir statfsSync readSync read closeSync close gzipSync gunzipSync deflateSync "
		"inflateSync brotliCompressSync brotliDecompressSync pbkdf2Sync scryptSync generateKeyPairSync generateKeySync hkdfSync "
		"randomFillSync watch constants";
	const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;
	struct rein_str last = dot ? str_from(name, (size_t)(dot - name.p) + 1) : name;

	if (code_lang_is(c, LANG_PYTHON)) {
		if (str_starts(name, "os.path.") || str_starts(name, "os.environ.") || str_starts(name, "os.sched"))
			return false;
		return (str_starts(name, "os.") && !str_in(last, os)) || (str_starts(name, "shutil.") && !str_in(last, shutil));
	}
	return code_lang_is(c, LANG_NODE) && (str_ends(last, "Sync") || str_starts(name, "fs.")) && !str_in(last, node);
}

/* os.replace(a, b), shutil.copy(a, b): where it goes to */
static void second_path(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s, arg;
	const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;
	struct rein_str last = dot ? str_from(name, (size_t)(dot - name.p) + 1) : name;
	struct field f = {.at = c->at};
	size_t after;

	if (!str_in(last, "rename replace move copy copy2 copyfile copytree renameSync copyFileSync cpSync symlink symlinkSync mv cp cp_r") ||
	    !literal_arg(c, k, &arg, &after) || !punct(c, after, ',') || after + 1 >= c->n ||
	    c->t[after + 1].kind != TOK_STR)
		return;
	f.s = c->t[after + 1].joined ? STR("\001") : c->t[after + 1].s;
	effect_write(c->cx, &f, false);
}

/* Methods of things whose path stands before them, or that only write when they are given one. */
static void one_method(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s, arg;
	struct field f = {.at = c->at};
	bool path = k > 3 && c->t[k - 2].kind == TOK_STR && str_in(c->t[k - 4].s, "Path pathlib.Path");
	size_t after;

	if (path && str_in(name, ".rename .replace .open .chmod")) {
		f.s = c->t[k - 2].s;
		if (str_is(name, ".chmod"))
			effect_attr(c->cx, &f, false, false);
		else if (!str_is(name, ".open") || (literal_arg(c, k, &arg, &after) && str_in(arg, "w wb a ab w+ x r+")))
			effect_write(c->cx, &f, false);
	}
	if (code_lang_is(c, LANG_PYTHON) &&
	    (str_ends(name, ".to_csv") || str_ends(name, ".to_parquet") || str_ends(name, ".to_json") || str_ends(name, ".to_excel") ||
	     str_ends(name, ".to_pickle")) &&
	    literal_arg(c, k, &f.s, &after))
		effect_write(c->cx, &f, false);
	if (code_lang_is(c, LANG_NODE) && str_ends(name, ".constructor"))
		say(c, REIN_LEVEL_DANGEROUS, name, "code that builds and runs other code");
}

static void one_name(struct code *c, size_t k, unsigned *flags)
{
	struct rein_str name = c->t[k].s, arg;
	enum sink s = sink_of(c, name);
	struct field f;
	size_t after;

	if (s == SINK_NONE) {
		if (is_call(c, k) && code_lang_is(c, LANG_PHP) && !str_in(name, "echo print") &&
		    literal_arg(c, k, &arg, &after) && names_call(c, arg))
			say(c, REIN_LEVEL_DANGEROUS, arg, "hides a call behind another name");
		if (is_call(c, k))
			one_method(c, k);
		if (is_call(c, k) && may_act(c, name))
			say(c, REIN_LEVEL_RISKY, name, "a call that is not known to only read");
		if (is_call(c, k) && names_destruction(name))
			fact(c->cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     c->at, show(c->cx, name), "calls something that says it destroys");
		return;
	}
	if (s == SINK_SHELL && str_is(name, "exec") && code_lang_is(c, LANG_PYTHON))
		s = SINK_DYN;
	if (s == SINK_OPEN && code_lang_is(c, LANG_NODE))
		return;
	if (s == SINK_DECODE) {
		*flags |= 1;
		return;
	}
	if (s == SINK_NET) {
		*flags |= 2;
		fact(c->cx, REIN_FACT_CONNECT, REIN_LEVEL_RISKY, REIN_REACH_IRREVERSIBLE, c->at,
		     show(c->cx, name), "code that talks to the network");
		if (literal_arg(c, k, &arg, &after) && str_has(arg, "://"))
			http_scan(c->cx, STR("GET"), arg, STR(""), false, c->at);
		return;
	}
	if (s == SINK_ENV) {
		if (str_ends(name, "getenv") ? !(punct(c, k + 1, '(') && punct(c, k + 2, ')')) : punct(c, k + 1, '[') || punct(c, k + 1, '.') || (punct(c, k + 1, '{') && code_lang_is(c, LANG_PERL)))
			return;
		*flags |= 16;
		fact(c->cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, REIN_REACH_READONLY, c->at,
		     show(c->cx, name), "reads the whole environment");
		return;
	}
	if (!is_call(c, k) && (s == SINK_SHELL || s == SINK_DYN ||
			       ((s == SINK_DEL || s == SINK_RDEL) && code_lang_is(c, LANG_PYTHON | LANG_NODE)))) {
		/* f = os.system; a bare mention hides the call */
		if (memchr(name.p, '.', name.n) || code_lang_is(c, LANG_PYTHON | LANG_NODE))
			say(c, REIN_LEVEL_DANGEROUS, name, "hides a call behind another name");
		return;
	}
	if (!is_call(c, k)) {
		if (s == SINK_DEL && code_lang_is(c, LANG_PERL)) /* of $_ */
			say(c, REIN_LEVEL_DANGEROUS, name, "deletes files that are only known when it runs");
		return;
	}
	switch (s) {
	case SINK_SHELL:
		*flags |= 8;
		shell_call(c, k);
		return;
	case SINK_RDEL:
	case SINK_DEL:
		f = path_arg(c, k);
		effect_delete(c->cx, &f, s == SINK_RDEL);
		return;
	case SINK_OPEN:
		open_call(c, k);
		return;
	case SINK_READ:
		f = path_arg(c, k);
		if (f.s.n > 1 || !has_hole(f.s))
			effect_read(c->cx, &f);
		second_path(c, k);
		return;
	case SINK_WRITE:
		f = path_arg(c, k);
		effect_write(c->cx, &f, false);
		second_path(c, k);
		return;
	case SINK_MAKE:
		f = path_arg(c, k);
		effect_make(c->cx, &f);
		return;
	case SINK_ATTR:
		f = path_arg(c, k);
		effect_attr(c->cx, &f, false, false);
		return;
	case SINK_SQL:
		if (literal_arg(c, k, &arg, &after))
			sql_scan(c->cx, arg, c->at, NULL, false, false);
		else if (str_has(name, ".execute") && !code_lang_is(c, LANG_NODE))
			fact(c->cx, REIN_FACT_SQL, REIN_LEVEL_RISKY, REIN_REACH_CONTAINED, c->at, NULL, "runs SQL that cannot be seen");
		return;
	case SINK_DYN:
		*flags |= 4;
		say(c, REIN_LEVEL_DANGEROUS, name, "code that builds and runs other code");
		return;
	case SINK_RISKY:
		say(c, REIN_LEVEL_RISKY, name, "code that affects other processes");
		return;
	default:
		return;
	}
}

/* send(:system, …), $f(…), x["exec"](…): a call whose name is put together elsewhere */
static bool calls_by_value(const struct code *c, size_t k)
{
	const struct tok *t = &c->t[k];
	const char *dot = t->kind == TOK_NAME && t->s.n ? memrchr(t->s.p, '.', t->s.n) : NULL;
	struct rein_str last = dot ? str_from(t->s, (size_t)(dot - t->s.p) + 1) : t->s;

	if (t->kind == TOK_NAME && code_lang_is(c, LANG_RUBY) && str_in(last, "send public_send __send__ method instance_method"))
		for (size_t j = k + 1; j < c->n && j < k + 5; j++)
			if ((c->t[j].kind == TOK_NAME || c->t[j].kind == TOK_STR) && names_call(c, c->t[j].s))
				return true;
	if (t->kind == TOK_NAME && code_lang_is(c, LANG_PHP))
		return k && punct(c, k - 1, '$') && punct(c, k + 1, '(');
	return t->kind == TOK_STR && code_lang_is(c, LANG_NODE | LANG_PYTHON) && k && punct(c, k - 1, '[') &&
	       punct(c, k + 1, ']') && punct(c, k + 2, '(') && names_call(c, t->s);
}

/* import a, b.c as d / from x import y / require("x") / use X; */
static void imports(struct code *c, size_t k)
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
				say(c, REIN_LEVEL_RISKY, mod,
				    "code that uses a module whose effects are not known");
			if (str_is(name, "from"))
				break;
			j++;
			if (j + 1 < c->n && c->t[j].kind == TOK_NAME && str_is(c->t[j].s, "as"))
				j += 2;
			if (!punct(c, j, ','))
				break;
		}
		/* "from os import system": later calls have no module in front */
		return;
	}
	if (code_lang_is(c, LANG_NODE | LANG_RUBY) &&
	    str_in(name, "require import require_relative") && is_call(c, k)) {
		size_t after;

		if (literal_arg(c, k, &mod, &after)) {
			if (str_is(mod, "child_process") || str_is(mod, "node:child_process"))
				say(c, REIN_LEVEL_RISKY, mod, "code that can run other programs");
			else if (!is_safe_module(mod))
				say(c, REIN_LEVEL_RISKY, mod,
				    "code that uses a module whose effects are not known");
		} else {
			say(c, REIN_LEVEL_DANGEROUS, name, "code that loads a module by a computed name");
		}
		return;
	}
	if (code_lang_is(c, LANG_PERL) && str_in(name, "do require") && k + 1 < c->n && c->t[k + 1].kind == TOK_STR) {
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
			say(c, REIN_LEVEL_RISKY, sbuf_view(&colons),
			    "code that uses a module whose effects are not known");
	}
}

/* os.environ["X"], process.env.X, $ENV{X}, getenv("X"): one that holds a credential */
static void env_secrets(struct code *c)
{
	bool env = false;

	for (size_t k = 0; k < c->n && !env; k++)
		env = c->t[k].kind == TOK_NAME &&
		      (str_has(c->t[k].s, "environ") || str_has(c->t[k].s, "process.env") || str_has(c->t[k].s, "getenv") ||
		       str_in(c->t[k].s, "ENV ENV.fetch _ENV _SERVER env.get Deno.env.get"));
	for (size_t k = 0; env && k < c->n; k++) {
		const struct tok *t = &c->t[k];
		const char *dot = t->kind == TOK_NAME && t->s.n ? memrchr(t->s.p, '.', t->s.n) : NULL;
		struct rein_str name = dot ? str_from(t->s, (size_t)(dot - t->s.p) + 1) : t->s;

		if (t->kind == TOK_PUNCT || !name.n || name.p[0] < 'A' || name.p[0] > 'Z' || !env_is_secret(c->cx, name))
			continue;
		fact(c->cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, REIN_REACH_READONLY, c->at, show(c->cx, name),
		     "reads a credential from the environment");
		return;
	}
}

/* Loose languages: a sink's name anywhere that the lexer did not see as a call. */
static bool in_some_name(const struct code *c, struct rein_str word)
{
	for (size_t k = 0; k < c->n; k++)
		if (c->t[k].kind == TOK_NAME && c->t[k].s.n && memmem(c->t[k].s.p, c->t[k].s.n, word.p, word.n))
			return true;
	return false;
}

/* print "unlink\n": nothing but texts that are printed, and nothing in them that is worked out */
static bool only_prints(const struct code *c)
{
	if (memchr(c->s.p, '`', c->s.n) || memchr(c->s.p, '%', c->s.n) || memchr(c->s.p, '<', c->s.n) ||
	    memchr(c->s.p, '@', c->s.n) || memchr(c->s.p, '$', c->s.n) || str_has(c->s, "#{"))
		return false;
	for (size_t k = 0; k < c->n; k++) {
		const struct tok *t = &c->t[k];

		if (t->kind == TOK_NAME ? !str_in(t->s, "print puts say p pp echo printf warn")
					: t->kind == TOK_PUNCT && !strchr(",;.()", t->c))
			return false;
		if (t->kind == TOK_STR && t->joined)
			return false;
	}
	return true;
}

static void raw_check(struct code *c)
{
	uint32_t seen = 0; /* of raw_words: a word is looked for once */
	size_t i = 0;

	static_assert(ARRAY_SIZE(raw_words) <= 32, "one bit each");
	if (only_prints(c))
		return;
	while (i < c->s.n) {
		size_t n = 0, w = 0;

		while (i + n < c->s.n && (code_name1(c->s.p[i + n]) || code_digit(c->s.p[i + n])))
			n++;
		while (n && w < ARRAY_SIZE(raw_words) && (raw_words[w].n != n || memcmp(raw_words[w].p, c->s.p + i, n) != 0))
			w++;
		if (n && w < ARRAY_SIZE(raw_words) && !(seen >> w & 1)) {
			if (!in_some_name(c, raw_words[w])) {
				say(c, REIN_LEVEL_RISKY, raw_words[w], "code that may run or delete something");
				return;
			}
			seen |= 1u << w;
		}
		i += n ? n : 1;
	}
}

/* In a language nobody looks into, words that are hardly there by chance. */
static bool may_do_harm(struct rein_str text)
{
	static const char *const words[] = {"file delete", "delete-directory", "delete-file", "shell-command", "call-process", "spawn ",
					    "exec ", "system", "rm -r", "run-shell", "delete_file", "delete-tree", "rmdir", "unlink",
					    "/bin/sh", "/bin/bash", "callCommand", "os.execute", "do shell script", "do script", "exec(", "popen", "(term ", "Runtime"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_has(text, words[i]))
			return true;
	return false;
}

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

/*
 * "#{`id`}", f"{os.system(x)}", `${exec(x)}`: code in the middle of a text. It is put behind the program, so that it is
 * read with all that the program says of its names.
 */
static struct rein_str unfold(struct ctx *cx, enum code_lang lang, struct rein_str text, struct sbuf *to, unsigned depth)
{
	bool python = false;
	char quote = 0;

	if (!(lang & (LANG_PYTHON | LANG_NODE | LANG_PERL | LANG_RUBY | LANG_PHP | LANG_JULIA | LANG_ELIXIR)) || depth > 4)
		return text;
	for (size_t i = 0; i < text.n; i++) {
		struct rein_str rest = str_from(text, i), code;
		size_t skip;

		if (lang == LANG_PYTHON && !python && i && strchr("\"'", text.p[i]) && strchr("fF", text.p[i - 1])) {
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

void code_scan(struct ctx *cx, const char *lang, struct rein_str text, struct range at)
{
	struct sbuf unfolded = {.a = cx->a};
	struct code *c;
	unsigned flags = 0;
	struct io io = {.in = data_unknown(TAINT_INPUT)};

	if (!lang || !strcmp(lang, "shell")) {
		run_text(cx, text, at, &io);
		return;
	}
	if (!strcmp(lang, "awk")) {
		awk_scan(cx, text, at);
		return;
	}
	if (!strcmp(lang, "sed")) {
		sed_scan(cx, text, at);
		return;
	}
	if (!strcmp(lang, "sql")) {
		sql_scan(cx, text, at, NULL, false, false);
		return;
	}
	if (!cx_step(cx))
		return;
	c = arena_new(cx->a, struct code);
	c->cx = cx;
	c->lang = code_lang_of(lang);
	text = unfold(cx, c->lang, text, &unfolded, 0);
	c->s = text;
	c->at = at;
	c->max = text.n < MAX_TOKS ? text.n + 1 : MAX_TOKS; /* none is shorter than a byte */
	c->t = arena_alloc(cx->a, c->max * sizeof(*c->t));
	code_lex(c);
	code_resolve(c);
	if (c->overflow)
		cx_incomplete(cx, at, "the program on the command line is too long");
	for (size_t k = 0; k < c->n; k++) {
		if (c->t[k].kind == TOK_STR && c->t[k].backtick && !code_lang_is(c, LANG_NODE)) {
			say(c, REIN_LEVEL_RISKY, c->t[k].s, "code that runs another program");
			run_text(cx, c->t[k].s, at, &io);
			continue;
		}
		if (calls_by_value(c, k))
			say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "hides a call behind another name");
		if (c->t[k].kind == TOK_STR && c->t[k].backtick && k && punct(c, k - 1, '$')) { /* $`…` of bun and zx */
			say(c, REIN_LEVEL_RISKY, c->t[k].s, "code that runs another program");
			run_text(cx, c->t[k].s, at, &io);
		}
		if (c->t[k].kind != TOK_NAME)
			continue;
		imports(c, k);
		one_name(c, k, &flags);
		if (c->t[k].s.n > 4 && str_starts(c->t[k].s, "__") &&
		    !str_in(c->t[k].s, "__name__ __file__ __version__ __future__"))
			say(c, REIN_LEVEL_RISKY, c->t[k].s, "code that reaches behind the language");
		if (str_has(c->t[k].s, ".__") && !str_has(c->t[k].s, "__version__") &&
		    !str_has(c->t[k].s, "__file__") && !str_has(c->t[k].s, "__name__") &&
		    !str_has(c->t[k].s, "__doc__"))
			say(c, REIN_LEVEL_RISKY, c->t[k].s, "code that reaches behind the language");
	}
	env_secrets(c);
	if ((flags & 1) && (flags & 4))
		say(c, REIN_LEVEL_DANGEROUS, STR("decode"), "code that decodes and runs other code");
	if ((flags & 2) && (flags & 16))
		fact(cx, REIN_FACT_SEND, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE, at, NULL,
		     "code that reads the whole environment and talks to the network");
	if ((flags & 2) && (flags & 8))
		say(c, REIN_LEVEL_DANGEROUS, STR("network"), "code that joins a program and the network");
	if (code_lang_is(c, LANG_PERL | LANG_RUBY | LANG_LUA | LANG_PHP))
		raw_check(c);
	if (!code_lang_is(c, LANG_PYTHON | LANG_NODE | LANG_PERL | LANG_RUBY | LANG_PHP | LANG_LUA | LANG_R | LANG_JULIA))
		say(c, may_do_harm(text) ? REIN_LEVEL_DANGEROUS : REIN_LEVEL_RISKY, rein_str(lang),
		    "a program in a language that is not looked into");
}
