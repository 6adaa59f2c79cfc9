/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the index module. */
#include "record/index.h"
#include "record/module.h"

int rein_index_load(const struct rein_index_ops **ret, struct rein_err *err)
{
	static const struct rein_index_ops *loaded;
	const void *found;

	if (!loaded) {
		const struct rein_index_ops *ops;

		if (rein_module_load("rein-index.so", REIN_INDEX_SYMBOL, "searching", &found, err) <
		    0)
			return -err->code;
		ops = found;
		if (ops->abi != REIN_INDEX_ABI)
			return rein_err_set(
				err, REIN_E_UNSUPPORTED,
				"rein-index.so is of another version of Rein: reinstall it");
		loaded = ops;
	}
	*ret = loaded;
	return 0;
}
