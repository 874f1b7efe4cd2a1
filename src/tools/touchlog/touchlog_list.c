/*
 * touchlog_list.c - evicting, naming and listing the files of the root
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * fanotify reports inodes, regardless of the path by which they were opened,
 * such as a chroot, a bind mount or a link.  Their names are looked up in the
 * root afterwards; if there are several hard links, the first in byte order is
 * used.
 */
#include "touchlog.h"

#include "base/output.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "measure/cold.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCANNERS = 4 };

/* mksquashfs puts the files with the highest priority first. */
enum { PRIORITY_MAX = 32767, PRIORITY_MIN = -32768 };

/* The regular files below the root, in any order. */
struct file_scan {
	struct tree tree;
	size_t next;
	struct tree_path path;		/* of the current file */
	struct stat st;
	int err;			/* of tree_scan(), too */
};

/* Returns whether there is another file, and no error. */
static bool
scan_next(const struct touchlog *t, struct file_scan *s)
{
	while (s->err == 0 && s->next < s->tree.count) {
		const struct tree_entry *e = &s->tree.entries[s->next++];

		if (e->type != WALK_FILE)
			continue;
		s->err = tree_path(&s->tree, e, &s->path);
		/* files that no longer exist were temporary */
		if (s->err == 0 && fstatat(t->root, s->path.s, &s->st,
		    AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s->st.st_mode))
			return true;
	}
	return false;
}

static void
scan_end(struct file_scan *s)
{
	sys_free(s->path.s);
	tree_free(&s->tree);
}

int
touchlog_make_cold(struct touchlog *t)
{
	struct file_scan s = { .next = 0 };
	uint64_t warm = 0, pages, resident;
	struct cold *c;
	int fd, rc = cold_open(&c, COLD_FADVISE);

	if (rc != 0)
		return rc;
	s.err = tree_scan(&s.tree, t->root, SCANNERS, NULL);
	while (scan_next(t, &s)) {
		fd = tree_open(t->root, s.path.s, 0);
		if (fd >= 0) {
			cold_add(c, fd, &s.st);
			sys_close(fd);
		}
	}
	if (s.err == 0)
		s.err = cold_apply(c);
	cold_close(c);
	s.next = 0;
	while (scan_next(t, &s)) {
		fd = tree_open(t->root, s.path.s, 0);
		if (fd < 0)
			continue;
		if (cold_resident(fd, &s.st, &pages, &resident) == 0)
			warm += resident;
		sys_close(fd);
	}
	scan_end(&s);
	if (s.err == 0 && warm > 0)
		msg_warn(&t->msg, "%ju pages are used by other processes and "
		    "cannot be evicted from memory; they will be listed",
		    (uintmax_t)warm);
	return s.err;
}

struct touched {
	char *path;			/* relative to the root; NULL: outside
					 * it */
	uint64_t size;			/* bytes */
	double s;			/* when it was opened first */
};

enum { TOLD = 1 };			/* an error that has been reported */

struct listing {
	FILE *f;
	int end;
	uint64_t order;			/* number of the current file, from 1 */
	const char *path;
	bool any;			/* one of its lines has been written */
};

static int
write_range(void *arg, uint64_t offset, uint64_t len)
{
	struct listing *l = arg;

	fprintf(l->f, "%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64 "%c", l->order,
	    l->path, offset, len, l->end);
	l->any = true;
	return 0;
}

/* Writes the lines of a file.  Returns 0, -errno or TOLD. */
static int
write_touched(struct touchlog *t, struct listing *l,
    const struct touched *f)
{
	int64_t priority = PRIORITY_MAX - (int64_t)l->order++;
	int fd, rc;

	l->path = f->path;
	if (!t->o.null_lines && strchr(f->path, '\n') != NULL) {
		msg_error(&t->msg, "%s: the name contains a newline%s", f->path,
		    t->o.format == TOUCHLOG_SORT ? "; mksquashfs cannot "
		    "read it" : " (-0 ends lines with NUL)");
		return TOLD;
	}
	if (t->o.pages) {
		/* the parts or, if none were needed, a line with length 0 */
		fd = tree_open(t->root, l->path, 0);
		if (fd < 0)
			return fd;
		l->any = false;
		rc = cold_ranges(fd, f->size, write_range, l);
		sys_close(fd);
		if (rc == 0 && !l->any)
			write_range(l, 0, 0);
		return rc;
	}
	if (t->o.format == TOUCHLOG_SORT) {
		/* a backslash escapes the next character */
		for (const char *s = l->path; *s != '\0'; s++) {
			if (strchr(" \t\\\"#", *s) != NULL)
				putc('\\', l->f);
			putc(*s, l->f);
		}
		fprintf(l->f, " %" PRId64 "\n", priority < PRIORITY_MIN ?
		    PRIORITY_MIN : priority);
	} else if (t->o.format == TOUCHLOG_LIST)
		fprintf(l->f, "%s%c", f->path, l->end);
	else if (t->o.format == TOUCHLOG_TIMES)
		fprintf(l->f, "%" PRIu64 "\t%s\t0\t%" PRIu64 "\t%.6f%c",
		    l->order, f->path, f->size, f->s, l->end);
	else
		write_range(l, 0, f->size);
	return 0;
}

/*
 * Reports the directories that could not be read, unless they no longer exist or
 * are of another filesystem, of which nothing is listed.
 */
static void
report_unread(struct touchlog *t, struct file_scan *s)
{
	struct stat own, st;
	int rc = fstat(t->root, &own) == -1 ? -errno : 0;

	for (size_t i = 0; rc == 0 && i < s->tree.count; i++) {
		const struct tree_entry *e = &s->tree.entries[i];

		if (e->err == 0 || e->err == -ENOENT)
			continue;
		rc = tree_path(&s->tree, e, &s->path);
		if (rc == 0 && fstatat(t->root, s->path.s, &st,
		    AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == own.st_dev)
			msg_error(&t->msg, "%s/%s: %s; its files are not "
			    "listed", t->o.root, s->path.s, strerror(-e->err));
	}
	if (s->err == 0)
		s->err = rc;
}

int
touchlog_write(struct touchlog *t)
{
	struct listing l = { .end = t->o.null_lines ? '\0' : '\n' };
	const char *to = t->o.output != NULL ? t->o.output : t->o.root;
	struct file_scan s = { .next = 0 };
	const struct opens_file *opened;
	struct touched *files;
	struct output out = { .fd = STDOUT_FILENO };
	size_t count;
	int rc = -ENOMEM;

	opened = opens_files(t->opens, &count);
	files = sys_calloc(count + 1, sizeof(*files));
	if (files == NULL)
		goto out;
	s.err = tree_scan(&s.tree, t->root, SCANNERS, NULL);
	report_unread(t, &s);
	while (scan_next(t, &s)) {
		ssize_t i = opens_find(t->opens, (struct opens_file){
		    .dev = s.st.st_dev, .ino = s.st.st_ino });
		char *copy;

		if (i < 0 || (files[i].path != NULL &&
		    strcmp(files[i].path, s.path.s) <= 0))
			continue;
		copy = strcopy(s.path.s);
		if (copy == NULL) {
			s.err = -ENOMEM;
			break;
		}
		sys_free(files[i].path);
		files[i] = (struct touched){ copy, (uint64_t)s.st.st_size,
		    opened[i].s };
	}
	scan_end(&s);
	rc = s.err;
	if (rc == 0 && t->o.output != NULL)
		rc = output_create(&out, t->o.output, t->o.force);
	if (rc != 0)
		goto out;
	if (t->o.output == NULL)
		to = "standard output";
	if (t->o.pages && !t->o.exact && !t->msg.quiet)
		msg_note(&t->msg, "data read ahead and the rest of each block "
		    "are also listed; --exact lists single pages");
	l.f = fdopen(dup(out.fd), "w");
	if (l.f == NULL) {
		rc = -errno;
	} else {
		for (size_t i = 0; rc == 0 && i < count; i++)
			if (files[i].path != NULL)
				rc = write_touched(t, &l, &files[i]);
		if (rc == 0 && ferror(l.f))
			rc = -EIO;
		if (fclose(l.f) == EOF && rc == 0)
			rc = -errno;
	}
	if (t->o.output != NULL && rc == 0)
		rc = output_commit(&out, false);
	else if (t->o.output != NULL)
		output_abort(&out);
out:
	if (rc < 0)
		msg_error(&t->msg, "%s: %s", to, strerror(-rc));
	for (size_t i = 0; files != NULL && i < count; i++)
		sys_free(files[i].path);
	sys_free(files);
	return rc == 0 ? 0 : MSG_ERROR;
}
