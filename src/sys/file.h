/* SPDX-License-Identifier: Apache-2.0 */
/* Files as wholes: stat into a fingerprint, read, replace atomically, copy data. fd before path. */
#ifndef REIN_SYS_FILE_H
#define REIN_SYS_FILE_H

#include "base/buf.h"
#include "base/fp.h"

/* Fingerprint of dirfd/name, not following a link at the end. Absent is success with mode 0. */
int rein_fp_at(int dirfd, const char *name, struct rein_fp *ret, struct rein_err *err);
/* Whole file into b (bounded by b->max). */
int rein_file_read(int dirfd, const char *name, struct rein_buf *b, struct rein_err *err);
enum rein_sync {
	REIN_SYNC_NONE,	   /* a power cut may leave an empty file */
	REIN_SYNC_ORDERED, /* after a power cut it is the old or the new one */
	REIN_SYNC_DURABLE, /* it is the new one */
};
/* Write beside, then rename over. */
int rein_file_replace(int dirfd, const char *name, struct rein_str data, enum rein_sync sync,
		      struct rein_err *err);
/*
 * The two halves of it, for who syncs several files at once in between: written beside; put in its
 * place. What is staged and not published stays, under a name nobody reads.
 */
int rein_file_stage(int dirfd, const char *name, struct rein_str data, struct rein_err *err);
int rein_file_publish(int dirfd, const char *name, struct rein_err *err);
/*
 * Make dst's bytes equal src's, holes kept, both at any size before. Shares blocks where the
 * filesystem can. dst is grown before a byte of it changes, so that a full disk is found first.
 */
int rein_file_copy_data(int src, int dst, struct rein_err *err);
/* Open for reading without leaving a trace in the access time, where that is permitted. */
int rein_open_quiet(int dirfd, const char *name);
/* 1 same bytes, 0 different, negative error. */
int rein_file_same_data(int a, int b, struct rein_err *err);
/*
 * Is fd on its way from one of two files to the other: as long as one of them, each byte that of one of them in the same
 * place? 1 or 0, negative error.
 */
int rein_file_between(int fd, int a, int b, struct rein_err *err);
/*
 * Open the directory that holds path (relative to root, any depth) without following a single
 * symbolic link; *ret_name points into path.
 */
int rein_open_parent(int root, const char *path, const char **ret_name, int *ret_fd,
		     struct rein_err *err);
/* Open a directory below root without following links. */
int rein_open_dir_at(int root, const char *path, int *ret_fd, struct rein_err *err);

#endif
