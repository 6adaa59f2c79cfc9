/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verification: read everything, believe nothing. Every line is a leaf, every head must fit the
 * tree at its place, the last head of each segment (and every change of key) must be signed, the
 * published head must be in the log at its place, heads kept elsewhere must fit too.
 *
 * Signatures of heads in between need no check of their own: they are leaves under the next signed
 * head, so that not a byte of them can change unseen.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "record/internal.h"

struct anchor {
	uint64_t n;
	struct rein_hash root;
};

struct verifier {
	const struct rein_verify_options *opt;
	struct rein_verify_result *res;
	struct rein_merkle tree;
	uint64_t segment;
	bool begun, have_pub, pinned_seen;
	uint8_t pub[32];

	struct rein_buf last_line; /* last head of this segment, signature not yet checked */
	struct rein_head last;
	bool last_open; /* its signature was not looked at yet */
	bool at_head;	/* the last line was a head that can end a segment */
	uint8_t last_pub[32];

	struct rein_published published;
	bool published_seen;
	struct anchor *anchor;
	size_t nanchor, next_anchor;
	uint64_t pruned_seen, pruned_to; /* told of; told of under a head */
	struct rein_verify_watch *watch; /* or NULL */
};

/* Where the last verification ended; kept with a MAC so that only this machine can write it. */
struct kept {
	char magic[8];
	struct rein_bookmark at;
	uint8_t mac[32];
};

static int broken(struct rein_err *err, const struct rein_line *l, const char *what)
{
	return rein_err_set(err, REIN_E_INVALID, "segment %llu, line %llu (byte %llu): %s",
			    (unsigned long long)l->segment, (unsigned long long)l->index,
			    (unsigned long long)l->offset, what);
}

static bool check_sig(struct verifier *v, struct rein_str line, const struct rein_head *h,
		      const uint8_t pub[32])
{
	v->res->signatures++;
	if (!rein_head_signed_by(line, h, pub))
		return false;
	if (v->opt->pinned && memcmp(v->opt->pinned, pub, 32) == 0)
		v->pinned_seen = true;
	return true;
}

static int settle_last(struct verifier *v, const struct rein_line *l, struct rein_err *err)
{
	struct rein_str line = {v->last_line.p, v->last_line.n};

	if (!v->last_open)
		return 0;
	v->last_open = false;
	if (!check_sig(v, line, &v->last, v->last_pub))
		return broken(err, l, "the last tree head before here is not signed by the record's "
				      "key");
	v->res->head.n = v->last.n;
	v->res->head.time_ns = v->last.time_ns;
	memcpy(v->res->head.root, v->last.root.b, 32);
	memcpy(v->res->head.pub, v->last_pub, 32);
	return 0;
}

static int on_start(struct verifier *v, const struct rein_line *l, const struct rein_head *h,
		    struct rein_err *err)
{
	struct rein_hash root;

	if (h->segment != l->segment)
		return broken(err, l, "this is another segment's file");
	rein_merkle_root(&h->peaks, &root);
	if (memcmp(root.b, h->root.b, 32) != 0)
		return broken(err, l, "the peaks of the first line do not make its root");
	if (!v->begun) {
		v->tree = h->peaks;
		v->res->first = h->n;
		memcpy(v->pub, h->pub, 32);
		v->have_pub = true;
		v->begun = true;
	}
	if (memcmp(h->pub, v->pub, 32) != 0)
		return broken(err, l, "the key changes without a rotation");
	return 0;
}

static int on_head(struct verifier *v, const struct rein_line *l, const struct rein_head *h,
		   struct rein_err *err)
{
	struct rein_hash root;

	if ((l->offset == 0) != (h->type == REIN_HEAD_START))
		return broken(err, l, l->offset ? "a first line in the middle of a segment"
						: "the first line of the segment is missing");
	if (h->type == REIN_HEAD_START && on_start(v, l, h, err) < 0)
		return -err->code;
	if (h->n != v->tree.n)
		return broken(err, l, "lines are missing or added before this tree head");
	rein_merkle_root(&v->tree, &root);
	if (memcmp(root.b, h->root.b, 32) != 0)
		return broken(err, l, "a line before this tree head was changed");
	v->res->heads++;
	v->pruned_to = v->pruned_seen;
	v->last = *h;
	v->last_open = true;
	memcpy(v->last_pub, v->pub, 32);
	rein_buf_clear(&v->last_line);
	rein_buf_str(&v->last_line, l->text);
	if (v->last_line.failed)
		return rein_err_nomem(err);
	if (h->type != REIN_HEAD_HEAD || v->opt->all_signatures) {
		if (settle_last(v, l, err) < 0)
			return -err->code;
	}
	if (h->type == REIN_HEAD_ROTATE)
		memcpy(v->pub, h->pub, 32);
	v->at_head = h->type != REIN_HEAD_START;
	return 0;
}

/* Events the verifier itself must understand. */
static int on_event(struct verifier *v, const struct rein_line *l, struct rein_err *err)
{
	static const char prune[] = "{\"v\":1,\"type\":\"prune\"",
			  repair[] = "{\"v\":1,\"type\":\"repair\"";
	bool own = (l->text.n > sizeof(prune) && !memcmp(l->text.p, prune, sizeof(prune) - 1)) ||
		   (l->text.n > sizeof(repair) && !memcmp(l->text.p, repair, sizeof(repair) - 1));
	struct rein_event_read r;
	struct rein_err why = {0};
	uint64_t n;

	v->res->events++;
	v->at_head = false;
	if (!own && !v->opt->all_events)
		return 0;
	if (rein_event_parse(l->text, &r, &why) < 0) {
		broken(err, l, "not a valid event");
		return rein_err_prefix(err, "%s", why.msg);
	}
	if (r.ev.type == REIN_EV_PRUNE &&
	    rein_str_u64(rein_event_extra(&r.ev, "first_line_kept"), &n) && n > v->pruned_seen)
		v->pruned_seen = n; /* anybody can put lines at the end: it counts when it is signed for */
	if (r.ev.type == REIN_EV_REPAIR && rein_event_extra(&r.ev, "lost_head").n)
		v->res->loss_accepted = true;
	rein_event_read_done(&r);
	return 0;
}

static int check_published(struct verifier *v, const struct rein_line *l, struct rein_err *err)
{
	const struct rein_published *p = &v->published;

	if (!rein_str_eq(p->line, l->text))
		return broken(err, l, "the published head is not the one in the log");
	if (p->segment != l->segment || p->offset != l->offset + l->text.n + 1)
		return broken(err, l, "the head file points to another place");
	v->published_seen = true;
	return 0;
}

static int check_anchors(struct verifier *v, uint64_t n, const struct rein_line *l,
			 struct rein_err *err)
{
	struct rein_hash root;

	for (; v->next_anchor < v->nanchor && v->anchor[v->next_anchor].n <= n; v->next_anchor++) {
		const struct anchor *a = &v->anchor[v->next_anchor];

		if (a->n < n)
			continue; /* before the lines that are still here */
		rein_merkle_root(&v->tree, &root);
		if (memcmp(root.b, a->root.b, 32) != 0)
			return broken(err, l, "history was rewritten: a head kept elsewhere does not "
					      "fit");
		v->res->anchors++;
	}
	return 0;
}

/* Is the tree, where it has as many lines as the expected one, that one? */
static void watched(struct verifier *v)
{
	const struct rein_merkle *want = v->watch ? v->watch->expect : NULL;

	if (want && want->n == v->tree.n)
		v->watch->met = !memcmp(want->peak, v->tree.peak, rein_merkle_npeaks(want->n) * sizeof(want->peak[0]));
}

static int on_line(void *arg, const struct rein_line *l, struct rein_err *err)
{
	struct verifier *v = arg;
	struct rein_head h;
	struct rein_hash leaf;

	if (l->text.n > REIN_EVENT_LINE_MAX || l->text.n == 0)
		return broken(err, l, "not a line of the record");
	if (rein_head_parse(l->text, &h, err) < 0) {
		struct rein_err why = *err;

		return broken(err, l, why.msg);
	}
	if (h.type != REIN_HEAD_NONE) {
		if (on_head(v, l, &h, err) < 0)
			return -err->code;
	} else {
		if (l->offset == 0)
			return broken(err, l, "the first line of the segment is missing");
		if (on_event(v, l, err) < 0)
			return -err->code;
	}
	if (v->published.present && v->tree.n == v->published.head.n &&
	    check_published(v, l, err) < 0)
		return -err->code;
	if (check_anchors(v, v->tree.n, l, err) < 0)
		return -err->code;
	watched(v);
	if (v->watch && h.type == REIN_HEAD_NONE && v->watch->fn(v->watch->arg, l, err) < 0)
		return -err->code;
	rein_merkle_leaf(l->text.p, l->text.n, &leaf);
	rein_merkle_push(&v->tree, &leaf);
	v->res->lines++;
	v->res->bytes += l->text.n + 1;
	return 0;
}

static int by_n(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	return x->n < y->n ? -1 : x->n > y->n;
}

static int load_anchors(struct verifier *v, const char *path, struct rein_err *err)
{
	FILE *f = fopen(path, "re");
	char line[2048];
	size_t cap = 0, at = 0;

	if (!f)
		return rein_err_errno(err, "open anchor file '%s'", path);
	while (fgets(line, sizeof(line), f)) {
		/* System log files put their own words before the head. */
		char *from = strstr(line, "{\"v\":1,\"type\":\"");
		struct rein_head h;

		at++;
		if (!from)
			continue;
		from[strcspn(from, "\n")] = '\0';
		if (rein_head_parse(rein_str(from), &h, err) < 0 || h.type == REIN_HEAD_NONE) {
			fclose(f);
			return rein_err_set(err, REIN_E_INVALID, "anchor file '%s', line %zu: no head",
					    path, at);
		}
		if (rein_grow(v->anchor, v->nanchor, cap) < 0) {
			fclose(f);
			return rein_err_nomem(err);
		}
		v->anchor[v->nanchor++] = (struct anchor){h.n, h.root};
	}
	fclose(f);
	if (v->nanchor)
		qsort(v->anchor, v->nanchor, sizeof(*v->anchor), by_n);
	return 0;
}

static int bookmark_mac(int dirfd, const struct kept *b, uint8_t mac[32], struct rein_err *err)
{
	uint8_t key[32];

	if (rein_key_redact(dirfd, false, key, err) < 0)
		return -err->code;
	rein_hmac_sha256(key, 32, b, offsetof(struct kept, mac), mac);
	return 0;
}

static void begin_at(struct verifier *v, const struct rein_bookmark *b)
{
	v->tree = b->tree;
	v->segment = b->segment;
	v->res->first = b->first;
	v->pruned_seen = v->pruned_to = b->pruned_to;
	memcpy(v->pub, b->pub, 32);
	v->begun = v->have_pub = true;
}

/* A missing or foreign bookmark is no error: everything is verified then. */
static bool bookmark_load(int dirfd, struct verifier *v, uint64_t *ret_offset)
{
	auto_close int fd = openat(dirfd, "verified", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct rein_err ignored = {0};
	struct kept b;
	uint8_t mac[32];

	if (fd < 0 || read(fd, &b, sizeof(b)) != sizeof(b) || memcmp(b.magic, "reinbm1", 8) != 0 ||
	    bookmark_mac(dirfd, &b, mac, &ignored) < 0 || memcmp(mac, b.mac, 32) != 0)
		return false;
	begin_at(v, &b.at);
	*ret_offset = b.at.offset;
	return true;
}

static struct rein_bookmark bookmark(const struct verifier *v, uint64_t offset)
{
	struct rein_bookmark b = {.segment = v->segment,
				  .offset = offset,
				  .first = v->res->first,
				  .pruned_to = v->pruned_to,
				  .tree = v->tree};

	memcpy(b.pub, v->pub, 32);
	return b;
}

static int bookmark_save(int dirfd, const struct rein_bookmark *at, struct rein_err *err)
{
	struct kept b = {.magic = "reinbm1", .at = *at};
	auto_close int fd = -1;

	if (bookmark_mac(dirfd, &b, b.mac, err) < 0)
		return -err->code;
	fd = openat(dirfd, "verified.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0 || write(fd, &b, sizeof(b)) != sizeof(b) ||
	    renameat(dirfd, "verified.tmp", dirfd, "verified") < 0)
		return rein_err_errno(err, "remember what was verified");
	return 0;
}

struct extent {
	uint64_t *seg;
	size_t nseg;
	uint64_t last_size;
};

/* A moment at which no writer is at work: which segments, how long the last, which head. */
static int snapshot(int dirfd, struct verifier *v, struct extent *x, struct rein_err *err)
{
	auto_close int state_fd = openat(dirfd, "state", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_close int head_fd = openat(dirfd, "head", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char name[REIN_SEGMENT_NAME];
	struct stat st;

	if (!v->opt->archive && state_fd >= 0 && flock(state_fd, LOCK_SH) < 0)
		return rein_err_errno(err, "lock the record");
	if (head_fd >= 0 && rein_published_read(head_fd, &v->published, err) < 0)
		return -err->code;
	if (rein_segments(dirfd, &x->seg, &x->nseg, err) < 0)
		return -err->code;
	if (x->nseg == 0)
		return v->published.present
			       ? rein_err_set(err, REIN_E_INVALID,
					      "all segments are gone; the signed head says there "
					      "were %llu lines",
					      (unsigned long long)v->published.head.n)
			       : rein_err_set(err, REIN_E_NOTFOUND, "there is no record yet");
	rein_segment_name(x->seg[x->nseg - 1], name);
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return rein_err_errno(err, "look at segment '%s'", name);
	x->last_size = (uint64_t)st.st_size;
	return 0;
}

static int one_segment(int dirfd, struct verifier *v, uint64_t seg, uint64_t from, uint64_t size,
		       bool last, struct rein_err *err)
{
	char name[REIN_SEGMENT_NAME];
	auto_close int fd = -1;
	struct stat st;
	uint64_t end = 0, index = v->tree.n;
	struct rein_line here = {.segment = seg};

	rein_segment_name(seg, name);
	fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return rein_err_errno(err, "open segment '%s'", name);
	if (!last)
		size = (uint64_t)st.st_size;
	v->segment = seg;
	if (rein_segment_lines(fd, seg, from, size, &index, on_line, v, &end, err) < 0)
		return -err->code;
	here.index = v->tree.n;
	here.offset = end;
	if (end != size)
		return broken(err, &here,
			      "unfinished line. If a writer was interrupted here, the next event "
			      "repairs it and says so");
	if (size == 0)
		return broken(err, &here, "the segment is empty");
	v->res->segments++;
	if (!last && !v->at_head)
		return broken(err, &here, "the segment does not end with a tree head: it was cut");
	return settle_last(v, &here, err);
}

static int all_segments(int dirfd, struct verifier *v, const struct extent *x, uint64_t offset,
			struct rein_err *err)
{
	bool from_bookmark = v->begun;

	for (size_t i = 0; i < x->nseg; i++) {
		bool last = i + 1 == x->nseg;

		if (from_bookmark && x->seg[i] < v->segment)
			continue;
		if (i && x->seg[i] != x->seg[i - 1] + 1)
			return rein_err_set(err, REIN_E_INVALID, "segment %llu is missing",
					    (unsigned long long)x->seg[i - 1] + 1);
		if (one_segment(dirfd, v, x->seg[i], from_bookmark ? offset : 0, x->last_size, last,
				err) < 0)
			return -err->code;
		from_bookmark = false;
	}
	return 0;
}

static int check_key_file(int dirfd, const struct verifier *v, struct rein_err *err)
{
	struct rein_key key = {0}, next = {0};
	struct rein_err why = {0};
	int rc = rein_key_load(dirfd, "key", &key, &why);

	if (rc == -REIN_E_NOTFOUND || (rc == -REIN_E_IO && why.sys == EACCES))
		return 0; /* an auditor need not have it */
	if (rc < 0) {
		*err = why;
		return rc;
	}
	rc = memcmp(rein_key_pub(&key), v->pub, 32) == 0 ||
	     (rein_key_load(dirfd, "key.next", &next, &why) == 0 &&
	      memcmp(rein_key_pub(&next), v->pub, 32) == 0);
	explicit_bzero(&key, sizeof(key));
	explicit_bzero(&next, sizeof(next));
	return rc ? 0
		  : rein_err_set(err, REIN_E_INVALID,
				 "the signing key is not the one the record was signed with");
}

static int conclude(int dirfd, struct verifier *v, struct rein_err *err)
{
	struct rein_verify_result *res = v->res;

	if (v->published.present && v->published.head.n >= v->tree.n)
		return rein_err_set(err, REIN_E_INVALID,
				    "the log ends at line %llu but its signed head says there were at "
				    "least %llu: it was cut",
				    (unsigned long long)v->tree.n,
				    (unsigned long long)v->published.head.n + 1);
	if (v->next_anchor < v->nanchor)
		return rein_err_set(err, REIN_E_INVALID,
				    "the log ends at line %llu but a head kept elsewhere says %llu: it "
				    "was cut",
				    (unsigned long long)v->tree.n,
				    (unsigned long long)v->anchor[v->nanchor - 1].n);
	if (!v->opt->archive && !v->published.present && v->tree.n > 1)
		return rein_err_set(err, REIN_E_INVALID, "the head file is gone");
	if (!v->opt->archive && v->published.present && !v->published_seen && !v->opt->incremental)
		return rein_err_set(err, REIN_E_INVALID,
				    "the published head lies before the first line that is left");
	if (!v->opt->archive && res->first > v->pruned_to)
		return rein_err_set(err, REIN_E_INVALID,
				    "lines before %llu are gone and no pruning was recorded",
				    (unsigned long long)res->first);
	if (v->opt->pinned && !v->pinned_seen)
		return rein_err_set(err, REIN_E_INVALID,
				    "nothing here was signed with the key you know");
	if (res->heads == 0 && !v->opt->incremental)
		return rein_err_set(err, REIN_E_INVALID, "no signed head");
	res->tail = v->tree.n - res->head.n - 1;
	return v->opt->archive ? 0 : check_key_file(dirfd, v, err);
}

static int verify_dir(int dirfd, struct verifier *v, struct rein_err *err)
{
	struct extent x = {0};
	uint64_t offset = 0;
	int rc;

	if (v->opt->anchor && load_anchors(v, v->opt->anchor, err) < 0)
		return -err->code;
	rc = snapshot(dirfd, v, &x, err);
	if (rc == 0 && v->watch && v->watch->from) {
		begin_at(v, v->watch->from);
		offset = v->watch->from->offset;
	} else if (rc == 0 && v->opt->incremental) {
		bookmark_load(dirfd, v, &offset);
	}
	if (rc == 0 && v->begun && x.nseg && v->segment < x.seg[0]) {
		v->begun = false; /* its segment was pruned: from the oldest that is left */
		memset(&v->tree, 0, sizeof(v->tree));
	}
	if (rc == 0 && v->begun && x.nseg && v->segment > x.seg[x.nseg - 1])
		rc = rein_err_set(err, REIN_E_INVALID,
				  "the log ends in segment %llu but it was verified up to segment %llu: it was cut",
				  (unsigned long long)x.seg[x.nseg - 1], (unsigned long long)v->segment);
	if (rc == 0 && v->begun) {
		v->res->head.n = v->tree.n ? v->tree.n - 1 : 0;
		memcpy(v->res->head.pub, v->pub, 32);
		if (v->published.present && v->published.head.n == v->res->head.n) {
			v->res->head.time_ns = v->published.head.time_ns;
			memcpy(v->res->head.root, v->published.head.root.b, 32);
		}
	}
	if (rc == 0)
		rc = all_segments(dirfd, v, &x, offset, err);
	if (rc == 0)
		rc = conclude(dirfd, v, err);
	watched(v);
	/* Only up to the last head: what follows may still be repaired. */
	if (rc == 0 && !v->opt->archive && v->res->tail == 0) {
		struct rein_bookmark b = bookmark(v, x.last_size);

		if (v->watch)
			v->watch->reached = b;
		rc = bookmark_save(dirfd, &b, err);
	}
	rein_free(x.seg);
	return rc;
}

int rein_verify_fd(int dirfd, const struct rein_verify_options *opt, struct rein_verify_result *ret,
		   struct rein_err *err)
{
	return rein_verify_watched(dirfd, opt, NULL, ret, err);
}

int rein_verify_watched(int dirfd, const struct rein_verify_options *opt, struct rein_verify_watch *watch,
			struct rein_verify_result *ret, struct rein_err *err)
{
	static const struct rein_verify_options plain;
	struct verifier v = {
		.opt = opt ? opt : &plain, .res = ret, .last_line = REIN_BUF(65536), .watch = watch};
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = verify_dir(dirfd, &v, err);
	rein_buf_done(&v.last_line);
	rein_free(v.anchor);
	return rc;
}

int rein_record_verify(const char *state_dir, const struct rein_verify_options *opt,
		       struct rein_verify_result *ret, struct rein_err *err)
{
	bool archive = opt && opt->archive;
	auto_close int dirfd = archive ? open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				       : rein_record_dir(state_dir, false, err);

	memset(ret, 0, sizeof(*ret));
	if (dirfd < 0)
		return archive ? rein_err_errno(err, "open '%s'", state_dir) : -err->code;
	return rein_verify_fd(dirfd, opt, ret, err);
}
