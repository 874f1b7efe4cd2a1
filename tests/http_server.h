/*
 * http_server.h - an HTTP server on loopback that misbehaves on request
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_HTTP_SERVER_H
#define COLDPRESS_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

/* The misbehaviour of a reply. */
enum server_mode {
	SERVER_GOOD,
	SERVER_DIES,		/* closes in the middle of the body */
	SERVER_IGNORES,		/* ignores ranges: 200 and everything */
	SERVER_SHORT,		/* half the range, with its length */
	SERVER_LONG,		/* more than the stated range */
	SERVER_FLIPS,		/* flips a bit of the body */
	SERVER_MOVES,		/* states and sends another range */
	SERVER_NO_RANGE,	/* 206 without Content-Range */
	SERVER_400, SERVER_416, SERVER_429, SERVER_500, SERVER_503, SERVER_404,
	SERVER_STALLS,		/* waits in the middle of the body */
	SERVER_SILENT,		/* accepts and reads, but never replies */
	SERVER_LOOPS,		/* redirects to the same URL */
	SERVER_REDIRECTS,	/* redirects to /moved, which works */
	SERVER_LEAVES,		/* redirects to a file: URL */
	SERVER_HANDS_ON,	/* requires user:password, redirects to /again,
				 * requires it again, and redirects to another
				 * name of itself, where it is refused */
	SERVER_DEMOTES,		/* redirects to http: */
	SERVER_CHANGES,		/* a different ETag each time */
	SERVER_ONE_RANGE,	/* 400 for several ranges */
	SERVER_WHOLE_FOR_MANY,	/* 200 for several ranges */
	SERVER_BAD_PARTS,	/* a multipart body without ranges */
	SERVER_GARBAGE,		/* not HTTP */
	SERVER_ENCODES,		/* states a Content-Encoding */
	SERVER_ENDLESS_HEAD,	/* endless header fields */
	SERVER_TOKEN,		/* requires a token from /token */
	SERVER_BASIC,		/* requires user:password */
	SERVER_VANISHES,	/* after a good reply, loses the connection
				 * silently; needs CAP_NET_ADMIN */
	SERVER_DEAF,		/* after a good reply, reads nothing more
				 * from the connection */
	SERVER_MODES
};

extern const char *const server_mode_names[SERVER_MODES];

struct server;

/* Serves a directory's files on 127.0.0.1, on any port. */
struct server *server_start(const char *dir);
void server_stop(struct server *s);
unsigned server_port(const struct server *s);

/* From now on, one in `every` replies misbehaves as specified by mode. */
void server_set(struct server *s, enum server_mode mode, unsigned every);

/*
 * Makes the server speak TLS, with the certificate and key in the file pem, or
 * plain HTTP again if pem is NULL.  Closes existing connections.
 */
void server_secure(struct server *s, const char *pem);

/*
 * After server_secure(), demands of each new connection that it shows this
 * certificate, or one that is signed with its key.
 */
void server_demand(struct server *s, const char *pem);

/* After server_secure(), names this certificate as an acceptable issuer. */
void server_accept(struct server *s, const char *pem);

/* After server_secure(), speaks no TLS later than 1.2. */
void server_limit_tls(struct server *s);

/*
 * From now on, resets each new connection after its TLS handshake, if that has
 * failed or in any case.
 */
enum server_resets {
	SERVER_RESETS_NONE, SERVER_RESETS_FAILED, SERVER_RESETS_ALL
};
void server_reset(struct server *s, enum server_resets which);

/* From now on, delays the TLS handshake of each new connection. */
void server_delay(struct server *s, unsigned ms);

/* From now on, /token answers this; NULL: a token that is accepted. */
void server_set_token(struct server *s, const char *json);

/* Returns the number of requests so far. */
uint64_t server_requests(struct server *s);

#endif
