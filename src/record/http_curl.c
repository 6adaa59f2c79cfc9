/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein-http.so: one POST with libcurl. Only https and http; certificates are checked; a redirect is
 * a failure, because it would carry a signed text to somebody nobody named; of the answer only the
 * status counts, and reading more than a little of it ends the transfer.
 */
#include <curl/curl.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/http.h"

#define ANSWER_MAX 65536

struct seen {
	size_t n;
	char head[201]; /* beginning of the answer: often says why */
};

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	struct seen *s = arg;

	n *= size;
	for (size_t i = 0; i < n && s->n + i + 1 < sizeof(s->head); i++)
		s->head[s->n + i] = p[i] >= ' ' && p[i] < 0x7f ? p[i] : ' ';
	s->n += n;
	return s->n > ANSWER_MAX ? 0 : n;
}

static struct curl_slist *headers(const char *const *h)
{
	/* no "Expect: 100-continue": it costs a second where nobody answers it */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");

	for (; list && h && *h; h++) {
		struct curl_slist *more = curl_slist_append(list, *h);

		if (!more) {
			curl_slist_free_all(list);
			return NULL;
		}
		list = more;
	}
	return list;
}

static int judge(CURL *c, CURLcode rc, const struct seen *s, const char *why,
		 struct rein_http_answer *ret, struct rein_err *err)
{
	curl_off_t wait = 0;
	char *to = NULL;

	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &ret->status);
	if (curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0)
		ret->retry_ns = (uint64_t)wait * REIN_NS_PER_S;
	/* A long answer with a good status is a good answer. */
	if (ret->status >= 200 && ret->status < 300 && (rc == CURLE_OK || rc == CURLE_WRITE_ERROR))
		return 0;
	if (rc != CURLE_OK && rc != CURLE_WRITE_ERROR)
		return rein_err_set(err, REIN_E_IO, "%s", *why ? why : curl_easy_strerror(rc));
	if (ret->status >= 300 && ret->status < 400) {
		curl_easy_getinfo(c, CURLINFO_REDIRECT_URL, &to);
		return rein_err_set(
			err, REIN_E_FAILED,
			"the server answers %ld and points to '%.100s': redirects are not "
			"followed, name the right address",
			ret->status, to ? to : "");
	}
	return rein_err_set(err, REIN_E_FAILED, "the server answers %ld%s%s", ret->status,
			    s->n ? ": " : "", s->head);
}

static int post(const struct rein_http_post *p, struct rein_http_answer *ret, struct rein_err *err)
{
	static bool ready;
	struct curl_slist *list = NULL;
	char why[CURL_ERROR_SIZE] = "";
	struct seen s = {0};
	CURL *c = NULL;
	CURLcode rc = CURLE_OK;
	int out;

	*ret = (struct rein_http_answer){0};
	if (!ready && curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
		return rein_err_set(err, REIN_E_UNSUPPORTED, "libcurl does not start");
	ready = true;
	c = curl_easy_init();
	list = headers(p->header);
	if (!c || !list) {
		curl_slist_free_all(list);
		curl_easy_cleanup(c);
		return rein_err_nomem(err);
	}
#define SET(option, value)                                                                         \
	do {                                                                                       \
		if (rc == CURLE_OK)                                                                \
			rc = curl_easy_setopt(c, option, value);                                   \
	} while (0)
	SET(CURLOPT_ERRORBUFFER, why);
	SET(CURLOPT_PROTOCOLS_STR, "https,http");
	SET(CURLOPT_URL, p->url);
	SET(CURLOPT_HTTPHEADER, list);
	SET(CURLOPT_USERAGENT, "rein/" REIN_VERSION);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->body.n);
	SET(CURLOPT_POSTFIELDS, p->body.p);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(p->connect_ns / 1000000));
	SET(CURLOPT_TIMEOUT_MS, (long)(p->total_ns / 1000000));
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, &s);
#undef SET
	if (rc == CURLE_OK)
		rc = curl_easy_perform(c);
	out = judge(c, rc, &s, why, ret, err);
	curl_easy_cleanup(c);
	curl_slist_free_all(list);
	return out;
}

__attribute__((visibility("default"))) extern const struct rein_http_ops rein_http_module;

const struct rein_http_ops rein_http_module = {
	.abi = REIN_HTTP_ABI,
	.post = post,
};
