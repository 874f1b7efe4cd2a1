/*
 * tar_list.c - [-r COPY]: lists the entries that the tar reader finds on
 * standard input
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One line per entry: type, mode, uid, gid, size, mtime, path, and details: a
 * link's target, a device's numbers, or a file's CRC-32 with its holes as
 * zeros.  Extended attributes follow.  With -r, every raw byte of the archive
 * is written to COPY.
 */
#include "format/tar/tar.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static ssize_t
from_stdin(void *arg, void *buf, size_t len)
{
	(void)arg;
	/* odd lengths, so that every boundary is crossed */
	return sys_read(STDIN_FILENO, buf, len > 777 ? 777 : len);
}

static int
to_copy(void *arg, const void *data, size_t len)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -5;
}

static void
add_zeros(uint32_t *crc, uint64_t n)
{
	static const uint8_t zeros[4096];

	for (; n > sizeof(zeros); n -= sizeof(zeros))
		*crc = (uint32_t)crc32(*crc, zeros, sizeof(zeros));
	*crc = (uint32_t)crc32(*crc, zeros, (uInt)n);
}

/* length of the stored bytes; 0 or -errno */
static int
add_data(struct tar *t, uint32_t *crc, uint64_t length)
{
	uint8_t buf[1000];
	ssize_t n = 1;

	while (length > 0 && n > 0) {
		n = tar_read(t, buf, length < sizeof(buf) ? length :
		    sizeof(buf));
		if (n > 0) {
			*crc = (uint32_t)crc32(*crc, buf, (uInt)n);
			length -= (uint64_t)n;
		}
	}
	return n < 0 ? (int)n : 0;
}

static int
digest(struct tar *t, const struct tar_entry *e, uint32_t *crc)
{
	uint64_t at = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < e->extent_count; i++) {
		add_zeros(crc, e->extents[i].offset - at);
		rc = add_data(t, crc, e->extents[i].length);
		at = e->extents[i].offset + e->extents[i].length;
	}
	if (e->extents == NULL && rc == 0) {
		rc = add_data(t, crc, e->stored);
		at = e->stored;
	}
	add_zeros(crc, e->size - at);
	return rc;
}

static int
print_entry(struct tar *t, const struct tar_entry *e)
{
	uint32_t crc = 0;
	int rc = e->type == TAR_FILE ? digest(t, e, &crc) : 0;

	printf("%c %04o %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64
	    " %s ", "fhlcbdp"[e->type], (unsigned)e->mode, e->uid, e->gid,
	    e->size, e->mtime, e->path);
	if (e->type == TAR_FILE)
		printf("%08" PRIx32, crc);
	else if (e->type == TAR_CHAR || e->type == TAR_BLOCK_DEVICE)
		printf("%u,%u", (unsigned)e->major, (unsigned)e->minor);
	else
		printf("%s", e->link);
	for (size_t i = 0; i < e->xattr_count; i++)
		printf(" %s=%.*s", e->xattrs[i].name,
		    (int)e->xattrs[i].length,
		    (const char *)e->xattrs[i].value);
	putchar('\n');
	return rc;
}

int
main(int argc, char *argv[])
{
	struct tar_source source = { .read = from_stdin };
	struct tar_entry e;
	struct tar *t;
	int rc;

	if (argc == 3 && strcmp(argv[1], "-r") == 0) {
		source.raw = to_copy;
		source.arg = fopen(argv[2], "wb");
		if (source.arg == NULL)
			return 2;
	}
	if (tar_open(&t, &source) != 0)
		return 2;
	while ((rc = tar_next(t, &e)) == 1)
		if ((rc = print_entry(t, &e)) != 0)
			break;
	if (rc == 0)
		rc = tar_drain(t);
	if (rc != 0)
		fprintf(stderr, "%" PRIu64 ": %s\n", tar_offset(t),
		    tar_why(t) != NULL ? tar_why(t) : strerror(-rc));
	tar_close(t);
	if (source.arg != NULL && fclose(source.arg) != 0)
		return 2;
	return rc != 0;
}
