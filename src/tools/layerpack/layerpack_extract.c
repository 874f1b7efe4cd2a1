/*
 * layerpack_extract.c - extracting the entries of a layer to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The names are created first, in the order of the archive.  Then the data is
 * written, in any order.  Finally attributes are set, on directories after
 * their contents.
 */
#include "layerpack_extract.h"

#include "base/sandbox.h"
#include "base/sys.h"
#include "walk/node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns whether the error would also affect every later write. */
static bool
is_fatal(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EROFS ||
	    rc == -EIO || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

void
extract_fail(struct extract *x, size_t n, const char *what, int rc)
{
	int none = 0;
	bool again = atomic_load(&x->err) != 0;

	if (is_fatal(rc))
		atomic_compare_exchange_strong(&x->err, &none, rc);
	if (again && is_fatal(rc))
		return;
	pthread_mutex_lock(&x->lock);
	msg_error(&x->p->msg, "%s/%s: %s%s", x->p->o.directory,
	    x->entries[n].path, what, rc == -EBADMSG ? "" :
	    rc == -EEXIST ? "already exists (-f replaces it)" :
	    rc == -ESTALE ? "replaced during extraction" : strerror(-rc));
	pthread_mutex_unlock(&x->lock);
}

static bool
ended(const struct extract *x)
{
	return atomic_load(&x->err) != 0;
}

/* Names */

/*
 * Creates a hard link to a file that has already been extracted, possibly under
 * another name.
 */
static int
make_link(struct spot *s, struct spot *of, size_t n, bool replace)
{
	struct extract *x = s->x;
	uint32_t file = x->plan.file[n], at = x->plan.at[file];
	int from;

	if (atomic_load(&x->made[file]) != MADE)
		return -ENOENT;
	from = spot_enter(of, x->entries[at].path, false);
	return from < 0 ? from : node_link(from, of->name, s->fd, s->name,
	    replace);
}

static bool
leave_device(struct extract *x, size_t n)
{
	enum tar_type type = x->entries[n].type;

	if (x->owner || (type != TAR_CHAR && type != TAR_BLOCK_DEVICE))
		return false;
	if (x->devices++ == 0)
		msg_warn(&x->p->msg, "%s/%s: device nodes are skipped: only "
		    "root can create them", x->p->o.directory,
		    x->entries[n].path);
	return true;
}

/* Creates an entry.  `again` is set if an earlier entry had the same path. */
static int
make_entry(struct spot *s, struct spot *of, size_t n, bool again)
{
	struct extract *x = s->x;
	const struct layer_entry *e = &x->entries[n];
	bool replace = again || x->p->o.force;
	int rc;

	if (*e->path == '\0')
		return e->type == TAR_DIR ? 0 : -EISDIR;
	rc = spot_enter(s, e->path, true);
	if (rc < 0)
		return rc;
	return e->type == TAR_HARDLINK ? make_link(s, of, n, replace) :
	    spot_make(s, n, replace);
}

static void
make_name(struct spot *s, struct spot *of, size_t n)
{
	struct extract *x = s->x;
	char what[LAYER_WHY];
	int rc = plan_add(&x->plan, n);

	if (rc == -ENOENT) {
		snprintf(what, sizeof(what), "a hard link to %.160s, which "
		    "the layer does not contain before it",
		    x->entries[n].link);
		extract_fail(x, n, what, -EBADMSG);
		return;
	}
	if (rc < 0) {
		extract_fail(x, n, "", rc);
		return;
	}
	if (x->plan.at[n] == PLAN_NONE || leave_device(x, n))
		return;
	rc = make_entry(s, of, n, rc == 1);
	if (rc != 0)
		extract_fail(x, n, "", rc);
	else
		atomic_store(&x->made[n], MADE);
}

static void
make_names(struct extract *x)
{
	struct spot s, of;

	spot_open(&s, x);
	spot_open(&of, x);
	for (; x->reached < x->count && !ended(x); x->reached++)
		make_name(&s, &of, x->reached);
	spot_close(&s);
	spot_close(&of);
}

/* Attributes */

/* Removes all names of an incomplete file. */
static void
drop(struct spot *s, size_t n)
{
	struct extract *x = s->x;

	for (uint32_t i = x->plan.links[n]; i != PLAN_NONE;
	    i = x->plan.next[i])
		if (x->plan.at[i] != PLAN_NONE &&
		    spot_enter(s, x->entries[i].path, false) >= 0)
			sys_unlinkat(s->fd, s->name, 0);
	if (spot_enter(s, x->entries[n].path, false) >= 0 &&
	    x->plan.at[n] == n)
		sys_unlinkat(s->fd, s->name, 0);
}

static void
finish_file(struct spot *s, size_t n)
{
	struct extract *x = s->x;
	int rc = spot_enter(s, x->entries[x->plan.at[n]].path, false), fd;

	fd = rc < 0 ? rc : node_reopen(rc, s->name,
	    x->plan.links[n] != PLAN_NONE || x->plan.at[n] != n);
	if (fd < 0) {
		extract_fail(x, n, "", fd);
		return;
	}
	spot_finish(s, fd, n);
	rc = sys_close(fd);
	if (rc != 0)
		extract_fail(x, n, "", rc);
}

/*
 * Completes a directory.  The destination itself is completed only if it is
 * new.
 */
static void
finish_dir(struct spot *s, size_t n)
{
	struct extract *x = s->x;
	const char *path = x->entries[n].path;
	int rc;

	if (*path == '\0') {
		if (x->made_root)
			spot_finish(s, x->root, n);
		return;
	}
	rc = spot_enter(s, path, false);
	if (rc < 0)
		extract_fail(x, n, "", rc);
	else
		spot_finish(s, -1, n);
}

static void
finish(struct spot *s, size_t n)
{
	struct extract *x = s->x;
	const struct layer_entry *e = &x->entries[n];
	int made = atomic_load(&x->made[n]), rc;

	if (made == BROKEN)
		drop(s, n);
	if (made != MADE || x->plan.at[n] == PLAN_NONE ||
	    e->type == TAR_HARDLINK || extract_is_whiteout(x, n))
		return;
	if (e->type == TAR_FILE) {
		finish_file(s, n);
	} else {
		rc = spot_enter(s, x->entries[x->plan.at[n]].path, false);
		if (rc < 0)
			extract_fail(x, n, "", rc);
		else
			spot_finish(s, -1, n);
	}
}

static void
finish_all(struct extract *x)
{
	struct spot s;

	spot_open(&s, x);
	for (size_t n = 0; n < x->count; n++)
		if (x->entries[n].type != TAR_DIR)
			finish(&s, n);
	for (size_t n = x->count; n-- > 0;)
		if (x->entries[n].type == TAR_DIR &&
		    x->plan.at[n] != PLAN_NONE &&
		    atomic_load(&x->made[n]) == MADE)
			finish_dir(&s, n);
	spot_close(&s);
}

/* The whole layer */

/*
 * Returns whether entry n is missing, although no later entry has the same
 * path.
 */
static bool
is_missing(const struct extract *x, size_t n)
{
	if (n >= x->reached)
		return true;
	if (x->plan.at[n] == PLAN_NONE)
		return false;
	return atomic_load(&x->made[n]) != MADE ||
	    atomic_load(&x->made[x->plan.file[n]]) != MADE;
}

/* Reports the missing entries after an error that ended the extraction. */
static void
tell_missing(struct extract *x)
{
	size_t count = 0, first = 0;

	for (size_t n = 0; n < x->count; n++) {
		if (!is_missing(x, n))
			continue;
		first = count++ == 0 ? n : first;
		if (x->p->msg.verbose > 0)
			msg_note(&x->p->msg, "%s/%s: not extracted",
			    x->p->o.directory, x->entries[n].path);
	}
	if (count > 0)
		msg_error(&x->p->msg, "%s: %zu of %zu entries are missing, the "
		    "first %s", x->p->o.directory, count, x->count,
		    x->entries[first].path);
}

static int
extract(struct extract *x)
{
	int rc;

	x->entries = layer_entries(x->s.l, &x->count);
	x->made = sys_calloc(x->count + 1, sizeof(*x->made));
	rc = plan_open(&x->plan, x->s.l);
	if (rc != 0 || x->made == NULL)
		return -ENOMEM;
	make_names(x);
	rc = extract_data(x);
	finish_all(x);
	if (rc != 0)
		tell_missing(x);
	if (x->devices > 1)
		msg_warn(&x->p->msg, "%llu device nodes were skipped",
		    (unsigned long long)x->devices);
	if (x->attributes > 1)
		msg_warn(&x->p->msg, "%llu attributes were skipped",
		    (unsigned long long)x->attributes);
	return rc;
}

static void
run(struct extract *x)
{
	int from = blobs_file_dir(x->s.blobs), rc;
	bool confined;

	umask(022);
	x->root = node_root(x->p->o.directory, 0755, &x->made_root);
	if (x->root < 0) {
		msg_error(&x->p->msg, "%s: %s", x->p->o.directory,
		    strerror(-x->root));
		return;
	}
	umask(077);
	sandbox_enter_making(x->root, &from, from >= 0, &confined);
	rc = extract(x);
	if (rc != 0 && !is_fatal(rc))
		msg_error(&x->p->msg, "%s: %s", x->p->o.source, strerror(-rc));
	else if (rc == -ENOMEM)
		msg_error(&x->p->msg, "%s", strerror(ENOMEM));
	sys_close(x->root);
}

int
layerpack_extract(struct layerpack *p)
{
	struct extract x = { .p = p, .owner = geteuid() == 0 };
	int rc = layerpack_open(p, &x.s);

	pthread_mutex_init(&x.lock, NULL);
	if (rc == 0)
		run(&x);
	plan_close(&x.plan);
	unit_map_close(&x.map);
	sys_free(x.made);
	pthread_mutex_destroy(&x.lock);
	layerpack_close(&x.s);
	return p->msg.status == MSG_OK ? 0 : rc != 0 ? rc : -EIO;
}
