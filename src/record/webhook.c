/* SPDX-License-Identifier: Apache-2.0 */
/* Signing and sending. A secret that cannot be read is a failure: nothing goes out half signed. */
#include "record/webhook.h"

#include <fcntl.h>

#include "base/auto.h"
#include "base/clock.h"
#include "record/head.h"
#include "record/http.h"
#include "record/sha256.h"
#include "sys/file.h"

#define CONNECT_NS (5 * REIN_NS_PER_S)
#define TOTAL_NS   (10 * REIN_NS_PER_S)
#define SECRET_MAX 4096

static int sign(int audit_fd, struct rein_str text, char out[256], struct rein_err *err)
{
	struct rein_key key = {0};
	uint8_t sig[64];
	char hex[129], id[2 * REIN_KEY_ID + 1];

	if (rein_key_load(audit_fd, "key", &key, err) < 0)
		return -err->code;
	rein_key_sign(&key, text, sig);
	rein_hex(sig, 64, hex);
	rein_hex(key.id, REIN_KEY_ID, id);
	explicit_bzero(&key, sizeof(key));
	snprintf(out, 256, "Rein-Signature: ed25519=%s; key=%s", hex, id);
	return 0;
}

static int mac(const char *file, struct rein_str text, char out[128], struct rein_err *err)
{
	auto_buf struct rein_buf secret = REIN_BUF(SECRET_MAX);
	uint8_t sum[32];
	char hex[65];

	out[0] = '\0';
	if (!file)
		return 0;
	if (rein_file_read(AT_FDCWD, file, &secret, err) < 0)
		return rein_err_prefix(err, "the webhook's secret_file");
	while (secret.n && (secret.p[secret.n - 1] == '\n' || secret.p[secret.n - 1] == '\r'))
		secret.n--;
	if (!secret.n)
		return rein_err_set(err, REIN_E_INVALID, "the webhook's secret_file '%s' is empty",
				    file);
	rein_hmac_sha256(secret.p, secret.n, text.p, text.n, sum);
	explicit_bzero(secret.p, secret.n);
	rein_hex(sum, 32, hex);
	snprintf(out, 128, "Rein-Signature-256: sha256=%s", hex);
	return 0;
}

int rein_webhook_send(int audit_fd, const struct rein_webhook *w, const char *id,
		      struct rein_str body, uint64_t *ret_retry_ns, struct rein_err *err)
{
	auto_buf struct rein_buf text = REIN_BUF(1 << 20);
	char stamp[24], h_id[64], h_time[64], h_sign[256], h_mac[128];
	const char *header[] = {
		"Content-Type: application/json", h_id, h_time, h_sign, h_mac, NULL};
	const struct rein_http_ops *http;
	struct rein_http_answer answer = {0};
	int rc;

	if (ret_retry_ns)
		*ret_retry_ns = 0;
	snprintf(stamp, sizeof(stamp), "%llu", (unsigned long long)(rein_now_ns() / REIN_NS_PER_S));
	rein_buf_cstr(&text, REIN_WEBHOOK_CONTEXT);
	rein_buf_printf(&text, "%s\n", stamp);
	rein_buf_str(&text, body);
	if (text.failed)
		return rein_err_nomem(err);
	snprintf(h_id, sizeof(h_id), "Rein-Id: %s", id);
	snprintf(h_time, sizeof(h_time), "Rein-Timestamp: %s", stamp);
	if (rein_http_load(&http, err) < 0 ||
	    sign(audit_fd, (struct rein_str){text.p, text.n}, h_sign, err) < 0 ||
	    mac(w->secret_file, (struct rein_str){text.p, text.n}, h_mac, err) < 0)
		return -err->code;
	if (!h_mac[0])
		header[4] = NULL;
	rc = http->post(&(struct rein_http_post){.url = w->url,
						 .header = header,
						 .body = body,
						 .connect_ns = CONNECT_NS,
						 .total_ns = TOTAL_NS},
			&answer, err);
	if (ret_retry_ns)
		*ret_retry_ns = answer.retry_ns;
	return rc < 0 ? rein_err_prefix(err, "webhook '%s'", w->name) : 0;
}
