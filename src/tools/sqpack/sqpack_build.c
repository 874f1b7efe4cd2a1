/*
 * sqpack_build.c - building an image: its source, its file and its messages
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack.h"

#include "base/output.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
output_error(struct sqpack *p, const char *name, int rc)
{
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", name, strerror(-rc));
	return rc;
}

static const struct imgsrc_source *
source_of(const struct sqpack *p)
{
	if (p->o.from.has_offset)
		return &imgsrc_repack;
	if (p->o.from.input_count > 0 || ((p->o.as != NULL ||
	    p->o.data.exact) && strcmp(p->o.source, "-") != 0))
		return &imgsrc_dir;
	return imgsrc_of(p->o.source);
}

static void
print_report(void *arg, enum imgsrc_message kind, const char *text)
{
	struct sqpack *p = arg;

	if (kind == IMGSRC_ERROR)
		msg_error(&p->msg, "%s", text);
	else if (kind == IMGSRC_WARNING)
		msg_warn(&p->msg, "%s", text);
	else if (p->msg.verbose > 0)
		msg_note(&p->msg, "%s", text);
}

/* Builds the image in fd, which is called name in messages. */
static int
build_to(struct sqpack *p, const struct imgsrc_source *source, int fd,
    const char *name, int tmpdir)
{
	struct imgsrc_image *image = &p->image;
	int rc;

	image->o = p->o.from;
	image->o.path = p->o.source;
	image->o.no_xattrs = p->o.no_xattrs;
	image->o.show_progress = !p->msg.quiet;
	image->o.report = print_report;
	image->o.arg = p;
	image->pack = p->o.data;
	image->pack.memory = p->o.memory;
	image->tables = p->o.tables;
	rc = imgsrc_build(image, source, fd, tmpdir);
	return image->told ? rc : output_error(p, name, rc);
}

/* Opens the directory for unlinked files. */
static int
open_tmpdir(const char **name)
{
	const char *tmpdir = getenv("TMPDIR");

	*name = tmpdir == NULL || *tmpdir == '\0' ? "/tmp" : tmpdir;
	return sys_openat(AT_FDCWD, *name, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	    0);
}

int
sqpack_build_nowhere(struct sqpack *p, const struct imgsrc_source *source,
    int (*judge)(struct sqpack *p, int fd))
{
	const char *name;
	int dir = open_tmpdir(&name), fd = -1, rc;

	if (dir < 0)
		return output_error(p, name, dir);
	fd = sys_openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		rc = output_error(p, name, fd);
		goto out;
	}
	rc = build_to(p, source, fd, p->o.output != NULL ? p->o.output : name,
	    dir);
	if (rc == 0 && judge != NULL)
		rc = judge(p, fd);
	sys_close(fd);
out:
	sys_close(dir);
	return rc;
}

/* Returns the permissions of a new file. */
static mode_t
new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/*
 * Writes the image to a block device.  Unlinked files are not created in /dev,
 * the directory of the device.
 */
static int
build_on_device(struct sqpack *p, const struct output *out)
{
	const char *name;
	int rc, dir = open_tmpdir(&name);

	if (dir < 0)
		return output_error(p, name, dir);
	rc = build_to(p, source_of(p), out->fd, p->o.output, dir);
	sys_close(dir);
	return rc;
}

static int
build_in(struct sqpack *p, struct output *out)
{
	int rc;

	if (out->direct && S_ISBLK(out->there.st_mode))
		return build_on_device(p, out);
	if (out->direct) {
		msg_error(&p->msg, "%s: an image cannot be written "
		    "sequentially: -o needs a file or a block device",
		    p->o.output);
		return -ESPIPE;
	}
	rc = build_to(p, source_of(p), out->fd, p->o.output, out->dirfd);
	if (rc == 0 && sys_chmod(out->fd, NULL, new_mode(), 0) != 0)
		msg_warn(&p->msg, "%s: cannot set permissions",
		    p->o.output);
	return rc;
}

int
sqpack_build(struct sqpack *p)
{
	struct output out;
	int rc;

	if (p->o.dry_run)
		return sqpack_build_nowhere(p, source_of(p), NULL);
	rc = output_create(&out, p->o.output, p->o.force);
	if (rc == -EEXIST) {
		msg_error(&p->msg, "%s exists (-f replaces it)",
		    p->o.output);
		return rc;
	}
	if (rc != 0)
		return output_error(p, p->o.output, rc);
	rc = build_in(p, &out);
	if (rc != 0) {
		output_abort(&out);
		return rc;
	}
	return output_error(p, p->o.output, output_commit(&out, true));
}

void
sqpack_free(struct sqpack *p)
{
	imgsrc_free(&p->image);
	if (p->o.release != NULL)
		p->o.release(p);
	sys_free(p->o.from.excludes);
}
