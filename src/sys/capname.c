/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the capabilities that can be kept in a box. Those that would open it are not here. */
#include "sys/capname.h"

#include <linux/capability.h>
#include <strings.h>

#include "base/auto.h"
#include "base/str.h"

static const struct {
	const char *name;
	unsigned bit;
	bool file;
} names[] = {
	{"chown", CAP_CHOWN, true},
	{"dac_override", CAP_DAC_OVERRIDE, true},
	{"fowner", CAP_FOWNER, true},
	{"fsetid", CAP_FSETID, true},
	{"kill", CAP_KILL, true},
	{"setgid", CAP_SETGID, true},
	{"setuid", CAP_SETUID, true},
	{"setfcap", CAP_SETFCAP, true},
	{"sys_chroot", CAP_SYS_CHROOT, true},
	{"net_bind_service", CAP_NET_BIND_SERVICE, false},
	{"net_raw", CAP_NET_RAW, false},
	{"ipc_lock", CAP_IPC_LOCK, false},
	{"ipc_owner", CAP_IPC_OWNER, false},
	{"sys_nice", CAP_SYS_NICE, false},
	{"sys_resource", CAP_SYS_RESOURCE, false},
};

uint64_t rein_caps_files(void)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].file)
			mask |= 1ull << names[i].bit;
	return mask;
}

static uint64_t one(const char *name, size_t n)
{
	if (n == 5 && !strncasecmp(name, "files", n))
		return rein_caps_files();
	if (n > 4 && !strncasecmp(name, "cap_", 4)) {
		name += 4;
		n -= 4;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i].name) == n && !strncasecmp(names[i].name, name, n))
			return 1ull << names[i].bit;
	return 0;
}

int rein_caps_parse(const char *list, uint64_t *mask, struct rein_err *err)
{
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		uint64_t bit = one(p, n);

		if (!bit)
			return rein_err_set(err, REIN_E_USAGE,
					    "--cap-add: '%.*s' cannot be kept in a box (chown, "
					    "dac_override, fowner, setuid, setgid, kill …, or files)",
					    (int)n, p);
		*mask |= bit;
		p += n + (p[n] == ',');
	}
	return 0;
}
