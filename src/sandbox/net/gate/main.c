/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rein-gate: started by rein beside a box. Takes its configuration from descriptor 3, reads the host's
 * resolver settings, gives up every right it does not need, and serves until rein closes descriptor 4.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/net/gate/gate.h"

int main(void)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct rein_err err = {0};
	struct stat st;
	void *config;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	if (fcntl(REIN_GATE_CONFIG_FD, F_GET_SEALS) != seals || fstat(REIN_GATE_CONFIG_FD, &st) < 0 ||
	    st.st_size <= 0)
		return 125;
	config = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, REIN_GATE_CONFIG_FD, 0);
	if (config == MAP_FAILED || !gate_config_valid(config, (size_t)st.st_size))
		return 125;
	close(REIN_GATE_CONFIG_FD); /* secrets may be in it */
	return gate_run(config, REIN_GATE_CONTROL_FD, &err) < 0 ? 125 : 0;
}
