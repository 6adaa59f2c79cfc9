/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: whatever is done to the files of a log is seen by verification: every byte flipped, every
 * line removed, doubled, swapped, the tail cut at every offset, files removed, exchanged, replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "base/buf.h"
#include "model/event.h"
#include "record/merkle.h"

#define FILES 4 /* three segments and the head file */

static char dir[128], anchor[160];
static struct rein_buf file[FILES];
static const char *const name[FILES] = {"00000001.log", "00000002.log", "00000003.log", "head"};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st, (void)flag, (void)f;
	return remove(path);
}

static void path_of(unsigned f, char out[256])
{
	snprintf(out, 256, "%s/audit/%s", dir, name[f]);
}

static void load(unsigned f)
{
	char path[256], chunk[4096];
	ssize_t n;

	path_of(f, path);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	file[f].max = 1 << 20;
	rein_buf_clear(&file[f]);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		rein_buf_add(&file[f], chunk, (size_t)n);
}

static void store(unsigned f, const char *p, size_t n)
{
	char path[256];

	path_of(f, path);
	/* not O_TRUNC: ext4 would flush each of the thousands of rewrites to disk */
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n && ftruncate(fd, (off_t)n) == 0);
}

static void restore(unsigned f)
{
	store(f, file[f].p, file[f].n);
}

static int verify_with(const struct rein_verify_options *opt)
{
	struct rein_verify_result res;
	struct rein_err err = {0};

	return rein_record_verify(dir, opt, &res, &err);
}

static unsigned found; /* tamperings that were seen */

static bool whole(void)
{
	if (verify_with(NULL) == 0)
		return true;
	found++;
	return false;
}

static void say_found(const char *what)
{
	print_message("%u times %s: seen each time\n", found, what);
	found = 0;
}

static int make_log(void **state)
{
	struct rein_record_options opt = {.segment_bytes = 1600};
	struct rein_record *r = NULL;
	struct rein_err err = {0};
	char path[256];

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/rein-tamper-XXXXXX");
	if (!mkdtemp(dir) || rein_record_open(dir, &opt, &r, &err) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/audit/%s", dir, name[2]);
	for (unsigned i = 0; access(path, F_OK) < 0 || i % 3 == 2; i++) { /* ends durable */
		struct rein_event ev = {.type = REIN_EV_REQUEST, .command = STR("ls -l")};

		if (rein_record_append(r, &ev, i % 3 != 1, &err) < 0)
			return -1;
	}
	rein_record_close(r);
	snprintf(anchor, sizeof(anchor), "%s/anchor", dir);
	for (unsigned f = 0; f < FILES; f++)
		load(f);
	snprintf(path, sizeof(path), "%s/audit/00000004.log", dir);
	return access(path, F_OK) == 0 || !whole() ? -1 : 0;
}

static int drop_log(void **state)
{
	(void)state;
	for (unsigned f = 0; f < FILES; f++)
		rein_buf_done(&file[f]);
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void every_flipped_byte(void **state)
{
	(void)state;
	for (unsigned f = 0; f < FILES; f++) {
		for (size_t i = 0; i < file[f].n; i++) {
			static const char masks[] = {1, 0x20, (char)0x80};
			char old = file[f].p[i];

			file[f].p[i] = (char)(old ^ masks[i % 3]);
			restore(f);
			file[f].p[i] = old;
			if (whole())
				fail_msg("%s: byte %zu changed unseen", name[f], i);
		}
		restore(f);
	}
	assert_true(whole());
	say_found("a byte changed");
}

/* Offsets of the lines of a file, and its end. */
static size_t lines_of(unsigned f, size_t at[64])
{
	size_t n = 0;

	at[n++] = 0;
	for (size_t i = 0; i < file[f].n; i++)
		if (file[f].p[i] == '\n')
			at[n++] = i + 1;
	return n - 1;
}

static void take_line(struct rein_buf *b, unsigned f, const size_t *at, size_t line)
{
	rein_buf_add(b, file[f].p + at[line], at[line + 1] - at[line]);
}

static void every_line_removed_doubled_swapped(void **state)
{
	size_t at[64];

	(void)state;
	for (unsigned f = 0; f < 3; f++) {
		size_t n = lines_of(f, at);

		assert_true(n > 2);
		for (size_t victim = 0; victim < n; victim++)
			for (int how = 0; how < 3; how++) {
				auto_buf struct rein_buf b = REIN_BUF(1 << 20);

				if (how == 2 && victim + 1 == n)
					continue;
				for (size_t l = 0; l < n; l++) {
					if (how == 2 && l == victim)
						take_line(&b, f, at, l + 1);
					else if (how == 2 && l == victim + 1)
						take_line(&b, f, at, l - 1);
					else if (how != 0 || l != victim)
						take_line(&b, f, at, l);
					if (how == 1 && l == victim)
						take_line(&b, f, at, l);
				}
				store(f, b.p ? b.p : "", b.n);
				if (whole())
					fail_msg("%s: line %zu, change %d unseen", name[f], victim,
						 how);
			}
		restore(f);
	}
	assert_true(whole());
	say_found("a line removed, doubled or swapped");
}

/* Replace the root in a head's line by that of the tree; other lines stay. */
static void rewrite_root(char *line, size_t n, const struct rein_merkle *tree)
{
	static const char begins[] = "{\"v\":1,\"type\":\"head\"", before[] = "\"root\":\"";
	char *at = n > sizeof(begins) && !memcmp(line, begins, sizeof(begins) - 1) ? memmem(line, n, before, strlen(before)) : NULL;
	struct rein_hash root;
	char hex[65];

	if (!at)
		return;
	rein_merkle_root(tree, &root);
	for (size_t i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", root.b[i]);
	memcpy(at + strlen(before), hex, 64);
}

/* Somebody who can do everything but sign: a changed line, and every head after it, and the published one, made to fit. */
static void heads_rewritten_without_the_key(void **state)
{
	struct rein_merkle tree = {0};
	auto_buf struct rein_buf head = REIN_BUF(1 << 16);
	unsigned changed = 0;

	(void)state;
	for (unsigned f = 0; f < 3; f++) {
		auto_buf struct rein_buf b = REIN_BUF(1 << 20);

		rein_buf_add(&b, file[f].p, file[f].n);
		for (size_t at = 0; at < b.n;) {
			size_t n = (size_t)((char *)memchr(b.p + at, '\n', b.n - at) - (b.p + at));
			char *command = memmem(b.p + at, n, "ls -l", 5);
			struct rein_hash leaf;

			if (f == 2 && command && !changed++)
				memcpy(command, "rm -l", 5);
			rewrite_root(b.p + at, n, &tree);
			/* the published head is the last one */
			if (n > 20 && !memcmp(b.p + at, file[3].p, 20)) {
				rein_buf_clear(&head);
				rein_buf_add(&head, b.p + at, n);
			}
			rein_merkle_leaf(b.p + at, n, &leaf);
			rein_merkle_push(&tree, &leaf);
			at += n + 1;
		}
		if (f < 2)
			assert_memory_equal(b.p, file[f].p, b.n); /* it is how heads are made */
		else
			store(f, b.p, b.n);
	}
	assert_true(changed > 0);
	assert_int_equal((char *)memchr(file[3].p, '\n', file[3].n) - file[3].p, head.n);
	rein_buf_add(&head, file[3].p + head.n, file[3].n - head.n);
	store(3, head.p, head.n);
	assert_false(whole());
	for (unsigned f = 2; f < FILES; f++)
		restore(f);
	assert_true(whole());
	say_found("rewritten without the key");
}

static void every_cut(void **state)
{
	(void)state;
	for (unsigned f = 0; f < FILES; f++) {
		for (size_t n = 0; n < file[f].n; n++) {
			store(f, file[f].p, n);
			if (whole())
				fail_msg("%s: cut at %zu unseen", name[f], n);
		}
		restore(f);
	}
	say_found("cut");
}

static void files_removed_exchanged_replaced(void **state)
{
	char path[256];

	(void)state;
	for (unsigned f = 0; f < FILES; f++) {
		path_of(f, path);
		assert_int_equal(unlink(path), 0);
		assert_false(whole());
		for (unsigned g = 0; g < FILES; g++)
			if (g != f) {
				store(f, file[g].p, file[g].n);
				assert_false(whole());
			}
		restore(f);
	}
	path_of(0, path); /* the two oldest segments: looks like pruning, was none */
	assert_int_equal(unlink(path), 0);
	path_of(1, path);
	assert_int_equal(unlink(path), 0);
	assert_false(whole());
	restore(0);
	restore(1);
	assert_true(whole());
	say_found("a file removed or exchanged");
}

/* Whoever has no key removes the oldest segments and puts a line at the end that says they were pruned. */
static void pruning_is_signed_for(void **state)
{
	auto_buf struct rein_buf forged = REIN_BUF(1 << 20);
	struct rein_record *r = NULL;
	struct rein_err err = {0};
	struct rein_event ev = {.type = REIN_EV_REQUEST};
	char path[256];

	(void)state;
	path_of(0, path);
	assert_int_equal(unlink(path), 0);
	rein_buf_add(&forged, file[2].p, file[2].n);
	rein_buf_cstr(&forged, "{\"v\":1,\"type\":\"prune\",\"time\":\"2026-01-01T00:00:00.000000000Z\","
			       "\"id\":\"0000000000000001\",\"extra\":{\"first_line_kept\":\"1000\"}}\n");
	store(2, forged.p, forged.n);
	assert_false(whole());
	/* nor does the next writer make it his own */
	assert_int_equal(rein_record_open(dir, &(struct rein_record_options){.segment_bytes = 1 << 20}, &r, &err), 0);
	assert_int_equal(rein_record_append(r, &ev, true, &err), 0);
	rein_record_close(r);
	assert_false(whole());
	restore(0);
	assert_true(whole());
	load(2);
	load(3);
	assert_null(memmem(file[2].p, file[2].n, "\"prune\"", 7));
	assert_non_null(memmem(file[2].p, file[2].n, "\"repair\"", 8));
	say_found("a pruning made up");
}

/* As in logstate.c. */
struct slot {
	uint32_t magic, flags;
	uint8_t boot[16];
	uint64_t gen, segment, offset, last_head, n;
	uint8_t pub[32];
	struct rein_hash peak[REIN_MERKLE_PEAKS];
	uint8_t check[16];
};

/* The same, with a state that says the line was there when the last writer left: with all but the key. */
static void a_state_is_the_writers(void **state)
{
	static const char line[] = "{\"v\":1,\"type\":\"prune\",\"time\":\"2026-01-01T00:00:00.000000000Z\","
				   "\"id\":\"0000000000000001\",\"extra\":{\"first_line_kept\":\"1000\"}}\n";
	auto_buf struct rein_buf forged = REIN_BUF(1 << 20);
	struct rein_event ev = {.type = REIN_EV_REQUEST};
	struct rein_record *r = NULL;
	struct rein_err err = {0};
	struct rein_merkle tree = {0};
	struct rein_hash leaf;
	uint8_t sum[32];
	char path[256];
	struct slot s[2];

	(void)state;
	snprintf(path, sizeof(path), "%s/audit/state", dir);
	{
		auto_close int fd = open(path, O_RDWR | O_CLOEXEC);
		unsigned last;

		assert_true(pread(fd, &s[0], sizeof(s[0]), 0) == sizeof(s[0]) &&
			    pread(fd, &s[1], sizeof(s[1]), 2048) == sizeof(s[1]));
		last = s[1].gen > s[0].gen;
		assert_true(s[last].offset == file[2].n);
		tree.n = s[last].n;
		memcpy(tree.peak, s[last].peak, sizeof(tree.peak));
		rein_merkle_leaf(line, sizeof(line) - 2, &leaf);
		rein_merkle_push(&tree, &leaf);
		s[last].n = tree.n;
		memcpy(s[last].peak, tree.peak, rein_merkle_npeaks(tree.n) * sizeof(tree.peak[0]));
		s[last].offset += sizeof(line) - 1;
		rein_sha256(&s[last], offsetof(struct slot, check), sum);
		memcpy(s[last].check, sum, sizeof(s[last].check));
		assert_true(pwrite(fd, &s[last], sizeof(s[last]), last * 2048) == sizeof(s[last]));
	}
	rein_buf_add(&forged, file[2].p, file[2].n);
	rein_buf_add(&forged, line, sizeof(line) - 1);
	store(2, forged.p, forged.n);
	assert_int_equal(rein_record_open(dir, &(struct rein_record_options){.segment_bytes = 1 << 20}, &r, &err), 0);
	assert_int_equal(rein_record_append(r, &ev, true, &err), 0);
	rein_record_close(r);
	assert_true(whole());
	load(3);
	load(2);
	assert_null(memmem(file[2].p, file[2].n, "\"prune\"", 7));
}

static void append_refuses_a_cut_log(void **state)
{
	struct rein_record *r = NULL;
	struct rein_err err = {0};
	struct rein_event ev = {.type = REIN_EV_REQUEST};

	(void)state;
	store(2, file[2].p, file[2].n - 1);
	assert_int_equal(rein_record_open(dir, NULL, &r, &err), 0);
	assert_int_equal(rein_record_append(r, &ev, true, &err), -REIN_E_STATE);
	restore(2);
	assert_int_equal(rein_record_append(r, &ev, true, &err), 0);
	rein_record_close(r);
	assert_true(whole());
	load(2);
	load(3);
}

/*
 * The one thing no log can show by itself: everything set back to an earlier moment. A head that
 * was kept elsewhere shows it.
 */
static void going_back_in_time_needs_an_anchor(void **state)
{
	struct rein_verify_options with = {.anchor = anchor};
	struct rein_record_options opt = {.segment_bytes = 1 << 20};
	struct rein_record *r = NULL;
	struct rein_err err = {0};
	struct rein_event ev = {.type = REIN_EV_REQUEST};
	auto_buf struct rein_buf seg = REIN_BUF(1 << 20), head = REIN_BUF(1 << 20);
	char path[256], older[512], *at;
	size_t n;

	(void)state;
	load(2);
	load(3);
	rein_buf_add(&seg, file[2].p, file[2].n);
	rein_buf_add(&head, file[3].p, file[3].n);
	assert_int_equal(rein_record_open(dir, &opt, &r, &err), 0);
	assert_int_equal(rein_record_append(r, &ev, true, &err), 0);
	rein_record_close(r);
	load(2);
	load(3);
	{
		auto_close int fd = open(anchor, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		n = (size_t)((char *)memchr(file[3].p, '\n', file[3].n) - file[3].p) + 1;
		assert_true(write(fd, file[3].p, n) == (ssize_t)n);
	}
	assert_int_equal(verify_with(&with), 0);
	store(2, seg.p, seg.n);
	store(3, head.p, head.n);
	/* or the place up to which it was verified, in this segment or in one that is gone */
	assert_int_equal(verify_with(&(struct rein_verify_options){.incremental = true}), -REIN_E_INVALID);
	path_of(2, path);
	assert_int_equal(unlink(path), 0);
	at = (char *)memrchr(file[1].p, '\n', file[1].n - 1) + 1;
	n = (size_t)snprintf(older, sizeof(older), "%.*s{\"segment\":2,\"offset\":%zu}",
			     (int)(file[1].p + file[1].n - at), at, file[1].n);
	memset(older + n, ' ', sizeof(older) - n);
	older[sizeof(older) - 1] = '\n';
	store(3, older, sizeof(older));
	assert_int_equal(verify_with(&(struct rein_verify_options){.incremental = true}), -REIN_E_INVALID);
	assert_true(whole()); /* by itself it is */
	restore(2);
	restore(3);
	assert_true(whole());
	store(2, seg.p, seg.n);
	store(3, head.p, head.n);
	assert_true(whole());
	assert_int_equal(verify_with(&with), -REIN_E_INVALID);
	restore(2);
	restore(3);
	assert_int_equal(verify_with(&with), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_flipped_byte),
		cmocka_unit_test(every_line_removed_doubled_swapped),
		cmocka_unit_test(every_cut),
		cmocka_unit_test(heads_rewritten_without_the_key),
		cmocka_unit_test(files_removed_exchanged_replaced),
		cmocka_unit_test(pruning_is_signed_for),
		cmocka_unit_test(a_state_is_the_writers),
		cmocka_unit_test(append_refuses_a_cut_log),
		cmocka_unit_test(going_back_in_time_needs_an_anchor),
	};

	return cmocka_run_group_tests_name("record_tamper", tests, make_log, drop_log);
}
