/* SPDX-License-Identifier: Apache-2.0 */
/* See refused.h. */
#include "engine/refused.h"

#include <unistd.h>

#include "base/auto.h"
#include "sys/file.h"

#define FILE_NAME "refused"
#define FILE_MAX  (16u << 20)

int rein_engine_hidden(const struct rein_run *r, struct rein_strlist *ret)
{
	for (size_t i = 0; i < r->view.npaths; i++)
		if (r->view.paths[i].access == REIN_PATH_HIDE &&
		    rein_strlist_add(ret, r->view.paths[i].path) < 0)
			return -1;
	for (size_t i = 0; i < r->nmasks; i++)
		for (size_t k = 0; k < r->masks[i].hidden.paths.n; k++)
			if (rein_strlist_take(ret, rein_path_join(r->tx.roots[i].real,
								  r->masks[i].hidden.paths.v[k])) < 0)
				return -1;
	return 0;
}

int rein_engine_save_refused(const struct rein_tx *t, const struct rein_refused *r,
			     struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(FILE_MAX);

	if (!r->total || t->dirfd < 0)
		return 0;
	rein_refused_pack(r, &b);
	if (b.failed)
		return rein_err_nomem(err);
	return rein_file_replace(t->dirfd, FILE_NAME, (struct rein_str){b.p, b.n}, REIN_SYNC_NONE,
				 err);
}

int rein_engine_load_refused(const struct rein_tx *t, struct rein_refused *ret,
			     struct rein_err *err)
{
	auto_buf struct rein_buf b = REIN_BUF(FILE_MAX);

	*ret = (struct rein_refused){0};
	if (t->dirfd < 0 || faccessat(t->dirfd, FILE_NAME, F_OK, 0) < 0)
		return 0;
	if (rein_file_read(t->dirfd, FILE_NAME, &b, err) < 0)
		return -err->code;
	return rein_refused_unpack((struct rein_str){b.p, b.n}, ret, err);
}
