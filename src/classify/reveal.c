/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a service's command line that read the value of a secret, not its name, or hand out a credential. */
#include "classify/internal.h"

/* get-cluster-credentials, show-connection-string: the value itself, not what is known of it */
static bool reveals(struct rein_str s)
{
	static const char about[] =
		"policy policies used info status usage metadata rotation versions list names "
		"capabilities describe report lookup create delete update rotate rules requirements "
		"limit count type types attributes";

	if (s.n > 96 || (!str_has(s, "-") && !str_has(s, "_") && !str_has(s, ":")))
		return false; /* no verb is as long */
	return str_segment(s, "get print show download export retrieve reveal fetch read access "
			      "generate") &&
	       !str_segment(s, about) &&
	       (str_segment(s, "credential credentials secret secrets token password passwords keypair") ||
		str_has(s, "connection-string") || str_has(s, "private-key") ||
		str_has(s, "auth-code") || str_has(s, "instance-access") ||
		str_has(s, "key-pair") || str_has(s, "config-helper"));
}

/* "print token", "kubeconfig get": a word that reads beside one that names what must not be seen */
static bool reveals_pair(struct rein_str a, struct rein_str b)
{
	static const char read[] = "get read print download export reveal cat fetch lookup";

	if (str_in(a, "token credentials credential password kubeconfig keypair initial-password"))
		return str_in(b, read);
	if (str_in(a, "appsettings"))
		return str_in(b, "list show");
	return str_in(a, read) &&
	       str_in(b, "token credentials credential password kubeconfig keypair");
}

static void tells(struct ctx *cx, const struct field *f, const char *why)
{
	fact(cx, REIN_FACT_SECRET, REIN_LEVEL_DANGEROUS, REIN_REACH_READONLY, f->at, show(cx, f->s), why);
}

void reveal_service(struct ctx *cx, const struct call *c)
{
	struct rein_str program = rein_str(c->top->name);
	bool secret = false, az = str_is(program, "az");

	for (size_t i = 0; i < c->ops.n && i < 5; i++) {
		struct rein_str s = c->ops.v[i].s;

		if (str_has(s, "secret_access_key") || str_has(s, "session_token"))
			tells(cx, &c->ops.v[i], "reads a credential");
		if (i == 0 && str_is(s, "read") && str_in(program, "op vault"))
			tells(cx, &c->ops.v[i], "reads the value of a secret");
		if (str_in(s, "get-parameter get-parameters get-parameters-by-path "
			      "get-parameter-history") &&
		    call_word(c, "--with-decryption"))
			tells(cx, &c->ops.v[i], "reads the value of a secret");
		if (i == 1 && str_is(s, "get") && str_is(c->ops.v[0].s, "item") &&
		    (call_word(c, "--fields") || call_word(c, "--reveal") || call_word(c, "--otp")))
			tells(cx, &c->ops.v[i], "reads the value of a secret");
		if (i < 3 && (str_has(s, "secret") || str_in(s, "ssm keyvault kv vault token tokens")))
			secret = true;
		if (str_is(s, "get") && i &&
		    ((str_is(program, "nomad") && str_is(c->ops.v[i - 1].s, "var")) ||
		     (str_is(program, "op") && str_is(c->ops.v[i - 1].s, "document"))))
			tells(cx, &c->ops.v[i], "reads the value of a secret");
		if ((reveals(s) && verb_class(cx, s) != VERB_CHANGE) || str_is(s, "config-helper") ||
		    (i && i < 4 && reveals_pair(c->ops.v[i - 1].s, s)))
			tells(cx, &c->ops.v[i], "hands out credentials");
		if (str_in(s, "get-secret-value batch-get-secret-value get-session-token "
			      "get-login-password get-credentials-for-identity assume-role "
			      "print-access-token print-identity-token get-access-token "
			      "get-federation-token generate-data-key get-authorization-token "
			      "create-for-rbac create-access-key "
			      "create-service-specific-credential get-password-data "
			      "list-connection-strings list-publishing-credentials "
			      "list-publishing-profiles generate-sas "
			      "get-credential-report get-login export-secret-keys") ||
		    (az && i && str_in(s, "list show list-keys") &&
		     str_in(c->ops.v[i - 1].s, "keys key credential credentials connection-string "
					       "admin-key query-key")) ||
		    (az && i && str_is(s, "list-keys")) ||
		    (i && str_is(s, "create") &&
		     str_in(c->ops.v[i - 1].s, "keys token tokens credentials credential")))
			tells(cx, &c->ops.v[i], "hands out credentials");
		else if (secret &&
			 str_in(s, "access read get reveal download export show "
				   "get-parameter get-parameters get-parameters-by-path") &&
			 i && !str_is(program, "consul") &&
			 (str_has(c->ops.v[i - 1].s, "secret") ||
			  str_in(c->ops.v[i - 1].s, "versions kv secret")))
			tells(cx, &c->ops.v[i], "reads the value of a secret");
	}
}
