/*
 * fuzz_sqpack_tar.c - any bytes as an archive to build an image from: the image
 * is complete, and its data can be read
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects the settings.
 */
#include "image/source/imgsrc.h"
#include "tar_repair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Limits on unpacked blocks and on memory for block lists, tables and names. */
enum { BLOCKS = 64, MEMORY = 16 << 20 };

static void
tell(void *arg, uint64_t at, const char *why)
{
	(void)arg;
	(void)at;
	(void)why;
	abort();
}

/* Unpacks a file's first blocks, which must have the expected sizes. */
static void
read_blocks(const struct sq_image *m, const struct sq_entry *e,
    unsigned *blocks, uint8_t *out)
{
	struct sq_decoder *d;
	const char *why;
	uint64_t at = e->start;

	if (sq_decoder_open(&d, m) != 0)
		abort();
	for (uint32_t k = 0; k < e->blocks && *blocks < BLOCKS; k++) {
		uint32_t word = sq_word(e, k);

		if (word != 0 && (*blocks)++ < BLOCKS && sq_unpack(d, at,
		    word, sq_block_len(m, e, k), out, &why) < 0)
			abort();
		at += sq_word_len(word);
	}
	sq_decoder_close(d);
}

/* Checks that the image has all of the tree's nodes, without errors. */
static void
judge(const struct imgsrc_image *image, int fd)
{
	struct sq_image *m;
	const char *why;
	unsigned blocks = 0;
	uint8_t *out = malloc(image->pack.block);

	if (out == NULL || sq_open(&m, fd, 0, 1, UINT64_C(1) << 30, tell,
	    NULL, &why) != 0 || sq_count(m) != image->tree.count)
		abort();
	for (size_t n = 0; n < sq_count(m); n++) {
		struct sq_entry e;

		sq_get(m, n, &e);
		if (e.why != NULL || e.lost)
			abort();
		if (e.sizes != NULL)
			read_blocks(m, &e, &blocks, out);
	}
	sq_close(m);
	free(out);
}

static void
choose(struct imgsrc_image *image, uint8_t bits)
{
	static const char *const methods[] = { "zstd", "gzip", "lz4", "none" };
	struct sqw_data_options *o = &image->pack;

	o->method = sqw_method_by_name(methods[bits & 3]);
	o->level = o->method->level_min;
	o->block = bits & 4 ? 4096 : 131072;
	o->no_fragments = bits & 8;
	o->no_duplicates = bits & 16;
	o->threads = 1;
	o->memory = MEMORY;
	image->o.no_xattrs = bits & 32;
	image->tables.no_pad = bits & 64;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct imgsrc_image image = { .told = false };
	char name[32];
	uint8_t *copy;
	int fd = memfd_create("archive", MFD_CLOEXEC);
	int out = memfd_create("image", MFD_CLOEXEC);
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1 || out == -1 || tmp == -1)
		abort();
	if (size == 0)
		goto out;
	choose(&image, data[0]);
	copy = tar_repair(data + 1, size - 1);
	if (write(fd, copy, size - 1) != (ssize_t)(size - 1))
		abort();
	free(copy);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	image.o.path = name;
	if (imgsrc_build(&image, &imgsrc_tar, out, tmp) == 0)
		judge(&image, out);
	imgsrc_free(&image);
out:
	close(tmp);
	close(out);
	close(fd);
	return 0;
}
