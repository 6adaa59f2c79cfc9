/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a box is asked to do, and what came of it. The view (which paths, how) and the transaction
 * (which roots) fill the specification; the sandbox carries it out and decides nothing.
 */
#ifndef REIN_MODEL_BOX_H
#define REIN_MODEL_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strlist.h"
#include "model/execs.h"
#include "model/limits.h"
#include "model/linked.h"
#include "model/net.h"
#include "model/refused.h"
#include "model/root.h"

enum rein_access {
	REIN_PATH_HIDE = 0, /* zeroed memory hides */
	REIN_PATH_RO,	    /* read-only, also inside a copy-on-write root */
	REIN_PATH_CANARY,   /* source is mounted read-only here: whoever opens it is seen */
	REIN_PATH_SCRATCH,  /* source is mounted writable here; never committed */
	REIN_PATH_EMPTY,    /* an empty directory of the box's own, once in a box; what is planned inside is put there */
};

/* A path outside the roots' masks that is not simply read-only. It exists when the plan is made. */
struct rein_path_rule {
	char *path;
	char *source; /* SCRATCH: the directory that stands in; else NULL */
	enum rein_access access;
	bool is_dir;
};

enum rein_net {
	REIN_NET_NONE = 0, /* own namespace with nothing but lo */
	REIN_NET_HOST,	   /* the host's network, shared */
	REIN_NET_RESTRICTED, /* through the gate, what the rules allow */
	REIN_NET_OPEN,	     /* through the gate, every public address */
};

enum rein_ordered { REIN_BOX_GO = 0, REIN_BOX_PAUSE, REIN_BOX_STOP };

struct rein_box_result;

/*
 * Whoever manages boxes: told when one begins; asked what is ordered when a SIGURG comes, and twice a
 * second.
 */
struct rein_box_watch {
	int fd; /* readable: ask at once; -1: there is none */
	enum rein_ordered (*ask)(void *arg);
	void (*begun)(void *arg, int pid, const char *group, int group_version);
	void (*paused)(void *arg, bool on); /* it stands still now, or goes on */
	/*
	 * Something of the network was refused, for the first time at this name and port. From any
	 * thread; over: the box is dead.
	 */
	void (*refused)(void *arg, const struct rein_net_refusal *x, bool over);
	/*
	 * Further commands in the box that somebody comes and asks for. door: a socket to listen at, the
	 * caller's, or -1; NULL: nobody can. admit: may it run? If so, what has to be on the record is. left:
	 * how it ended, once for each that was admitted.
	 */
	int (*door)(void *arg);
	int (*admit)(void *arg, uint32_t guest, char **argv, bool approved, struct rein_err *err);
	void (*left)(void *arg, uint32_t guest, const struct rein_box_result *r);
	void *arg;
};

struct rein_exec;
struct rein_mounts;
/* May this program be executed? Asked by another thread than the launcher's. */
typedef bool (*rein_exec_judge)(void *arg, struct rein_exec *x);

struct rein_box_spec {
	char **argv; /* argv[0] is looked up in the box's PATH when it has no slash */
	char **envp;
	const char *cwd;
	const char *hostname;

	const struct rein_root *roots; /* outermost first; a root may lie inside another */
	size_t nroots;
	/*
	 * The first root's overlay, mounted nowhere. In: one that an earlier box of the same directories
	 * made, or -1; out: this box's, the caller's to close, or -1. NULL: it ends with the box.
	 */
	int *layer;
	const struct rein_path_rule *paths;
	size_t npaths;
	bool whole_system; /* one of the roots is "/" */
	const struct rein_mounts *mounts; /* of the host, if the caller has looked; else NULL */

	enum rein_net net;
	bool watch_links; /* a root has files with several names: keep them together */
	struct rein_net_policy network; /* for the gate */
	char *const *sockets;		/* local sockets of the host that are to be seen; NULL: none */
	char *const *socket_sources;	/* where each of them is, without a link on the way */
	bool nested;	/* allow new user namespaces inside */
	uint64_t caps;	/* capabilities kept (only as root, inside an identity user namespace) */
	uint64_t timeout_ns, idle_timeout_ns; /* 0: none */
	const struct rein_box_watch *watch;   /* or NULL */
	bool watch_execs;		      /* take note of every execution */
	bool watch_files;		      /* and of files it is refused */
	char *const *hidden;		      /* what is hidden, for that: absolute paths; NULL: nothing */
	rein_exec_judge exec_judge;	      /* with it, or NULL: all may be */
	void *exec_judge_arg;
	struct rein_limits limits;	      /* its time and idle are not looked at: see above */

	/*
	 * Called while the executor builds the box; the command starts only after it returned 0, and
	 * never if it did not. May be NULL.
	 */
	int (*before_start)(void *arg, struct rein_err *err);
	void *before_start_arg;
	void (*meanwhile)(void *arg); /* called once, when the command starts; NULL: nothing to do */
	void *meanwhile_arg;
};

enum rein_box_end {
	REIN_BOX_LOST = 0,     /* no report: the box died without saying why */
	REIN_BOX_EXITED,       /* status is the command's exit status */
	REIN_BOX_SIGNALED,     /* status is 128 + the signal */
	REIN_BOX_TIMEOUT,      /* --timeout; everything inside is dead */
	REIN_BOX_IDLE_TIMEOUT, /* --idle-timeout */
	REIN_BOX_CANCELLED,    /* Rein was told to stop (SIGTERM, SIGHUP) and killed it */
	REIN_BOX_LIMIT,	       /* a limit was hit, see hit; everything inside is dead */
	REIN_BOX_STOPPED,      /* somebody ordered it to end: rein stop, rein kill */
};

struct rein_box_result {
	enum rein_box_end end;
	int status;	       /* as a shell reports it: 0..255, 128+n */
	uint64_t wall_ns;
	uint64_t cpu_ns;       /* user + system, the command and all it waited for */
	uint64_t max_rss_kib;
	struct rein_limits limits;	 /* those it had */
	struct rein_limit_hit hit;	 /* REIN_BOX_LIMIT: which */
	enum rein_limit_by kept_by[REIN_LIMIT__MAX]; /* who kept the limits that were set */
	bool restless; /* REIN_BOX_STOPPED: it was only paused, and did not stand still */
	struct rein_usage usage;
	struct rein_execs execs; /* if it was watched */
	struct rein_refused refused; /* the same */
	bool painted;	       /* it sent the person's terminal more than text */
	bool interrupted;      /* it ended by the interrupt key of that terminal */
	bool unheard;	       /* which, because it was typed into the box's, our process group has not heard of */
	unsigned dir_renames;  /* directory renames carried out by the supervisor */
	struct rein_linked_list linked; /* copies of files with several names */
	struct rein_net_report net; /* empty unless there was a gate */
};

#endif
