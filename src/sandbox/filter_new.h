/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers younger than the headers. From 424 on every architecture uses the same. Included after the
 * architecture's own numbers.
 */
#ifndef __NR_clone3
#define __NR_clone3 435
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#endif
#ifndef __NR_removexattrat
#define __NR_removexattrat 466
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469
#endif
/* The last number that was looked at when the table was made (file_setattr, Linux 6.17). */
#define REIN_FILTER_LAST 469
