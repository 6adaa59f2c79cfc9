/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a module of Rein beside the program or in the library directory. */
#ifndef REIN_RECORD_MODULE_H
#define REIN_RECORD_MODULE_H

#include "base/err.h"

/* The address of symbol in file, such as rein-index.so; what it is for goes into the message. */
int rein_module_load(const char *file, const char *symbol, const char *purpose, const void **ret,
		     struct rein_err *err);

#endif
