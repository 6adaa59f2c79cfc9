/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading the index module: beside the program or in the library directory. */
#include <dlfcn.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/index.h"

#ifndef REIN_LIBDIR
#define REIN_LIBDIR "/usr/lib"
#endif

static void *try_open(const char *dir, const char *sub)
{
	auto_free char *path = rein_asprintf("%s%s/rein-index.so", dir, sub);

	return path && access(path, R_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

int rein_index_load(const struct rein_index_ops **ret, struct rein_err *err)
{
	static const char *const subs[] = {"", "/..", "/../src", "/../lib/rein"};
	static const struct rein_index_ops *loaded;
	const struct rein_index_ops *ops;
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	void *h = NULL;

	if (loaded) {
		*ret = loaded;
		return 0;
	}
	exe[n > 0 ? n : 0] = '\0';
	if (strrchr(exe, '/'))
		*strrchr(exe, '/') = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(subs) && !h && n > 0; i++)
		h = try_open(exe, subs[i]);
	if (!h)
		h = try_open(REIN_LIBDIR, "/rein");
	if (!h)
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "the search module rein-index.so is not installed: %s",
				    dlerror() ? "it cannot be loaded" : "looked beside the program "
									"and in " REIN_LIBDIR);
	ops = dlsym(h, REIN_INDEX_SYMBOL);
	if (!ops || ops->abi != REIN_INDEX_ABI)
		return rein_err_set(err, REIN_E_UNSUPPORTED,
				    "rein-index.so is of another version of Rein: reinstall it");
	*ret = loaded = ops;
	return 0;
}
