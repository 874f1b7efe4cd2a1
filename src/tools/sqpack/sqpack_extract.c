/*
 * sqpack_extract.c - extracting the tree of an image to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_extract.h"

#include "base/parallel.h"
#include "base/sandbox.h"
#include "base/sys.h"
#include "walk/node.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRAIN = 64 };			/* names that a thread claims at a
					 * time */

/* Chooses the name of each inode: the first of its selected names. */
static int
choose_names(struct extract *x)
{
	size_t count = sq_count(x->i.m);
	struct sq_entry e;

	x->as = sys_malloc(count * sizeof(*x->as));
	x->made = sys_calloc(count, sizeof(*x->made));
	if (x->as == NULL || x->made == NULL)
		return -ENOMEM;
	memset(x->as, 0xff, count * sizeof(*x->as));
	for (uint32_t n = 0; n < count; n++) {
		if (x->i.wanted[n] == SQPACK_OUT)
			continue;
		sq_get(x->i.m, n, &e);
		if (x->as[e.first] == UINT32_MAX)
			x->as[e.first] = n;
	}
	atomic_store(&x->made[0], x->made_root ? MADE : WAS_THERE);
	return 0;
}

static bool
ended(const struct extract *x)
{
	return atomic_load(&x->err) != 0;
}

static void
make_dirs(struct extract *x)
{
	struct place p;
	struct sq_entry e;
	int rc;

	place_open(&p, x);
	for (size_t n = 1; n < sq_count(x->i.m) && !ended(x); n++) {
		if (x->i.wanted[n] == SQPACK_OUT)
			continue;
		sq_get(x->i.m, n, &e);
		if (!S_ISDIR(e.mode))
			continue;
		if (atomic_load(&x->made[e.parent]) == NOT_MADE)
			continue;
		rc = place_dir(&p, n, &e);
		if (rc != 0) {
			atomic_store(&x->made[n], NOT_MADE);
			extract_fail(&p, n, "", rc);
		}
	}
	place_close(&p);
}

/* Names without data, and files written by several threads */

static void
end_file(struct place *p, size_t n, const struct sq_entry *e)
{
	uint8_t made = atomic_load(&p->x->made[n]);
	int fd, rc;

	if (e->size > 0 && (made != MADE || extract_at_once(p->x, e)))
		return;
	fd = e->size == 0 ? place_file(p, n, e) : place_reopen(p, n, e);
	if (fd < 0) {
		extract_fail(p, n, "", fd);
		return;
	}
	place_finish(p, fd, n, e);
	rc = sys_close(fd);
	if (rc != 0) {
		atomic_store(&p->x->made[n], BROKEN);
		extract_fail(p, n, "", rc);
	}
}

static void
make_other(struct place *p, size_t n, const struct sq_entry *e)
{
	struct sqpack *s = p->x->i.p;
	bool device = S_ISBLK(e->mode) || S_ISCHR(e->mode);
	int rc;

	if (device && !p->x->owner) {
		pthread_mutex_lock(&p->x->lock);
		if (p->x->devices++ == 0)
			msg_warn(&s->msg, "%s/%s: device nodes are omitted: "
			    "only root can create them", s->o.directory,
			    place_path(p, n));
		pthread_mutex_unlock(&p->x->lock);
		return;
	}
	rc = place_other(p, n, e);
	if (rc != 0)
		extract_fail(p, n, "", rc);
}

static void
do_name(struct place *p, size_t n)
{
	struct extract *x = p->x;
	struct sq_entry e;

	if (x->i.wanted[n] != SQPACK_IN)
		return;
	sq_get(x->i.m, n, &e);
	if (S_ISDIR(e.mode) || !extract_is_first(x, n, &e))
		return;
	if (e.mode == 0 || e.lost ||
	    atomic_load(&x->made[e.parent]) == NOT_MADE)
		return;
	if (S_ISREG(e.mode))
		end_file(p, n, &e);
	else
		make_other(p, n, &e);
}

struct rest {
	struct extract *x;
	atomic_size_t next;
};

static void
do_names(void *arg, unsigned thread)
{
	struct rest *r = arg;
	size_t count = sq_count(r->x->i.m), from;
	struct place p;

	(void)thread;
	place_open(&p, r->x);
	while (!ended(r->x) &&
	    (from = atomic_fetch_add(&r->next, GRAIN)) < count)
		for (size_t n = from; n < from + GRAIN && n < count; n++)
			do_name(&p, n);
	place_close(&p);
}

static void
make_links(struct extract *x)
{
	struct place p, of;
	struct sq_entry e;
	int rc;

	place_open(&p, x);
	place_open(&of, x);
	for (size_t n = 1; n < sq_count(x->i.m) && !ended(x); n++) {
		if (x->i.wanted[n] != SQPACK_IN)
			continue;
		sq_get(x->i.m, n, &e);
		/* the failure to create it has been reported */
		if (S_ISDIR(e.mode) || extract_is_first(x, n, &e) ||
		    atomic_load(&x->made[e.parent]) == NOT_MADE ||
		    atomic_load(&x->made[x->as[e.first]]) != WHOLE)
			continue;
		rc = place_link(&p, &of, n, &e);
		if (rc != 0)
			extract_fail(&p, n, "", rc);
	}
	place_close(&p);
	place_close(&of);
}

/* Removes incomplete files. */
static void
drop_broken(struct extract *x)
{
	struct place p;
	struct sq_entry e;

	place_open(&p, x);
	for (size_t n = 1; n < sq_count(x->i.m); n++) {
		uint8_t made = atomic_load(&x->made[n]);

		if (made != MADE && made != BROKEN)
			continue;
		sq_get(x->i.m, n, &e);
		if (!S_ISDIR(e.mode))
			place_drop(&p, n, &e);
	}
	place_close(&p);
}

/*
 * Completes directories in reverse order, so that each comes after its
 * contents.
 */
static void
end_dirs(struct extract *x)
{
	struct place p;
	struct sq_entry e;
	int fd;

	place_open(&p, x);
	for (size_t n = sq_count(x->i.m); n-- > 0 && !ended(x);) {
		uint8_t made = atomic_load(&x->made[n]);

		sq_get(x->i.m, n, &e);
		if (!S_ISDIR(e.mode) || (made != MADE && (made != WAS_THERE ||
		    n == 0 || x->i.wanted[n] != SQPACK_IN)))
			continue;
		fd = place_enter(&p, n);
		if (fd < 0)
			extract_fail(&p, n, "", fd);
		else
			place_finish(&p, fd, n, &e);
	}
	place_close(&p);
}

static int
extract(struct extract *x)
{
	unsigned threads = x->i.p->o.data.threads;
	struct rest r = { .x = x };
	int rc = choose_names(x);

	if (rc != 0)
		return rc;
	make_dirs(x);
	rc = ended(x) ? 0 : extract_data(x, threads);
	if (rc != 0)
		return rc;
	parallel_run(threads, do_names, &r);
	drop_broken(x);
	make_links(x);
	end_dirs(x);
	if (x->devices > 1)
		msg_warn(&x->i.p->msg, "%llu device nodes were omitted",
		    (unsigned long long)x->devices);
	if (x->attributes > 1)
		msg_warn(&x->i.p->msg, "%llu attributes were omitted",
		    (unsigned long long)x->attributes);
	return 0;
}

int
sqpack_extract(struct sqpack *p)
{
	struct extract x = { .root = -1, .owner = geteuid() == 0 };
	bool confined;
	int rc = sqpack_image_open(&x.i, p);

	umask(077);
	pthread_mutex_init(&x.lock, NULL);
	if (rc == 0) {
		x.root = node_root(p->o.directory, 0700, &x.made_root);
		rc = x.root < 0 ? x.root : 0;
		if (rc != 0)
			msg_error(&p->msg, "%s: %s", p->o.directory,
			    strerror(-rc));
	}
	if (rc == 0) {
		sandbox_enter_making(x.root, NULL, 0, &confined);
		rc = extract(&x);
		if (rc != 0)
			msg_error(&p->msg, "%s: %s", p->o.source,
			    strerror(-rc));
		rc = rc != 0 ? rc : atomic_load(&x.err);
	}
	if (x.root >= 0)
		sys_close(x.root);
	sys_free(x.as);
	sys_free(x.made);
	pthread_mutex_destroy(&x.lock);
	sqpack_image_close(&x.i);
	return rc;
}
