/* SPDX-License-Identifier: Apache-2.0 */
/* Knowledge files found and given to a classifier. Without any there is nothing to do but to look for the directories. */
#include "engine/knowload.h"

#include "base/auto.h"
#include "classify/grammar.h"
#include "engine/conffile.h"
#include "sql/sql.h"

#define KNOWLEDGE_D "/etc/rein/knowledge.d"
#define FILE_BYTES  ((size_t)8 << 20)

int rein_knowledge_add(struct rein_classifier *c, const char *path, struct rein_err *err)
{
	auto_buf struct rein_buf text = REIN_BUF(FILE_BYTES);
	int rc = rein_conf_read("knowledge file", path, true, &text, err);

	if (rc == 0)
		return rein_err_set(err, REIN_E_NOTFOUND, "there is no knowledge file '%s'", path);
	return rc < 0 ? rc : rein_classifier_learn(c, path, text.p ? text.p : "", text.n, err);
}

static int add_directory(struct rein_classifier *c, const char *dir, struct rein_err *err)
{
	auto_strlist struct rein_strlist names = {0};
	int rc = rein_conf_list(dir, &names, err);

	for (size_t i = 0; rc == 0 && i < names.n; i++)
		rc = rein_knowledge_add(c, names.v[i], err);
	return rc;
}

int rein_knowledge_open(struct rein_classifier **ret, struct rein_err *err)
{
	auto_free char *own = NULL;
	int rc = rein_classifier_new(ret, err);

	if (rc < 0) {
		*ret = NULL;
		return rc;
	}
	rein_classifier_set_sql(*ret, rein_sql_parse);
	rc = add_directory(*ret, KNOWLEDGE_D, err);
	if (rc == 0)
		rc = rein_conf_path("knowledge.d", &own, err);
	if (rc == 0 && own)
		rc = add_directory(*ret, own, err);
	if (rc < 0) {
		rein_classifier_free(*ret);
		*ret = NULL;
	}
	return rc;
}
