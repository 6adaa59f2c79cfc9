/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person sees: colour only on a terminal that wants it, ASCII where the locale is not
 * UTF-8, widths that fit, numbers people can read. Untrusted text is always escaped.
 */
#ifndef REIN_CLI_UI_H
#define REIN_CLI_UI_H

#include <stdio.h>

#include "base/buf.h"
#include "model/change.h"
#include "txn/txn.h"

enum rein_colour { REIN_PLAIN, REIN_BOLD, REIN_DIM, REIN_RED, REIN_GREEN, REIN_YELLOW, REIN_CYAN };

bool rein_ui_utf8(void);
/* The escape sequence for a stream, or "". */
const char *rein_ui(FILE *f, enum rein_colour c);
const char *rein_ui_off(FILE *f);
unsigned rein_ui_width(FILE *f); /* columns, of the terminal or $COLUMNS; 0: any number */

/* Of a verb that changes something: it is not ended because nobody reads what it says, or a file may not grow. */
void rein_ui_outlive_readers(void);

void rein_say(const char *fmt, ...) REIN_PRINTF(1, 2);	/* "rein: …" on stderr */
void rein_more(const char *fmt, ...) REIN_PRINTF(1, 2); /* a line that goes on with it */
/* The one place that prints an error and turns it into an exit status. */
int rein_fail(const struct rein_err *err, bool json);
/* The same where standard output is a command's: the object is the last line of standard error. */
int rein_fail_last(const struct rein_err *err, bool json);

/*
 * Ask, and take one key without waiting for Enter; 'k' where there is no terminal. What comes in company is no key: a
 * terminal's answer to what a command asked it. A signal that ends the process does so when the terminal is as it was.
 */
int rein_ui_key(const char *question);
/* The same, until then (rein_mono_ns; 0: for ever): 0, nobody answered. */
int rein_ui_key_until(const char *question, uint64_t until_ns);
/*
 * The terminal as text is read on it, after a command that did more to it than print: what is said from here on is seen, as
 * it is said.
 */
void rein_ui_screen_back(void);

/* Static buffers, a few at a time. */
const char *rein_ui_path(const char *path);    /* escaped */
const char *rein_ui_text(const char *text, size_t max); /* escaped, and cut */
const char *rein_ui_count(uint64_t n);	       /* 1,204 */
const char *rein_ui_bytes(uint64_t n);	       /* 1.2 MB */
const char *rein_ui_seconds(uint64_t ns);      /* 4.2 s */
const char *rein_ui_ago(uint64_t then_ns, uint64_t now_ns);
const char *rein_ui_command(char *const *argv, size_t argc, size_t max);

/* What was of one type, a file say, is of another. */
bool rein_type_changed(const struct rein_change *x);
/* "symlink", or "file -> symlink" where it changed; NULL: what everybody expects, a file or a directory. */
const char *rein_special_type(const struct rein_change *x);

/* "3 modified, 12 created, 1 deleted". */
void rein_ui_summary(struct rein_buf *b, const struct rein_summary *s);

/* Does a terminal show what is printed, also through a pager? Whether in colour is another question. */
bool rein_ui_on_screen(void);
/* Send stdout through $PAGER when it is a terminal; rein_ui_page_end waits for it. */
void rein_ui_page(bool wanted);
void rein_ui_page_end(void);

/* JSON forms shared by the verbs (schema: docs/json.md). */
struct rein_json;
/* The member "error"; null where there is none. */
void rein_json_error(struct rein_json *j, const struct rein_err *err);
void rein_json_tx(struct rein_json *j, const struct rein_tx *t);
void rein_json_summary(struct rein_json *j, const struct rein_summary *s);
void rein_json_changes(struct rein_json *j, const struct rein_tx *t, const struct rein_changes *c);
void rein_json_out(struct rein_buf *b); /* print and newline */

#endif
