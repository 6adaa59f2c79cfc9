/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of Rein that need heavy libraries lie in files of their own, loaded when they are needed: beside
 * the program, as in a build directory, or where they are installed.
 */
#ifndef REIN_SYS_MODULE_H
#define REIN_SYS_MODULE_H

#include "base/err.h"

/*
 * Loads "NAME.so" and finds a symbol in it, which begins with its unsigned abi number. NULL: it is not
 * there, cannot be loaded or is of another version; err says which. It stays loaded for good.
 */
const void *sys_module(const char *name, const char *symbol, unsigned abi, struct rein_err *err);

#endif
