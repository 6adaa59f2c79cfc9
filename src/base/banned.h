/* SPDX-License-Identifier: Apache-2.0 */
/* Included into every file by the build: calls that have a better one here. */
#ifndef REIN_BASE_BANNED_H
#define REIN_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok atoi atol atoll system popen

#endif
