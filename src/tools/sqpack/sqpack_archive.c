/*
 * sqpack_archive.c - opening and closing a tar archive, and its errors
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_archive.h"

#include "base/sys.h"

#include <unistd.h>

int
archive_fail(struct archive *a, int rc)
{
	progress_erase(&a->p->progress);
	msg_error(&a->p->msg, "%s: %s", a->name,
	    tar_archive_why(&a->stream, rc));
	return rc;
}

int
archive_open(struct archive *a, struct sqpack *p, const char *name, int fd,
    bool refuse_empty)
{
	struct tar_archive_options o = { .threads = p->o.data.threads,
		.refuse_empty = refuse_empty };
	int rc = fd;

	*a = (struct archive){ .p = p, .name = name, .fd = fd,
		.stream = { .pipe = -1, .in = { .cancel = -1 } } };
	if (fd >= 0)
		rc = tar_archive_open(&a->stream, fd, &o);
	a->tar = a->stream.tar;
	return rc < 0 ? archive_fail(a, rc) : 0;
}

void
archive_close(struct archive *a)
{
	tar_archive_close(&a->stream);
	if (a->fd > STDIN_FILENO)
		sys_close(a->fd);
}

int
archive_end(struct archive *a)
{
	int rc = tar_archive_end(&a->stream);

	return rc != 0 ? archive_fail(a, rc) : 0;
}

void
archive_tell_flaw(struct archive *a)
{
	if (tar_flaw(a->tar) == NULL)
		return;
	progress_erase(&a->p->progress);
	msg_warn(&a->p->msg, "%s: %s", a->name, tar_flaw(a->tar));
}
