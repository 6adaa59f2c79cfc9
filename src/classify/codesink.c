/* SPDX-License-Identifier: Apache-2.0 */
/* Names of calls through which an inline program acts, as data, and what each of them does. */
#include <assert.h>

#include "classify/code.h"

struct sink_name {
	const char *name; /* dotted; a leading dot: any object */
	uint8_t n, sink;
};

#define S(text, kind) {text, sizeof(text) - 1, kind}
/* The first that fits counts. */
static const struct sink_name sinks[] = {
	S("system", SINK_SHELL), S("os.system", SINK_SHELL), S("os.popen", SINK_SHELL),
	S("popen", SINK_SHELL), S("os.popen2", SINK_SHELL), S("subprocess.run", SINK_SHELL),
	S("subprocess.call", SINK_SHELL), S("subprocess.Popen", SINK_SHELL),
	S("subprocess.check_output", SINK_SHELL), S("subprocess.check_call", SINK_SHELL),
	S("subprocess.getoutput", SINK_SHELL), S("subprocess.getstatusoutput", SINK_SHELL),
	S("commands.getoutput", SINK_SHELL), S("pty.spawn", SINK_SHELL), S("os.execl", SINK_SHELL),
	S("os.execv", SINK_SHELL), S("os.execvp", SINK_SHELL), S("os.execlp", SINK_SHELL),
	S("os.execve", SINK_SHELL), S("os.spawnl", SINK_SHELL), S("os.spawnlp", SINK_SHELL),
	S("os.posix_spawn", SINK_SHELL), S("os.startfile", SINK_SHELL),
	S("asyncio.create_subprocess_shell", SINK_SHELL),
	S("exec", SINK_SHELL), S(".execSync", SINK_SHELL), S("execSync", SINK_SHELL),
	S("execFile", SINK_SHELL), S("execFileSync", SINK_SHELL),
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
	S("shutil.rmtree", SINK_RDEL), S("rmtree", SINK_RDEL), S(".rmtree", SINK_RDEL), S("remove_tree", SINK_RDEL),
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
	S("os.truncate", SINK_DEL), S("truncate", SINK_DEL), S("symlink", SINK_WRITE),
	S("os.rename", SINK_WRITE), S("os.replace", SINK_WRITE),
	S("shutil.move", SINK_WRITE), S(".renameSync", SINK_WRITE), S("rename", SINK_WRITE),
	S("IO.binwrite", SINK_WRITE), S("File.binwrite", SINK_WRITE), S("File.rename", SINK_WRITE),
	S("File.symlink", SINK_WRITE), S("File.link", SINK_WRITE), S("FileUtils.ln_s", SINK_WRITE),
	S("FileUtils.ln_sf", SINK_WRITE), S("FileUtils.ln", SINK_WRITE), S("FileUtils.install", SINK_READ),
	S("FileUtils.mkdir_p", SINK_MAKE), S("FileUtils.mkdir", SINK_MAKE), S("FileUtils.makedirs", SINK_MAKE),
	S("FileUtils.chmod", SINK_ATTR), S("FileUtils.chmod_R", SINK_ATTR), S("FileUtils.chown", SINK_ATTR),
	S("FileUtils.chown_R", SINK_ATTR), S("File.chown", SINK_ATTR), S("IO.copy_stream", SINK_READ),
	S("stdout.reopen", SINK_OPEN), S("stderr.reopen", SINK_OPEN), S("SplFileObject", SINK_OPEN),
	S("FileUtils.mv", SINK_WRITE), S("FileUtils.cp_r", SINK_READ), S("FileUtils.cp", SINK_READ),
	S("shutil.copy", SINK_READ), S("shutil.copy2", SINK_READ), S(".copyFileSync", SINK_READ),
	S(".cpSync", SINK_READ), S("shutil.copyfile", SINK_READ), S("shutil.copytree", SINK_READ),
	S("shutil.make_archive", SINK_WRITE), S(".truncateSync", SINK_WRITE),
	S("open", SINK_OPEN), S("builtins.open", SINK_OPEN), S("File.open", SINK_OPEN), S("fopen", SINK_OPEN),
	S("io.open", SINK_OPEN), S("io.FileIO", SINK_OPEN), S("gzip.GzipFile", SINK_OPEN), S("bz2.BZ2File", SINK_OPEN),
	S("lzma.LZMAFile", SINK_OPEN), S("zipfile.ZipFile", SINK_OPEN), S("logging.FileHandler", SINK_WRITE),
	S("io.output", SINK_WRITE), S("torch.load", SINK_RISKY), S("yaml.UnsafeLoader", SINK_DYN),
	S("logging.config.fileConfig", SINK_DYN), S("logging.config.dictConfig", SINK_DYN), S("breakpoint", SINK_RISKY),
	S("get_ipython", SINK_DYN),
	S("os.open", SINK_OPEN), S("codecs.open", SINK_OPEN), S("gzip.open", SINK_OPEN),
	S("bz2.open", SINK_OPEN), S("lzma.open", SINK_OPEN),
	S("np.save", SINK_WRITE), S("np.savetxt", SINK_WRITE), S("numpy.save", SINK_WRITE), S("torch.save", SINK_WRITE),
	S("numpy.savetxt", SINK_WRITE), S("numpy.savez", SINK_WRITE), S("np.savez", SINK_WRITE),
	S("numpy.savez_compressed", SINK_WRITE),
	S(".symlink_to", SINK_WRITE), S(".hardlink_to", SINK_WRITE), S("process.dlopen", SINK_DYN),
	S("File.new", SINK_OPEN),
	S("IO.read", SINK_READ), S("IO.readlines", SINK_READ), S("File.read", SINK_READ),
	S("File.readlines", SINK_READ), S("File.foreach", SINK_READ), S("File.binread", SINK_READ),
	S(".readFileSync", SINK_READ), S("readFileSync", SINK_READ), S(".readFile", SINK_READ),
	S(".createReadStream", SINK_READ), S("file_get_contents", SINK_READ), S("readfile", SINK_READ),
	S("file", SINK_READ), S(".read_text", SINK_READ), S(".read_bytes", SINK_READ),
	S("Path", SINK_READ), S("pathlib.Path", SINK_READ), S("pathlib.PurePath", SINK_READ),
	S("Deno.readTextFile", SINK_READ), S("Bun.file", SINK_READ), S("np.loadtxt", SINK_READ),
	S("numpy.loadtxt", SINK_READ), S("numpy.genfromtxt", SINK_READ),
	S("pd.read_csv", SINK_READ), S("pandas.read_csv", SINK_READ), S("pandas.read_table", SINK_READ),
	S("show_source", SINK_READ), S("highlight_file", SINK_READ),
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
	S("create_function", SINK_DYN), S("call_user_func", SINK_DYN),
	S("loadstring", SINK_DYN), S("load", SINK_DYN), S("dofile", SINK_DYN), S("runpy.run_path", SINK_DYN),
	S("runpy.run_module", SINK_DYN), S("types.FunctionType", SINK_DYN), S("builtins.exec", SINK_DYN),
	S("builtins.eval", SINK_DYN), S("sys.modules", SINK_DYN), S("include", SINK_DYN),
	S("pickle.loads", SINK_DYN), S("pickle.load", SINK_DYN), S("marshal.load", SINK_DYN),
	S("yaml.unsafe_load", SINK_DYN), S("code.interact", SINK_DYN),
	S("marshal.loads", SINK_DYN), S(".read_pickle", SINK_DYN), S("joblib.load", SINK_DYN),
	S("dill.load", SINK_DYN), S("package.loadlib", SINK_DYN), S("ctypes.CDLL", SINK_DYN),
	S("process.binding", SINK_DYN),
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
	S("LWP.Simple.get", SINK_NET), S("dns.resolve", SINK_NET), S("httpd", SINK_NET),
	S("smtplib.SMTP", SINK_NET),
	S(".execute", SINK_SQL), S(".executescript", SINK_SQL), S(".executemany", SINK_SQL),
	S(".query", SINK_SQL), S("mysqli_query", SINK_SQL), S("pg_query", SINK_SQL),
	S("os.environ", SINK_ENV), S("process.env", SINK_ENV), S("ENV", SINK_ENV), S("ENV.to_h", SINK_ENV),
	S("ENV.to_h.to_s", SINK_ENV), S("ENV.to_json", SINK_ENV), S("ENV.to_a", SINK_ENV),
	S("ENV.inspect", SINK_ENV), S("ENV.each", SINK_ENV),
	S("ENV.each_pair", SINK_ENV), S("ENV.map", SINK_ENV), S("ENV.sort", SINK_ENV), S("_ENV", SINK_ENV),
	S("_SERVER", SINK_ENV),
	S("os.environ.items", SINK_ENV), S("os.environ.copy", SINK_ENV), S("os.environ.values", SINK_ENV),
	S("Deno.env.toObject", SINK_ENV), S("getenv", SINK_ENV),
	S("os.kill", SINK_RISKY), S("process.kill", SINK_RISKY), S("kill", SINK_RISKY),
	S("os.fork", SINK_RISKY), S("fork", SINK_RISKY), S("os.setuid", SINK_RISKY),
	S("os.setgid", SINK_RISKY), S("syscall", SINK_RISKY),
	S("call_command", SINK_RISKY), S(".call_command", SINK_RISKY),
};

/* Names that mean this only in R and Julia. */
static const struct sink_name science[] = {
	S("writeLines", SINK_OUT), S("cat", SINK_OUT), S("write.csv", SINK_OUT), S("write.csv2", SINK_OUT), S("write.table", SINK_OUT),
	S("write_csv", SINK_OUT), S("readr.write_csv", SINK_OUT), S("fwrite", SINK_OUT), S("data.table.fwrite", SINK_OUT),
	S("saveRDS", SINK_OUT), S("save", SINK_OUT), S("save.image", SINK_WRITE), S("dput", SINK_OUT), S("dump", SINK_OUT),
	S("sink", SINK_OUT), S("ggsave", SINK_OUT), S("pdf", SINK_OUT), S("png", SINK_OUT), S("svg", SINK_OUT),
	S("file.copy", SINK_READ), S("file.create", SINK_WRITE), S("file.append", SINK_WRITE), S("file.symlink", SINK_WRITE),
	S("file.remove", SINK_DEL), S("file.rename", SINK_WRITE), S("download.file", SINK_NET),
	S("install.packages", SINK_RISKY),
	S("remotes.install_github", SINK_RISKY), S("devtools.install_github", SINK_RISKY),
	S("source", SINK_DYN), S("sys.source", SINK_DYN),
	S("readLines", SINK_READ), S("readRDS", SINK_READ), S("read.csv", SINK_READ),
	S("Sys.getenv", SINK_ENV), S("Base.rm", SINK_RDEL), S("Downloads.download", SINK_NET),
	S("download", SINK_NET), S("Pkg.add", SINK_RISKY),
	S("Pkg.rm", SINK_RISKY), S("include_string", SINK_DYN), S("Meta.parse", SINK_DYN), S("ccall", SINK_DYN),
};
#undef S

static_assert(ARRAY_SIZE(science) <= ARRAY_SIZE(sinks), "one size fits both");

/* The names that end in the same byte, in the order of their table: made once for a text. */
struct sink_index {
	uint16_t first[2][256], next[2][ARRAY_SIZE(sinks)];
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

		if (s->n <= name.n && (s->n == name.n || s->name[0] == '.') &&
		    !memcmp(name.p + name.n - s->n, s->name, s->n))
			return s->sink;
	}
	return SINK_NONE;
}

enum sink code_sink(const struct code *c, struct rein_str name)
{
	enum sink found = SINK_NONE;

	if (code_lang_is(c, LANG_R | LANG_JULIA))
		found = sink_in(c, true, name);
	if (code_lang_is(c, LANG_JULIA) && str_is(name, "rm")) /* R's forgets variables */
		found = SINK_RDEL;
	if (code_lang_is(c, LANG_PYTHON) && str_starts(name, "socket.") &&
	    !str_in(code_last(name), "gethostname inet_aton inet_ntoa inet_pton inet_ntop htons ntohs htonl ntohl"))
		found = SINK_NET;
	if (code_lang_is(c, LANG_JULIA) && str_in(name, "touch mkpath"))
		found = SINK_MAKE;
	if (code_lang_is(c, LANG_JULIA) && str_in(name, "cp mv"))
		found = str_is(name, "cp") ? SINK_READ : SINK_WRITE;
	if (code_lang_is(c, LANG_JULIA) && str_is(name, "write"))
		found = SINK_OUT;
	if (code_lang_is(c, LANG_PERL | LANG_PHP) && str_in(name, "link sysopen utime move_uploaded_file"))
		found = str_is(name, "utime") ? SINK_ATTR : SINK_WRITE;
	if (code_lang_is(c, LANG_PHP) && str_in(name, "copy touch")) /* elsewhere they are of other things */
		found = str_is(name, "copy") ? SINK_READ : SINK_MAKE;
	return found != SINK_NONE ? found : sink_in(c, false, name);
}

bool code_acts(const struct code *c, struct rein_str text)
{
	enum sink s = code_sink(c, text);

	return s == SINK_SHELL || s == SINK_DEL || s == SINK_RDEL || s == SINK_DYN;
}
