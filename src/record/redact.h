/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets out of texts before anything is stored. A secret becomes "[redacted:KIND:HASH]"; the hash
 * is an HMAC under a key that never leaves the machine, so that two uses of one secret can be seen
 * to be the same without the secret being known.
 *
 * What is found: all that src/secret knows; values taken from the environment; patterns of the user; and
 * whatever a caller's own matcher finds. When in doubt a text is redacted: a wrong redaction costs
 * some readability, a missed one is for ever.
 */
#ifndef REIN_RECORD_REDACT_H
#define REIN_RECORD_REDACT_H

#include "base/buf.h"
#include "record/event.h"
#include "secret/secret.h"

struct rein_redactor;

int rein_redactor_new(const uint8_t key[32], struct rein_redactor **ret, struct rein_err *err);
void rein_redactor_free(struct rein_redactor *r); /* NULL is fine */

/* A value to be found wherever it stands. Values shorter than 6 bytes are not taken. */
int rein_redactor_add_value(struct rein_redactor *r, struct rein_str value, struct rein_err *err);
/* The values of variables whose name or value looks secret. */
int rein_redactor_add_env(struct rein_redactor *r, char *const envp[], struct rein_err *err);
/* POSIX extended regular expression; the first group, or else the whole match, is the secret. */
int rein_redactor_add_pattern(struct rein_redactor *r, const char *kind, const char *regex,
			      struct rein_err *err);
/* Finds the first secret at or after from; false when there is none. kind must outlive the call. */
typedef bool rein_redact_match_fn(void *arg, struct rein_str text, size_t from, size_t *ret_at,
				  size_t *ret_len, const char **ret_kind);
void rein_redactor_set_matcher(struct rein_redactor *r, rein_redact_match_fn *fn, void *arg);

/* Appends the text without its secrets; returns how many there were. word: keep to word bytes. */
unsigned rein_redact(const struct rein_redactor *r, struct rein_str text, bool word,
		     struct rein_buf *out);

/* As the record itself would keep this text. */
struct rein_record;
void rein_record_redact(const struct rein_record *r, struct rein_str text, struct rein_buf *out);
/* Words of one command, each without the secrets that it or its neighbours tell of; the caller owns them. */
int rein_redact_words(const struct rein_redactor *r, char *const *word, size_t n, char **ret,
		      struct rein_err *err);
int rein_record_redact_words(const struct rein_record *r, char *const *word, size_t n, char **ret,
			     struct rein_err *err);

/* All texts of an event. Also cuts overlong texts, after redaction, saying how much is missing. */
struct rein_redacted {
	char *mem[5 * REIN_EVENT_LIST + 32];
	size_t n;
	unsigned secrets;
	unsigned squeeze; /* divide the length limits by this; 0 counts as 1 */
};

int rein_redact_event(const struct rein_redactor *r, struct rein_event *ev,
		      struct rein_redacted *keep, struct rein_err *err);
void rein_redacted_done(struct rein_redacted *keep);

#endif
