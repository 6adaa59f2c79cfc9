/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set as vectorscan's expressions, compiled and serialized when Rein is built: compiling takes a
 * hundred times as long as loading. patterns OUTPUT: writes a C file with the bytes.
 */
#include <hs/hs.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/buf.h"
#include "secret/internal.h"

#define MOST 512

struct set {
	char *expression[MOST];
	unsigned flags[MOST], id[MOST], n;
};

static void put_class(struct rein_buf *b, unsigned chars)
{
	static const struct {
		unsigned bits;
		const char *text;
	} rows[] = {{DIGIT, "0-9"}, {UPPER, "A-Z"}, {LOWER, "a-z"}, {HEXL, "a-f"}, {DASH, "\\-"}, {UNDER, "_"},
		    {DOT, "."}, {B64, "+/="}, {HEXU, "A-F"}, {COLON, ":%@"}};

	rein_buf_char(b, '[');
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (chars & rows[i].bits)
			rein_buf_cstr(b, rows[i].text);
	rein_buf_char(b, ']');
}

static void put_literal(struct rein_buf *b, const char *s)
{
	for (; *s; s++)
		rein_buf_printf(b, "\\x%02x", (unsigned char)*s);
}

static void add(struct set *s, struct rein_buf *b, unsigned flags, unsigned id)
{
	if (s->n == MOST || b->failed)
		exit(1);
	s->expression[s->n] = rein_buf_take(b);
	s->flags[s->n] = flags | HS_FLAG_DOTALL;
	s->id[s->n++] = id;
	*b = (struct rein_buf)REIN_BUF(1 << 16);
}

static void fill(struct set *s)
{
	static const struct {
		unsigned id, flags;
		const char *text;
	} literals[] = {
		{SCAN_URL, 0, "://"},	   {SCAN_PEM, 0, "-----BEGIN "},
		{SCAN_JWT, 0, "eyJ"},	   {SCAN_BEARER, HS_FLAG_CASELESS, "bearer "},
		{SCAN_BASIC, HS_FLAG_CASELESS, "basic "}, {SCAN_WORD, HS_FLAG_CASELESS, "pass"},
		{SCAN_WORD, HS_FLAG_CASELESS, "psk"},
	};
	struct rein_buf b = REIN_BUF(1 << 16);

	for (unsigned i = 0; i < secret_formats_n; i++) {
		const struct format *f = &secret_formats[i];

		put_literal(&b, f->prefix);
		if (f->min) {
			put_class(&b, f->chars);
			rein_buf_printf(&b, "{%d}", f->min < SCAN_BODY ? f->min : SCAN_BODY);
		}
		add(s, &b, 0, i);
	}
	for (const char *const *w = secret_words; *w; w++) {
		put_literal(&b, *w);
		add(s, &b, HS_FLAG_CASELESS, SCAN_WORD);
	}
	for (size_t i = 0; i < ARRAY_SIZE(literals); i++) {
		put_literal(&b, literals[i].text);
		add(s, &b, literals[i].flags, literals[i].id);
	}
	rein_buf_cstr(&b, "[0-9]{8}:[0-9A-Za-z_\\-]{35}");
	add(s, &b, 0, SCAN_TELEGRAM);
	rein_buf_cstr(&b, "auth[ \\t\"'\\\\]{0,16}[:?+]?[=:]");
	add(s, &b, HS_FLAG_CASELESS, SCAN_AUTH);
	rein_buf_cstr(&b, ":([0-9]{4,5}|\\*):[0-9A-Za-z_.*\\-]");
	add(s, &b, 0, SCAN_PGPASS);
}

int main(int argc, char **argv)
{
	hs_platform_info_t any = {HS_TUNE_FAMILY_GENERIC, 0, 0, 0}; /* runs wherever vectorscan does */
	hs_compile_error_t *error = NULL;
	hs_database_t *db = NULL;
	struct set s = {0};
	char *bytes = NULL;
	size_t n = 0;
	FILE *f;

	fill(&s);
	if (argc != 2 || hs_compile_multi((const char *const *)s.expression, s.flags, s.id, s.n, HS_MODE_BLOCK, &any, &db,
					  &error) != HS_SUCCESS ||
	    hs_serialize_database(db, &bytes, &n) != HS_SUCCESS) {
		fprintf(stderr, "patterns: %s\n", error ? error->message : "cannot be compiled");
		return 1;
	}
	f = fopen(argv[1], "we");
	if (!f)
		return 1;
	fprintf(f, "/* made by src/secret/patterns.c */\n#include <stddef.h>\n"
		   "extern const unsigned char rein_scan_db[];\nextern const size_t rein_scan_db_n;\n"
		   "const unsigned char rein_scan_db[] __attribute__((aligned(64))) = {");
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s%u,", i % 24 ? "" : "\n", (unsigned char)bytes[i]);
	fprintf(f, "\n};\nconst size_t rein_scan_db_n = sizeof(rein_scan_db);\n");
	for (unsigned i = 0; i < s.n; i++)
		rein_free(s.expression[i]);
	free(bytes); /* the library's own */
	hs_free_database(db);
	return fclose(f) == 0 ? 0 : 1;
}
