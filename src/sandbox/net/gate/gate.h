/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: a process outside the box that holds the box's network sockets. Everything that reaches it
 * was sent by the box or by a server outside, so all of it is hostile.
 *
 *	question for a name -> rule? -> asked outside -> one address of our own per name (names)
 *	first packet, held -> name or address -> rule? -> dialled outside -> let go, or refused (hold)
 *	connection -> the dialled one, or dialled now -> first bytes read (inspect) -> carried (flow)
 *
 * [G1] Nothing is dialled or asked outside unless a rule covers it.
 * [G2] Of what a program sends nothing leaves before what can be read of it was judged.
 * [G3] An address found by name is judged anew each time it is dialled.
 * [G4] Every object counts against a limit; what does not fit is refused, and told.
 * [G5] One thread, one loop, nothing blocks.
 */
#ifndef REIN_SANDBOX_NET_GATE_GATE_H
#define REIN_SANDBOX_NET_GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/err.h"
#include "sandbox/net/addr.h"
#include "sandbox/net/credential.h"
#include "sandbox/net/dns.h"
#include "sandbox/net/gate/tlsio.h"
#include "sandbox/net/http.h"
#include "sandbox/net/wire.h"

struct gate;
struct watch;

/* A descriptor that is waited for. Lives inside what it belongs to. */
struct watch {
	int fd;
	uint32_t events;
	void (*ready)(struct gate *, struct watch *, uint32_t events);
};

#define OWNER(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* --- limits [G4] --- */
#define GATE_NAMES	8192
#define GATE_FLOWS	4096
#define GATE_HOLDS	1024
#define GATE_LOOKUPS	256
#define GATE_REQUESTS	512
#define GATE_DNS_CONNS	64
#define GATE_REFUSALS	1024
#define GATE_HARMLESS	512 /* of them: what is no violation leaves room for those that are */
#define GATE_HOSTS	1024
#define GATE_SERVERS	3
#define GATE_STATIC	256 /* lines of /etc/hosts */

/* --- names: one address of ours each, never given to another --- */
enum name_state { NAME_NEW = 0, NAME_FOUND, NAME_ABSENT, NAME_FAILED };

struct name {
	char text[REIN_NET_NAME];
	enum name_state state;
	uint64_t until_ns; /* what is known holds until then */
	struct rein_addr v[2 * REIN_DNS_ADDRESSES];
	size_t n;
	struct lookup *lookup; /* under way */
	uint32_t number;       /* of its address */
};

struct names {
	struct name **v;
	size_t n, cap;
	uint32_t index[2 * GATE_NAMES]; /* open addressing; 0: empty, else position + 1 */
};

struct name *names_get(struct names *t, const char *text);		   /* or NULL: full */
struct name *names_by_address(struct names *t, const struct rein_addr *a); /* or NULL */
struct rein_addr names_address(const struct name *n, bool six);
bool names_is_ours(const struct rein_addr *a); /* in the ranges the addresses are from */
void names_done(struct names *t);

/* --- asking outside --- */

/* Somebody who waits for a name. Called once: the name's state says what came of it. */
struct waiter {
	struct waiter *next;
	void (*done)(struct gate *, struct waiter *, struct name *);
};

struct resolver {
	struct rein_addr servers[GATE_SERVERS];
	uint16_t ports[GATE_SERVERS];
	size_t nservers;
	struct {
		char name[REIN_NET_NAME];
		struct rein_addr address;
	} *fixed; /* the host's /etc/hosts */
	size_t nfixed;
	struct lookup *lookups;
	unsigned count;
};

void resolver_load(struct resolver *r); /* /etc/resolv.conf and /etc/hosts, before confinement */
void resolver_done(struct gate *g);
/* Find the addresses of a name; done is called now or later. */
void resolve(struct gate *g, struct name *name, struct waiter *w);
void resolve_cancel(struct name *name, struct waiter *w);
void resolver_tick(struct gate *g);

/* Another type, as it is: the answer, or NULL if there is none. */
struct forward {
	void (*done)(struct gate *, struct forward *, const uint8_t *m, size_t n);
};
void resolve_forward(struct gate *g, const char *name, uint16_t type, struct forward *f);

/* --- what the box is told and what is told about it --- */
struct book {
	struct rein_net_refusal *refusals;
	uint32_t *told; /* of each, how often it was reported */
	size_t nrefusals, refusals_cap, told_cap;
	size_t nharmless; /* of them, no violations */
	struct rein_net_host *hosts;
	size_t nhosts, hosts_cap;
	uint64_t sent, received;
	uint32_t connections, dropped;
	bool dirty;
	uint64_t told_ns;
};

void book_refuse(struct gate *g, uint32_t why, uint32_t protocol, uint32_t port, const char *name,
		 const char *detail, bool count);
struct rein_net_host *book_host(struct gate *g, const char *name, uint16_t port); /* or NULL */
void book_tell(struct gate *g);	 /* refusals since the last time */
void book_close(struct gate *g); /* everything, to the end */
void book_done(struct gate *g);

/* --- budgets --- */
struct meter {
	struct rein_net_budget budget;
	uint64_t used, since_ns;
};

struct meters {
	struct meter sent, all;
};

/* --- dialling --- */
#define DIAL_TRIES 8

struct dial {
	struct gate *gate;
	struct waiter waiter;
	struct name *name; /* NULL: by address */
	struct rein_addr address;
	uint16_t port;
	int rule;
	struct rein_addr v[DIAL_TRIES];
	size_t n, next;
	struct watch tries[DIAL_TRIES];
	uint64_t next_ns, until_ns;
	int sys;      /* the last failure */
	uint32_t why; /* a refusal, if it was one */
	bool waiting; /* for the name */
	struct dial *link;
	void (*done)(struct dial *, int fd); /* fd, or -1 with sys or why */
};

/* Find the rule; -1 with the refusal recorded. */
int gate_rule(struct gate *g, const struct rein_addr *to, uint16_t port, struct name **ret_name,
	      uint32_t *why);
int dial_open(struct gate *g, struct rein_err *err); /* before confinement */
void dial_start(struct gate *g, struct dial *d);
void dial_cancel(struct dial *d);
void dial_tick(struct gate *g);

/* --- held first packets --- */
struct hold;
int hold_take(struct gate *g, const struct rein_addr *from, uint16_t from_port,
	      const struct rein_addr *to, uint16_t to_port, int *ret_rule, struct name **ret_name);
void hold_ready(struct gate *g, struct watch *w, uint32_t events);
void log_ready(struct gate *g, struct watch *w, uint32_t events);
void hold_tick(struct gate *g);
void hold_done(struct gate *g);

/* --- connections --- */
enum look {
	LOOK_FIRST = 0, /* nothing is known of it yet */
	LOOK_TLS,
	LOOK_SHAKE, /* both ends of an inspected connection get to know each other */
	LOOK_HEAD, /* of a request */
	LOOK_BODY,
	LOOK_ANSWER, /* an upgrade was asked for: what the server says decides */
	LOOK_AWAY,   /* carried as it is */
};

struct lane {
	uint8_t *buf;
	size_t at, n;  /* buf[at .. n) waits to be carried */
	size_t clear;  /* buf[at .. clear) may be */
	int pipe[2];
	size_t piped, pipe_size;
	uint64_t total;
	bool eof, shut;
	bool dry; /* nothing to read until an event says so */
};

struct flow {
	struct watch client, server;
	struct dial *dial;
	struct name *name; /* NULL: by address */
	struct rein_addr to;
	uint16_t port;
	int rule; /* -1: published, not judged */
	struct rein_net_host *host;
	struct lane up, down;
	struct rein_tlsio_conn *inner, *outer; /* looked into: the program's end, the server's */
	bool proven;			       /* the server is who it should be */
	bool secrets;	  /* some may be put in here */
	uint64_t kept_ns; /* the end of down.buf is kept back until then, at most; 0: it is not */
	enum look look;
	struct rein_http_body body;
	uint64_t look_ns; /* a head or hello must be whole by then; 0: nothing is pending */
	uint64_t until_ns; /* closing: gone by then */
	uint32_t requests;
	size_t head_seen, head_next; /* of a head that is not whole: searched so far; when it is read again */
	unsigned heard; /* bytes of the server's answer to an upgrade that are as in a yes */
	bool answered;	/* it is known what it is */
	bool replied;	/* the last request that was let through has been answered, at least in part */
	bool closing, dead;
	bool starved; /* waits for the bandwidth */
	bool busy;    /* has more to do at once */
	struct flow *prev, *next;
};

#define LANE_BUF (64u << 10)
/*
 * What may wait in a socket whose other end is on this machine, each way. Autotuning would let tens of
 * megabytes pile up in each: memory that no limit of the box counts, and that is long out of the
 * processor's caches when it is read. A stream or two have 72 % of loopback's throughput with the first,
 * and 50 from 256 KiB on; fifty keep all processors busy, and are faster with the second
 * (docs/benchmarks.md). The kernel doubles it, for its own needs.
 */
#define NEAR_QUEUE	(192 << 10)
#define NEAR_QUEUE_MANY (512 << 10)
#define NEAR_FEW	4

bool flow_few(const struct gate *g);
int flow_queue(const struct gate *g);
void flow_accept(struct gate *g, struct watch *w, uint32_t events);
void flow_relay(struct gate *g, int client, int server); /* published: as it is */
void flow_pump(struct gate *g, struct flow *f);
void flow_refuse(struct gate *g, struct flow *f, uint32_t why, const char *detail);
void flow_tick(struct gate *g);
void flow_again(struct gate *g); /* those that have more to do */
void flow_done(struct gate *g);
/* Judge what is in f->up; moves up.clear. */
void inspect(struct gate *g, struct flow *f);

/* --- inside TLS --- */
struct inside {
	const struct rein_tlsio_ops *ops;
	struct rein_tlsio *authority; /* NULL: nothing is looked into */
};

int inside_open(struct gate *g, struct rein_err *err); /* before confinement */
void inside_close(struct gate *g);
/* The whole of f->up is a hello that may be answered. */
void inside_begin(struct gate *g, struct flow *f);
bool inside_shake(struct gate *g, struct flow *f); /* true: done */
void inside_end(struct gate *g, struct flow *f);

/* --- secrets, in and out --- */
int inject_open(struct gate *g, struct rein_err *err);
void inject_close(struct gate *g);
bool inject_here(const struct gate *g, const struct flow *f); /* some are for this host and port */
/* Into a head that may be sent. The name of one that is where it must not be; NULL: all is well. */
const char *inject(const struct gate *g, const struct flow *f, char *head, size_t n);
void inject_mask(struct gate *g, struct flow *f); /* out of f->down; moves down.clear */
void inject_let_go(struct flow *f);		  /* what was kept back */

/* --- names for the box --- */
struct dns_service {
	struct dns_request *list;
	struct dns_conn *open;
	unsigned requests, conns;
};
void dns_done(struct gate *g);
void dns_udp_ready(struct gate *g, struct watch *w, uint32_t events);
void dns_tcp_ready(struct gate *g, struct watch *w, uint32_t events);

/* --- ports of the host that lead inside --- */
void publish_ready(struct gate *g, struct watch *w, uint32_t events);
void publish_made(struct gate *g, struct watch *w, uint32_t events);
void publish_done(struct gate *g);

struct gate {
	const struct rein_gate_config *config;
	const struct rein_net_rule *rules;
	size_t nrules;
	const struct rein_net_credential *credentials;
	size_t ncredentials;
	struct rein_credential_forms *forms; /* of each */
	int epoll;
	int spare; /* given up when there is no other left */
	uint64_t now_ns;
	struct watch control;
	struct watch sockets[REIN_NETFD__MAX];
	struct watch published[2 * REIN_NET_PUBLISH];
	uint16_t inside[2 * REIN_NET_PUBLISH];
	size_t npublished;
	struct published *asked; /* waiting for a socket made inside, first in first out */
	struct published *joining; /* they have it, and it is being connected */
	unsigned njoining;
	bool held, six;
	struct names names;
	struct resolver resolver;
	struct book book;
	struct dns_service dns;
	struct meters total;
	struct meters *meters; /* one a rule */
	struct inside tls;
	uint64_t rate_left, rate_ns;
	int routes; /* the kernel is asked here */
	uint32_t asked_routes;
	struct dial *dials;
	struct hold *holds;
	unsigned nholds;
	struct flow *flows;
	unsigned nflows, max_flows;
	bool starved, busy, keeping; /* some flow is */
	void **garbage; /* freed when the round is over: events may still point at it */
	size_t ngarbage, garbage_cap;
	bool ended;
};

void gate_watch(struct gate *g, struct watch *w, int fd, uint32_t events,
		void (*ready)(struct gate *, struct watch *, uint32_t));
void gate_close(struct gate *g, struct watch *w);   /* and its descriptor */
int gate_release(struct gate *g, struct watch *w);  /* give the descriptor away */
/* The next connection, or -1: none now. One for which no descriptor is left is turned away [G4]. */
int gate_accept(struct gate *g, const struct watch *w, struct sockaddr_storage *peer);
void gate_free(struct gate *g, void *p);	    /* at the end of the round */

/* How many of `want` bytes may pass now. 0 and *over: never; 0 alone: later. */
size_t meter_allow(struct gate *g, int rule, bool up, size_t want, bool *over);
void meter_count(struct gate *g, int rule, bool up, size_t n);

/* The whole of it, until rein closes the control connection. config was checked. */
int gate_run(const struct rein_gate_config *config, int control, struct rein_err *err);
/* Give up what is not needed; after this no file can be opened. */
int gate_confine(struct rein_err *err);
bool gate_config_valid(const void *memory, size_t size);

#endif
