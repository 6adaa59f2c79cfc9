/* SPDX-License-Identifier: Apache-2.0 */
/*
 * differ-ops: run a list of operations (standard input) in the current directory and print one
 * errno a line, then "end". It is the command that the differential tester runs natively and in a
 * box. With --stamp SEED it gives every entry an old time afterwards.
 */
#include "../lab/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct lab_text in = {0}, out = {0};
	struct ops ops = {0};
	uint16_t *errnos;
	char buf[16384];
	ssize_t n;

	if (argc != 1 && !(argc == 3 && !strcmp(argv[1], "--stamp")))
		lab_die("usage: differ-ops [--stamp SEED] < LIST");
	while ((n = read(0, buf, sizeof(buf))) > 0)
		lab_text_add(&in, buf, (size_t)n);
	if (n < 0)
		lab_die_errno("read the list");
	ops_parse(&ops, in.p ? in.p : "", in.n);
	errnos = lab_alloc((ops.n + 1) * sizeof(*errnos));
	ops_run(&ops, errnos, NULL);
	if (argc == 3)
		ops_stamp(lab_number(argv[2], "--stamp"));
	for (size_t i = 0; i < ops.n; i++)
		lab_text_printf(&out, "%u\n", errnos[i]);
	lab_text_printf(&out, "end\n");
	if (fwrite(out.p, 1, out.n, stdout) != out.n || fflush(stdout) != 0)
		lab_die_errno("write the results");
	free(errnos);
	ops_done(&ops);
	lab_text_done(&in);
	lab_text_done(&out);
	return 0;
}
