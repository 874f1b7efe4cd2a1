/*
 * layermount_metrics.c - what a server says of itself
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * To Prometheus and health checks at a Unix socket (--metrics), and to
 * `layermount --status` in an extended attribute of the mount's root, which
 * needs no other way to find the server, and which only its user and root get.
 */
#include "layermount.h"

#include "base/quote.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFIX "coldpress_layermount_"

enum { BACKLOG = 32, STATUS_ROOM = 48 << 10 };

/* The socket */

int
layermount_listen(struct layermount *m, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const struct sockaddr *to = (const struct sockaddr *)&a;
	int fd, rc;
	mode_t mask;

	if (strlen(path) >= sizeof(a.sun_path)) {
		layermount_fail(m, path, strerror(ENAMETOOLONG));
		return -1;
	}
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd != -1 && connect(fd, to, sizeof(a)) == 0) {
		sys_close(fd);
		layermount_fail(m, path, "another process serves this socket");
		return -1;
	}
	if (fd != -1 && errno == ECONNREFUSED)
		(void)unlink(path);
	mask = umask(0177);
	rc = fd == -1 || bind(fd, to, sizeof(a)) == -1 || listen(fd,
	    BACKLOG) == -1 ? errno : 0;
	umask(mask);
	if (rc == 0)
		return fd;
	layermount_fail(m, path, strerror(rc));
	if (fd != -1)
		sys_close(fd);
	return -1;
}

/* Metrics */

static const char *const phases[HTTP_PHASES] = {
	[HTTP_INDEX] = "index", [HTTP_READ] = "read",
	[HTTP_PREFETCH] = "prefetch", [HTTP_BACKGROUND] = "background"
};

static void
one(struct strbuf *b, const char *name, enum metrics_type type, uint64_t n,
    const char *help)
{
	metrics_describe(b, name, type, help);
	metrics_sample(b, name, NULL, NULL, n);
}

/* A counter of each phase; at is its offset in struct http_counts. */
static void
phased(struct strbuf *b, const char *name, const struct stats *s, size_t at,
    const char *help)
{
	metrics_describe(b, name, METRICS_COUNTER, help);
	for (int i = 0; i < HTTP_PHASES; i++) {
		uint64_t n;

		memcpy(&n, (const char *)&s->phases[i] + at, sizeof(n));
		metrics_sample(b, name, "phase", phases[i], n);
	}
}

static void
give_metrics(void *arg, struct strbuf *b)
{
	struct layermount *m = arg;
	const char *units = PREFIX "units_total";
	struct stats s;

	stats_gather(m, &s);
	metrics_describe(b, PREFIX "info", METRICS_GAUGE, "Always 1.");
	metrics_sample(b, PREFIX "info", "version", COLDPRESS_VERSION, 1);
	one(b, PREFIX "healthy", METRICS_GAUGE, !s.vfs.failing,
	    "Whether the last attempt to fetch data succeeded.");
	one(b, PREFIX "uptime_seconds", METRICS_GAUGE, (uint64_t)s.elapsed_s,
	    "Time since the start.");
	one(b, PREFIX "layers", METRICS_GAUGE, s.vfs.layers, "Open layers.");
	one(b, PREFIX "files", METRICS_GAUGE, s.vfs.files,
	    "Names in open layers.");
	one(b, PREFIX "layers_unloaded_total", METRICS_COUNTER,
	    s.vfs.unloaded, "Layers that a store has closed.");
	phased(b, PREFIX "requests_total", &s, offsetof(struct http_counts,
	    requests), "HTTP requests.");
	phased(b, PREFIX "request_retries_total", &s, offsetof(
	    struct http_counts, retries), "HTTP requests that were retries.");
	phased(b, PREFIX "bytes_fetched_total", &s, offsetof(
	    struct http_counts, wire), "Bytes received, with HTTP headers.");
	phased(b, PREFIX "bytes_useful_total", &s, offsetof(
	    struct http_counts, useful), "Bytes received that were needed.");
	one(b, PREFIX "reads_total", METRICS_COUNTER, s.vfs.reads,
	    "Reads by the kernel.");
	one(b, PREFIX "read_failures_total", METRICS_COUNTER, s.vfs.failures,
	    "Reads that failed.");
	one(b, PREFIX "bytes_read_total", METRICS_COUNTER, s.vfs.read_bytes,
	    "Bytes read by the kernel.");
	one(b, PREFIX "bytes_read_from_trace_total", METRICS_COUNTER,
	    s.vfs.trace_bytes, "Those read from traces.");
	one(b, PREFIX "bytes_pushed_total", METRICS_COUNTER, s.pushed_bytes,
	    "Bytes placed in the page cache without having been requested.");
	metrics_describe(b, units, METRICS_COUNTER,
	    "Units decoded, recognized without computing the digest again, "
	    "with a wrong digest, and not fetched.");
	metrics_sample(b, units, "result", "decoded", s.vfs.units.decoded);
	metrics_sample(b, units, "result", "known", s.vfs.units.recognized);
	metrics_sample(b, units, "result", "wrong", s.vfs.units.wrong);
	metrics_sample(b, units, "result", "failed", s.vfs.units.failed);
	one(b, PREFIX "cache_bytes", METRICS_GAUGE, s.cache.used,
	    "Space that the cache uses, for all processes.");
	one(b, PREFIX "cache_limit_bytes", METRICS_GAUGE, s.cache.limit,
	    "Limit of the cache.");
	one(b, PREFIX "cache_hits_total", METRICS_COUNTER, s.cache.hits,
	    "Ranges found in the cache.");
	one(b, PREFIX "cache_misses_total", METRICS_COUNTER, s.cache.misses,
	    "Ranges not found in the cache.");
	one(b, PREFIX "cache_bytes_read_total", METRICS_COUNTER,
	    s.cache.hit_bytes, "Bytes read from the cache.");
	one(b, PREFIX "cache_bytes_stored_total", METRICS_COUNTER,
	    s.cache.stored_bytes, "Bytes stored in the cache.");
	one(b, PREFIX "cache_bytes_evicted_total", METRICS_COUNTER,
	    s.cache.evicted_bytes, "Bytes evicted, by this process.");
	one(b, PREFIX "cache_failures_total", METRICS_COUNTER,
	    s.cache.failures, "Ranges that could not be stored.");
	one(b, PREFIX "resident_memory_max_bytes", METRICS_GAUGE,
	    s.maxrss_KiB << 10, "Peak memory.");
}

static bool
give_health(void *arg, struct strbuf *b)
{
	struct layermount *m = arg;
	struct stats s;

	stats_gather(m, &s);
	if (!s.vfs.failing) {
		strbuf_str(b, "ok\n");
		return true;
	}
	pthread_mutex_lock(&m->message);
	strbuf_fmt(b, "data cannot be fetched: %s\n", m->last_message);
	pthread_mutex_unlock(&m->message);
	return false;
}

int
layermount_open_metrics(struct layermount *m)
{
	if (m->o.metrics == NULL)
		return 0;
	m->metrics_fd = layermount_listen(m, m->o.metrics);
	return m->metrics_fd < 0 ? -EIO : 0;
}

int
layermount_start_metrics(struct layermount *m)
{
	const struct metrics_pages pages = { .text = give_metrics,
		.health = give_health, .arg = m };

	return m->metrics_fd < 0 ? 0 : metrics_start(&m->metrics,
	    m->metrics_fd, &pages);
}

/* Status */

/* The list of layers, as far as there is room. */
struct list {
	struct strbuf *b;
	size_t count, left_out;
};

static void
add_layer(void *arg, const char *name, const struct layer *layer)
{
	struct list *l = arg;

	if (l->b->len > STATUS_ROOM - strlen(name)) {
		l->left_out++;
		return;
	}
	strbuf_str(l->b, l->count++ == 0 ? "{\"name\":" : ",{\"name\":");
	quote_json(l->b, name);
	strbuf_fmt(l->b, ",\"format\":\"%s\",\"index_B\":%llu}",
	    layer_kind_name(layer_kind(layer)),
	    (unsigned long long)layer_index_bytes(layer));
}

void
layermount_status_json(struct layermount *m, struct strbuf *b)
{
	struct list l = { .b = b };
	struct stats s;
	size_t i = 0;

	stats_gather(m, &s);
	strbuf_fmt(b, "\"pid\":%ld,\"version\":\"%s\",\"kind\":\"%s\","
	    "\"elapsed_s\":%.3f,\"healthy\":%s,\"images\":[", (long)getpid(),
	    COLDPRESS_VERSION, m->store != NULL ? "store" : "mount",
	    s.elapsed_s, s.vfs.failing ? "false" : "true");
	for (; i < (size_t)m->o.operand_count && m->store == NULL &&
	    b->len + strlen(m->o.operands[i]) < STATUS_ROOM / 2; i++) {
		if (i > 0)
			strbuf_char(b, ',');
		quote_json(b, m->o.operands[i]);
	}
	strbuf_str(b, "],\"layers\":[");
	if (m->store != NULL)
		vfs_store_list(m->store, add_layer, &l);
	for (i = 0; m->store == NULL && i < m->stack.source_count; i++)
		add_layer(&l, m->stack.sources[i]->name,
		    m->stack.sources[i]->layer);
	strbuf_fmt(b, "],\"layers_left_out\":%zu,\"cache\":{\"directory\":",
	    l.left_out);
	if (m->cache_path == NULL)
		strbuf_str(b, "null");
	else
		quote_json(b, m->cache_path);
	strbuf_fmt(b, ",\"used_B\":%llu,\"limit_B\":%llu,\"hits\":%llu,"
	    "\"hit_B\":%llu,\"misses\":%llu,\"stored_B\":%llu,"
	    "\"evicted_B\":%llu,\"failures\":%llu},\"counts\":{",
	    (unsigned long long)s.cache.used,
	    (unsigned long long)s.cache.limit,
	    (unsigned long long)s.cache.hits,
	    (unsigned long long)s.cache.hit_bytes,
	    (unsigned long long)s.cache.misses,
	    (unsigned long long)s.cache.stored_bytes,
	    (unsigned long long)s.cache.evicted_bytes,
	    (unsigned long long)s.cache.failures);
	stats_json(&s, b);
	strbuf_str(b, "},\"last_message\":");
	pthread_mutex_lock(&m->message);
	if (*m->last_message == '\0') {
		strbuf_str(b, "null");
	} else {
		strbuf_fmt(b, "{\"time_s\":%lld,\"text\":",
		    (long long)m->last_message_s);
		quote_json(b, m->last_message);
		strbuf_char(b, '}');
	}
	pthread_mutex_unlock(&m->message);
}
