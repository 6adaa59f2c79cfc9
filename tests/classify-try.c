/* SPDX-License-Identifier: Apache-2.0 */
/* `rein classify` as a program of its own, for tests and benchmarks of the classifier alone. */
#include "cli/classify.h"

int main(int argc, char **argv)
{
	return rein_cli_classify(argc, argv);
}
