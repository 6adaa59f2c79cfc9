/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See tlsio.h. TLS 1.2 and later on both sides, HTTP/1.1 the only protocol inside, no
 * renegotiation, no sessions to resume: what was checked once holds for the whole connection and
 * for nothing else.
 */
#include "sandbox/net/gate/tlsio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/alloc.h"
#include "base/auto.h"

#define DAY    (24 * 60 * 60l)
#define BEFORE (-DAY)	   /* clocks differ */
#define AFTER  (365 * DAY) /* no box lives so long */

struct rein_tlsio {
	EVP_PKEY *ca_key, *leaf_key;
	X509 *ca;
	SSL_CTX *inner, *outer; /* towards the program, towards servers */
	BIO_METHOD *bio;
};

struct rein_tlsio_conn {
	SSL *ssl;
	int fd;
	uint8_t *first; /* read before we came */
	size_t at, n;
	bool eof; /* of the socket */
	bool ended_well;
	char why[160];
};

/* --- sockets that were already read from --- */

static int bio_read(BIO *b, char *to, int n)
{
	struct rein_tlsio_conn *c = BIO_get_data(b);
	ssize_t got;

	BIO_clear_retry_flags(b);
	if (n <= 0)
		return 0;
	if (c->at < c->n) {
		size_t part = c->n - c->at < (size_t)n ? c->n - c->at : (size_t)n;

		memcpy(to, c->first + c->at, part);
		c->at += part;
		return (int)part;
	}
	got = recv(c->fd, to, (size_t)n, 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN))
		BIO_set_retry_read(b);
	c->eof = got == 0;
	return (int)got;
}

static int bio_write(BIO *b, const char *from, int n)
{
	struct rein_tlsio_conn *c = BIO_get_data(b);
	ssize_t put = send(c->fd, from, n > 0 ? (size_t)n : 0, MSG_NOSIGNAL);

	BIO_clear_retry_flags(b);
	if (put < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN))
		BIO_set_retry_write(b);
	return (int)put;
}

/* Without a word about the end the library takes it for a failure. */
static long bio_ctrl(BIO *b, int what, long number, void *p)
{
	const struct rein_tlsio_conn *c = BIO_get_data(b);

	(void)number;
	(void)p;
	return what == BIO_CTRL_EOF ? c && c->eof : what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rein");

	if (m && BIO_meth_set_read(m, bio_read) && BIO_meth_set_write(m, bio_write) &&
	    BIO_meth_set_ctrl(m, bio_ctrl))
		return m;
	BIO_meth_free(m);
	return NULL;
}

/* --- certificates --- */

static bool extend(X509 *x, X509 *issuer, int what, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	bool ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, what, value);
	ok = e && X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	return ok;
}

static bool number_it(X509 *x)
{
	uint8_t random[16];
	BIGNUM *n;
	bool ok;

	if (RAND_bytes(random, sizeof(random)) != 1)
		return false;
	random[0] &= 0x7f; /* positive */
	random[0] |= 0x40;
	n = BN_bin2bn(random, sizeof(random), NULL);
	ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
	BN_free(n);
	return ok;
}

static bool name_it(X509 *x, const char *name)
{
	X509_NAME *n = X509_get_subject_name(x);

	/* The field takes 64 characters; the name that counts is in an extension. */
	return X509_NAME_add_entry_by_txt(n, "O", MBSTRING_ASC, (const unsigned char *)"Rein", -1,
					  -1, 0) &&
	       (strlen(name) > 64 ||
		X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
					   -1, 0));
}

static X509 *begin(const char *name, EVP_PKEY *key)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, 2) && number_it(x) &&
	    X509_gmtime_adj(X509_getm_notBefore(x), BEFORE) &&
	    X509_gmtime_adj(X509_getm_notAfter(x), AFTER) && name_it(x, name) &&
	    X509_set_pubkey(x, key))
		return x;
	X509_free(x);
	return NULL;
}

static X509 *make_authority(EVP_PKEY *key)
{
	X509 *x = begin("this box's own authority", key);

	if (x && X509_set_issuer_name(x, X509_get_subject_name(x)) &&
	    extend(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    extend(x, x, NID_key_usage, "critical,keyCertSign") &&
	    extend(x, x, NID_subject_key_identifier, "hash") && X509_sign(x, key, EVP_sha256()))
		return x;
	X509_free(x);
	return NULL;
}

/* name is of letters, digits, '-', '_' and '.': it cannot be more than one value. */
static X509 *make_leaf(const struct rein_tlsio *t, const char *name)
{
	char value[320];
	X509 *x = begin(name, t->leaf_key);

	snprintf(value, sizeof(value), "DNS:%s", name);
	if (x && X509_set_issuer_name(x, X509_get_subject_name(t->ca)) &&
	    extend(x, t->ca, NID_basic_constraints, "critical,CA:FALSE") &&
	    extend(x, t->ca, NID_key_usage, "critical,digitalSignature") &&
	    extend(x, t->ca, NID_ext_key_usage, "serverAuth") &&
	    extend(x, t->ca, NID_authority_key_identifier, "keyid") &&
	    extend(x, t->ca, NID_subject_alt_name, value) && X509_sign(x, t->ca_key, EVP_sha256()))
		return x;
	X509_free(x);
	return NULL;
}

/* --- the authority --- */

/* Only HTTP/1.1 can be read here: whoever speaks something else alone is turned away. */
static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_n,
			   const unsigned char *list, unsigned n, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";

	(void)ssl;
	(void)arg;
	return SSL_select_next_proto((unsigned char **)(uintptr_t)ret, ret_n, ours,
				     sizeof(ours) - 1, list, n) == OPENSSL_NPN_NEGOTIATED
		       ? SSL_TLSEXT_ERR_OK
		       : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_context(const SSL_METHOD *method)
{
	SSL_CTX *c = SSL_CTX_new(method);

	if (!c || !SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION)) {
		SSL_CTX_free(c);
		return NULL;
	}
	SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				    SSL_MODE_RELEASE_BUFFERS);
	return c;
}

static void tls_close(struct rein_tlsio *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->inner);
	SSL_CTX_free(t->outer);
	X509_free(t->ca);
	EVP_PKEY_free(t->ca_key);
	EVP_PKEY_free(t->leaf_key);
	BIO_meth_free(t->bio);
	rein_free(t);
}

static bool prepare(struct rein_tlsio *t)
{
	static const unsigned char http1[] = "\x08http/1.1";

	/* Files may not be there, and must not be asked for later: the library's own defaults. */
	if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
		return false;
	t->bio = bio_method();
	t->ca_key = EVP_EC_gen("P-256");
	t->leaf_key = EVP_EC_gen("P-256");
	t->inner = make_context(TLS_server_method());
	t->outer = make_context(TLS_client_method());
	if (!t->bio || !t->ca_key || !t->leaf_key || !t->inner || !t->outer)
		return false;
	SSL_CTX_set_alpn_select_cb(t->inner, choose_protocol, NULL);
	SSL_CTX_set_num_tickets(t->inner, 0);
	SSL_CTX_set_verify(t->outer, SSL_VERIFY_PEER, NULL);
	t->ca = make_authority(t->ca_key);
	return t->ca && SSL_CTX_use_PrivateKey(t->inner, t->leaf_key) &&
	       SSL_CTX_set_alpn_protos(t->outer, http1, sizeof(http1) - 1) == 0;
}

static struct rein_tlsio *tls_open(struct rein_err *err)
{
	struct rein_tlsio *t = rein_alloc(sizeof(*t));
	const char *why;

	if (!t) {
		rein_err_nomem(err);
		return NULL;
	}
	if (prepare(t))
		return t;
	why = ERR_reason_error_string(ERR_peek_last_error());
	rein_err_set(err, REIN_E_FAILED, "make the box's certificate authority: %s",
		     why ? why : "out of memory");
	tls_close(t);
	return NULL;
}

static size_t tls_certificate(const struct rein_tlsio *t, char *to, size_t max)
{
	BIO *b = BIO_new(BIO_s_mem());
	char *p;
	long n = b && PEM_write_bio_X509(b, t->ca) ? BIO_get_mem_data(b, &p) : 0;

	if (n <= 0 || (size_t)n >= max)
		n = 0;
	memcpy(to, n ? p : "", (size_t)n);
	to[n] = 0;
	BIO_free(b);
	return (size_t)n;
}

static int tls_trust(struct rein_tlsio *t, const char *pem, size_t n, struct rein_err *err)
{
	X509_STORE *store = SSL_CTX_get_cert_store(t->outer);
	BIO *b = n < INT32_MAX ? BIO_new_mem_buf(pem, (int)n) : NULL;
	size_t taken = 0;
	X509 *x;

	while (b && (x = PEM_read_bio_X509_AUX(b, NULL, NULL, NULL))) {
		taken += X509_STORE_add_cert(store, x) == 1;
		X509_free(x);
	}
	BIO_free(b);
	ERR_clear_error();
	return taken ? 0
		     : rein_err_set(err, REIN_E_INVALID,
				    "no certificates that servers could be held against: install "
				    "ca-certificates, "
				    "or name a file of them in SSL_CERT_FILE");
}

/* --- connections --- */

static void conn_free(struct rein_tlsio_conn *c)
{
	if (!c)
		return;
	SSL_free(c->ssl);
	rein_free(c->first);
	rein_free(c);
}

static struct rein_tlsio_conn *conn_new(const struct rein_tlsio *t, SSL_CTX *ctx, int fd)
{
	struct rein_tlsio_conn *c = rein_alloc(sizeof(*c));
	BIO *b = BIO_new(t->bio);

	if (c)
		c->ssl = SSL_new(ctx);
	if (!c || !b || !c->ssl) {
		BIO_free(b);
		conn_free(c);
		return NULL;
	}
	c->fd = fd;
	BIO_set_data(b, c);
	BIO_set_init(b, 1);
	SSL_set_bio(c->ssl, b, b);
	return c;
}

static struct rein_tlsio_conn *tls_accept(struct rein_tlsio *t, int fd, const char *name,
					  const uint8_t *first, size_t n)
{
	struct rein_tlsio_conn *c = conn_new(t, t->inner, fd);
	X509 *leaf = c ? make_leaf(t, name) : NULL;

	if (c)
		c->first = rein_alloc(n + 1);
	if (!leaf || !c->first || SSL_use_certificate(c->ssl, leaf) != 1 ||
	    SSL_use_PrivateKey(c->ssl, t->leaf_key) != 1) {
		X509_free(leaf);
		conn_free(c);
		return NULL;
	}
	X509_free(leaf);
	memcpy(c->first, first, n);
	c->n = n;
	SSL_set_accept_state(c->ssl);
	return c;
}

static struct rein_tlsio_conn *tls_connect(struct rein_tlsio *t, int fd, const char *name)
{
	struct rein_tlsio_conn *c = conn_new(t, t->outer, fd);

	if (!c)
		return NULL;
	SSL_set_hostflags(c->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (SSL_set1_host(c->ssl, name) != 1 || SSL_set_tlsext_host_name(c->ssl, name) != 1) {
		conn_free(c);
		return NULL;
	}
	SSL_set_connect_state(c->ssl);
	return c;
}

static bool later(const struct rein_tlsio_conn *c, int rc)
{
	int e = SSL_get_error(c->ssl, rc);

	return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE;
}

static int tls_handshake(struct rein_tlsio_conn *c)
{
	int rc;

	ERR_clear_error();
	rc = SSL_do_handshake(c->ssl);
	if (rc == 1)
		return 1;
	return later(c, rc) ? 0 : -1;
}

static const char *tls_why(struct rein_tlsio_conn *c)
{
	long verdict = SSL_get_verify_result(c->ssl);
	const char *reason = ERR_reason_error_string(ERR_peek_error());

	snprintf(c->why, sizeof(c->why), "%s",
		 verdict != X509_V_OK ? X509_verify_cert_error_string(verdict)
		 : reason	      ? reason
				      : "the connection ended");
	return c->why;
}

static ssize_t tls_read(struct rein_tlsio_conn *c, void *to, size_t n)
{
	int rc, e;

	ERR_clear_error();
	rc = SSL_read(c->ssl, to, n < INT32_MAX ? (int)n : INT32_MAX);
	if (rc > 0)
		return rc;
	if (later(c, rc)) {
		errno = EAGAIN;
		return -1;
	}
	e = SSL_get_error(c->ssl, rc);
	if (e == SSL_ERROR_ZERO_RETURN) {
		c->ended_well = true;
		return 0;
	}
	/* An end nobody announced is passed on as one. */
	if (e == SSL_ERROR_SSL &&
	    ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return 0;
	errno = EPROTO;
	return -1;
}

static ssize_t tls_write(struct rein_tlsio_conn *c, const void *from, size_t n)
{
	int rc;

	if (!n)
		return 0;
	ERR_clear_error();
	rc = SSL_write(c->ssl, from, n < INT32_MAX ? (int)n : INT32_MAX);
	if (rc > 0)
		return rc;
	errno = later(c, rc) ? EAGAIN : EPROTO;
	return -1;
}

static bool tls_ended_well(struct rein_tlsio_conn *c)
{
	return c->ended_well;
}

static void tls_goodbye(struct rein_tlsio_conn *c)
{
	ERR_clear_error();
	SSL_shutdown(c->ssl); /* not taken now: then it is not said */
	ERR_clear_error();
}

__attribute__((visibility("default"))) extern const struct rein_tlsio_ops rein_tlsio_ops;
const struct rein_tlsio_ops rein_tlsio_ops = {
	.abi = REIN_TLSIO_ABI,
	.open = tls_open,
	.close = tls_close,
	.certificate = tls_certificate,
	.trust = tls_trust,
	.accept = tls_accept,
	.connect = tls_connect,
	.handshake = tls_handshake,
	.why = tls_why,
	.read = tls_read,
	.write = tls_write,
	.ended_well = tls_ended_well,
	.goodbye = tls_goodbye,
	.free = conn_free,
};
