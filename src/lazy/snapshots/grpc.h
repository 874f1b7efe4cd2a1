/*
 * grpc.h - a server for unary and server-streaming calls of gRPC
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: grpc/grpc, doc/PROTOCOL-HTTP2.md and doc/statuscodes.md; RFC 9113 is
 * libnghttp2's part.
 *
 * One thread does all input and output; others run the handler.  Limits: the
 * number of connections, of calls at a time in each of them, and the size of a
 * request.
 */
#ifndef COLDPRESS_LAZY_SNAPSHOTS_GRPC_H
#define COLDPRESS_LAZY_SNAPSHOTS_GRPC_H

#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

enum grpc_status {
	GRPC_OK = 0, GRPC_UNKNOWN = 2, GRPC_INVALID_ARGUMENT = 3,
	GRPC_NOT_FOUND = 5, GRPC_ALREADY_EXISTS = 6,
	GRPC_RESOURCE_EXHAUSTED = 8, GRPC_FAILED_PRECONDITION = 9,
	GRPC_UNIMPLEMENTED = 12, GRPC_INTERNAL = 13, GRPC_UNAVAILABLE = 14
};

enum { GRPC_MESSAGE = 512, GRPC_FRAME = 5 };

struct grpc_call {
	const char *path;		/* "/SERVICE/METHOD" */
	const uint8_t *request;
	size_t length;
	/* set by the handler */
	struct strbuf reply;		/* framed messages */
	enum grpc_status status;
	char message[GRPC_MESSAGE];	/* for people */
};

struct grpc_server {
	int listener;			/* a listening socket */
	int stop;			/* becomes readable when it should end */
	unsigned threads;
	unsigned timeout_s;		/* for calls that run then */
	/* Answers a call.  Called by any of the threads. */
	void (*handle)(void *arg, struct grpc_call *call);
	void *arg;
};

/*
 * Begins and ends a message of a reply; in between, the caller appends to
 * reply.  grpc_begin() returns what grpc_end() needs.
 */
size_t grpc_begin(struct strbuf *reply);
void grpc_end(struct strbuf *reply, size_t begun);

/*
 * Serves until stop is readable.  Returns 0; -ETIMEDOUT if calls then still run,
 * whose handlers may use anything until the process exits; or another -errno.
 */
int grpc_serve(const struct grpc_server *g);

#endif
