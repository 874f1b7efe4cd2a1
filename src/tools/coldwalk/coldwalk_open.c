/*
 * coldwalk_open.c - what is to be walked, and what is to be written, opened
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "coldwalk.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* What can be an image, from the one place where formats are listed. */
static const struct walk_source *const sources[] = {
	&walk_squashfs,
	NULL
};

/*
 * What format root is an image of.  Looking must not warm what is cold: one
 * page is read, and taken out again if it was not there.
 */
static int
probe_sources(struct root *root, uint64_t offset)
{
	bool absent = S_ISREG(root->st.st_mode) &&
	    cold_page_absent(root->fd, offset);
	int rc = 0;

	posix_fadvise(root->fd, 0, 0, POSIX_FADV_RANDOM);
	for (size_t i = 0; sources[i] != NULL && rc == 0; i++) {
		rc = sources[i]->probe(root->fd, offset);
		if (rc > 0)
			root->image = sources[i];
	}
	if (absent)
		cold_drop_page(root->fd, offset);
	posix_fadvise(root->fd, 0, 0, POSIX_FADV_NORMAL);
	return rc < 0 ? rc : 0;
}

/* What a file or a block device holds: an image, or just its bytes. */
static int
find_image(struct coldwalk *c, struct root *root)
{
	int rc = probe_sources(root, c->o.offset);

	if (rc != 0) {
		msg_error(&c->msg, "%s: %s", root->path, strerror(-rc));
		return rc;
	}
	if (root->image == NULL && (S_ISBLK(root->st.st_mode) ||
	    c->o.offset != 0)) {
		msg_error(&c->msg, "%s: no image of a known format there",
		    root->path);
		return -EINVAL;
	}
	return 0;
}

/*
 * A single tree or image has the names within it, the same wherever it lies;
 * several are told apart by their own names.
 */
static void
set_prefix(struct coldwalk *c, struct root *root, bool file)
{
	size_t n = strlen(root->path);

	root->prefix = c->o.prefix != NULL ? c->o.prefix : "";
	if (c->o.prefix != NULL || file || c->o.path_count == 1)
		return;
	root->prefix = root->path;
	root->slash = n > 0 && root->path[n - 1] != '/';
}

static int
open_root(struct coldwalk *c, const char *path, struct root *root)
{
	bool file;

	*root = (struct root){ .path = path };
	root->fd = sys_openat(AT_FDCWD, path,
	    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (root->fd < 0 || fstat(root->fd, &root->st) == -1) {
		msg_error(&c->msg, "%s: %s", path,
		    strerror(root->fd < 0 ? -root->fd : errno));
		goto close_root;
	}
	file = S_ISREG(root->st.st_mode);
	if (!file && !S_ISDIR(root->st.st_mode) &&
	    !S_ISBLK(root->st.st_mode)) {
		msg_error(&c->msg, "%s: neither a directory nor a file", path);
		goto close_root;
	}
	if (S_ISDIR(root->st.st_mode) && c->o.offset != 0) {
		msg_error(&c->msg, "%s: --offset is for images, not for "
		    "directories", path);
		goto close_root;
	}
	if (!S_ISDIR(root->st.st_mode) && !c->o.resident &&
	    find_image(c, root) != 0)
		goto close_root;
	set_prefix(c, root, file && root->image == NULL);
	return 0;
close_root:
	if (root->fd >= 0)
		sys_close(root->fd);
	return -EINVAL;
}

int
coldwalk_open_roots(struct coldwalk *c)
{
	c->roots = sys_calloc((size_t)c->o.path_count, sizeof(*c->roots));
	if (c->roots == NULL)
		return -ENOMEM;
	for (int i = 0; i < c->o.path_count; i++)
		if (open_root(c, c->o.paths[i], &c->roots[c->root_count]) == 0)
			c->root_count++;
	return 0;
}

int
coldwalk_open_output(struct coldwalk *c)
{
	int rc;

	if (c->o.output == NULL)
		return 0;
	rc = output_create(&c->out, c->o.output, c->o.force);
	if (rc != 0)
		msg_error(&c->msg, "%s: %s%s", c->o.output, strerror(-rc),
		    rc == -EEXIST ? " (-f replaces it)" : "");
	c->has_out = rc == 0;
	return rc;
}
