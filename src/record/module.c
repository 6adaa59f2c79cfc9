/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: parts of Rein that link something heavy and are loaded only when they are needed, so
 * that running a command never pays for them.
 */
#include "record/module.h"

#include <dlfcn.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"

#ifndef REIN_LIBDIR
#define REIN_LIBDIR "/usr/lib"
#endif

static void *try_open(const char *dir, const char *sub, const char *file, const char **why)
{
	auto_free char *path = rein_asprintf("%s%s/%s", dir, sub, file);
	void *h;

	if (!path || access(path, R_OK) < 0)
		return NULL;
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!h)
		*why = dlerror();
	return h;
}

int rein_module_load(const char *file, const char *symbol, const char *purpose, const void **ret,
		     struct rein_err *err)
{
	static const char *const subs[] = {"", "/..", "/../src", "/../lib/rein"};
	const char *why = NULL;
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	void *h = NULL;

	exe[n > 0 ? n : 0] = '\0';
	if (strrchr(exe, '/'))
		*strrchr(exe, '/') = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(subs) && !h && n > 0; i++)
		h = try_open(exe, subs[i], file, &why);
	if (!h)
		h = try_open(REIN_LIBDIR, "/rein", file, &why);
	if (!h && why)
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "%s needs %s, which cannot be loaded: %s", purpose, file, why);
	if (!h)
		return rein_err_set(
			err, REIN_E_UNSUPPORTED,
			"%s needs %s, which is not installed: looked beside the program and "
			"in " REIN_LIBDIR "/rein",
			purpose, file);
	*ret = dlsym(h, symbol);
	/* Every module begins with the number of its interface; whoever asked compares it. */
	if (!*ret)
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "%s is of another version of Rein: reinstall it", file);
	return 0;
}
