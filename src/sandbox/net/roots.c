/* SPDX-License-Identifier: Apache-2.0 */
/* See roots.h. */
#include "sandbox/net/roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"

static const char *const places[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch */
	"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
	"/etc/ssl/ca-bundle.pem",	      /* SUSE */
	"/etc/ssl/cert.pem",		      /* Alpine */
};

static int read_all(int fd, const char *path, struct rein_buf *to, struct rein_err *err)
{
	char chunk[16384];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rein_err_errno(err, "read the certificates in '%s'", path);
		/* it becomes a text in the box's plan */
		if (memchr(chunk, 0, (size_t)n))
			return rein_err_set(err, REIN_E_INVALID,
					    "'%s' is no file of PEM certificates", path);
		rein_buf_add(to, chunk, (size_t)n);
		if (to->failed)
			return rein_err_set(err, REIN_E_LIMIT,
					    "the certificates in '%s' are over %u MiB", path,
					    REIN_ROOTS_MAX >> 20);
	}
	rein_buf_char(to, '\n');
	return to->failed ? rein_err_nomem(err) : 0;
}

int rein_roots_read(struct rein_buf *to, struct rein_err *err)
{
	const char *named = getenv("SSL_CERT_FILE");

	if (named && *named) {
		auto_close int fd = open(named, O_RDONLY | O_CLOEXEC | O_NOCTTY);

		if (fd < 0)
			return rein_err_errno(
				err, "open the certificates SSL_CERT_FILE names, '%s'", named);
		return read_all(fd, named, to, err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		auto_close int fd = open(places[i], O_RDONLY | O_CLOEXEC | O_NOCTTY);

		if (fd >= 0)
			return read_all(fd, places[i], to, err);
	}
	return rein_err_set(err, REIN_E_UNSUPPORTED,
			    "no certificates that servers could be held against: install "
			    "ca-certificates, or name a "
			    "file of them in SSL_CERT_FILE");
}
