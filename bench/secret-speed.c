/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret-speed FILE...: MB/s at which secrets are looked for in the files, by the own matcher and by vectorscan,
 * best of five; and how long vectorscan takes to be loaded.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "secret/secret.h"

static bool count(void *arg, const struct rein_secret_hit *h)
{
	(void)h;
	++*(size_t *)arg;
	return true;
}

static void read_file(const char *path, struct rein_buf *b)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char chunk[65536];
	ssize_t n;

	while (fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0)
		rein_buf_add(b, chunk, (size_t)n);
}

int main(int argc, char **argv)
{
	auto_buf struct rein_buf b = REIN_BUF((size_t)512 << 20);
	uint64_t own = UINT64_MAX, scan = UINT64_MAX, start = rein_mono_ns(), loaded;
	size_t hits = 0, hits_scan = 0;
	bool have = rein_secret_each_scan(STR("x"), REIN_SECRET_ANY, count, &hits);

	loaded = rein_mono_ns() - start;
	for (int i = 1; i < argc; i++)
		read_file(argv[i], &b);
	if (!b.n)
		return 2;
	for (int i = 0; i < 5; i++) {
		uint64_t took;

		hits = hits_scan = 0;
		start = rein_mono_ns();
		rein_secret_each_own((struct rein_str){b.p, b.n}, REIN_SECRET_LIKELY, count, &hits);
		took = rein_mono_ns() - start;
		own = took < own ? took : own;
		start = rein_mono_ns();
		if (have)
			rein_secret_each_scan((struct rein_str){b.p, b.n}, REIN_SECRET_LIKELY, count, &hits_scan);
		took = rein_mono_ns() - start;
		scan = took < scan ? took : scan;
	}
	printf("{\"bytes\": %zu, \"hits\": %zu, \"own_mb_s\": %.0f", b.n, hits, (double)b.n * 1e3 / (double)own);
	if (have)
		printf(", \"vectorscan_hits\": %zu, \"vectorscan_mb_s\": %.0f, \"vectorscan_load_ms\": %.2f", hits_scan,
		       (double)b.n * 1e3 / (double)scan, (double)loaded / 1e6);
	printf("}\n");
	return 0;
}
