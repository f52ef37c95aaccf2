/* gather/gather_link.h - receives the recording of one recorder, over one connection after another.
 *
 * The recorder sends pieces (files of one process; rotation begins new ones), one after the other.
 * The states of the link, and the frames of the recorder that lead to the next (docs/STREAM.md):
 *
 *	         connected    HELLO       WELCOME     PIECE
 *	CONNECTING --> GREETED --> PROVED --> LISTED --> RECEIVING
 *	   ^                                     ^          |
 *	   |  after 1 s                          +----------+ PIECE_END: asks for the next piece
 *	WAITING  <-- from every state, when the connection breaks
 *	OVER     <-- from every state, see below
 *
 * The link is OVER, and does nothing any more:
 *   - when the recorder has sent END and the connection is closed,
 *   - when the port has refused 4 connections in a row, 1 s apart: the process is gone,
 *   - when there has been no connection for wait_s: the network is cut,
 *   - when trying again would not help: a wrong token, another version, a file that cannot be
 *     written.
 *
 * Nothing here waits: poll l->fd for gather_link_wants(), and call gather_link_step() when poll()
 * says so and at least a few times per second, since steps also notice that time has passed. After
 * each step l->event may say what happened; its reader sets it back to GATHER_LINK_NOTHING.
 * Threads: one.
 */
#ifndef GATHER_GATHER_LINK_H
#define GATHER_GATHER_LINK_H

#include <sys/socket.h>

#include "gather/received_file.h"

enum gather_link_state {
	GATHER_LINK_WAITING,
	GATHER_LINK_CONNECTING,
	GATHER_LINK_GREETED, /* connected; the recorder's HELLO comes next */
	GATHER_LINK_PROVED, /* PROOF (of the token) is sent; the recorder's WELCOME comes next */
	GATHER_LINK_LISTED, /* OPEN is sent: which pieces are there (PROCESS), or a piece (PIECE) */
	GATHER_LINK_RECEIVING,
	GATHER_LINK_OVER,
};

/* What the user should learn. */
enum gather_link_event {
	GATHER_LINK_NOTHING,
	GATHER_LINK_BEGAN, /* a piece: its file is created */
	GATHER_LINK_BROKE, /* the connection; the link tries again */
	GATHER_LINK_CAME_BACK, /* the connection; the file goes on */
	GATHER_LINK_ENDED, /* the link is over: the process ended, and the file is complete */
	GATHER_LINK_CUT, /* the link is over: the file has what had arrived, perhaps not all */
	GATHER_LINK_FAILED, /* the link is over: err says why */
};

/* A host name may have several addresses; the recorder listens at one of them. */
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
	uint64_t since_ns; /* when the state began */
	uint64_t heard_ns; /* when bytes arrived last */
	uint64_t lost_ns; /* since when nothing is received; 0: a piece is being received */
	unsigned n_refused; /* connections in a row that the port refused */
	struct stream_handshake handshake;
	struct stream_seal in, out;
	struct stream_process process; /* from PROCESS on; before, pid is 0 */
	struct stream_piece piece; /* the one that is received, or asked for */
	struct received_file file; /* of the piece; stays open when the link is over */
	bool has_ended; /* the recorder has sent END, and does not record again since (a failed exec) */
	uint64_t n_received; /* bytes, over all connections */
	uint64_t n_shown; /* private to gather_text.c: n_received when shown last */
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

/* Ends the link now: the user wants no more. The file keeps what has arrived. */
void gather_link_stop(struct gather_link *l);

/* For the fuzzer: takes a frame of the recorder as if it had come from the connection. */
int gather_link_take_frame(struct gather_link *l, const struct stream_frame *f, struct err *err);

#endif
