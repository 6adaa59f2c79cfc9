/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a program under ptrace and spoil one of its system calls: the n-th that belongs to a class is
 * not carried out, and either the program dies there (SIGKILL) or sees an errno. What the program
 * did before is done, what comes after is not: like a crash at that point, or a disk that is full.
 *
 * Killing at the entry of each call that changes something shows every state a crash can leave,
 * because between two such calls nothing lasting changes.
 */
#ifndef REIN_CRASH_TRACE_H
#define REIN_CRASH_TRACE_H

#include "../lab/lab.h"

enum call_class { /* bits */
		  CALL_CHANGE =
			  1, /* changes names, content, attributes or what others see; also exit */
		  CALL_SPACE = 2,  /* needs room on a disk: ENOSPC, EDQUOT */
		  CALL_SYNC = 4,   /* promises durability: EIO */
		  CALL_MEMORY = 8, /* ENOMEM */
		  CALL_ALTER = 16, /* changes names or attributes without needing room: EIO */
		  CALL_ANY = 32,   /* every call */
};

struct trace_fault {
	unsigned classes;
	unsigned long at; /* 1: the first such call; 0: none, only count */
	int err;	  /* 0: kill */
	bool sticky;	  /* all later ones fail as well */
	bool alone;	  /* only the program itself (all its threads), not what it starts */
};

struct trace_result {
	struct lab_result r; /* status, output */
	unsigned long seen;  /* calls of the classes that were made */
	bool hit;	     /* the fault took place */
	const char *call;    /* at which call */
	bool said_success;   /* it was past exiting with status 0 */
	bool left_processes; /* something of it lived on; it was killed */
};

/* The caller must be a child subreaper (trace_init) and have no other children. */
void trace_init(void);
void trace_run(const struct lab_cmd *c, const struct trace_fault *f, struct trace_result *ret);

#endif
