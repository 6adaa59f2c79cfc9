/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping on a word that processes share. Every wake-up may be spurious: look again. */
#ifndef REIN_SYS_FUTEX_H
#define REIN_SYS_FUTEX_H

#include <stdint.h>

/* Sleeps while *word == value, at most that long. */
void rein_futex_wait(uint32_t *word, uint32_t value, uint64_t most_ns);
void rein_futex_wake_all(uint32_t *word);

#endif
