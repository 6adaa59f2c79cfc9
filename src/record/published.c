/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head file: the last published head and the place behind it, in one sector. Whoever holds its
 * lock is the one who syncs.
 */
#include <errno.h>
#include <unistd.h>

#include "record/log.h"

int rein_published_read(int fd, struct rein_published *ret, struct rein_err *err)
{
	unsigned long long segment, offset;
	ssize_t got = pread(fd, ret->text, sizeof(ret->text), 0);
	char back[80], *nl;
	size_t i;

	ret->present = false;
	if (got < 0)
		return rein_err_errno(err, "read the record's head");
	if (got == 0)
		return 0;
	nl = memchr(ret->text, '\n', (size_t)got);
	if (got != REIN_RECORD_HEAD_SIZE || !nl || ret->text[got - 1] != '\n')
		return rein_err_set(err, REIN_E_INVALID, "the record's head file is damaged");
	ret->line = (struct rein_str){ret->text, (size_t)(nl - ret->text)};
	if (rein_head_parse(ret->line, &ret->head, err) < 0 ||
	    (ret->head.type != REIN_HEAD_HEAD && ret->head.type != REIN_HEAD_ROTATE))
		return rein_err_set(err, REIN_E_INVALID, "the record's head file holds no head");
	ret->text[got - 1] = '\0';
	if (sscanf(nl + 1, "{\"segment\":%llu,\"offset\":%llu}", &segment, &offset) != 2)
		return rein_err_set(err, REIN_E_INVALID, "the record's head file is damaged");
	snprintf(back, sizeof(back), "{\"segment\":%llu,\"offset\":%llu}", segment, offset);
	if (strncmp(nl + 1, back, strlen(back)) != 0)
		return rein_err_set(err, REIN_E_INVALID, "the record's head file is damaged");
	for (i = (size_t)(nl + 1 - ret->text) + strlen(back); ret->text[i] == ' '; i++)
		;
	if (i != REIN_RECORD_HEAD_SIZE - 1)
		return rein_err_set(err, REIN_E_INVALID, "the record's head file is damaged");
	ret->segment = segment;
	ret->offset = offset;
	ret->present = true;
	return 0;
}

int rein_published_write(struct rein_record *r, struct rein_str line, uint64_t segment,
			 uint64_t offset, struct rein_err *err)
{
	char text[REIN_RECORD_HEAD_SIZE + 1];
	int n = snprintf(text, sizeof(text), "%.*s\n{\"segment\":%llu,\"offset\":%llu}",
			 (int)line.n, line.p, (unsigned long long)segment,
			 (unsigned long long)offset);

	if (n < 0 || n >= REIN_RECORD_HEAD_SIZE)
		return rein_err_set(err, REIN_E_LIMIT, "head of %d bytes", n);
	memset(text + n, ' ', sizeof(text) - (size_t)n);
	text[REIN_RECORD_HEAD_SIZE - 1] = '\n';
	if (rein_log_write_at(r->head_fd, text, REIN_RECORD_HEAD_SIZE, 0) < 0)
		return rein_err_errno(err, "publish the record's head");
	return 0;
}
