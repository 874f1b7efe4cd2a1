/*
 * coldwalk_open.c - opening the inputs and the output of a walk
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "coldwalk.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The supported image formats. */
static const struct walk_source *const sources[] = {
	&walk_squashfs,
	NULL
};

/* Returns 1 for an image, after setting root->image; otherwise 0 or -errno. */
static int
ask_sources(struct root *root, bool within)
{
	int rc = 0;

	for (size_t i = 0; sources[i] != NULL && rc == 0; i++) {
		rc = within ? sources[i]->find(root->fd, &root->offset) :
		    sources[i]->probe(root->fd, root->offset);
		if (rc > 0)
			root->image = sources[i];
	}
	return rc;
}

/*
 * Determines the image format of root and the offset of the image.  Probing
 * must not make a cold file warm: the data read is evicted again if its first
 * page was not in memory.
 */
static int
probe_sources(struct root *root, uint64_t offset)
{
	bool absent = S_ISREG(root->st.st_mode) &&
	    cold_page_absent(root->fd, offset);
	int rc;

	root->offset = offset;
	posix_fadvise(root->fd, 0, 0, POSIX_FADV_RANDOM);
	rc = ask_sources(root, false);
	if (rc == 0 && offset == 0 && S_ISREG(root->st.st_mode))
		rc = ask_sources(root, true);
	if (absent) {
		cold_drop_page(root->fd, offset);
		if (root->offset != offset)
			posix_fadvise(root->fd, 0, (off_t)root->offset + 1,
			    POSIX_FADV_DONTNEED);
	}
	posix_fadvise(root->fd, 0, 0, POSIX_FADV_NORMAL);
	return rc < 0 ? rc : 0;
}

/* Determines whether a file or block device contains an image or plain data. */
static int
find_image(struct coldwalk *c, struct root *root)
{
	static const char *const suffix[] = { ".squashfs", ".sqfs", ".sqsh",
		".sfs", ".snap", ".AppImage" };
	size_t len = strlen(root->path);
	int rc = c->o.plain ? 0 : probe_sources(root, c->o.offset);

	if (rc != 0) {
		msg_error(&c->msg, "%s: %s", root->path, strerror(-rc));
		return rc;
	}
	if (root->image != NULL)
		return 0;
	if (c->o.verity != NULL) {
		msg_error(&c->msg, "%s: --verity requires an image in a known "
		    "format", root->path);
		return -EINVAL;
	}
	if (S_ISBLK(root->st.st_mode) || c->o.offset != 0) {
		msg_error(&c->msg, "%s: no image in a known format %s",
		    root->path, c->o.offset != 0 ? "at this offset" :
		    "on this device");
		return -EINVAL;
	}
	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		size_t n = strlen(suffix[i]);

		if (c->o.plain || len <= n ||
		    strcasecmp(root->path + len - n, suffix[i]) != 0)
			continue;
		msg_error(&c->msg, "%s: named like an image, but contains no "
		    "image in a known format (--plain reads it as a file)",
		    root->path);
		return -EINVAL;
	}
	return 0;
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
		msg_error(&c->msg, "%s: expected a directory, a file or a "
		    "block device", path);
		goto close_root;
	}
	if (c->has_out && output_is(&c->out, &root->st)) {
		msg_error(&c->msg, "%s is what is to be read; not overwritten",
		    c->o.output);
		goto close_root;
	}
	if (!S_ISDIR(root->st.st_mode) && c->o.ranges) {
		msg_error(&c->msg, "%s: --ranges requires directories", path);
		goto close_root;
	}
	if (S_ISDIR(root->st.st_mode) && c->o.offset != 0) {
		msg_error(&c->msg, "%s: --offset cannot be used with a "
		    "directory; it is for images", path);
		goto close_root;
	}
	if (!S_ISDIR(root->st.st_mode) && !c->o.resident &&
	    find_image(c, root) != 0)
		goto close_root;
	/*
	 * Names in a single tree or image are relative to it, and therefore do
	 * not depend on its location.  If there are several, each name is
	 * prefixed with the name of its root.
	 */
	root->prefix = c->o.prefix != NULL ? c->o.prefix : "";
	if (c->o.prefix == NULL && (!file || root->image != NULL) &&
	    c->o.path_count > 1) {
		size_t n = strlen(path);

		root->prefix = path;
		root->slash = n > 0 && path[n - 1] != '/';
	}
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
