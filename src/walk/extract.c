/*
 * extract.c - extracting the entries of an archive below a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "extract_impl.h"

#include "base/parallel.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { GRAIN = 64 };			/* names that a thread claims at a
					 * time */

int
extract_open(struct extract **out, const struct extract_source *s,
    const struct extract_options *o)
{
	struct extract *x = sys_calloc(1, sizeof(*x));

	if (x == NULL)
		return -ENOMEM;
	x->s = s;
	x->o = *o;
	x->root_entry = EXTRACT_NONE;
	x->state = sys_calloc(s->count + 1, sizeof(*x->state));
	x->left = sys_calloc(s->count + 1, sizeof(*x->left));
	if (x->state == NULL || x->left == NULL) {
		extract_close(x);
		return -ENOMEM;
	}
	*out = x;
	return 0;
}

void
extract_close(struct extract *x)
{
	if (x == NULL)
		return;
	sys_free(x->state);
	sys_free(x->left);
	sys_free(x);
}

void
extract_expect(struct extract *x, size_t n)
{
	atomic_fetch_add(&x->left[n], 1);
}

static enum extract_state
state_of(const struct extract *x, size_t n)
{
	return atomic_load(&x->state[n]);
}

static bool
get_entry(const struct extract *x, size_t n, struct extract_entry *e)
{
	*e = (struct extract_entry){ .parent = EXTRACT_NONE, .file = n };
	return x->s->get(x->s->arg, n, e);
}

/* Errors */

/* Returns whether the error would also affect every later write. */
static bool
is_fatal(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EROFS ||
	    rc == -EIO || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

bool
extract_ended(const struct extract *x)
{
	return atomic_load(&x->err) != 0;
}

void
extract_end(struct extract *x, int rc)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&x->err, &none, rc))
		x->s->report(x->s->arg, EXTRACT_ERROR, NULL, strerror(-rc));
}

void
extract_report(struct extract_place *p, enum extract_level level, size_t n,
    const char *text)
{
	const struct extract_source *s = p->x->s;
	const char *path = s->path(s->arg, n, &p->text);

	s->report(s->arg, level, path == NULL ? "?" : path, text);
}

void
extract_fail(struct extract_place *p, size_t n, const char *what, int rc)
{
	char text[512];
	int none = 0;

	/* say only once why it ends */
	if (is_fatal(rc) &&
	    !atomic_compare_exchange_strong(&p->x->err, &none, rc))
		return;
	snprintf(text, sizeof(text), "%s%s", what, rc == -EBADMSG ? "" :
	    rc == -EEXIST ? "already exists (-f replaces it)" :
	    rc == -ESTALE ? "replaced during extraction" : strerror(-rc));
	extract_report(p, EXTRACT_ERROR, n, text);
}

/* Reports that an entry could not be created. */
static void
not_made(struct extract_place *p, size_t n, int rc)
{
	atomic_store(&p->x->state[n], EXTRACT_FAILED);
	extract_fail(p, n, "", rc);
}

/*
 * Returns whether an entry can be created in its parent, or reports why not,
 * unless the parent's own failure has been reported.
 */
static bool
has_parent(struct extract_place *p, size_t n, const struct extract_entry *e)
{
	size_t parent = e->parent;
	enum extract_state state;

	if (parent == EXTRACT_NONE || parent == n)
		return true;
	state = state_of(p->x, parent);
	if (state == EXTRACT_NEW_DIR || state == EXTRACT_OLD_DIR)
		return true;
	/* a directory that follows its contents */
	if (state == EXTRACT_NEW && parent > n && S_ISDIR(e->mode))
		return true;
	if (state != EXTRACT_FAILED)
		not_made(p, n, -ENOTDIR);
	atomic_store(&p->x->state[n], EXTRACT_FAILED);
	return false;
}

/* Names */

static void
make_dirs(struct extract *x)
{
	struct extract_place p;
	struct extract_entry e;
	int rc;

	extract_place_open(&p, x);
	for (size_t n = 0; n < x->s->count && !extract_ended(x); n++) {
		if (!get_entry(x, n, &e) || !S_ISDIR(e.mode) || e.file != n ||
		    !has_parent(&p, n, &e))
			continue;
		rc = extract_place_dir(&p, n);
		if (rc != 0)
			not_made(&p, n, rc);
	}
	extract_place_close(&p);
}

/* Ends the life of a descriptor for a file whose data is complete. */
static void
close_whole(struct extract_place *p, int fd, size_t n,
    const struct extract_entry *e)
{
	int rc;

	extract_place_finish(p, fd, n, e);
	atomic_store(&p->x->state[n], EXTRACT_WHOLE);
	rc = sys_close(fd);
	if (rc != 0)
		extract_file_break(p, n, "", rc);
}

static void
make_file(struct extract_place *p, size_t n, const struct extract_entry *e)
{
	int fd = extract_place_file(p, n, e);

	if (fd < 0)
		not_made(p, n, fd);
	else if (atomic_load(&p->x->left[n]) == 0)
		close_whole(p, fd, n, e);
	else
		sys_close(fd);
}

static void
make_other(struct extract_place *p, size_t n, const struct extract_entry *e)
{
	struct extract *x = p->x;
	int rc;

	if (e->form == EXTRACT_PLAIN && !x->o.owner &&
	    (S_ISBLK(e->mode) || S_ISCHR(e->mode))) {
		atomic_store(&x->state[n], EXTRACT_FAILED);
		if (atomic_fetch_add(&x->devices, 1) == 0)
			extract_report(p, EXTRACT_WARNING, n, "device nodes "
			    "are skipped: only root can create them");
		return;
	}
	rc = extract_place_other(p, n, e);
	if (rc != 0)
		not_made(p, n, rc);
	else
		atomic_store(&x->state[n], EXTRACT_WHOLE);
}

/* Creates a name, unless it is a file created together with its only piece. */
static void
make_name(struct extract_place *p, size_t n)
{
	struct extract_entry e;

	if (!get_entry(p->x, n, &e) || e.file != n || S_ISDIR(e.mode) ||
	    !has_parent(p, n, &e))
		return;
	if (!S_ISREG(e.mode) || e.form != EXTRACT_PLAIN)
		make_other(p, n, &e);
	else if (atomic_load(&p->x->left[n]) != 1)
		make_file(p, n, &e);
}

static void
make_names(void *arg, unsigned thread)
{
	struct extract *x = arg;
	struct extract_place p;
	size_t from;

	(void)thread;
	extract_place_open(&p, x);
	while (!extract_ended(x) &&
	    (from = atomic_fetch_add(&x->next, GRAIN)) < x->s->count)
		for (size_t n = from; n < from + GRAIN && n < x->s->count &&
		    !extract_ended(x); n++)
			make_name(&p, n);
	extract_place_close(&p);
}

static void
make_links(struct extract *x)
{
	struct extract_place p, of;
	struct extract_entry e;
	int rc;

	extract_place_open(&p, x);
	extract_place_open(&of, x);
	for (size_t n = 0; n < x->s->count && !extract_ended(x); n++) {
		enum extract_state state;

		if (!get_entry(x, n, &e) || e.file == n)
			continue;
		state = state_of(x, e.file);
		/* the failure to create it has been reported */
		if (state == EXTRACT_NEW || state == EXTRACT_FAILED ||
		    !has_parent(&p, n, &e))
			continue;
		rc = extract_place_link(&p, &of, n, e.file);
		if (rc != 0)
			not_made(&p, n, rc);
		else
			atomic_store(&x->state[n], EXTRACT_WHOLE);
	}
	extract_place_close(&p);
	extract_place_close(&of);
}

/* Data */

bool
extract_wants(const struct extract *x, size_t n)
{
	enum extract_state state = state_of(x, n);

	return state == EXTRACT_NEW || state == EXTRACT_PARTIAL;
}

int
extract_file_open(struct extract_place *p, size_t n)
{
	struct extract_entry e;
	bool is_new = state_of(p->x, n) == EXTRACT_NEW;
	int fd;

	if (!extract_wants(p->x, n) || !get_entry(p->x, n, &e))
		return -1;
	fd = is_new ? extract_place_file(p, n, &e) : extract_place_reopen(p, n);
	if (fd >= 0)
		return fd;
	if (is_new)
		not_made(p, n, fd);
	else
		extract_file_break(p, n, "", fd);
	return -1;
}

void
extract_file_close(struct extract_place *p, int fd, size_t n, int rc)
{
	struct extract_entry e;
	int closed;

	if (rc == 0 && atomic_fetch_sub(&p->x->left[n], 1) == 1 &&
	    state_of(p->x, n) == EXTRACT_PARTIAL && get_entry(p->x, n, &e)) {
		close_whole(p, fd, n, &e);
		return;
	}
	closed = sys_close(fd);
	if (rc != 0 || closed != 0)
		extract_file_break(p, n, "", rc != 0 ? rc : closed);
}

void
extract_file_break(struct extract_place *p, size_t n, const char *why, int rc)
{
	atomic_store(&p->x->state[n], state_of(p->x, n) == EXTRACT_NEW ?
	    EXTRACT_FAILED : EXTRACT_BROKEN);
	if (rc != 0)
		extract_fail(p, n, why, rc);
}

/* Completing */

static void
remove_incomplete(struct extract *x)
{
	struct extract_place p;
	int rc;

	extract_place_open(&p, x);
	for (size_t n = 0; n < x->s->count; n++) {
		enum extract_state state = state_of(x, n);

		if (state != EXTRACT_PARTIAL && state != EXTRACT_BROKEN)
			continue;
		rc = extract_place_remove(&p, n);
		if (rc != 0)
			extract_fail(&p, n, "", rc);
		atomic_store(&x->state[n], EXTRACT_FAILED);
	}
	extract_place_close(&p);
}

/* Completes directories, backwards, so that each comes after its contents. */
static void
finish_dirs(struct extract *x)
{
	struct extract_place p;
	struct extract_entry e;
	int fd;

	extract_place_open(&p, x);
	for (size_t n = x->s->count; n-- > 0;) {
		enum extract_state state = state_of(x, n);

		if ((state != EXTRACT_NEW_DIR && state != EXTRACT_OLD_DIR) ||
		    !get_entry(x, n, &e) || (state == EXTRACT_OLD_DIR &&
		    (e.above || n == x->root_entry)))
			continue;
		fd = extract_place_open_dir(&p, n);
		if (fd < 0) {
			extract_fail(&p, n, "", fd);
			continue;
		}
		extract_place_finish(&p, fd, n, &e);
		sys_close(fd);
	}
	extract_place_close(&p);
}

/* Reports the missing entries after an error that ended the extraction. */
static void
report_missing(struct extract *x)
{
	size_t count = 0, missing = 0, first = 0;
	struct extract_place p;
	struct extract_entry e;
	const char *path;
	char text[512];

	extract_place_open(&p, x);
	for (size_t n = 0; n < x->s->count; n++) {
		if (!get_entry(x, n, &e))
			continue;
		count++;
		if (state_of(x, n) >= EXTRACT_OLD_DIR)
			continue;
		first = missing++ == 0 ? n : first;
		extract_report(&p, EXTRACT_NOTE, n, "not extracted");
	}
	if (missing > 0) {
		path = x->s->path(x->s->arg, first, &p.text);
		snprintf(text, sizeof(text), "%zu of %zu entries are missing, "
		    "the first %s", missing, count, path == NULL ? "?" : path);
		x->s->report(x->s->arg, EXTRACT_ERROR, NULL, text);
	}
	extract_place_close(&p);
}

/* Reports how often something of which only the first was named happened. */
static void
report_skipped(const struct extract *x, size_t count, const char *what)
{
	char text[64];

	if (count < 2)
		return;
	snprintf(text, sizeof(text), "%zu %s were skipped", count, what);
	x->s->report(x->s->arg, EXTRACT_WARNING, NULL, text);
}

int
extract_run(struct extract *x)
{
	make_dirs(x);
	parallel_run(x->o.threads, make_names, x);
	if (!extract_ended(x) && x->s->data != NULL)
		x->s->data(x->s->arg, x);
	remove_incomplete(x);
	make_links(x);
	finish_dirs(x);
	if (extract_ended(x))
		report_missing(x);
	report_skipped(x, atomic_load(&x->devices), "device nodes");
	report_skipped(x, atomic_load(&x->attributes), "attributes");
	return atomic_load(&x->err);
}
