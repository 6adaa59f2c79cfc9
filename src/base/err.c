/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as plain data. Nothing here allocates or can fail. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int http, exit;
} codes[REIN_E__MAX] = {
	[REIN_OK] = {"ok", 200, 0},
#define X(code, name, http, exit) [code] = {name, http, exit},
#include <rein/codes.def>
#undef X
};

static int known(int code)
{
	return code >= 0 && code < REIN_E__MAX ? code : REIN_E_FAILED;
}

const char *rein_code_name(int code)
{
	return codes[known(code)].name;
}

int rein_code_http(int code)
{
	return codes[known(code)].http;
}

int rein_code_exit(int code)
{
	return codes[known(code)].exit;
}

/* A message may quote file names of any bytes: nothing that moves a cursor may pass. */
static void tame(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

int rein_err_set(struct rein_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	err->code = known(code);
	err->sys = 0;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	tame(err->msg);
	return -err->code;
}

int rein_err_errno(struct rein_err *err, const char *fmt, ...)
{
	int sys = errno;
	va_list ap;
	size_t n;

	err->code = sys == ENOMEM ? REIN_E_NOMEM : REIN_E_IO;
	err->sys = sys;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror(sys));
	tame(err->msg);
	errno = sys;
	return -err->code;
}

int rein_err_nomem(struct rein_err *err)
{
	return rein_err_set(err, REIN_E_NOMEM, "out of memory");
}

int rein_err_prefix(struct rein_err *err, const char *fmt, ...)
{
	char old[REIN_ERR_MSG_MAX];
	va_list ap;
	size_t n;

	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", old);
	tame(err->msg);
	return -err->code;
}

bool rein_err_is_full(const struct rein_err *err)
{
	return err->sys == ENOSPC || err->sys == EDQUOT;
}
