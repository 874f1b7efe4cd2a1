/*
 * http_server_impl.h - declarations shared by the parts of the test server
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_HTTP_SERVER_IMPL_H
#define COLDPRESS_HTTP_SERVER_IMPL_H

#include "http_server.h"

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>

enum { HEAD_MAX = 32 << 10, RANGES = 256, CONNECTIONS = 4096 };

struct server {
	int listener, stop[2];
	unsigned port;
	const char *dir;
	pthread_t thread;
	pthread_mutex_t lock;		/* protects the following */
	pthread_cond_t ended;
	enum server_mode mode;
	unsigned every;
	uint64_t requests;
	const char *token;		/* what /token answers, or NULL */
	SSL_CTX *tls;			/* for new connections, or NULL */
	unsigned delay_ms;		/* before their handshake */
	enum server_resets resets;	/* after it */
	unsigned connections;
	int fds[CONNECTIONS];		/* 0: none */
};

struct range {
	uint64_t first, last;
};

struct connection {
	struct server *s;
	int fd, slot;
	SSL *ssl;			/* or NULL */
};

struct request {
	struct server *s;
	struct connection *c;
	enum server_mode mode;
	uint64_t number;
	char path[1024], authorization[1024], if_range[128];
	bool head_only, has_range, only_manifests;
	struct range ranges[RANGES];
	size_t count;
	const char *data;		/* contents of the file */
	uint64_t size;
};

/* http_server_reply.c */

/* Replies.  Returns false when the connection is gone. */
bool server_answer(struct request *q);

/* http_server_request.c */

/* Reads a request.  Returns false if there is no request. */
bool server_receive(struct request *q, char head[HEAD_MAX]);

#endif
