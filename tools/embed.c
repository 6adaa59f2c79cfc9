/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed NAME OUTPUT INPUT: a text file as a C array, lines that are only a comment left out (they
 * stay as empty lines, so that line numbers hold). Used while building.
 */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	char line[4096];
	size_t n = 0;
	FILE *in, *out;

	if (argc != 4)
		return 2;
	in = fopen(argv[3], "r");
	out = fopen(argv[2], "w");
	if (!in || !out) {
		perror(argv[in ? 2 : 3]);
		return 1;
	}
	fprintf(out, "#include \"policy/policy.h\"\nconst char %s[] = {", argv[1]);
	while (fgets(line, sizeof(line), in)) {
		const char *s = line + strspn(line, " ");

		for (s = *s == '#' ? "\n" : line; *s; s++, n++)
			fprintf(out, "%s%d,", n % 24 ? "" : "\n", *s);
	}
	fprintf(out, "\n0};\nconst size_t %s_n = %zu;\n", argv[1], n);
	fclose(in);
	return fclose(out) ? 1 : 0;
}
