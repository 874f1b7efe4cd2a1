/*
 * sink.c - the output end of a pipeline
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The sink is a queue of pieces to write: the pipeline's slots, and the sink's
 * own chunks for data that is not a slot's whole output.  The joiner fills one
 * chunk while the thread writes another.  The queue has room for every slot and
 * every chunk, so adding to it never blocks; only waiting for a free chunk
 * does.
 *
 * The thread also computes the checksum of queued chunks.  While there are
 * unchecked items, the thread owns the checksum; otherwise the joiner does.
 */
#include "sink.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 512 << 10, CHUNKS = 3, PIPE_SIZE = 1 << 20, PAGE = 4096 };

struct item {
	const uint8_t *data;
	size_t len;
	struct slot *slot;	/* slot to release, or NULL for a chunk */
	bool later;		/* the slot has yet to be finished */
	uint32_t slot_check;	/* checksum of a finished slot */
	const uint8_t *check;	/* data to checksum, or NULL; not cut by
				 * the window */
	size_t check_len;
	bool checked;		/* slot_check is the checksum of it */
};

struct sink {
	int fd;
	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t queued, written;
	struct item *queue;
	size_t size, head, count;	/* the queue's capacity, head and
					 * length */
	bool closing;
	int err;
	unsigned chunks_free;
	unsigned unchecked;		/* items in the queue */
	uint32_t check_value;		/* checksum so far */
	uint64_t write_ns;
	uint64_t check_cpu_ns, write_cpu_ns;
	int (*write)(void *arg, const uint8_t *data, size_t len);
	void *write_arg;		/* in place of fd; or NULL */
	bool sparse;			/* zeros become holes */
	uint64_t offset;		/* sparse: bytes passed over or written,
					 * and */
	bool in_hole;			/* whether they end with a hole */
	struct sink_owner owner;

	/* Used only by the joiner. */
	uint8_t *chunk[CHUNKS];
	unsigned current;		/* current chunk */
	size_t fill;			/* bytes in it */
	bool in_hand, took_slot;
	const struct sink_check *check;	/* NULL when none is requested */
	size_t check_from;		/* offset in the chunk */
	uint64_t bytes;
	uint64_t queued_B;		/* bytes queued so far */
	struct pipeline_window window;
};

int
sink_open(struct sink **out, const struct pipeline_params *params,
    const struct sink_owner *owner)
{
	struct sink *k = sys_calloc(1, sizeof(*k));
	struct stat st;

	if (k == NULL)
		return -ENOMEM;
	k->size = params->slots + CHUNKS;
	k->queue = sys_calloc(k->size, sizeof(*k->queue));
	if (k->queue == NULL) {
		sys_free(k);
		return -ENOMEM;
	}
	k->fd = params->out_fd;
	k->write = params->write;
	k->write_arg = params->write_arg;
	k->window = params->window;
	k->sparse = params->sparse;
	k->owner = *owner;
	k->chunks_free = CHUNKS;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->queued, NULL);
	pthread_cond_init(&k->written, NULL);
	if (k->fd >= 0 && fstat(k->fd, &st) == 0 && S_ISFIFO(st.st_mode))
		fcntl(k->fd, F_SETPIPE_SZ, PIPE_SIZE);
	*out = k;
	return 0;
}

static bool
is_zero(const uint8_t *p, size_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

/* Writes bytes, but passes over whole pages of zeros. */
static int
write_sparse(struct sink *k, const uint8_t *p, size_t len)
{
	size_t n, part;
	bool hole;
	int rc = 0;

	for (; rc == 0 && len > 0; p += n, len -= n) {
		/* as many pages as are alike */
		for (n = 0, hole = false; n < len; n += part) {
			part = PAGE - (size_t)((k->offset + n) % PAGE);
			if (part > len - n)
				part = len - n;
			if (n == 0)
				hole = part == PAGE && is_zero(p, part);
			else if (hole != (part == PAGE &&
			    is_zero(p + n, part)))
				break;
		}
		if (hole) {
			off_t at = sys_lseek(k->fd, (off_t)n, SEEK_CUR);

			rc = at < 0 ? (int)at : 0;
		} else {
			rc = fdio_write(k->fd, p, n);
		}
		k->offset += n;
		k->in_hole = hole;
	}
	return rc;
}

/* Gives the file its length, if it ends with a hole. */
static int
end_sparse(const struct sink *k)
{
	off_t at;

	if (!k->in_hole)
		return 0;
	at = sys_lseek(k->fd, 0, SEEK_CUR);
	return at < 0 ? (int)at : sys_ftruncate(k->fd, at);
}

/* Writes the oldest item; after an error, only releases it. */
static void
write_one(struct sink *k)
{
	struct item it = k->queue[k->head];
	int before = k->err, rc = before;
	uint64_t cpu0 = sys_cpu_ns(), cpu1;

	pthread_mutex_unlock(&k->lock);
	if (it.checked)
		k->check_value = (uint32_t)k->check->combine(k->check_value,
		    it.slot_check, (off_t)it.check_len);
	else if (it.check != NULL)
		k->check_value = k->check->add(k->check_value, it.check,
		    it.check_len);
	cpu1 = sys_cpu_ns();
	k->check_cpu_ns += cpu1 - cpu0;
	if (rc == 0 && (k->fd >= 0 || k->write != NULL)) {
		uint64_t t0 = sys_now_ns();

		if (k->write != NULL)
			rc = k->write(k->write_arg, it.data, it.len);
		else
			rc = k->sparse ? write_sparse(k, it.data, it.len) :
			    fdio_write(k->fd, it.data, it.len);
		k->write_ns += sys_now_ns() - t0;
		k->write_cpu_ns += sys_cpu_ns() - cpu1;
	}
	if (it.slot != NULL)
		pipeline_release(it.slot);
	pthread_mutex_lock(&k->lock);
	k->head = (k->head + 1) % k->size;
	k->count--;
	k->err = rc;
	k->chunks_free += it.slot == NULL;
	k->unchecked -= it.check != NULL;
	pthread_cond_signal(&k->written);
	if (rc != 0 && before == 0) {
		pthread_mutex_unlock(&k->lock);
		k->owner.failed(k->owner.arg);
		pthread_mutex_lock(&k->lock);
	}
}

static void *
write_queue(void *arg)
{
	struct sink *k = arg;

	pthread_mutex_lock(&k->lock);
	for (;;) {
		while (k->count == 0 ? !k->closing : k->queue[k->head].later)
			pthread_cond_wait(&k->queued, &k->lock);
		if (k->count == 0)
			break;
		write_one(k);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

int
sink_start(struct sink *k)
{
	int rc = sys_thread(&k->thread, write_queue, k);

	k->threaded = rc == 0;
	return rc;
}

bool
sink_enough(const struct sink *k)
{
	const struct pipeline_window *w = &k->window;

	return w->stop && w->len != 0 && k->bytes >= w->skip &&
	    k->bytes - w->skip >= w->len;
}

static int
enqueue(struct sink *k, struct item it)
{
	const struct pipeline_window *w = &k->window;
	uint64_t at = k->queued_B, skip = at < w->skip ? w->skip - at : 0;
	int rc;

	/* trim it to the part inside the window, which may be empty */
	k->queued_B += it.len;
	if (skip > it.len)
		skip = it.len;
	it.data += skip;
	it.len -= (size_t)skip;
	at += skip;
	if (it.len > 0 && w->len != 0 && at + it.len - w->skip > w->len)
		it.len = at - w->skip < w->len ?
		    (size_t)(w->len - (at - w->skip)) : 0;
	pthread_mutex_lock(&k->lock);
	k->queue[(k->head + k->count) % k->size] = it;
	k->count++;
	k->chunks_free -= it.slot == NULL;
	k->unchecked += it.check != NULL;
	if (k->threaded)
		pthread_cond_signal(&k->queued);
	else
		write_one(k);
	rc = k->err;
	pthread_mutex_unlock(&k->lock);
	return rc;
}

void
sink_finished(struct sink *k, struct slot *s, uint32_t check)
{
	size_t i;

	pthread_mutex_lock(&k->lock);
	/* at the head may be an item whose slot has been reused already */
	for (i = k->head; !k->queue[i].later || k->queue[i].slot != s;)
		i = (i + 1) % k->size;
	k->queue[i].slot_check = check;
	k->queue[i].later = false;
	if (i == k->head)
		pthread_cond_signal(&k->queued);
	pthread_mutex_unlock(&k->lock);
}

int
sink_flush(struct sink *k)
{
	struct item it = { .data = k->chunk[k->current], .len = k->fill };

	if (!k->in_hand || k->fill == 0)
		return sink_error(k);
	if (k->check != NULL && k->fill > k->check_from) {
		it.check = it.data + k->check_from;
		it.check_len = k->fill - k->check_from;
	}
	k->in_hand = false;
	k->fill = k->check_from = 0;
	k->current = (k->current + 1) % CHUNKS;
	return enqueue(k, it);
}

uint8_t *
sink_space(struct sink *k, size_t *room, int *err)
{
	*err = k->in_hand && k->fill == CHUNK ? sink_flush(k) : 0;
	if (*err == 0 && sink_enough(k))
		*err = -ECANCELED;
	if (*err == 0 && !k->in_hand) {
		/* the next chunk, once it has been written */
		pthread_mutex_lock(&k->lock);
		while (k->chunks_free == 0)
			pthread_cond_wait(&k->written, &k->lock);
		*err = k->err;
		pthread_mutex_unlock(&k->lock);
		if (*err == 0 && k->chunk[k->current] == NULL) {
			k->chunk[k->current] = sys_malloc(CHUNK);
			if (k->chunk[k->current] == NULL)
				*err = -ENOMEM;
		}
		k->in_hand = *err == 0;
	}
	if (*err != 0)
		return NULL;
	*room = CHUNK - k->fill;
	return k->chunk[k->current] + k->fill;
}

void
sink_advance(struct sink *k, size_t n)
{
	k->fill += n;
	k->bytes += n;
}

void
sink_check_begin(struct sink *k, const struct sink_check *check,
    uint32_t start)
{
	k->check = check;
	k->check_value = start;
	k->check_from = k->fill;
}

uint32_t
sink_check_end(struct sink *k)
{
	uint32_t value;

	pthread_mutex_lock(&k->lock);
	while (k->unchecked > 0)
		pthread_cond_wait(&k->written, &k->lock);
	value = k->check_value;
	pthread_mutex_unlock(&k->lock);
	if (k->fill > k->check_from)
		value = k->check->add(value,
		    k->chunk[k->current] + k->check_from,
		    k->fill - k->check_from);
	k->check = NULL;
	return value;
}

int
sink_write(struct sink *k, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t room;
	int rc = 0;

	while (len > 0) {
		uint8_t *to = sink_space(k, &room, &rc);

		if (to == NULL)
			return rc;
		room = room < len ? room : len;
		memcpy(to, p, room);
		sink_advance(k, room);
		p += room;
		len -= room;
	}
	return 0;
}

int
sink_slot(struct sink *k, struct slot *s)
{
	int rc = sink_flush(k);

	if (rc != 0 || s->out.len == 0)
		return rc;
	k->took_slot = true;
	k->bytes += s->out.len;
	return enqueue(k, (struct item){ .data = s->out.data,
	    .len = s->out.len, .slot = s });
}

int
sink_join(void *job, struct slot *s, struct sink *out)
{
	(void)job;
	return sink_slot(out, s);
}

int
sink_slot_later(struct sink *k, struct slot *s)
{
	int rc = sink_flush(k);

	if (rc != 0 || s->out.len == 0)
		return rc;
	k->took_slot = true;
	k->bytes += s->out.len;
	rc = enqueue(k, (struct item){ .data = s->out.data,
	    .len = s->out.len, .slot = s, .later = true, .checked = true,
	    .check = s->out.data, .check_len = s->out.len });
	k->owner.later(k->owner.arg, s);
	return rc;
}

bool
sink_took_slot(struct sink *k)
{
	bool took = k->took_slot;

	k->took_slot = false;
	return took;
}

uint64_t
sink_bytes(const struct sink *k)
{
	return k->bytes;
}

int
sink_error(struct sink *k)
{
	int rc;

	pthread_mutex_lock(&k->lock);
	rc = k->err;
	pthread_mutex_unlock(&k->lock);
	return rc;
}

int
sink_close(struct sink *k, bool failed, struct pipeline_stats *stats)
{
	int rc = failed ? 0 : sink_flush(k);

	pthread_mutex_lock(&k->lock);
	k->closing = true;
	pthread_cond_signal(&k->queued);
	pthread_mutex_unlock(&k->lock);
	if (k->threaded)
		pthread_join(k->thread, NULL);
	rc = k->err != 0 ? k->err : rc;
	if (rc == 0)
		rc = end_sparse(k);
	stats->out_bytes += k->bytes;
	stats->stall_out_ns += k->write_ns;
	stats->check_cpu_ns += k->check_cpu_ns;
	stats->write_cpu_ns += k->write_cpu_ns;
	for (int i = 0; i < CHUNKS; i++)
		sys_free(k->chunk[i]);
	pthread_cond_destroy(&k->queued);
	pthread_cond_destroy(&k->written);
	pthread_mutex_destroy(&k->lock);
	sys_free(k->queue);
	sys_free(k);
	return rc;
}
