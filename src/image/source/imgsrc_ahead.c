/*
 * imgsrc_ahead.c - opening and reading files ahead of use
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * File number k uses slot k modulo WINDOW.  Threads claim files in order.  They
 * wait while the slot is in use, or while BUDGET bytes have been read ahead,
 * unless the file is the next one to be used, so the consumer always makes
 * progress.
 *
 * Waking a thread costs more than reading a small file.  Therefore the consumer
 * wakes waiting threads only after every BATCH files, and when it has to wait
 * itself.
 */
#include "imgsrc_ahead.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <stdbool.h>

enum { WINDOW = 512, BATCH = 64, READERS_MAX = 64 };

#define BUDGET (UINT64_C(16) << 20)

struct imgsrc_ahead {
	struct imgsrc_ahead_options o;
	pthread_mutex_t lock;
	pthread_cond_t ready, room;
	struct {
		struct imgsrc_ahead_file file;
		bool done;
	} slots[WINDOW];
	size_t claimed, taken;		/* files so far */
	uint64_t bytes;			/* bytes read ahead */
	bool stop;
	pthread_t threads[READERS_MAX];
	unsigned started;
};

/* Opens a file, and reads it unless it is large. */
static void
open_ahead(const struct imgsrc_ahead *a, const char *path, uint64_t size,
    struct imgsrc_ahead_file *f)
{
	struct stat st;
	ssize_t n;

	*f = (struct imgsrc_ahead_file){ .fd = tree_open(a->o.root, path, 0) };
	if (f->fd < 0) {
		f->rc = f->fd;
		return;
	}
	f->rc = sys_fstat(f->fd, &f->st);
	if (f->rc != 0)
		goto close;
	if (!S_ISREG(f->st.st_mode) || (uint64_t)f->st.st_size != size) {
		f->rc = -EAGAIN;
		goto close;
	}
	if (size >= a->o.small)
		return;
	f->data = sys_malloc((size_t)size);
	n = f->data == NULL ? -ENOMEM :
	    fdio_pread(f->fd, f->data, (size_t)size, 0);
	/* checked after the last byte has been read */
	if (n < 0)
		f->rc = (int)n;
	else if ((uint64_t)n < size || sys_fstat(f->fd, &st) != 0 ||
	    st.st_size != f->st.st_size ||
	    st.st_mtim.tv_sec != f->st.st_mtim.tv_sec ||
	    st.st_mtim.tv_nsec != f->st.st_mtim.tv_nsec)
		f->rc = -EAGAIN;
	if (f->rc != 0) {
		sys_free(f->data);
		f->data = NULL;
	}
close:
	sys_close(f->fd);
	f->fd = -1;
}

static void
drop_file(struct imgsrc_ahead_file *f)
{
	if (f->fd >= 0)
		sys_close(f->fd);
	sys_free(f->data);
	*f = (struct imgsrc_ahead_file){ .fd = -1 };
}

static void *
read_ahead(void *arg)
{
	struct imgsrc_ahead *a = arg;
	struct imgsrc_ahead_file file;
	char *path = NULL;
	size_t room = 0, i;
	uint64_t size;

	pthread_mutex_lock(&a->lock);
	while (a->claimed < a->o.count && !a->stop) {
		i = a->claimed++;
		while (!a->stop && (i >= a->taken + WINDOW - 1 ||
		    (i > a->taken && a->bytes > BUDGET)))
			pthread_cond_wait(&a->room, &a->lock);
		if (a->stop)
			break;
		pthread_mutex_unlock(&a->lock);
		file = (struct imgsrc_ahead_file){ .fd = -1,
			.rc = a->o.path(a->o.arg, i, &path, &room, &size) };
		if (file.rc == 0)
			open_ahead(a, path, size, &file);
		pthread_mutex_lock(&a->lock);
		a->bytes += file.data != NULL ? size : 0;
		a->slots[i % WINDOW].file = file;
		a->slots[i % WINDOW].done = true;
		if (i == a->taken)
			pthread_cond_signal(&a->ready);
	}
	pthread_mutex_unlock(&a->lock);
	sys_free(path);
	return NULL;
}

int
imgsrc_ahead_open(struct imgsrc_ahead **out,
    const struct imgsrc_ahead_options *o)
{
	struct imgsrc_ahead *a = sys_calloc(1, sizeof(*a));
	int rc = 0;

	if (a == NULL)
		return -ENOMEM;
	a->o = *o;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->ready, NULL);
	pthread_cond_init(&a->room, NULL);
	for (size_t i = 0; i < WINDOW; i++)
		a->slots[i].file.fd = -1;
	while (rc == 0 && a->started < o->threads &&
	    a->started < READERS_MAX) {
		rc = sys_thread(&a->threads[a->started], read_ahead, a);
		a->started += rc == 0;
	}
	*out = a;
	return a->started > 0 ? 0 : rc;
}

void
imgsrc_ahead_close(struct imgsrc_ahead *a)
{
	if (a == NULL)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->room);
	pthread_mutex_unlock(&a->lock);
	while (a->started > 0)
		pthread_join(a->threads[--a->started], NULL);
	for (size_t i = 0; i < WINDOW; i++)
		drop_file(&a->slots[i].file);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->ready);
	pthread_cond_destroy(&a->room);
	sys_free(a);
}

const struct imgsrc_ahead_file *
imgsrc_ahead_take(struct imgsrc_ahead *a)
{
	struct imgsrc_ahead_file *f;
	size_t i;

	pthread_mutex_lock(&a->lock);
	if (a->taken > 0) {	/* the previous file is no longer needed */
		f = &a->slots[(a->taken - 1) % WINDOW].file;
		a->bytes -= f->data != NULL ? (uint64_t)f->st.st_size : 0;
		drop_file(f);
		a->slots[(a->taken - 1) % WINDOW].done = false;
	}
	i = a->taken;
	if (i % BATCH == 0 || !a->slots[i % WINDOW].done)
		pthread_cond_broadcast(&a->room);
	while (!a->slots[i % WINDOW].done)
		pthread_cond_wait(&a->ready, &a->lock);
	a->taken++;
	f = &a->slots[i % WINDOW].file;
	pthread_mutex_unlock(&a->lock);
	return f;
}
