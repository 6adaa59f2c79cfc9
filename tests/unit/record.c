/* SPDX-License-Identifier: Apache-2.0 */
/* record: hashing, trees, events, heads, appending, verification, redaction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rein/record.h>

#include "base/auto.h"
#include "base/clock.h"
#include "model/event.h"
#include "record/event.h"
#include "record/head.h"
#include "record/internal.h"
#include "record/jread.h"
#include "record/merkle.h"
#include "record/redact.h"
#include "record/tail.h"

static char dir[128]; /* state directory of the running test */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st, (void)flag, (void)f;
	return remove(path);
}

static int new_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/rein-record-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
	(void)state;
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct rein_event sample(unsigned i, char text[64])
{
	snprintf(text, 64, "make test-%u \"quoted\"\t\xc3\xa4", i);
	return (struct rein_event){.type = i % 3 ? REIN_EV_REQUEST : REIN_EV_RUN_END,
				   .agent = STR("unit"),
				   .session = STR("s1"),
				   .command = rein_str(text),
				   .level = STR("safe"),
				   .decision = STR("allow"),
				   .result = STR("ok"),
				   .status = 0,
				   .has_status = i % 3 == 0,
				   .effects = {.created = i}};
}

static struct rein_record *open_log(uint64_t segment_bytes)
{
	struct rein_record_options opt = {.segment_bytes = segment_bytes};
	struct rein_record *r = NULL;
	struct rein_err err = {0};

	if (rein_record_open(dir, &opt, &r, &err) < 0)
		fail_msg("open: %s", err.msg);
	return r;
}

static void append(struct rein_record *r, unsigned i, bool durable)
{
	struct rein_err err = {0};
	char text[64];
	struct rein_event ev = sample(i, text);

	if (rein_record_append(r, &ev, durable, &err) < 0)
		fail_msg("append %u: %s", i, err.msg);
}

static struct rein_verify_result verify_ok(const struct rein_verify_options *opt)
{
	struct rein_verify_result res;
	struct rein_err err = {0};

	if (rein_record_verify(dir, opt, &res, &err) < 0)
		fail_msg("verify: %s", err.msg);
	return res;
}

static void hashes_are_those_of_the_standards(void **state)
{
	static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	static const char two[] = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
	/* RFC 4231, test case 2 */
	static const char mac[] = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
	uint8_t h[32], big[1000], a[32], b[32];
	char hex[65];

	(void)state;
	for (int portable = 0; portable < 2; portable++) {
		rein_sha256_portable(portable);
		rein_sha256("abc", 3, h);
		rein_hex(h, 32, hex);
		assert_string_equal(hex, abc);
		rein_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, h);
		rein_hex(h, 32, hex);
		assert_string_equal(hex, two);
		rein_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, h);
		rein_hex(h, 32, hex);
		assert_string_equal(hex, mac);
	}
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (uint8_t)(i * 7);
	for (size_t n = 0; n < sizeof(big); n += 13) { /* both ways, any length, any split */
		struct rein_sha256 s;

		rein_sha256_portable(0);
		rein_sha256(big, n, a);
		rein_sha256_portable(1);
		rein_sha256_init(&s);
		rein_sha256_add(&s, big, n / 3);
		rein_sha256_add(&s, big + n / 3, n - n / 3);
		rein_sha256_end(&s, b);
		assert_memory_equal(a, b, 32);
	}
	rein_sha256_portable(0);
}

/* The definition in RFC 6962, word for word, to compare with. */
static void plain_root(const struct rein_hash *leaf, size_t n, struct rein_hash *ret)
{
	struct rein_hash pair[2];
	uint8_t b[65];
	size_t k = 1;

	if (n == 1) {
		*ret = leaf[0];
		return;
	}
	while (k * 2 < n)
		k *= 2;
	plain_root(leaf, k, &pair[0]);
	plain_root(leaf + k, n - k, &pair[1]);
	b[0] = 1;
	memcpy(b + 1, pair, 64);
	rein_sha256(b, 65, ret->b);
}

#define LEAVES 67

static void proofs_hold_and_only_the_right_ones(void **state)
{
	static struct rein_hash leaf[LEAVES], root[LEAVES + 1];
	struct rein_merkle m = {0}, before = {0};
	struct rein_leaves l = {.leaf = leaf, .nleaves = LEAVES};
	struct rein_proof p;

	(void)state;
	for (unsigned i = 0; i < LEAVES; i++) {
		rein_merkle_leaf(&i, sizeof(i), &leaf[i]);
		rein_merkle_push(&m, &leaf[i]);
		rein_merkle_root(&m, &root[i + 1]);
		plain_root(leaf, i + 1, &root[0]);
		assert_memory_equal(&root[0], &root[i + 1], 32);
	}
	for (unsigned size = 1; size <= LEAVES; size++)
		for (unsigned i = 0; i < size; i++) {
			assert_true(rein_merkle_inclusion(&l, i, size, &p));
			assert_true(rein_merkle_check_inclusion(&leaf[i], i, size, &p, &root[size]));
			assert_false(rein_merkle_check_inclusion(&leaf[(i + 1) % LEAVES], i, size, &p,
								 &root[size]));
			if (size > 1)
				assert_false(rein_merkle_check_inclusion(&leaf[i], (i + 1) % size,
									 size, &p, &root[size]));
			assert_true(rein_merkle_consistency(&l, i + 1, size, &p));
			assert_true(rein_merkle_check_consistency(i + 1, &root[i + 1], size,
								  &root[size], &p));
			if (i + 1 < size)
				assert_false(rein_merkle_check_consistency(
					i + 1, &root[(i + 2) % LEAVES ? i + 2 : 1], size, &root[size],
					&p));
		}
	for (unsigned first = 1; first < LEAVES; first++) { /* the first lines are pruned */
		struct rein_leaves part = {.leaf = leaf + first, .nleaves = LEAVES - first};

		rein_merkle_push(&before, &leaf[first - 1]);
		part.before = before;
		for (unsigned i = 0; i < LEAVES; i++) {
			assert_int_equal(rein_merkle_inclusion(&part, i, LEAVES, &p), i >= first);
			if (i >= first)
				assert_true(rein_merkle_check_inclusion(&leaf[i], i, LEAVES, &p,
									&root[LEAVES]));
		}
	}
}

static void events_have_one_spelling(void **state)
{
	static const char *const bad[] = {
		"{\"v\":1}",
		"{\"v\":2,\"type\":\"request\",\"time\":\"2026-11-15T21:44:00.000000000Z\"}",
		"{\"v\":1,\"time\":\"2026-11-15T21:44:00.000000000Z\",\"type\":\"request\"}",
		"{\"v\":1,\"type\":\"request\",\"time\":\"2026-02-30T21:44:00.000000000Z\"}",
		"{\"v\":1,\"type\":\"nothing\",\"time\":\"2026-11-15T21:44:00.000000000Z\"}",
		"{\"v\":1, \"type\":\"request\",\"time\":\"2026-11-15T21:44:00.000000000Z\"}",
		"{\"v\":1,\"type\":\"request\",\"time\":\"2026-11-15T21:44:00.000000000Z\",\"x\":1}",
		"{\"v\":1,\"type\":\"request\",\"time\":\"2026-11-15T21:44:00.000000000Z\",\"uid\":0}",
		"{\"v\":1,\"type\":\"request\",\"time\":\"2026-11-15T21:44:00.000000000Z\","
		"\"task\":\"\\u0041\"}",
		"{\"v\":1,\"type\":\"request\",\"time\":\"2026-11-15T21:44:00.000000000Z\","
		"\"effects\":{}}",
	};
	struct rein_event ev = {.type = REIN_EV_COMMIT,
				.time_ns = 1794778440123456789ull,
				.id = STR("0123456789abcdef"),
				.command = {"a\0b\x7f\xff\"\\\n", 8},
				.approver = {STR("ann"), STR("b\xc3\xb6rg")},
				.napprover = 2,
				.effects = {.deleted = 3, .path = {STR("/x y")}, .npath = 1},
				.used = {.cpu_ns = UINT64_MAX},
				.status = -3,
				.has_status = true,
				.extra = {{STR("k.1"), STR("v")}},
				.nextra = 1};
	auto_buf struct rein_buf b = REIN_BUF(1 << 16), again = REIN_BUF(1 << 16);
	struct rein_event_read r;
	struct rein_err err = {0};

	(void)state;
	assert_int_equal(rein_event_format(&ev, &b, &err), 0);
	assert_string_equal(
		b.p, "{\"v\":1,\"type\":\"commit\",\"time\":\"2026-11-15T21:34:00.123456789Z\",\"id\":"
		     "\"0123456789abcdef\",\"command\":\"a\\u0000b\\u007f\xef\xbf\xbd\\\"\\\\\\n\","
		     "\"approvers\":[\"ann\",\"b\xc3\xb6rg\"],\"effects\":{\"deleted\":3,\"paths\":["
		     "\"/x y\"]},\"used\":{\"cpu\":18446744073709551615},\"status\":-3,\"extra\":{"
		     "\"k.1\":\"v\"}}");
	if (rein_event_parse((struct rein_str){b.p, b.n}, &r, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(r.ev.time_ns, ev.time_ns);
	assert_int_equal(r.ev.status, -3);
	assert_true(rein_str_eq(r.ev.approver[1], ev.approver[1]));
	assert_int_equal(rein_event_format(&r.ev, &again, &err), 0);
	assert_string_equal(b.p, again.p);
	rein_event_read_done(&r);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (rein_event_parse(rein_str(bad[i]), &r, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
	ev.level = STR("not a word");
	assert_int_equal(rein_event_format(&ev, &b, &err), -REIN_E_INVALID);
	ev = (struct rein_event){0};
	assert_int_equal(rein_event_format(&ev, &b, &err), -REIN_E_INVALID);
}

/* docs/formats.md, "Test vectors": the same lines, leaves, root and signatures. */
static void the_documented_vectors_hold(void **state)
{
	static const char *const line[3] = {
		"{\"v\":1,\"type\":\"start\",\"time\":\"2026-01-01T00:00:00.000000000Z\",\"n\":0,\"ro"
		"ot\":\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\",\"segment\""
		":1,\"peaks\":[],\"pub\":\"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc866412"
		"5531b8\",\"key\":\"56475aa75463474c\",\"sig\":\"3d9e9928d923e51e7ef570218d1e1a35b435"
		"679d52ebb1bc4a5ce67308a31ac451231391caa9de92c6f8071c64dec1db2243b082770b6ba93bd818ab"
		"5d2f7700\"}",
		"{\"v\":1,\"type\":\"request\",\"time\":\"2026-01-01T00:00:01.000000000Z\",\"id\":\"0"
		"000000000000001\",\"agent\":\"a\",\"command\":\"ls -l\"}",
		"{\"v\":1,\"type\":\"head\",\"time\":\"2026-01-01T00:00:02.000000000Z\",\"n\":2,\"roo"
		"t\":\"4a890d18dce54c5090599aaf1dd952bb76c38519a39afdb33210e5e212a01769\",\"key\":\"5"
		"6475aa75463474c\",\"sig\":\"cc09f1e53437a37028e5faf969db941572ae03e308aa5db094b53593"
		"bb65d5da2de645f748b5f4fef62f13781bfb034cadec962a7e0ad7a036fb15f3edf6c00c\"}",
	};
	static const char *const leaf[3] = {
		"3f66a62a172dd3e7a64c0cc007681866d4762b766d024fed784a04c28566c005",
		"2230800171d9b34088e861e71f86a13ba96abd4577030aa54fb1996cf17e717a",
		"3d7a8ca188ec50cb32d63f04d52512bb3768cf0af483d5adcdad1907cb3e34ab",
	};
	struct rein_merkle m = {0};
	struct rein_hash h;
	struct rein_head head;
	struct rein_err err = {0};
	uint8_t pub[32];
	char hex[65];

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rein_head_parse(rein_str(line[i]), &head, &err), 0);
		if (i == 0)
			memcpy(pub, head.pub, 32);
		if (i != 1) {
			assert_true(rein_head_signed_by(rein_str(line[i]), &head, pub));
			rein_merkle_root(&m, &h);
			assert_memory_equal(h.b, head.root.b, 32);
		}
		rein_merkle_leaf(line[i], strlen(line[i]), &h);
		rein_hex(h.b, 32, hex);
		assert_string_equal(hex, leaf[i]);
		rein_merkle_push(&m, &h);
	}
	rein_merkle_root(&m, &h);
	rein_hex(h.b, 32, hex);
	assert_string_equal(hex, "824555f5b88cd60b0eae6ad130355fbe1e537d489c764aa50d2d977bc8e31768");
}

static void a_log_is_written_and_verified(void **state)
{
	struct rein_record *r = open_log(0);
	struct rein_verify_result res;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		append(r, i, true);
	res = verify_ok(NULL);
	assert_int_equal(res.events, 10);
	assert_int_equal(res.heads, 12); /* one start, one first head, one an event */
	assert_int_equal(res.tail, 0);
	append(r, 10, false);
	res = verify_ok(NULL);
	assert_int_equal(res.tail, 1);
	rein_record_close(r);
	r = open_log(0); /* another process, later */
	append(r, 11, true);
	rein_record_close(r);
	res = verify_ok(&(struct rein_verify_options){.all_events = true, .all_signatures = true});
	assert_int_equal(res.events, 12);
	assert_int_equal(res.tail, 0);
	res = verify_ok(&(struct rein_verify_options){.incremental = true});
	assert_int_equal(res.events, 0);
}

static void segments_chain_and_keys_rotate(void **state)
{
	struct rein_record *r = open_log(2000);
	struct rein_verify_result res;
	struct rein_err err = {0};
	struct rein_hash first_key;

	(void)state;
	append(r, 0, true);
	memcpy(first_key.b, r->st.pub, 32);
	for (unsigned i = 1; i < 40; i++) {
		append(r, i, i % 4 == 0);
		if (i % 15 == 0 && rein_record_rotate_key(r, &err) < 0)
			fail_msg("%s", err.msg);
		if (i == 20)
			verify_ok(NULL);
	}
	assert_int_equal(rein_record_sync(r, &err), 0);
	rein_record_close(r);
	res = verify_ok(NULL);
	assert_true(res.segments > 4);
	assert_int_equal(res.events, 40);
	res = verify_ok(&(struct rein_verify_options){.pinned = first_key.b});
	first_key.b[0] ^= 1;
	assert_int_equal(rein_record_verify(dir,
					    &(struct rein_verify_options){.pinned = first_key.b}, &res,
					    &err),
			 -REIN_E_INVALID);
}

static int count_adopted(void *arg, const struct rein_line *l, struct rein_err *err)
{
	static const char repair[] = "{\"v\":1,\"type\":\"repair\"";
	unsigned *n = arg;

	(void)err;
	if (l->text.n < sizeof(repair) || memcmp(l->text.p, repair, sizeof(repair) - 1))
		return 0;
	assert_non_null(memmem(l->text.p, l->text.n, "\"lines_adopted\":\"1\"", 19));
	assert_non_null(memmem(l->text.p, l->text.n, "\"bytes_removed\":\"0\"", 19));
	++*n;
	return 0;
}

static void state_is_a_cache(void **state)
{
	struct rein_err err = {0};
	unsigned adopted = 0;
	char path[256];
	struct rein_record *r = open_log(3000);

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		append(r, i, i % 2);
		if (i % 3 == 0) { /* as after a reboot: nothing but the log and the head */
			rein_record_close(r);
			snprintf(path, sizeof(path), "%s/audit/state", dir);
			assert_int_equal(truncate(path, 0), 0);
			r = open_log(3000);
		}
	}
	append(r, 20, true);
	rein_record_close(r);
	/* lines that nobody had signed for were taken over, and that is on the record: 0, 6, 12, 18 */
	assert_int_equal(rein_record_lines(dir, count_adopted, &adopted, &err), 0);
	assert_int_equal(adopted, 4);
	assert_int_equal(verify_ok(NULL).events, 25);
}

int main(void)
{
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, new_dir, drop_dir)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_the_standards),
		cmocka_unit_test(proofs_hold_and_only_the_right_ones),
		cmocka_unit_test(events_have_one_spelling),
		cmocka_unit_test(the_documented_vectors_hold),
		IN_DIR(a_log_is_written_and_verified),
		IN_DIR(segments_chain_and_keys_rotate),
		IN_DIR(state_is_a_cache),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
