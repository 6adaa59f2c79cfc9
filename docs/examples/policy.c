/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking before running: how bad each command given could be, what the policy in force here decides about it,
 * and why.
 *	cc -o policy policy.c $(pkg-config --cflags --libs rein)
 *	./policy 'ls -la' 'git push --force' 'rm -rf ~'
 */
#include <rein/policy.h>

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rein_classifier *c = NULL;
	struct rein_policy *p = NULL;
	struct rein_err err = {0};
	char cwd[4096];
	int worst = REIN_DECISION_ALLOW;

	if (!getcwd(cwd, sizeof(cwd)) || rein_classifier_new(&c, &err) < 0 ||
	    rein_policy_open(cwd, NULL, &p, &err) < 0)
		fprintf(stderr, "%s\n", err.msg); /* the policy, if there is one, denies and says why */
	for (int i = 1; i < argc && c; i++) {
		struct rein_question q = {.text = argv[i], .cwd = cwd, .workspace = cwd};
		struct rein_answer a;

		if (rein_policy_ask(p, c, &q, &a, &err) < 0)
			fprintf(stderr, "%s\n", err.msg);
		printf("%-5s %s, %s: %s (%s)\n", rein_decision_name(a.decision), rein_level_name(a.level),
		       rein_reach_name(a.reach), argv[i], a.rule);
		if (a.decision != REIN_DECISION_ALLOW)
			printf("      %s%s%s\n", a.reason, a.instead ? "; instead: " : "", a.instead ? a.instead : "");
		worst = a.decision < worst ? a.decision : worst;
	}
	rein_policy_close(p);
	rein_classifier_free(c);
	return worst == REIN_DECISION_ALLOW ? 0 : 1;
}
