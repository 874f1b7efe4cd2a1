/*
 * extract.c - extracting the entries of an archive below a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk/extract.h"

#include "base/parallel.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "walk/node.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { GRAIN = 64 };			/* names that a thread claims at a
					 * time */

/* The state of an entry. */
enum extract_state {
	EXTRACT_NEW,
	EXTRACT_FAILED,			/* could not be made; was reported */
	EXTRACT_OLD_DIR,		/* existed before */
	EXTRACT_NEW_DIR,
	EXTRACT_PARTIAL,		/* a file without all of its data */
	EXTRACT_BROKEN,			/* a file to be removed */
	EXTRACT_WHOLE
};

struct extract {
	const struct extract_source *s;
	struct extract_options o;
	_Atomic uint8_t *state;		/* enum extract_state, by entry */
	_Atomic uint32_t *left;		/* pieces yet to be written, by entry */
	size_t root_entry;		/* the entry of the root itself, or
					 * EXTRACT_NONE */
	size_t deep;			/* directories passed to made_deep() */
	atomic_size_t next;		/* the next name to create */
	atomic_int err;			/* the -errno that ended it */
	atomic_size_t devices;		/* skipped, because they require root */
	atomic_size_t attributes;	/* could not be set */
};

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

static void
report_entry(struct extract_place *p, enum extract_level level, size_t n,
    const char *text)
{
	const struct extract_source *s = p->x->s;
	const char *path = s->path(s->arg, n, &p->text);

	s->report(s->arg, level, path == NULL ? "?" : path, text);
}

static void
entry_failed(struct extract_place *p, size_t n, const char *what, int rc)
{
	/* would the error also affect every later write? */
	bool fatal = rc == -ENOSPC || rc == -EDQUOT || rc == -EROFS ||
	    rc == -EIO || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
	char text[512];
	int none = 0;

	/* say only once why it ends */
	if (fatal && !atomic_compare_exchange_strong(&p->x->err, &none, rc))
		return;
	snprintf(text, sizeof(text), "%s%s", what, rc == -EBADMSG ? "" :
	    rc == -EEXIST ? "already exists (-f replaces it)" :
	    rc == -ESTALE ? "replaced during extraction" : strerror(-rc));
	report_entry(p, EXTRACT_ERROR, n, text);
}

/* Directories */

void
extract_place_open(struct extract_place *p, struct extract *x)
{
	*p = (struct extract_place){ .x = x, .fd = -1, .entry = EXTRACT_NONE };
}

void
extract_place_close(struct extract_place *p)
{
	while (p->held_count > 0)
		sys_close(p->held[--p->held_count].fd);
	sys_free(p->dir);
	sys_free(p->text.text);
}

/* Opens the directory named by the first len bytes of path. */
static int
open_below(const struct extract_place *p, const char *path, size_t len)
{
	char *copy;
	int fd;

	if (len == 0)
		return sys_dup(p->x->o.root);
	copy = strcopy_part(path, len);
	if (copy == NULL)
		return -ENOMEM;
	fd = tree_open(p->x->o.root, copy, O_DIRECTORY);
	sys_free(copy);
	return fd;
}

/* Copies n bytes to p->name: a single component. */
static int
set_name(struct extract_place *p, const char *name, size_t n)
{
	if (n >= sizeof(p->name))
		return -ENAMETOOLONG;
	memcpy(p->name, name, n);
	p->name[n] = '\0';
	return n == 0 || path_is_dots(p->name) ||
	    memchr(name, '/', n) != NULL ? -EINVAL : 0;
}

/*
 * Creates the missing directories of a path, from the top; other threads may be
 * doing the same.
 */
static int
make_parents(struct extract_place *p, const char *path, size_t len)
{
	for (size_t from = 0, n; from < len; from += n + 1) {
		int dir = open_below(p, path, from == 0 ? 0 : from - 1), rc;

		if (dir < 0)
			return dir;
		n = strcspn(path + from, "/");
		rc = set_name(p, path + from, n);
		if (rc == 0)
			rc = node_dir(dir, p->name, false);
		if (rc == 1)
			rc = sys_chmod(dir, p->name, 0755, 0);
		sys_close(dir);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Returns the end of the first count components of path, from byte `from`. */
static size_t
skip_components(const char *path, size_t from, size_t len, size_t count)
{
	for (; from < len; from++)
		if (path[from] == '/' && --count == 0)
			break;
	return from;
}

/* Makes room for len bytes of p->dir, and more. */
static int
reserve_dir(struct extract_place *p, size_t len)
{
	char *dir;

	if (len < p->dir_cap)
		return 0;
	dir = sys_realloc(p->dir, 2 * len + 64);
	if (dir == NULL)
		return -ENOMEM;
	p->dir = dir;
	p->dir_cap = 2 * len + 64;
	return 0;
}

/* Holds a directory, given the length of its path, instead of the first one. */
static void
hold(struct extract_place *p, int fd, size_t len, size_t level)
{
	if (p->held_count == EXTRACT_HELD) {
		sys_close(p->held[0].fd);
		memmove(p->held, p->held + 1, (EXTRACT_HELD - 1) *
		    sizeof(*p->held));
		p->held_count--;
	}
	p->held[p->held_count].fd = fd;
	p->held[p->held_count].level = level;
	p->held[p->held_count++].len = len;
}

static size_t
level_of(const struct extract_place *p)
{
	return p->held_count == 0 ? 0 : p->held[p->held_count - 1].level;
}

/*
 * Opens the next directories towards path, one after another, so that they are
 * held; but of a long way, the first half is passed in one step, then half of
 * the rest, and so on.  Whoever then leaves one directory after another, up to
 * the root, never has far to go.
 */
static int
hold_towards(struct extract_place *p, const char *path, size_t len)
{
	size_t at = p->held_count == 0 ? 0 : p->held[p->held_count - 1].len;

	while (at < len) {
		size_t from = at + (at > 0), left = 1, end, step;
		char *part;
		int fd;

		for (size_t i = from; i < len; i++)
			left += path[i] == '/';
		step = left > EXTRACT_HELD / 2 ? left / 2 : 1;
		end = skip_components(path, from, len, step);
		part = strcopy_part(path + from, end - from);
		if (part == NULL)
			return -ENOMEM;
		fd = tree_open(p->held_count == 0 ? p->x->o.root :
		    p->held[p->held_count - 1].fd, part, O_DIRECTORY);
		sys_free(part);
		if (fd < 0)
			return fd;
		hold(p, fd, end, level_of(p) + step);
		at = end;
	}
	return 0;
}

/* Makes the directory named by the first len bytes of path the current one. */
static int
enter_dir(struct extract_place *p, const char *path, size_t len)
{
	int rc;

	/* keep what contains it */
	while (p->held_count > 0) {
		size_t n = p->held[p->held_count - 1].len;

		if (n <= len && memcmp(path, p->dir, n) == 0 &&
		    (n == len || path[n] == '/'))
			break;
		sys_close(p->held[--p->held_count].fd);
	}
	p->fd = -1;
	p->entry = EXTRACT_NONE;
	rc = reserve_dir(p, len);
	if (rc != 0)
		return rc;
	memcpy(p->dir, path, len);
	rc = hold_towards(p, path, len);
	if (rc == 0)
		p->fd = len == 0 ? p->x->o.root :
		    p->held[p->held_count - 1].fd;
	return rc;
}

/* Makes a directory in the current one the current one, if possible. */
static bool
step_down(struct extract_place *p, size_t n)
{
	const struct extract_source *s = p->x->s;
	size_t at = p->held_count == 0 ? 0 : p->held[p->held_count - 1].len;
	size_t len;
	const char *text = s->name(s->arg, n, &len);
	char name[NAME_MAX + 1];
	int fd;

	if (len >= sizeof(name) || memchr(text, '/', len) != NULL ||
	    reserve_dir(p, at + len + 1) != 0)
		return false;
	memcpy(name, text, len);
	name[len] = '\0';
	fd = tree_open(p->fd, name, O_DIRECTORY);
	if (fd < 0)
		return false;
	if (at > 0)
		p->dir[at++] = '/';
	memcpy(p->dir + at, name, len);
	hold(p, fd, at + len, level_of(p) + 1);
	p->fd = fd;
	p->entry = n;
	return true;
}

/* Makes the directory n above the current one current, if it is held. */
static bool
step_up(struct extract_place *p, size_t n)
{
	size_t level = level_of(p);

	if (level == 0 || (p->held_count > 1 ?
	    p->held[p->held_count - 2].level != level - 1 : level > 1))
		return false;
	sys_close(p->held[--p->held_count].fd);
	p->fd = p->held_count == 0 ? p->x->o.root :
	    p->held[p->held_count - 1].fd;
	p->entry = n;
	return true;
}

/*
 * Makes a directory the current one if it is, contains or is in the current
 * one, whose path need not be known.  Returns whether that succeeded.
 */
static bool
step_to(struct extract_place *p, size_t n)
{
	struct extract_entry e;

	if (p->x->s->name == NULL || p->entry == EXTRACT_NONE || p->fd < 0)
		return false;
	if (p->entry == n)
		return true;
	if (get_entry(p->x, n, &e) && e.parent == p->entry)
		return step_down(p, n);
	return get_entry(p->x, p->entry, &e) && e.parent == n &&
	    step_up(p, n);
}

/* Makes the directory that is entry n the current one. */
static int
enter_entry(struct extract_place *p, size_t n)
{
	const char *path;
	int rc;

	if (step_to(p, n))
		return 0;
	path = p->x->s->path(p->x->s->arg, n, &p->text);
	rc = path == NULL ? -ENOMEM : enter_dir(p, path, strlen(path));
	if (rc == 0)
		p->entry = n;
	return rc;
}

/* Makes the directory of entry n the current one, and sets p->name. */
static int
enter_dir_of(struct extract_place *p, size_t n)
{
	const struct extract_source *s = p->x->s;
	struct extract_entry e;
	const char *path, *name;
	size_t len;
	int rc;

	if (s->name != NULL && get_entry(p->x, n, &e) && e.parent != n &&
	    step_to(p, e.parent)) {
		name = s->name(s->arg, n, &len);
		return set_name(p, name, len);
	}
	path = s->path(s->arg, n, &p->text);
	if (path == NULL)
		return -ENOMEM;
	if (*path == '\0')
		return -EISDIR;
	name = path_name(path);
	len = name == path ? 0 : (size_t)(name - path) - 1;
	rc = enter_dir(p, path, len);
	if (rc == -ENOENT) {
		rc = make_parents(p, path, len);
		if (rc == 0)
			rc = enter_dir(p, path, len);
	}
	if (rc == 0 && s->name != NULL && get_entry(p->x, n, &e))
		p->entry = e.parent;
	return rc != 0 ? rc : set_name(p, name, strlen(name));
}

/* Attributes */

struct attributes_of {
	struct extract_place *p;
	size_t n;
	int fd;				/* -1: use the name in its
					 * directory */
	bool any;			/* has been set, or tried */
};

static void
set_attribute(void *to, const char *name, const void *value, size_t len)
{
	struct attributes_of *of = to;
	struct extract *x = of->p->x;
	char text[512];
	int rc = node_xattr(of->fd, of->p->fd, of->p->name, name, value, len);

	of->any = true;
	if (rc == 0 || atomic_fetch_add(&x->attributes, 1) != 0)
		return;
	snprintf(text, sizeof(text), "attribute %s is skipped: %s", name,
	    strerror(-rc));
	report_entry(of->p, EXTRACT_WARNING, of->n, text);
}

static bool
set_attributes(void *arg)
{
	struct attributes_of *of = arg;
	const struct extract_source *s = of->p->x->s;

	if (s->attributes != NULL)
		s->attributes(s->arg, of->n, set_attribute, of);
	return of->any;
}

static void
status_failed(void *arg, const char *what, int rc)
{
	struct attributes_of *of = arg;

	entry_failed(of->p, of->n, what, rc);
}

/* Returns 0, or -errno if the file's data is not complete. */
static int
set_status(struct extract_place *p, int fd, size_t n,
    const struct extract_entry *e)
{
	struct attributes_of of = { p, n, fd, false };
	const struct node_status status = {
		.mode = e->mode, .size = e->size, .owner = p->x->o.owner && e->has_owner,
		.uid = e->uid, .gid = e->gid, .mtime = e->mtime,
		.attributes = set_attributes, .fail = status_failed, .arg = &of
	};

	return node_finish(fd < 0 ? p->fd : fd, fd < 0 ? p->name : NULL, &status);
}

/* Names */

static void
set_state(struct extract_place *p, size_t n, enum extract_state state)
{
	atomic_store(&p->x->state[n], (uint8_t)state);
}

/* Reports that an entry could not be created. */
static void
not_made(struct extract_place *p, size_t n, int rc)
{
	set_state(p, n, EXTRACT_FAILED);
	entry_failed(p, n, "", rc);
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
	set_state(p, n, EXTRACT_FAILED);
	return false;
}

/* Passes on a directory that has been made, if it is deep enough. */
static void
tell_deep(struct extract_place *p)
{
	const struct extract_options *o = &p->x->o;
	size_t step = p->x->deep < EXTRACT_NEAR ? EXTRACT_LEVELS : EXTRACT_FAR;
	int fd;

	if ((level_of(p) + 1) % step != 0)
		return;
	/* it may be missing by now; then what is below it costs more */
	fd = sys_openat(p->fd, p->name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
	if (fd < 0)
		return;
	p->x->deep++;
	o->made_deep(o->arg, fd);
	sys_close(fd);
}

static void
make_dirs(struct extract *x)
{
	struct extract_place p;
	struct extract_entry e;

	extract_place_open(&p, x);
	for (size_t n = 0; n < x->s->count && !extract_ended(x); n++) {
		int rc;

		if (!get_entry(x, n, &e) || !S_ISDIR(e.mode) ||
		    !has_parent(&p, n, &e))
			continue;
		rc = enter_dir_of(&p, n);
		if (rc == -EISDIR) {
			x->root_entry = n;
			rc = x->o.made_root;
		} else if (rc == 0) {
			rc = node_dir(p.fd, p.name, x->o.replace);
		}
		if (rc < 0)
			not_made(&p, n, rc);
		else
			set_state(&p, n, rc == 0 ? EXTRACT_OLD_DIR :
			    EXTRACT_NEW_DIR);
		if (rc >= 0 && x->o.made_deep != NULL)
			tell_deep(&p);
	}
	extract_place_close(&p);
}

/* Creates a regular file.  Returns a descriptor, or -1 after reporting why. */
static int
create_file(struct extract_place *p, size_t n, const struct extract_entry *e)
{
	int fd = enter_dir_of(p, n);

	if (fd == 0)
		fd = node_file(p->fd, p->name, e->mode, p->x->o.replace);
	if (fd < 0) {
		not_made(p, n, fd);
		return -1;
	}
	set_state(p, n, EXTRACT_PARTIAL);
	return fd;
}

/* Completes and closes a file that has all of its data. */
static void
close_whole(struct extract_place *p, int fd, size_t n,
    const struct extract_entry *e)
{
	uint8_t partial = EXTRACT_PARTIAL;
	int status = set_status(p, fd, n, e), rc;

	/* unless another thread could not close it */
	atomic_compare_exchange_strong(&p->x->state[n], &partial,
	    (uint8_t)EXTRACT_WHOLE);
	rc = sys_close(fd);
	rc = status != 0 ? status : rc;
	if (rc != 0)
		extract_file_break(p, n, "", rc);
}

/* Creates an entry that is neither a directory, a file nor a hard link. */
static void
make_node(struct extract_place *p, size_t n, const struct extract_entry *e)
{
	struct extract *x = p->x;
	bool replace = x->o.replace;
	char target[PATH_MAX + 1];
	int rc;

	if (e->form == EXTRACT_PLAIN && !x->o.owner &&
	    (S_ISBLK(e->mode) || S_ISCHR(e->mode))) {
		set_state(p, n, EXTRACT_FAILED);
		if (atomic_fetch_add(&x->devices, 1) == 0)
			report_entry(p, EXTRACT_WARNING, n, "device nodes "
			    "are skipped: only root can create them");
		return;
	}
	rc = enter_dir_of(p, n);
	if (rc != 0) {
		not_made(p, n, rc);
		return;
	}
	if (e->form == EXTRACT_OPAQUE) {
		rc = sys_fsetxattr(p->fd, "trusted.overlay.opaque", "y", 1);
	} else if (e->form == EXTRACT_WHITEOUT) {
		rc = node_special(p->fd, p->name, S_IFCHR, makedev(0, 0),
		    replace);
	} else if (!S_ISLNK(e->mode)) {
		rc = node_special(p->fd, p->name, e->mode, e->device, replace);
	} else if (e->target_len > PATH_MAX ||
	    memchr(e->target, '\0', e->target_len) != NULL) {
		rc = -ENAMETOOLONG;
	} else {
		memcpy(target, e->target, e->target_len);
		target[e->target_len] = '\0';
		rc = node_symlink(p->fd, p->name, target, replace);
	}
	if (rc != 0) {
		not_made(p, n, rc);
		return;
	}
	if (e->form == EXTRACT_PLAIN)
		set_status(p, -1, n, e);
	set_state(p, n, EXTRACT_WHOLE);
}

/* Creates a name, unless it is a file created together with its only piece. */
static void
make_name(struct extract_place *p, size_t n)
{
	struct extract_entry e;
	uint32_t pieces = atomic_load(&p->x->left[n]);
	int fd;

	if (!get_entry(p->x, n, &e) || e.file != n || S_ISDIR(e.mode) ||
	    !has_parent(p, n, &e))
		return;
	if (!S_ISREG(e.mode) || e.form != EXTRACT_PLAIN) {
		make_node(p, n, &e);
		return;
	}
	if (pieces == 1)
		return;
	fd = create_file(p, n, &e);
	if (fd >= 0 && pieces == 0)
		close_whole(p, fd, n, &e);
	else if (fd >= 0)
		sys_close(fd);
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
make_links(struct extract_place *p)
{
	struct extract *x = p->x;
	struct extract_place of;
	struct extract_entry e;

	extract_place_open(&of, x);
	for (size_t n = 0; n < x->s->count && !extract_ended(x); n++) {
		enum extract_state state;
		int rc;

		if (!get_entry(x, n, &e) || e.file == n)
			continue;
		state = state_of(x, e.file);
		/* the failure to create it has been reported */
		if (state == EXTRACT_NEW || state == EXTRACT_FAILED ||
		    !has_parent(p, n, &e))
			continue;
		rc = enter_dir_of(p, n);
		if (rc == 0)
			rc = enter_dir_of(&of, e.file);
		if (rc == 0)
			rc = node_link(of.fd, of.name, p->fd, p->name,
			    x->o.replace);
		if (rc != 0)
			not_made(p, n, rc);
		else
			set_state(p, n, EXTRACT_WHOLE);
	}
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
	int fd;

	if (!extract_wants(p->x, n) || !get_entry(p->x, n, &e))
		return -1;
	if (state_of(p->x, n) == EXTRACT_NEW)
		return create_file(p, n, &e);
	fd = enter_dir_of(p, n);
	if (fd == 0)
		fd = node_reopen(p->fd, p->name);
	if (fd >= 0)
		return fd;
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
	set_state(p, n, state_of(p->x, n) == EXTRACT_NEW ? EXTRACT_FAILED :
	    EXTRACT_BROKEN);
	if (rc != 0)
		entry_failed(p, n, why, rc);
}

bool
extract_made(const struct extract *x, size_t n)
{
	enum extract_state state = state_of(x, n);

	return state == EXTRACT_OLD_DIR || state == EXTRACT_NEW_DIR ||
	    state == EXTRACT_WHOLE;
}

/* Completing */

/* Completes directories, backwards, so that each comes after its contents. */
static void
finish_dirs(struct extract_place *p)
{
	struct extract *x = p->x;
	struct extract_entry e;
	int rc;

	for (size_t n = x->s->count; n-- > 0;) {
		enum extract_state state = state_of(x, n);

		if ((state != EXTRACT_NEW_DIR && state != EXTRACT_OLD_DIR) ||
		    !get_entry(x, n, &e) || (state == EXTRACT_OLD_DIR &&
		    (e.above || n == x->root_entry)))
			continue;
		rc = enter_entry(p, n);
		if (rc != 0)
			entry_failed(p, n, "", rc);
		else
			set_status(p, p->fd, n, &e);
	}
}

/* Reports the missing entries after an error that ended the extraction. */
static void
report_missing(struct extract_place *p)
{
	struct extract *x = p->x;
	size_t count = 0, missing = 0, first = 0;
	struct extract_entry e;
	const char *path;
	char text[512];

	for (size_t n = 0; n < x->s->count; n++) {
		if (!get_entry(x, n, &e))
			continue;
		count++;
		if (state_of(x, n) >= EXTRACT_OLD_DIR)
			continue;
		first = missing++ == 0 ? n : first;
		report_entry(p, EXTRACT_NOTE, n, "not extracted");
	}
	if (missing == 0)
		return;
	path = x->s->path(x->s->arg, first, &p->text);
	snprintf(text, sizeof(text), "%zu of %zu entries are missing, "
	    "the first %s", missing, count, path == NULL ? "?" : path);
	x->s->report(x->s->arg, EXTRACT_ERROR, NULL, text);
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
	struct extract_place p;
	int rc;

	make_dirs(x);
	if (x->o.made_dirs != NULL)
		x->o.made_dirs(x->o.arg);
	parallel_run(x->o.threads, make_names, x);
	if (!extract_ended(x) && x->s->data != NULL)
		x->s->data(x->s->arg, x);
	extract_place_open(&p, x);
	/* remove incomplete files */
	for (size_t n = 0; n < x->s->count; n++) {
		enum extract_state state = state_of(x, n);

		if (state != EXTRACT_PARTIAL && state != EXTRACT_BROKEN)
			continue;
		rc = enter_dir_of(&p, n);
		if (rc == 0)
			rc = sys_unlinkat(p.fd, p.name, 0);
		if (rc != 0)
			entry_failed(&p, n, "", rc);
		set_state(&p, n, EXTRACT_FAILED);
	}
	make_links(&p);
	finish_dirs(&p);
	if (extract_ended(x))
		report_missing(&p);
	extract_place_close(&p);
	report_skipped(x, atomic_load(&x->devices), "device nodes");
	report_skipped(x, atomic_load(&x->attributes), "attributes");
	return atomic_load(&x->err);
}
