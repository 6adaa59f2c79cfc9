/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of variables that could make programs run or load anything, and do not: module paths that
 * stay in the workspace, options that only set sizes and checks.
 */
#include "classify/internal.h"

/* src:lib, every directory of the project itself */
static bool own_dirs(struct ctx *cx, struct rein_str s)
{
	bool any = false;

	while (s.n) {
		const char *colon = memchr(s.p, ':', s.n);
		struct rein_str dir = colon ? str_to(s, (size_t)(colon - s.p)) : s;
		enum place p = dir.n ? path_spot(cx, dir).place : PLACE_WORKSPACE;

		/* what the variable held before stays what it was */
		any |= !(dir.n == 1 && dir.p[0] == HOLE);
		if (!(dir.n == 1 && dir.p[0] == HOLE) && p != PLACE_WORKSPACE &&
		    p != PLACE_WORKSPACE_ROOT && p != PLACE_REGEN)
			return false;
		s = str_from(s, dir.n + 1);
	}
	return any;
}

/* Where programs and their parts are kept: not a place for what comes and goes. */
static bool usual_places(struct ctx *cx, struct rein_str s)
{
	while (s.n) {
		const char *colon = memchr(s.p, ':', s.n);
		struct rein_str dir = colon ? str_to(s, (size_t)(colon - s.p)) : s;
		enum place p = memchr(dir.p, '/', dir.n) ? path_spot(cx, dir).place : PLACE_WORKSPACE;

		if (p == PLACE_TMP || p == PLACE_TMP_ROOT || p == PLACE_NET || p == PLACE_PROC || p == PLACE_DEVICE ||
		    (p == PLACE_OTHER && !str_starts(dir, "/opt/")))
			return false;
		s = str_from(s, dir.n + 1);
	}
	return true;
}

/* Every word of the value begins with one of these. */
static bool all_begin(struct rein_str s, const char *const *words, size_t n)
{
	while (s.n) {
		const char *blank = memchr(s.p, ' ', s.n);
		struct rein_str word = blank ? str_to(s, (size_t)(blank - s.p)) : s;
		bool ok = !word.n;

		for (size_t i = 0; !ok && i < n; i++)
			ok = str_starts(word, words[i]) && !has_hole(word);
		if (!ok)
			return false;
		s = str_from(s, word.n + 1);
	}
	return true;
}

bool env_is_tame(struct ctx *cx, struct rein_str name, struct rein_str value)
{
	static const char *const node[] = {"--max-old-space-size",
					   "--max_old_space_size",
					   "--no-warnings",
					   "--enable-source-maps",
					   "--experimental-vm-modules",
					   "--openssl-legacy-provider",
					   "--trace-",
					   "--no-deprecation",
					   "--dns-result-order",
					   "--unhandled-rejections",
					   "--stack-trace-limit",
					   "--max-http-header-size",
					   "--max-semi-space-size",
					   "--no-experimental-",
					   "--pending-deprecation"};
	static const char *const go[] = {"-mod=", "-count=",   "-v",  "-tags=",	  "-buildvcs=",
					 "-race", "-trimpath", "-p=", "-timeout="};
	static const char *const make[] = {
		"-j",		"-s", "-k", "-l", "--jobs", "--silent", "--no-print-directory",
		"--output-sync"};
	static const char *const java[] = {"-Xmx",
					   "-Xms",
					   "-Xss",
					   "-XX:MaxMetaspaceSize",
					   "-XX:+Use",
					   "-XX:MaxRAM",
					   "-Dfile.encoding=",
					   "-Djava.awt.headless=",
					   "-Duser.timezone=",
					   "-Duser.language="};
	static const char *const warnings[] = {"ignore", "error", "default",
					       "always", "once",  "module"};

	if (str_in(name,
		   "PYTHONPATH NODE_PATH RUBYLIB PERL5LIB PKG_CONFIG_PATH CLASSPATH GEM_HOME "
		   "GEM_PATH JULIA_LOAD_PATH "
		   "ZDOTDIR JQ_LIBRARY_PATH CMAKE_TOOLCHAIN_FILE PYTHONUSERBASE ANSIBLE_LIBRARY"))
		return own_dirs(cx, value);
	if (str_in(name, "HOME XDG_CONFIG_HOME JAVA_HOME CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GRADLE_USER_HOME "
			 "DOTNET_ROOT MSBUILDSDKSPATH COMPOSER_HOME GNUPGHOME CLOUDSDK_CONFIG AZURE_CONFIG_DIR "
			 "PIP_CONFIG_FILE BUNDLE_GEMFILE BUNDLE_PATH LIBMYSQL_PLUGIN_DIR GDAL_DRIVER_PATH "
			 "ALSA_CONFIG_PATH R_LIBS R_LIBS_USER JULIA_DEPOT_PATH ERL_LIBS YARN_YARN_PATH YARN_PLUGINS "
			 "TS_NODE_PROJECT MYVIMRC VIMRUNTIME GS_LIB TEXINPUTS GROFF_TMAC_PATH AWKLIBPATH NVM_DIR "
			 "VOLTA_HOME PNPM_HOME BUN_INSTALL FLASK_APP COVERAGE_PROCESS_START CMAKE_PREFIX_PATH"))
		return usual_places(cx, value);
	if (str_in(name, "GOROOT CMAKE_TOOLCHAIN_FILE GEM_HOME GEM_PATH XDG_DATA_DIRS "
			 "XDG_CONFIG_DIRS CLASSPATH"))
		return str_starts(value, "/usr/") || str_starts(value, "/opt/") ||
		       str_starts(value, "/etc/xdg");
	if (str_is(name, "LESS")) /* flags only: -R, -FRX */
		return !memchr(value.p, '+', value.n) && !memchr(value.p, '!', value.n) &&
		       !str_has(value, "-o") && !str_has(value, "-O") && !str_has(value, "--log") &&
		       !str_has(value, "key");
	if (str_starts(name, "TF_CLI_ARGS"))
		return str_in(value, "-no-color -input=false -lock=false -compact-warnings") ||
		       str_starts(value, "-parallelism=");
	if (str_in(name, "ANSIBLE_ROLES_PATH ANSIBLE_COLLECTIONS_PATH ANSIBLE_COLLECTIONS_PATHS"))
		return own_dirs(cx, value);
	if (str_in(name, "CONFIG_SHELL PKG_CONFIG"))
		return str_in(value, "bash sh dash /bin/bash /bin/sh pkg-config pkgconf "
				     "/usr/bin/pkg-config /usr/bin/pkgconf");
	if (str_is(name, "openout_any"))
		return str_in(value, "p r");
	if (str_is(name, "shell_escape"))
		return str_in(value, "f p n 0");
	if (str_is(name, "NODE_OPTIONS"))
		return all_begin(value, node, ARRAY_SIZE(node));
	if (str_is(name, "GOFLAGS"))
		return all_begin(value, go, ARRAY_SIZE(go));
	if (str_in(name, "MAKEFLAGS GNUMAKEFLAGS"))
		return all_begin(value, make, ARRAY_SIZE(make));
	if (str_in(name, "JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS"))
		return all_begin(value, java, ARRAY_SIZE(java));
	if (str_is(name, "PYTHONWARNINGS"))
		return all_begin(value, warnings, ARRAY_SIZE(warnings)) &&
		       !memchr(value.p, '.', value.n);
	if (!str_starts(name, "MALLOC_"))
		return false;
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < '0' || value.p[i] > '9')
			return false;
	return true;
}
