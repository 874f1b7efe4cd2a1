/*
 * sq_file.c - opening the image in a file, and reporting its damage
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/read/reader.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* An open file and its options, for reports by sq_open(). */
struct reported {
	struct sq_file *f;
	const struct sq_file_options *o;
};

static void
report_at(void *arg, uint64_t at, const char *why)
{
	struct reported *r = arg;
	char place[32];

	/* only where the superblock is concerns its magic number */
	if (at == SQUASHFS_S_MAGIC && r->o->may_be_streamed)
		return;
	r->f->refused = true;
	snprintf(place, sizeof(place), "offset %llu", (unsigned long long)at);
	if (r->o->report != NULL)
		r->o->report(r->o->arg, place, why);
}

int
sq_file_open(struct sq_file *f, const struct sq_file_options *o,
    const char **why)
{
	struct reported r = { f, o };
	struct sq_entry e;
	const char *path;
	int rc;

	*f = (struct sq_file){ .offset = o->offset };
	*why = NULL;
	rc = f->fd = sys_openat(AT_FDCWD, o->path, O_RDONLY | O_CLOEXEC, 0);
	if (rc < 0)
		goto out;
	if (!o->has_offset) {
		rc = sq_find(f->fd, &f->offset);
		if (rc == 0) {
			*why = "not a squashfs image";
			return -EBADMSG;
		}
		if (rc < 0)
			goto out;
	}
	rc = sq_open(&f->image, f->fd, f->offset, o->threads, o->memory,
	    report_at, &r, why);
	if (rc == -EDQUOT)
		*why = "the tables and names need more memory than --memory "
		    "allows";
	for (size_t n = 0; rc == 0 && n < sq_count(f->image); n++) {
		sq_get(f->image, n, &e);
		if (e.why == NULL)
			continue;
		f->refused = true;
		if (o->report == NULL)
			break;
		path = n == 0 ? "/" : sq_file_path(f, n);
		if (path == NULL)
			rc = -ENOMEM;
		else
			o->report(o->arg, path, e.why);
	}
out:
	if (rc != 0 && *why == NULL)
		*why = strerror(-rc);
	return rc;
}

void
sq_file_close(struct sq_file *f)
{
	sq_close(f->image);
	if (f->fd >= 0)
		sys_close(f->fd);
	sys_free(f->path);
}

const char *
sq_file_path(struct sq_file *f, size_t number)
{
	return sq_path(f->image, number, &f->path, &f->path_cap) == 0 ?
	    f->path : NULL;
}

int
sq_file_padding(const struct sq_file *f, char *padding, size_t size)
{
	return (int)fdio_pread(f->fd, padding, size,
	    (off_t)(f->offset + sq_facts(f->image)->used_B));
}
