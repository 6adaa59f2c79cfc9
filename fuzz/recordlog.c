/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log file of any bytes: opening, appending and verifying never crash, and whatever verification
 * calls whole is still whole after another event.
 */
#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "model/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st, (void)flag, (void)f;
	return remove(path);
}

static void put(const char *dir, const char *name, const uint8_t *p, size_t n)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/audit/%s", dir, name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert(fd >= 0 && write(fd, p, n) == (ssize_t)n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char dir[] = "/dev/shm/rein-fuzz-XXXXXX", audit[64];
	size_t cut = n > 512 ? n - 512 : n; /* the last sector of the input is the head file */
	struct rein_record *r = NULL;
	struct rein_verify_result res;
	struct rein_err err = {0};
	struct rein_event ev = {.type = REIN_EV_REQUEST, .command = STR("ls")};
	bool whole;

	assert(mkdtemp(dir));
	snprintf(audit, sizeof(audit), "%s/audit", dir);
	assert(mkdir(audit, 0700) == 0);
	put(dir, "00000001.log", data, cut);
	put(dir, "head", data + cut, n - cut);
	whole = rein_record_verify(dir, NULL, &res, &err) == 0;
	assert(rein_record_open(dir, NULL, &r, &err) == 0);
	if (rein_record_append(r, &ev, true, &err) == 0)
		assert(rein_record_verify(dir, NULL, &res, &err) == 0);
	else
		assert(!whole || err.code == REIN_E_NOTFOUND); /* a whole log of somebody else's key */
	rein_record_close(r);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}
