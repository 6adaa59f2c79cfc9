/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody asks to do. Plain data; nothing in it is owned. Strings may be NULL where a comment
 * does not say otherwise.
 */
#ifndef REIN_MODEL_ACTION_H
#define REIN_MODEL_ACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rein_action_kind {
	REIN_ACTION_NONE = 0, /* refused */
	REIN_ACTION_COMMAND,
	REIN_ACTION_FILE,
	REIN_ACTION_SQL,
	REIN_ACTION_HTTP,
	REIN_ACTION_CUSTOM,
};

enum rein_file_op {
	REIN_FILE_READ = 1,
	REIN_FILE_WRITE,
	REIN_FILE_APPEND,
	REIN_FILE_DELETE,
	REIN_FILE_CHMOD,
	REIN_FILE_LIST,
};

struct rein_action {
	enum rein_action_kind kind;

	/* COMMAND: shell text, or argv (not run through a shell) when text is NULL. SQL: the text. */
	const char *text;
	size_t text_n;
	const char *const *argv;
	size_t argc;
	const char *cwd;	     /* absolute; NULL: the workspace */
	const char *home;	     /* absolute; NULL: a home like any other */
	const char *workspace;	     /* absolute; NULL: cwd is its root */
	const char *const *environ_; /*
				      * NAME=value, NULL-terminated, as the command will have it; a
				      * byte 1 stands for what is not known. NULL: nothing is known
				      */

	bool offline; /* in a box with no network but its own loopback, and no socket of anybody outside */

	/* FILE */
	enum rein_file_op op;
	const char *path;
	const char *content; /* what is written */
	size_t content_n;

	/* SQL */
	const char *dialect; /* "postgres", "mysql", "sqlite" …; NULL: any */

	/* HTTP */
	const char *method, *url;
	const char *const *headers; /* "Name: value", NULL-terminated */
	const char *body;
	size_t body_n;
	uint64_t body_bytes; /* when the body itself is not known */

	/* CUSTOM: a declared name and its parameters as "key=value", NULL-terminated */
	const char *name;
	const char *const *params;
};

#endif
