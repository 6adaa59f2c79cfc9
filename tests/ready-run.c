/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ready-run run [--workspace DIR] [--hide PATH] [other options, ignored] -- COMMAND...: as `rein run --approve
 * --discard`, by a process that kept a box ready for it. For the escape attempts.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rein/txn.h>

int main(int argc, char **argv)
{
	const char *hide[16] = {NULL};
	struct rein_txn_opts opts = {.size = sizeof(opts), .approve = true, .hide = hide};
	struct rein_txn_result result = {0};
	struct rein_err err = {0};
	struct rein_txn *txn;
	int at = 2, nhide = 0;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		if (strcmp(argv[at], "--workspace") == 0 && at + 1 < argc)
			opts.workspace = argv[++at];
		else if (strcmp(argv[at], "--hide") == 0 && at + 1 < argc && nhide < 15)
			hide[nhide++] = argv[++at];
	}
	if (at + 1 >= argc || rein_pool_open(1, &opts.pool, &err) < 0)
		return 125;
	for (int i = 0; i < 500 && rein_pool_size(opts.pool) == 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	if (rein_txn_begin(&opts, &txn, &err) < 0 ||
	    rein_txn_run(txn, (const char *const *)argv + at + 1, &result, &err) < 0) {
		fprintf(stderr, "ready-run: %s\n", err.msg);
		return 125;
	}
	rein_txn_abort(txn, &err);
	rein_txn_free(txn);
	if (rein_pool_used(opts.pool) != 1) {
		fprintf(stderr, "ready-run: no box was ready\n");
		return 125;
	}
	rein_pool_close(opts.pool);
	return result.status;
}
