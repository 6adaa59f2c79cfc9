/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading modules. */
#include "sys/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"

#ifndef REIN_LIBDIR
#define REIN_LIBDIR "/usr/lib"
#endif

/* Relative to the directory of the program, or absolute. */
static const char *const places[] = {"", "../", "../lib/rein/", REIN_LIBDIR "/rein/"};

static void *open_in(const char *dir, const char *place, const char *name, bool *found)
{
	char path[2 * PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s%s.so", place[0] == '/' ? "" : dir, place, name) >= (int)sizeof(path) ||
	    access(path, R_OK) < 0)
		return NULL;
	*found = true;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

const void *sys_module(const char *name, const char *symbol, unsigned abi, struct rein_err *err)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	bool found = false;
	const unsigned *ops;
	void *handle = NULL;

	exe[n > 0 ? n : 0] = '\0';
	if (strrchr(exe, '/'))
		strrchr(exe, '/')[1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places) && !found; i++)
		handle = open_in(exe, places[i], name, &found);
	if (!handle) {
		rein_err_set(err, REIN_E_UNSUPPORTED, found ? "%s.so cannot be loaded: %s" : "%s.so is not installed", name,
			     found ? dlerror() : "");
		return NULL;
	}
	ops = dlsym(handle, symbol);
	if (!ops || *ops != abi) {
		rein_err_set(err, REIN_E_UNSUPPORTED, "%s.so is of another version of Rein: install both anew", name);
		dlclose(handle);
		return NULL;
	}
	return ops;
}
