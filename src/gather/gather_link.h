/* gather/gather_link.h - one recorder that is received from, over one connection after another.
 *
 *	         connect         HELLO          WELCOME         PIECE
 *	 WAITING -------> CONNECTING --> GREETED --> PROVED --> OPENED --> RECEIVING
 *	    ^                 |             |           |          |           |
 *	    +-- the connection breaks: try again after a pause ----+-----------+--> OVER
 *
 * The recorder is gone for good (OVER) when it has said END and closed, or when its port has
 * refused connections for some seconds. When nothing answers at all, the network is cut, and the
 * link tries again until wait_s has passed.
 * Nothing here waits. Threads: one.
 */
#ifndef GATHER_GATHER_LINK_H
#define GATHER_GATHER_LINK_H

#include <sys/socket.h>

#include "gather/received_file.h"

enum gather_link_state {
	GATHER_LINK_WAITING,
	GATHER_LINK_CONNECTING,
	GATHER_LINK_GREETED, /* connected; the recorder's HELLO comes next */
	GATHER_LINK_PROVED, /* our proof is sent; the recorder's proof comes next */
	GATHER_LINK_LISTED, /* we have asked what there is, or for a piece */
	GATHER_LINK_RECEIVING,
	GATHER_LINK_OVER,
};

/* What the user should learn, once each. */
enum gather_link_event {
	GATHER_LINK_NOTHING,
	GATHER_LINK_BEGAN, /* a new file */
	GATHER_LINK_BROKE, /* the connection; the link tries again */
	GATHER_LINK_CAME_BACK,
	GATHER_LINK_ENDED, /* the process ended, and all is here */
	GATHER_LINK_CUT, /* it was killed or is out of reach: what has arrived is here */
	GATHER_LINK_FAILED, /* refused, or we cannot write: err says why */
};

/* A host name may stand for several, of which one listens. */
#define GATHER_LINK_MAX_ADDRESSES 8
struct gather_address {
	struct sockaddr_storage address;
	socklen_t n_bytes;
};

struct gather_link_options {
	const char *folder;
	const char *token; /* "" for none */
	unsigned wait_s; /* for a recorder that does not answer */
};

struct gather_link {
	const struct gather_link_options *options;
	enum gather_link_state state;
	struct gather_address address[GATHER_LINK_MAX_ADDRESSES];
	unsigned n_addresses;
	unsigned at_address; /* the next one to be tried */
	int fd; /* -1: none */
	uint64_t since_ns; /* of the state */
	uint64_t heard_ns; /* the last frame */
	uint64_t lost_ns; /* since when there has been no connection; 0: there is one */
	unsigned n_refused; /* connections in a row that the port refused */
	struct stream_handshake handshake;
	struct stream_seal in, out;
	struct stream_process process; /* since it was listed: pid is not 0 */
	struct stream_piece piece;
	struct received_file file; /* stays open when the link is over */
	bool has_ended; /* the recorder has said so */
	uint64_t n_received; /* bytes of frames, over all connections */
	uint64_t n_shown; /* n_received when it was shown last: for the one who shows it */
	enum gather_link_event event;
	struct err err; /* for BROKE, CUT and FAILED: why */
	uint8_t *in_buf; /* owned */
	size_t n_in;
	uint8_t out_buf[512];
	size_t n_out, out_done;
};

/* options are borrowed. ERR_MEMORY. Nothing is sent before the first step. */
int gather_link_init(struct gather_link *l, const struct gather_link_options *options,
		     struct err *err);
void gather_link_fini(struct gather_link *l);

/* Adds an address at which the recorder may be; more than GATHER_LINK_MAX_ADDRESSES are left out. */
void gather_link_add_address(struct gather_link *l, const void *address, size_t n_bytes);

/* What to poll l->fd for; 0: nothing. */
short gather_link_wants(const struct gather_link *l);

/* Does what is possible at once. revents: what poll() said, 0 for nothing. */
void gather_link_step(struct gather_link *l, short revents, uint64_t now_ns);

/* The user wants no more. The file stays as it is. */
void gather_link_stop(struct gather_link *l);

/* For the fuzzer: takes a frame of the recorder as if it had come from the connection. */
int gather_link_take_frame(struct gather_link *l, const struct stream_frame *f, struct err *err);

#endif
