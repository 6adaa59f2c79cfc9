/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on after a loss. The damaged log is kept untouched under another name; a new one begins,
 * signed with the same key, and its first event says what the old head claimed and why a person
 * decided to go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/internal.h"

static int keep_file(int from, int to, const char *name, struct rein_err *err)
{
	if (linkat(from, name, to, name, 0) < 0 && errno != ENOENT && errno != EEXIST)
		return rein_err_errno(err, "keep '%s' for the new record", name);
	return 0;
}

/* Writers that wait for the old log's locks must not go on in it. */
static int close_old(struct rein_record *old, struct rein_err *err)
{
	struct rein_err ignored = {0};

	if (flock(old->head_fd, LOCK_EX) < 0 || flock(old->state_fd, LOCK_EX) < 0)
		return rein_err_errno(err, "lock the record");
	old->st.segment = 1;
	old->st.gen = UINT64_MAX / 2; /* newer than whatever is there */
	if (rein_key_load(old->dirfd, "key", &old->key, &ignored) == 0) /* without it nobody goes on */
		memcpy(old->st.pub, rein_key_pub(&old->key), 32);
	return rein_log_close(old, err);
}

static int swap_dirs(int top, struct rein_record *old, const char *aside, struct rein_err *err)
{
	static const char *const keep[] = {"key", "key.next", "redact.key", "config"};
	auto_close int fresh = -1;

	if (mkdirat(top, "audit.new", 0700) < 0 && errno != EEXIST)
		return rein_err_errno(err, "create the new record");
	fresh = openat(top, "audit.new", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fresh < 0)
		return rein_err_errno(err, "open the new record");
	for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
		if (keep_file(old->dirfd, fresh, keep[i], err) < 0)
			return -err->code;
	/* Alerts nobody got yet are still to be delivered. */
	if (renameat(old->dirfd, "outbox", fresh, "outbox") < 0 && errno != ENOENT)
		return rein_err_errno(err, "keep the outbox for the new record");
	if (fsync(fresh) < 0 || renameat(top, REIN_RECORD_DIR, top, aside) < 0 ||
	    renameat(top, "audit.new", top, REIN_RECORD_DIR) < 0 || fsync(top) < 0)
		return rein_err_errno(err, "set the damaged record aside");
	return 0;
}

int rein_record_accept_loss(const char *state_dir, const char *reason, struct rein_err *err)
{
	struct rein_verify_result res;
	struct rein_published pub = {0};
	struct rein_record *old = NULL, *fresh = NULL;
	struct rein_event ev = {.type = REIN_EV_REPAIR, .reason = rein_str(reason)};
	char aside[64], n[24] = "unknown", root[65] = "unknown", what[REIN_ERR_MSG_MAX];
	struct rein_err ignored = {0};
	auto_close int top = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (top < 0)
		return rein_err_errno(err, "open '%s'", state_dir);
	if (rein_record_verify(state_dir, NULL, &res, err) == 0)
		return rein_err_set(err, REIN_E_STATE, "the record is whole: there is no loss to "
						       "accept");
	if (err->code != REIN_E_INVALID)
		return -err->code;
	snprintf(what, sizeof(what), "%s", err->msg);
	if (rein_record_open(state_dir, NULL, &old, err) < 0)
		return -err->code;
	if (rein_published_read(old->head_fd, &pub, &ignored) == 0 && pub.present) {
		snprintf(n, sizeof(n), "%llu", (unsigned long long)pub.head.n);
		rein_hex(pub.head.root.b, 32, root);
	}
	snprintf(aside, sizeof(aside), "audit.damaged-%llu",
		 (unsigned long long)(rein_now_ns() / REIN_NS_PER_S));
	rc = close_old(old, err);
	if (rc == 0)
		rc = swap_dirs(top, old, aside, err);
	rein_record_close(old);
	if (rc < 0)
		return rc;
	ev.detail = rein_str(what);
	rein_event_add_extra(&ev, "lost_head", n);
	rein_event_add_extra(&ev, "lost_root", root);
	rein_event_add_extra(&ev, "kept_as", aside);
	rc = rein_record_open(state_dir, NULL, &fresh, err);
	if (rc == 0)
		rc = rein_record_append(fresh, &ev, true, err);
	rein_record_close(fresh);
	return rc;
}
