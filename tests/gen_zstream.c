/*
 * gen_zstream.c - a ZFS send stream of plain files, without ZFS
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * gen_zstream RECORDSIZE FILE... >STREAM: each file becomes an object, with
 * uncompressed records.  A stream's records are 312 bytes, little-endian: a
 * type, the length of the data that follows, and 304 type-specific bytes.
 * Checksums are omitted, because a program that recompresses a stream
 * recomputes them.
 */
#include "base/bytes.h"

#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECORD = 312,
	BEGIN = 0, OBJECT = 1, WRITE = 3, END = 5,
	SECTOR = 512,
	TYPE_FILE = 19,
	GUID = 7
};

static void
put(const void *data, size_t len)
{
	if (fwrite(data, 1, len, stdout) != len)
		err(EXIT_FAILURE, "standard output");
}

static void
put_begin(void)
{
	uint8_t r[RECORD] = { BEGIN };

	store_le64(r + 8, 0x2f5bacbac);
	store_le64(r + 16, 1);		/* a stream of one snapshot */
	store_le32(r + 32, 2);		/* type: a ZFS filesystem */
	store_le64(r + 40, GUID);
	strcpy((char *)r + 56, "pool/tree@now");
	put(r, sizeof(r));
}

static void
put_object(uint64_t object, uint32_t block)
{
	uint8_t r[RECORD] = { OBJECT };

	store_le64(r + 8, object);
	store_le32(r + 16, TYPE_FILE);
	store_le32(r + 24, block);
	put(r, sizeof(r));
}

static void
put_write(uint64_t object, uint64_t offset, const uint8_t *data, uint32_t len)
{
	uint8_t r[RECORD] = { WRITE };

	store_le32(r + 4, len);
	store_le64(r + 8, object);
	store_le32(r + 16, TYPE_FILE);
	store_le64(r + 24, offset);
	store_le64(r + 32, len);
	store_le64(r + 40, GUID);
	put(r, sizeof(r));
	put(data, len);
}

static void
put_file(uint64_t object, const char *path, uint8_t *data, uint32_t most)
{
	FILE *in = fopen(path, "rb");
	uint32_t block = most;
	uint64_t offset = 0;
	size_t n;

	if (in == NULL)
		err(EXIT_FAILURE, "%s", path);
	while ((n = fread(data, 1, most, in)) > 0) {
		memset(data + n, 0, most - n);
		if (offset == 0) {
			if (n < most || getc(in) == EOF)
				block = (uint32_t)(n + SECTOR - 1) / SECTOR *
				    SECTOR;
			else
				fseek(in, (long)n, SEEK_SET);
			put_object(object, block);
		}
		put_write(object, offset, data, block);
		offset += block;
	}
	if (ferror(in))
		err(EXIT_FAILURE, "%s", path);
	fclose(in);
}

int
main(int argc, char **argv)
{
	uint32_t most = argc < 2 ? 0 : (uint32_t)strtoul(argv[1], NULL, 10);
	uint8_t end[RECORD] = { END }, *data = calloc(1, most);

	if (data == NULL || most < SECTOR)
		errx(EXIT_FAILURE, "usage: gen_zstream RECORDSIZE FILE...");
	put_begin();
	for (int i = 2; i < argc; i++)
		put_file((uint64_t)i, argv[i], data, most);
	store_le64(end + 40, GUID);
	put(end, sizeof(end));
	free(data);
	return fclose(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
