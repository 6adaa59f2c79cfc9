/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over the files of a directory, so that every fuzzer is an ordinary test too.
 * Each file is tried whole, cut short at many places, and with single bytes changed: small inputs,
 * no randomness, the same every time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/auto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define INPUT_MAX (1u << 20)
#define STEPS	  257 /* how many cuts and changes a file gets, at most */

static void try_copy(const uint8_t *data, size_t n, size_t change, uint8_t with)
{
	auto_free uint8_t *copy = rein_alloc(n ? n : 1); /* exact size: an overrun shows */

	if (!copy)
		abort();
	if (n)
		memcpy(copy, data, n);
	if (change < n)
		copy[change] ^= with;
	LLVMFuzzerTestOneInput(copy, n);
}

static void try_variants(const uint8_t *data, size_t n)
{
	static const uint8_t changes[] = {0x01, 0x20, 0x80, 0xff};
	size_t step = n / STEPS + 1;

	try_copy(data, n, SIZE_MAX, 0);
	for (size_t i = 0; i < n; i += step) {
		try_copy(data, i, SIZE_MAX, 0);
		for (size_t c = 0; c < ARRAY_SIZE(changes); c++)
			try_copy(data, n, i, changes[c]);
	}
}

static int try_file(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	auto_free uint8_t *data = rein_alloc(INPUT_MAX);
	size_t n = 0;
	ssize_t r;

	if (fd < 0 || !data)
		return -1;
	while (n < INPUT_MAX && (r = read(fd, data + n, INPUT_MAX - n)) > 0)
		n += (size_t)r;
	try_variants(data, n);
	return 0;
}

int main(int argc, char **argv)
{
	auto_closedir DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
	unsigned tried = 0;
	struct dirent *e;

	if (!d) {
		fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
		return 2;
	}
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (try_file(dirfd(d), e->d_name) < 0) {
			perror(e->d_name);
			return 1;
		}
		tried++;
	}
	printf("%u files\n", tried);
	return tried ? 0 : 1; /* an empty corpus tests nothing */
}
