/*
 * imgsrc_compare.c - comparing an image with one built from it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/source/imgsrc.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 1 << 18 };

/* Compares the images from an offset onward; x and y have room for PIECE. */
static int
compare_from(const struct sq_file *old, int fd, uint64_t from, uint8_t *x,
    uint8_t *y, struct imgsrc_difference *d)
{
	for (d->at = from;; d->at += PIECE) {
		ssize_t a = fdio_pread(old->fd, x, PIECE,
		    (off_t)(old->offset + d->at));
		ssize_t b = fdio_pread(fd, y, PIECE, (off_t)d->at);
		size_t n = (size_t)(a < b ? a : b), k = 0;

		if (a < 0 || b < 0)
			return (int)(a < 0 ? a : b);
		if (memcmp(x, y, n) != 0)
			while (x[k] == y[k])
				k++;
		else
			k = n;
		if (k < n || a != b) {
			d->at += k;
			d->old_ends = k == (size_t)a;
			d->made_ends = k == (size_t)b;
			return 1;
		}
		if (a < PIECE)
			return 0;
	}
}

/* Returns the first name whose blocks or fragment block contain the byte. */
static size_t
name_at(const struct sq_image *m, uint64_t at)
{
	struct sq_entry e;
	uint64_t from;
	uint32_t word;

	for (size_t n = 1; n < sq_count(m); n++) {
		sq_get(m, n, &e);
		if (!S_ISREG(e.mode) || e.size == 0 || e.lost)
			continue;
		if (at >= e.start && at - e.start < sq_stored(&e))
			return n;
		if (e.fragment == SQUASHFS_NONE)
			continue;
		sq_fragment(m, e.fragment, &from, &word);
		if (at >= from && at - from < sq_word_len(word))
			return n;
	}
	return 0;
}

int
imgsrc_compare(const struct sq_file *old, int fd, struct imgsrc_difference *d)
{
	uint8_t *x = sys_malloc(PIECE), *y = sys_malloc(PIECE);
	uint8_t s[SQUASHFS_SUPER_B] = { 0 };
	int rc = -ENOMEM;

	*d = (struct imgsrc_difference){ .name = 0 };
	if (x == NULL || y == NULL)
		goto out;
	rc = compare_from(old, fd, SQUASHFS_SUPER_B, x, y, d);
	if (rc == 0)
		rc = compare_from(old, fd, 0, x, y, d);
	if (rc != 1)
		goto out;
	d->name = name_at(old->image, d->at);
	if (d->at < SQUASHFS_SUPER_B)
		d->where = "in the superblock";
	else if (fdio_pread(old->fd, s, sizeof(s), (off_t)old->offset) < 0)
		d->where = "in the image";
	else if (d->at >= load_le64(s + SQUASHFS_S_USED))
		d->where = "in the padding";
	else if (d->at >= load_le64(s + SQUASHFS_S_DIR_TABLE))
		d->where = "in the listings or a table after them";
	else if (d->at >= load_le64(s + SQUASHFS_S_INODE_TABLE))
		d->where = "in the inodes";
	else
		d->where = "before the data, or between files";
out:
	sys_free(x);
	sys_free(y);
	return rc;
}
