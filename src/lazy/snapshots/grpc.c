/*
 * grpc.c - a server for unary and server-streaming calls of gRPC
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A call belongs to the thread of the connections until the request is complete,
 * then, in a queue, to one of the other threads, and again to the first when it
 * is done.  If its stream or its connection ends meanwhile, its stream's number
 * becomes 0, and it is freed when it is done: the handler finishes what it has
 * begun in any case.
 */
#include "grpc.h"

#include "base/sys.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 64, CALLS_MAX = 128, THREADS_MAX = 64,
	PATH_SIZE = 128,
	REQUEST_MAX = 4 << 20,		/* bytes of a message, as in gRPC */
	REQUESTS_MAX = 64 << 20,	/* bytes of all that are not answered */
	BUFFER = 16 << 10, PAUSE_MS = 100
};

struct call {
	struct call *next;		/* of its connection */
	struct call *queued;		/* next in a queue */
	struct conn *conn;		/* NULL once its stream has ended */
	int32_t stream;
	char path[PATH_SIZE];
	struct strbuf body;
	bool too_large;			/* what arrives is dropped */
	bool complete;			/* it is, or was, queued or refused */
	bool running;			/* it is queued, or answered by another
					 * thread */
	struct grpc_call c;
	size_t sent;			/* bytes of the reply */
};

struct conn {
	struct server *server;
	int fd;
	nghttp2_session *session;
	struct call *calls;
	bool broken;
	/* output that the socket has not taken */
	const uint8_t *left;
	size_t left_length;
};

struct server {
	const struct grpc_server *g;
	struct conn *conns[CONNECTIONS_MAX];
	size_t count;
	size_t running;			/* calls */
	size_t held;			/* bytes of requests */
	bool ending;

	pthread_t threads[THREADS_MAX];
	size_t thread_count;
	int done_event;
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t more;
	struct call *queue, **queue_end;
	struct call *done;
	bool stop;
};

/* Messages */

size_t
grpc_begin(struct strbuf *reply)
{
	static const char frame[GRPC_FRAME];

	strbuf_add(reply, frame, sizeof(frame));
	return reply->len;
}

void
grpc_end(struct strbuf *reply, size_t begun)
{
	size_t length;

	if (reply->failed)
		return;
	length = reply->len - begun;
	for (int i = 1; i <= 4; i++)
		reply->data[begun - (size_t)i] = (char)(length >>
		    (8 * (i - 1)));
}

/* Calls */

static void
drop_body(struct server *s, struct call *c)
{
	s->held -= c->body.len;
	strbuf_free(&c->body);
	c->body = (struct strbuf){ .len = 0 };
}

static void
call_free(struct server *s, struct call *c)
{
	drop_body(s, c);
	strbuf_free(&c->c.reply);
	sys_free(c);
}

/* Writes a message as a header: percent-encoded. */
static size_t
encode_message(char out[3 * GRPC_MESSAGE], const char *message)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = 0;

	for (; *message != '\0'; message++) {
		unsigned char c = (unsigned char)*message;

		if (c >= ' ' && c <= '~' && c != '%') {
			out[n++] = (char)c;
		} else {
			out[n++] = '%';
			out[n++] = digits[c >> 4];
			out[n++] = digits[c & 15];
		}
	}
	return n;
}

static nghttp2_nv
header(const char *name, const char *value, size_t length)
{
	/* nghttp2 copies them */
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name,
		(uint8_t *)(uintptr_t)value, strlen(name), length,
		NGHTTP2_NV_FLAG_NONE };
}

/* Submits the trailers, after a reply or, with the headers, instead of one. */
static int
submit_end(struct call *c, bool only)
{
	char status[8], message[3 * GRPC_MESSAGE];
	size_t length = encode_message(message, c->c.message), n = 0;
	int digits = snprintf(status, sizeof(status), "%d", (int)c->c.status);
	nghttp2_nv h[4];

	if (only) {
		h[n++] = header(":status", "200", 3);
		h[n++] = header("content-type", "application/grpc", 16);
	}
	h[n++] = header("grpc-status", status, (size_t)digits);
	if (length > 0)
		h[n++] = header("grpc-message", message, length);
	return only ? nghttp2_submit_response(c->conn->session, c->stream, h,
	    n, NULL) : nghttp2_submit_trailer(c->conn->session, c->stream, h,
	    n);
}

/* Gives nghttp2 a part of the reply. */
static ssize_t
read_reply(nghttp2_session *session, int32_t stream, uint8_t *buf,
    size_t size, uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct call *c = source->ptr;
	size_t left = c->c.reply.len - c->sent;

	(void)session;
	(void)stream;
	(void)arg;
	if (size > left)
		size = left;
	memcpy(buf, c->c.reply.data + c->sent, size);
	c->sent += size;
	if (c->sent == c->c.reply.len) {
		*flags |= NGHTTP2_DATA_FLAG_EOF |
		    NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (submit_end(c, false) != 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)size;
}

static int
submit_reply(struct call *c)
{
	const nghttp2_nv h[] = { header(":status", "200", 3),
		header("content-type", "application/grpc", 16) };
	nghttp2_data_provider data = { .source.ptr = c,
		.read_callback = read_reply };

	if (c->c.reply.failed) {
		c->c.status = GRPC_RESOURCE_EXHAUSTED;
		snprintf(c->c.message, sizeof(c->c.message), "%s",
		    strerror(ENOMEM));
	}
	if (c->c.status != GRPC_OK || c->c.reply.len == 0)
		return submit_end(c, true);
	return nghttp2_submit_response(c->conn->session, c->stream, h,
	    sizeof(h) / sizeof(*h), &data);
}

/* Answers a call without the handler. */
static int
refuse_call(struct call *c, enum grpc_status status, const char *why)
{
	c->complete = true;
	c->c.status = status;
	snprintf(c->c.message, sizeof(c->c.message), "%s", why);
	drop_body(c->conn->server, c);
	return submit_end(c, true);
}

/* The other threads */

static void *
run_calls(void *arg)
{
	struct server *s = arg;
	const uint64_t one = 1;
	struct call *c;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (s->queue == NULL && !s->stop)
			pthread_cond_wait(&s->more, &s->lock);
		c = s->queue;
		if (c == NULL)
			break;
		s->queue = c->queued;
		if (s->queue == NULL)
			s->queue_end = &s->queue;
		pthread_mutex_unlock(&s->lock);
		s->g->handle(s->g->arg, &c->c);
		pthread_mutex_lock(&s->lock);
		c->queued = s->done;
		s->done = c;
		(void)sys_write(s->done_event, &one, sizeof(one));
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Queues a call whose request is complete. */
static int
dispatch(struct call *c)
{
	struct server *s = c->conn->server;
	const uint8_t *frame = (const uint8_t *)c->body.data;
	uint64_t length = 0;

	if (c->too_large)
		return refuse_call(c, GRPC_RESOURCE_EXHAUSTED,
		    "the request is too large");
	if (c->body.failed)
		return refuse_call(c, GRPC_RESOURCE_EXHAUSTED,
		    strerror(ENOMEM));
	if (*c->path == '\0' || c->body.len < GRPC_FRAME)
		return refuse_call(c, GRPC_INTERNAL, "not a request of gRPC");
	for (int i = 1; i < GRPC_FRAME; i++)
		length = length << 8 | frame[i];
	if (frame[0] != 0)
		return refuse_call(c, GRPC_UNIMPLEMENTED,
		    "compressed requests are not supported");
	if (length != c->body.len - GRPC_FRAME)
		return refuse_call(c, GRPC_INTERNAL,
		    "expected one message in the request");
	c->c.path = c->path;
	c->c.request = frame + GRPC_FRAME;
	c->c.length = (size_t)length;
	c->complete = c->running = true;
	s->running++;
	pthread_mutex_lock(&s->lock);
	c->queued = NULL;
	*s->queue_end = c;
	s->queue_end = &c->queued;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Submits the replies of calls that are done. */
static void
finish_calls(struct server *s)
{
	struct call *c, *next;
	uint64_t count;

	(void)sys_read(s->done_event, &count, sizeof(count));
	pthread_mutex_lock(&s->lock);
	c = s->done;
	s->done = NULL;
	pthread_mutex_unlock(&s->lock);
	for (; c != NULL; c = next) {
		next = c->queued;
		c->running = false;
		s->running--;
		drop_body(s, c);
		if (c->conn == NULL)
			call_free(s, c);
		else if (submit_reply(c) != 0)
			c->conn->broken = true;
	}
}

/* Callbacks of nghttp2 */

static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *f, void *arg)
{
	struct conn *conn = arg;
	struct call *c;

	if (f->hd.type != NGHTTP2_HEADERS ||
	    f->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	c = sys_calloc(1, sizeof(*c));
	if (c == NULL)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	c->conn = conn;
	c->stream = f->hd.stream_id;
	c->next = conn->calls;
	conn->calls = c;
	return nghttp2_session_set_stream_user_data(session, c->stream, c) ==
	    0 ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int
on_header(nghttp2_session *session, const nghttp2_frame *f,
    const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t length, uint8_t flags, void *arg)
{
	struct call *c = nghttp2_session_get_stream_user_data(session,
	    f->hd.stream_id);

	(void)flags;
	(void)arg;
	if (c != NULL && name_length == 5 && memcmp(name, ":path", 5) == 0 &&
	    length < PATH_SIZE && memchr(value, '\0', length) == NULL) {
		memcpy(c->path, value, length);
		c->path[length] = '\0';
	}
	return 0;
}

static int
on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
    const uint8_t *data, size_t length, void *arg)
{
	struct call *c = nghttp2_session_get_stream_user_data(session, stream);
	struct conn *conn = arg;

	(void)flags;
	if (c == NULL || c->complete)
		return 0;
	/* the rest is read, too: not every client expects an early answer */
	if (c->body.len + length > REQUEST_MAX + GRPC_FRAME ||
	    conn->server->held + length > REQUESTS_MAX)
		c->too_large = true;
	if (c->too_large) {
		drop_body(conn->server, c);
		return 0;
	}
	strbuf_add(&c->body, data, length);
	if (!c->body.failed)
		conn->server->held += length;
	return 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *f, void *arg)
{
	struct call *c;

	(void)arg;
	if ((f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA) ||
	    (f->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
		return 0;
	c = nghttp2_session_get_stream_user_data(session, f->hd.stream_id);
	return c == NULL || c->complete || dispatch(c) == 0 ? 0 :
	    NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int
on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code,
    void *arg)
{
	struct call *c = nghttp2_session_get_stream_user_data(session, stream);
	struct conn *conn = arg;
	struct call **at = &conn->calls;

	(void)code;
	if (c == NULL)
		return 0;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->conn = NULL;
	if (!c->running)
		call_free(conn->server, c);
	return 0;
}

static int
open_session(struct conn *conn)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, CALLS_MAX },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, BUFFER },
	};
	nghttp2_session_callbacks *k;
	int rc = nghttp2_session_callbacks_new(&k);

	if (rc != 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(k,
	    on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(k, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(k, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(k, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(k,
	    on_stream_close);
	rc = nghttp2_session_server_new(&conn->session, k, conn);
	nghttp2_session_callbacks_del(k);
	if (rc == 0)
		rc = nghttp2_submit_settings(conn->session, NGHTTP2_FLAG_NONE,
		    settings, sizeof(settings) / sizeof(*settings));
	return rc == 0 ? 0 : -ENOMEM;
}

/* Connections */

static void
conn_free(struct conn *conn)
{
	struct call *c, *next;

	/* calls whose streams nghttp2 does not report as closed */
	for (c = conn->calls; c != NULL; c = next) {
		next = c->next;
		c->conn = NULL;
		if (!c->running)
			call_free(conn->server, c);
	}
	nghttp2_session_del(conn->session);
	sys_close(conn->fd);
	sys_free(conn);
}

static void
accept_conn(struct server *s)
{
	int fd = accept4(s->g->listener, NULL, NULL, SOCK_CLOEXEC |
	    SOCK_NONBLOCK);
	struct conn *conn;

	if (fd == -1)
		return;
	conn = s->count == CONNECTIONS_MAX ? NULL :
	    sys_calloc(1, sizeof(*conn));
	if (conn == NULL) {
		sys_close(fd);
		return;
	}
	conn->server = s;
	conn->fd = fd;
	if (open_session(conn) != 0) {
		conn_free(conn);
		return;
	}
	s->conns[s->count++] = conn;
}

static void
receive(struct conn *conn)
{
	uint8_t buf[BUFFER];
	ssize_t n = sys_read(conn->fd, buf, sizeof(buf));

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0 || nghttp2_session_mem_recv(conn->session, buf,
	    (size_t)n) != n)
		conn->broken = true;
}

/* Sends as much as the socket takes. */
static void
transmit(struct conn *conn)
{
	ssize_t n;

	while (!conn->broken) {
		if (conn->left_length == 0) {
			n = nghttp2_session_mem_send(conn->session,
			    &conn->left);
			if (n == 0)
				return;
			if (n < 0) {
				conn->broken = true;
				return;
			}
			conn->left_length = (size_t)n;
		}
		n = send(conn->fd, conn->left, conn->left_length,
		    MSG_NOSIGNAL);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n == -1) {
			conn->broken = true;
			return;
		}
		conn->left += n;
		conn->left_length -= (size_t)n;
	}
}

static bool
is_over(const struct conn *conn)
{
	return conn->broken || (conn->left_length == 0 &&
	    nghttp2_session_want_read(conn->session) == 0 &&
	    nghttp2_session_want_write(conn->session) == 0);
}

/* Serving */

static bool
has_output(const struct server *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->conns[i]->left_length > 0 ||
		    nghttp2_session_want_write(s->conns[i]->session) != 0)
			return true;
	return false;
}

/* Waits for something to do, and does it. */
static void
step(struct server *s, int timeout_ms)
{
	struct pollfd p[CONNECTIONS_MAX + 3];
	size_t count = s->count, kept = 0;

	p[0] = (struct pollfd){ .fd = s->done_event, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = s->ending ? -1 : s->g->listener,
		.events = POLLIN };
	p[2] = (struct pollfd){ .fd = s->ending ? -1 : s->g->stop,
		.events = POLLIN };
	for (size_t i = 0; i < count; i++)
		p[3 + i] = (struct pollfd){ .fd = s->conns[i]->fd,
			.events = (short)(POLLIN |
			    (s->conns[i]->left_length > 0 ? POLLOUT : 0)) };
	if (poll(p, 3 + count, timeout_ms) <= 0)
		return;
	for (size_t i = 0; i < count; i++)
		if ((p[3 + i].revents & ~POLLOUT) != 0)
			receive(s->conns[i]);
	if (p[0].revents != 0)
		finish_calls(s);
	for (size_t i = 0; i < count; i++) {
		struct conn *conn = s->conns[i];

		transmit(conn);
		if (is_over(conn))
			conn_free(conn);
		else
			s->conns[kept++] = conn;
	}
	s->count = kept;
	if (p[1].revents != 0)
		accept_conn(s);
	if (p[2].revents != 0)
		s->ending = true;
}

/* Finishes the calls that run, and refuses others. */
static int
drain(struct server *s)
{
	uint64_t end = sys_now_ns() + s->g->timeout_s * UINT64_C(1000000000);

	/* clients that are told to go would come back here at once */
	(void)shutdown(s->g->listener, SHUT_RDWR);
	for (size_t i = 0; i < s->count; i++) {
		(void)nghttp2_submit_goaway(s->conns[i]->session,
		    NGHTTP2_FLAG_NONE,
		    nghttp2_session_get_last_proc_stream_id(
		    s->conns[i]->session), NGHTTP2_NO_ERROR, NULL, 0);
		transmit(s->conns[i]);
	}
	while (s->running > 0 && sys_now_ns() < end)
		step(s, PAUSE_MS);
	if (s->running > 0)
		return -ETIMEDOUT;
	for (int i = 0; i < 10 && has_output(s); i++)
		step(s, PAUSE_MS);
	return 0;
}

static int
start_threads(struct server *s)
{
	int rc = 0;

	while (rc == 0 && s->thread_count < s->g->threads &&
	    s->thread_count < THREADS_MAX) {
		rc = sys_thread(&s->threads[s->thread_count], run_calls, s);
		s->thread_count += rc == 0;
	}
	return rc;
}

static void
stop_threads(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->more);
	pthread_mutex_unlock(&s->lock);
	while (s->thread_count > 0)
		pthread_join(s->threads[--s->thread_count], NULL);
}

int
grpc_serve(const struct grpc_server *g)
{
	struct server *s = sys_calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return -ENOMEM;
	s->g = g;
	s->queue_end = &s->queue;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	s->done_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = s->done_event == -1 ? -errno : start_threads(s);
	while (rc == 0 && !s->ending)
		step(s, -1);
	if (rc == 0)
		rc = drain(s);
	/* its threads use it, and the process is about to exit */
	if (rc == -ETIMEDOUT)
		return rc;
	stop_threads(s);
	while (s->count > 0)
		conn_free(s->conns[--s->count]);
	if (s->done_event >= 0)
		sys_close(s->done_event);
	pthread_cond_destroy(&s->more);
	pthread_mutex_destroy(&s->lock);
	sys_free(s);
	return rc;
}
