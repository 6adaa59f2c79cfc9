/* SPDX-License-Identifier: Apache-2.0 */
/* See fold.h. */
#include "cli/fold.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/ui.h"

#define ROOM_MIN 24 /* columns beside a name that are worth it */
#define BELOW	 6  /* where it begins otherwise */

unsigned rein_fold_width(FILE *f)
{
	return isatty(fileno(f)) ? rein_ui_width(f) : 0;
}

static unsigned columns_of(const char *p, size_t n)
{
	unsigned columns = 0;

	for (; n; p++, n--)
		columns += ((unsigned char)*p & 0xc0) != 0x80;
	return columns;
}

void rein_fold(FILE *f, unsigned width, unsigned at, unsigned indent, const char *text)
{
	bool first = true; /* of its line: there is nothing to break before it */

	if (!width) {
		fprintf(f, "%s\n", text);
		return;
	}
	while (*text) {
		const size_t n = strcspn(text, " "), blanks = strspn(text + n, " ");
		const unsigned columns = columns_of(text, n);

		if (!first && at + columns > width) {
			fprintf(f, "\n%*s", (int)indent, "");
			at = indent;
		}
		fprintf(f, "%.*s", (int)n, text);
		at += columns;
		first = false;
		text += n + blanks;
		/* the blanks stay where the next word does */
		if (*text && at + blanks + columns_of(text, strcspn(text, " ")) <= width) {
			fprintf(f, "%*s", (int)blanks, "");
			at += (unsigned)blanks;
		} else if (*text) {
			at = width;
		}
	}
	fputc('\n', f);
}

void rein_fold_row(FILE *f, unsigned width, unsigned column, const char *name, const char *text)
{
	const unsigned used = 2 + columns_of(name, strlen(name));
	unsigned indent = column;

	if (width && width < column + ROOM_MIN)
		indent = BELOW;
	fprintf(f, "  %s", name);
	if (used >= column || indent == BELOW)
		fprintf(f, "\n%*s", (int)indent, "");
	else
		fprintf(f, "%*s", (int)(column - used), "");
	rein_fold(f, width, indent, indent, text);
}
