/* SPDX-License-Identifier: Apache-2.0 */
/* Files that people configure Rein with: where they lie, and their text. One that is there and cannot be read is an error. */
#ifndef REIN_ENGINE_CONFFILE_H
#define REIN_ENGINE_CONFFILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strlist.h"

/* A path in the user's own directory, owned by the caller; NULL where there is no home. */
int rein_conf_path(const char *rest, char **ret, struct rein_err *err);

/* The NAME.yaml in a directory in the order of their names, as paths; none where there is no directory. */
int rein_conf_list(const char *dir, struct rein_strlist *ret, struct rein_err *err);

/*
 * 1: read, 0: not there. `what` it is, for the message. A link is followed only where whoever made it may decide.
 */
int rein_conf_read(const char *what, const char *path, bool follow, struct rein_buf *b, struct rein_err *err);

#endif
