/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inline programs: which calls delete, execute, write or connect, with literal arguments followed. What is
 * only printed stays data; what cannot be told is never safe.
 */
#include "classify/code.h"

static const struct sink_name sinks[] = {
	{"system", SINK_SHELL}, {"os.system", SINK_SHELL}, {"os.popen", SINK_SHELL},
	{"popen", SINK_SHELL}, {"os.popen2", SINK_SHELL}, {"subprocess.run", SINK_SHELL},
	{"subprocess.call", SINK_SHELL}, {"subprocess.Popen", SINK_SHELL},
	{"subprocess.check_output", SINK_SHELL}, {"subprocess.check_call", SINK_SHELL},
	{"subprocess.getoutput", SINK_SHELL}, {"subprocess.getstatusoutput", SINK_SHELL},
	{"commands.getoutput", SINK_SHELL}, {"pty.spawn", SINK_SHELL}, {"os.execl", SINK_SHELL},
	{"os.execv", SINK_SHELL}, {"os.execvp", SINK_SHELL}, {"os.execlp", SINK_SHELL},
	{"os.execve", SINK_SHELL}, {"os.spawnl", SINK_SHELL}, {"os.spawnlp", SINK_SHELL},
	{"os.posix_spawn", SINK_SHELL}, {"os.startfile", SINK_SHELL}, {"asyncio.create_subprocess_shell", SINK_SHELL},
	{"exec", SINK_SHELL}, {".execSync", SINK_SHELL}, {"execSync", SINK_SHELL},
	{".exec", SINK_NONE}, {"execFile", SINK_SHELL}, {"execFileSync", SINK_SHELL},
	{".execFileSync", SINK_SHELL}, {".execFile", SINK_SHELL}, {"spawn", SINK_SHELL},
	{".spawn", SINK_SHELL}, {"spawnSync", SINK_SHELL}, {".spawnSync", SINK_SHELL},
	{"child_process.exec", SINK_SHELL}, {"cp.exec", SINK_SHELL}, {"shell_exec", SINK_SHELL},
	{"passthru", SINK_SHELL}, {"proc_open", SINK_SHELL}, {"pcntl_exec", SINK_SHELL},
	{"Kernel.system", SINK_SHELL}, {"Kernel.exec", SINK_SHELL}, {"Kernel.spawn", SINK_SHELL},
	{"IO.popen", SINK_SHELL}, {"Open3.capture2", SINK_SHELL}, {"Open3.capture3", SINK_SHELL},
	{"Open3.popen3", SINK_SHELL}, {"Process.spawn", SINK_SHELL}, {"os.execute", SINK_SHELL},
	{"io.popen", SINK_SHELL}, {"Bun.spawn", SINK_SHELL}, {"Deno.run", SINK_SHELL},
	{"Deno.Command", SINK_SHELL}, {"System.cmd", SINK_SHELL}, {"qx", SINK_SHELL},
	{"Runtime.getRuntime", SINK_SHELL}, {"system2", SINK_SHELL}, {"shell", SINK_SHELL},
	{"shutil.rmtree", SINK_RDEL}, {"rmtree", SINK_RDEL}, {"remove_tree", SINK_RDEL},
	{".rm_rf", SINK_RDEL}, {".rm_r", SINK_RDEL}, {".remove_dir", SINK_RDEL},
	{".remove_entry_secure", SINK_RDEL}, {".remove_entry", SINK_RDEL}, {".rmSync", SINK_RDEL},
	{"rmSync", SINK_RDEL}, {"fs.rm", SINK_RDEL}, {".rmdirSync", SINK_RDEL},
	{"fs.rmdir", SINK_RDEL}, {"rimraf", SINK_RDEL}, {"rimraf.sync", SINK_RDEL},
	{"fs.promises.rm", SINK_RDEL}, {"fsPromises.rm", SINK_RDEL}, {".emptyDirSync", SINK_RDEL},
	{".removeSync", SINK_RDEL}, {"Deno.remove", SINK_RDEL}, {"Deno.removeSync", SINK_RDEL},
	{"File.rm_rf", SINK_RDEL}, {"os.removedirs", SINK_RDEL}, {"Dir.unlink", SINK_RDEL},
	{"Dir.rmdir", SINK_RDEL}, {"Dir.delete", SINK_RDEL}, {"send2trash", SINK_RDEL},
	{"os.remove", SINK_DEL}, {"os.unlink", SINK_DEL}, {"os.rmdir", SINK_DEL},
	{"unlink", SINK_DEL}, {".unlink", SINK_DEL}, {".unlinkSync", SINK_DEL},
	{"unlinkSync", SINK_DEL}, {"File.delete", SINK_DEL}, {"FileUtils.rm", SINK_DEL},
	{"FileUtils.rm_f", SINK_DEL}, {"rmdir", SINK_DEL}, {".rmdir", SINK_DEL},
	{"os.truncate", SINK_DEL}, {"os.rename", SINK_WRITE}, {"os.replace", SINK_WRITE},
	{"shutil.move", SINK_WRITE}, {".renameSync", SINK_WRITE}, {"rename", SINK_WRITE},
	{"FileUtils.mv", SINK_WRITE}, {"FileUtils.cp_r", SINK_READ}, {"FileUtils.cp", SINK_READ},
	{"shutil.copy", SINK_READ}, {"shutil.copyfile", SINK_READ}, {"shutil.copytree", SINK_READ},
	{"shutil.make_archive", SINK_WRITE}, {".truncateSync", SINK_WRITE},
	{"open", SINK_OPEN}, {"File.open", SINK_OPEN}, {"fopen", SINK_OPEN}, {"io.open", SINK_OPEN},
	{"os.open", SINK_OPEN}, {"codecs.open", SINK_OPEN}, {"File.new", SINK_OPEN},
	{"IO.read", SINK_READ}, {"IO.readlines", SINK_READ}, {"File.read", SINK_READ},
	{"File.readlines", SINK_READ}, {"File.foreach", SINK_READ}, {"File.binread", SINK_READ},
	{".readFileSync", SINK_READ}, {"readFileSync", SINK_READ}, {".readFile", SINK_READ},
	{".createReadStream", SINK_READ}, {"file_get_contents", SINK_READ}, {"readfile", SINK_READ},
	{"file", SINK_READ}, {".read_text", SINK_READ}, {".read_bytes", SINK_READ},
	{"Path", SINK_READ}, {"pathlib.Path", SINK_READ}, {"pathlib.PurePath", SINK_READ},
	{"Deno.readTextFile", SINK_READ}, {"Bun.file", SINK_READ}, {"np.loadtxt", SINK_READ},
	{"pd.read_csv", SINK_READ}, {"show_source", SINK_READ}, {"highlight_file", SINK_READ},
	{".writeFileSync", SINK_WRITE}, {".writeFile", SINK_WRITE}, {"file_put_contents", SINK_WRITE},
	{"File.write", SINK_WRITE}, {"IO.write", SINK_WRITE}, {".write_text", SINK_WRITE},
	{".write_bytes", SINK_WRITE}, {".appendFileSync", SINK_WRITE},
	{".createWriteStream", SINK_WRITE}, {".symlinkSync", SINK_WRITE}, {"os.symlink", SINK_WRITE},
	{"os.mkdir", SINK_MAKE}, {"os.makedirs", SINK_MAKE}, {".mkdirSync", SINK_MAKE},
	{".mkdir", SINK_MAKE}, {"mkdir", SINK_MAKE}, {".touch", SINK_MAKE},
	{"os.chmod", SINK_ATTR}, {"os.chown", SINK_ATTR}, {".chmodSync", SINK_ATTR},
	{"chmod", SINK_ATTR}, {"File.chmod", SINK_ATTR}, {"chown", SINK_ATTR},
	{"eval", SINK_DYN}, {"__import__", SINK_DYN}, {"getattr", SINK_DYN}, {"compile", SINK_DYN},
	{"execfile", SINK_DYN}, {"importlib.import_module", SINK_DYN}, {"Function", SINK_DYN},
	{"vm.runInThisContext", SINK_DYN}, {"vm.runInNewContext", SINK_DYN}, {"globals", SINK_DYN},
	{"instance_eval", SINK_DYN}, {"class_eval", SINK_DYN}, {".instance_eval", SINK_DYN},
	{"create_function", SINK_DYN}, {"assert", SINK_NONE}, {"call_user_func", SINK_DYN},
	{"loadstring", SINK_DYN}, {"load", SINK_DYN}, {"dofile", SINK_DYN}, {"runpy.run_path", SINK_DYN},
	{"runpy.run_module", SINK_DYN}, {"types.FunctionType", SINK_DYN}, {"builtins.exec", SINK_DYN},
	{"builtins.eval", SINK_DYN}, {".send", SINK_NONE}, {"include", SINK_DYN}, {"pickle.loads", SINK_DYN},
	{"marshal.loads", SINK_DYN}, {"ctypes.CDLL", SINK_DYN}, {"process.binding", SINK_DYN},
	{"base64.b64decode", SINK_DECODE}, {"b64decode", SINK_DECODE}, {"bytes.fromhex", SINK_DECODE},
	{"bytearray.fromhex", SINK_DECODE}, {"binascii.unhexlify", SINK_DECODE}, {"atob", SINK_DECODE},
	{"codecs.decode", SINK_DECODE}, {"zlib.decompress", SINK_DECODE}, {"base64_decode", SINK_DECODE},
	{"Base64.decode64", SINK_DECODE}, {"decode_base64", SINK_DECODE}, {"gzinflate", SINK_DECODE},
	{"str_rot13", SINK_DECODE}, {"unpack", SINK_DECODE}, {"pack", SINK_DECODE},
	{"hex2bin", SINK_DECODE}, {"Buffer.from", SINK_DECODE}, {"String.fromCharCode", SINK_DECODE},
	{"socket.socket", SINK_NET}, {"socket.create_connection", SINK_NET}, {"socket", SINK_NET},
	{"urllib.request.urlopen", SINK_NET}, {"urllib.request.urlretrieve", SINK_NET},
	{"urlopen", SINK_NET}, {"requests.get", SINK_NET}, {"requests.post", SINK_NET},
	{"requests.put", SINK_NET}, {"requests.delete", SINK_NET}, {"http.client.HTTPConnection", SINK_NET},
	{"http.client.HTTPSConnection", SINK_NET}, {"fetch", SINK_NET}, {"axios", SINK_NET},
	{"axios.get", SINK_NET}, {"axios.post", SINK_NET}, {"http.get", SINK_NET},
	{"https.get", SINK_NET}, {"https.request", SINK_NET}, {"http.request", SINK_NET},
	{"net.connect", SINK_NET}, {"net.Socket", SINK_NET}, {"net.createConnection", SINK_NET},
	{"dgram.createSocket", SINK_NET}, {"TCPSocket.new", SINK_NET}, {"TCPSocket.open", SINK_NET},
	{"Net.HTTP.get", SINK_NET}, {"Net.HTTP.post", SINK_NET}, {"IO.Socket.INET.new", SINK_NET},
	{"fsockopen", SINK_NET}, {"curl_exec", SINK_NET}, {"URI.open", SINK_NET},
	{"LWP.Simple.get", SINK_NET}, {"dns.resolve", SINK_NET}, {"smtplib.SMTP", SINK_NET},
	{".execute", SINK_SQL}, {".executescript", SINK_SQL}, {".executemany", SINK_SQL},
	{".query", SINK_SQL}, {"mysqli_query", SINK_SQL}, {"pg_query", SINK_SQL},
	{"os.environ", SINK_ENV}, {"process.env", SINK_ENV}, {"ENV", SINK_ENV}, {"getenv", SINK_NONE},
	{"os.kill", SINK_RISKY}, {"process.kill", SINK_RISKY}, {"kill", SINK_RISKY},
	{"os.fork", SINK_RISKY}, {"fork", SINK_RISKY}, {"os.setuid", SINK_RISKY},
	{"os.setgid", SINK_RISKY}, {"syscall", SINK_RISKY}, {"os._exit", SINK_NONE},
	{"setTimeout", SINK_NONE}, {"input", SINK_NONE},
};

/* Modules that only compute. Anything else imported is not proven harmless. */
static const char safe_modules[] =
	"json sys re math datetime time collections itertools functools string random hashlib "
	"textwrap statistics decimal fractions operator typing enum dataclasses uuid calendar "
	"copy pprint unicodedata struct bisect heapq csv html locale platform shlex difflib "
	"base64 binascii io os os.path pathlib glob fnmatch tomllib yaml toml ast tokenize keyword "
	"argparse logging warnings contextlib inspect traceback timeit zlib gzip secrets numbers "
	"numpy pandas torch tensorflow scipy sklearn matplotlib django flask rich packaging "
	"importlib.metadata pkg_resources site sysconfig xml.etree.ElementTree urllib.parse colorsys "
	"this __future__ abc codecs types array queue cmath sqlite3 shutil tempfile "
	"path fs util url querystring crypto assert events os buffer string_decoder punycode "
	"node:path node:fs node:util node:url node:crypto node:assert node:os perf_hooks v8 "
	"node:perf_hooks ./package.json ../package.json semver lodash typescript "
	"strict warnings POSIX List::Util Data::Dumper JSON JSON::PP Time::HiRes Scalar::Util "
	"MIME::Base64 Digest::MD5 Digest::SHA Encode utf8 feature integer bigint Text::Wrap Time::Local "
	"set date bigdecimal digest prettyprint pp psych optparse fileutils English rubygems erb";

/* Names whose mere mention in a language with loose quoting must not be missed. */
static const char raw_words[] =
	"system exec qx unlink rmtree remove_tree eval open popen fork socket rm_rf rm_r spawn "
	"sysopen require syscall rename rmdir kill dofile loadstring";

static enum sink sink_of(struct rein_str name)
{
	enum sink found = SINK_NONE;

	for (size_t k = 0; k < ARRAY_SIZE(sinks); k++) {
		const char *s = sinks[k].name;

		if (s[0] == '.' ? str_ends(name, s) : str_is(name, s)) {
			found = sinks[k].sink;
			if (found != SINK_NONE)
				return found;
		}
	}
	return found;
}

static bool punct(const struct code *c, size_t k, char ch)
{
	return k < c->n && c->t[k].kind == TOK_PUNCT && c->t[k].c == ch;
}

/* The first literal argument of the call whose name is token k. False: not literal. */
static bool literal_arg(const struct code *c, size_t k, struct rein_str *ret, size_t *after)
{
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
		struct sbuf both = {.a = c->cx->a};
		size_t s = *after;

		if (punct(c, s, '+') || (punct(c, s, '.') && code_lang_is(c, "perl php")))
			s++;
		if (s >= c->n || c->t[s].kind != TOK_STR)
			return s == *after;
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
	return code_lang_is(c, "ruby perl php lua") && k + 1 < c->n &&
	       (c->t[k + 1].kind == TOK_STR || c->t[k + 1].kind == TOK_NAME ||
		punct(c, k + 1, '$') || punct(c, k + 1, '<'));
}

static void say(struct code *c, enum rein_level level, struct rein_str what, const char *why)
{
	fact(c->cx, REIN_FACT_EXEC, level, REIN_REACH_CONTAINED, c->at, show(c->cx, what), why);
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
		/* a list, or several strings: an argument vector */
		for (; j < c->n && !punct(c, j, ')') && argv.n < 64; j++) {
			if (c->t[j].kind == TOK_STR) {
				struct field f = {.s = c->t[j].joined ? STR("\001") : c->t[j].s,
						  .at = c->at};

				fields_push(c->cx, &argv, f);
			} else if (c->t[j].kind == TOK_NAME && !punct(c, j + 1, '=') && argv.n) {
				struct field f = {.s = STR("\001"), .at = c->at};

				fields_push(c->cx, &argv, f);
			}
		}
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

static struct field path_arg(struct code *c, size_t k)
{
	struct field f = {.s = STR("\001"), .at = c->at};
	size_t after;

	if (c->t[k].s.n && c->t[k].s.p[0] == '.' && literal_arg(c, k, &f.s, &after))
		return f;
	f.s = STR("\001");
	if (c->t[k].s.n && c->t[k].s.p[0] == '.') {
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
			if (c->t[j].kind == TOK_STR) {
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
		if (code_lang_is(c, "perl") && (str_in(c->t[j].s, "|- -|") || str_ends(c->t[j].s, "|") ||
					   str_starts(c->t[j].s, "|"))) {
			say(c, REIN_LEVEL_DANGEROUS, c->t[k].s, "opens a pipe to a program");
			run_text(c->cx, c->t[j].s, c->at, &io);
		}
		if (code_lang_is(c, "perl") && !str_in(c->t[j].s, "< > >> +< <:utf8 >:utf8"))
			f.s = c->t[j].s;
		if (code_lang_is(c, "ruby") && str_starts(c->t[j].s, "|"))
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

static void one_name(struct code *c, size_t k, unsigned *flags)
{
	struct rein_str name = c->t[k].s, arg;
	enum sink s = sink_of(name);
	struct field f;
	size_t after;

	if (s == SINK_NONE) {
		if (is_call(c, k) && names_destruction(name))
			fact(c->cx, REIN_FACT_REMOTE, REIN_LEVEL_DANGEROUS, REIN_REACH_IRREVERSIBLE,
			     c->at, show(c->cx, name), "calls something that says it destroys");
		return;
	}
	if (s == SINK_SHELL && str_is(name, "exec") && code_lang_is(c, "python"))
		s = SINK_DYN;
	if (s == SINK_OPEN && code_lang_is(c, "node"))
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
		if (!punct(c, k + 1, '[') && !punct(c, k + 1, '.'))
			fact(c->cx, REIN_FACT_SECRET, REIN_LEVEL_RISKY, REIN_REACH_READONLY, c->at,
			     show(c->cx, name), "reads the whole environment");
		return;
	}
	if (!is_call(c, k) && (s == SINK_SHELL || s == SINK_DYN)) {
		/* f = os.system; a bare mention hides the call */
		if (memchr(name.p, '.', name.n) || code_lang_is(c, "python node"))
			say(c, REIN_LEVEL_DANGEROUS, name, "hides a call behind another name");
		return;
	}
	if (!is_call(c, k))
		return;
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
		return;
	case SINK_WRITE:
		f = path_arg(c, k);
		effect_write(c->cx, &f, false);
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

/* import a, b.c as d / from x import y / require("x") / use X; */
static void imports(struct code *c, size_t k)
{
	struct rein_str name = c->t[k].s, mod = {0};
	bool py = code_lang_is(c, "python");

	if (py && (str_is(name, "import") || str_is(name, "from"))) {
		for (size_t j = k + 1; j < c->n; j++) {
			struct rein_str top;
			const char *dot;

			if (c->t[j].kind != TOK_NAME)
				break;
			mod = c->t[j].s;
			dot = memchr(mod.p, '.', mod.n);
			top = dot ? str_to(mod, (size_t)(dot - mod.p)) : mod;
			if (!str_in(mod, safe_modules) && !str_in(top, safe_modules) &&
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
	if (code_lang_is(c, "node ruby") &&
	    str_in(name, "require import require_relative") && is_call(c, k)) {
		size_t after;

		if (literal_arg(c, k, &mod, &after)) {
			if (str_is(mod, "child_process") || str_is(mod, "node:child_process"))
				say(c, REIN_LEVEL_RISKY, mod, "code that can run other programs");
			else if (!str_in(mod, safe_modules))
				say(c, REIN_LEVEL_RISKY, mod,
				    "code that uses a module whose effects are not known");
		} else {
			say(c, REIN_LEVEL_DANGEROUS, name, "code that loads a module by a computed name");
		}
		return;
	}
	if (code_lang_is(c, "perl") && str_in(name, "use require") && k + 1 < c->n &&
	    c->t[k + 1].kind == TOK_NAME) {
		struct sbuf colons = {.a = c->cx->a};

		mod = c->t[k + 1].s;
		for (size_t i = 0; i < mod.n; i++) {
			if (mod.p[i] == '.')
				sbuf_add(&colons, "::", 2);
			else
				sbuf_char(&colons, mod.p[i]);
		}
		if (!str_in(sbuf_view(&colons), safe_modules) && !str_is(mod, "File.Path"))
			say(c, REIN_LEVEL_RISKY, sbuf_view(&colons),
			    "code that uses a module whose effects are not known");
	}
}

/* Loose languages: a sink's name anywhere that the lexer did not see as a call. */
static void raw_check(struct code *c)
{
	size_t i = 0;

	while (i < c->s.n) {
		size_t n = 0;

		while (i + n < c->s.n && (code_name1(c->s.p[i + n]) || code_digit(c->s.p[i + n])))
			n++;
		if (n && str_in((struct rein_str){c->s.p + i, n}, raw_words)) {
			bool seen = false;

			for (size_t k = 0; k < c->n && !seen; k++)
				seen = c->t[k].kind == TOK_NAME &&
				       (rein_str_eq(c->t[k].s, (struct rein_str){c->s.p + i, n}) ||
					str_has(c->t[k].s, cx_printf(c->cx, "%.*s", (int)n,
								     c->s.p + i)));
			if (!seen) {
				say(c, REIN_LEVEL_RISKY, (struct rein_str){c->s.p + i, n},
				    "code that may run or delete something");
				return;
			}
		}
		i += n ? n : 1;
	}
}

void code_scan(struct ctx *cx, const char *lang, struct rein_str text, struct range at)
{
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
	c->lang = lang;
	c->s = text;
	c->at = at;
	code_lex(c);
	if (c->overflow)
		cx_incomplete(cx, at, "the program on the command line is too long");
	for (size_t k = 0; k < c->n; k++) {
		if (c->t[k].kind == TOK_STR && c->t[k].backtick && !code_lang_is(c, "node")) {
			say(c, REIN_LEVEL_RISKY, c->t[k].s, "code that runs another program");
			run_text(cx, c->t[k].s, at, &io);
			continue;
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
	if ((flags & 1) && (flags & 4))
		say(c, REIN_LEVEL_DANGEROUS, STR("decode"), "code that decodes and runs other code");
	if ((flags & 2) && (flags & 8))
		say(c, REIN_LEVEL_DANGEROUS, STR("network"), "code that joins a program and the network");
	if (code_lang_is(c, "perl ruby lua php"))
		raw_check(c);
	if (!code_lang_is(c, "python node perl ruby php lua r"))
		say(c, REIN_LEVEL_RISKY, rein_str(lang), "a program in a language that is not looked into");
}
