/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the module that speaks HTTP. */
#include "record/http.h"
#include "record/module.h"

int rein_http_load(const struct rein_http_ops **ret, struct rein_err *err)
{
	static const struct rein_http_ops *loaded;
	const void *found;

	if (!loaded) {
		const struct rein_http_ops *ops;

		if (rein_module_load("rein-http.so", REIN_HTTP_SYMBOL, "a webhook", &found, err) <
		    0)
			return -err->code;
		ops = found;
		if (ops->abi != REIN_HTTP_ABI)
			return rein_err_set(
				err, REIN_E_UNSUPPORTED,
				"rein-http.so is of another version of Rein: reinstall it");
		loaded = ops;
	}
	*ret = loaded;
	return 0;
}
