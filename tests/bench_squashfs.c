/*
 * bench_squashfs.c - an image's blocks unpacked and hashed, and no more
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * usage: bench_squashfs image
 *
 * What cannot be spared: each block that holds data of files is read and
 * unpacked once, in the order of the disk, and all bytes go into one SHA-256
 * of OpenSSL's.  No names, no rows, no threads.  scripts/bench-coldwalk
 * compares the CPU time of coldwalk with this.
 */
#include "../src/image/squashfs/squashfs.h"

#include "base/bytes.h"

#include <err.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

struct bench {
	struct sq_image image;
	struct sq_codec *codec;
	EVP_MD_CTX *hash;
	uint8_t *packed, *data;
};

static void
add_block(struct bench *b, uint64_t at, uint32_t word)
{
	size_t n = word & (SQ_STORED - 1);
	int64_t made = (int64_t)n;

	if (n == 0 || n > b->image.super.block ||
	    sq_read(&b->image.super, at, b->packed, n) != 0)
		errx(1, "a block cannot be read");
	if ((word & SQ_STORED) == 0)
		made = sq_codec_unpack(b->codec, b->packed, n, b->data,
		    b->image.super.block);
	if (made < 0)
		errx(1, "a block cannot be unpacked");
	EVP_DigestUpdate(b->hash, word & SQ_STORED ? b->packed : b->data,
	    (size_t)made);
}

static void
add_unit(struct bench *b, const struct sq_unit *u)
{
	const struct sq_image *m = &b->image;

	if (u->block == SQ_UNIT_FRAGMENT)
		add_block(b, u->at, m->fragments[u->index].size);
	else if (u->block != SQ_UNIT_HOLES)
		add_block(b, u->at, load_le32(m->file[u->index].sizes +
		    4 * (size_t)u->block));
}

int
main(int argc, char *argv[])
{
	struct bench b = { .hash = EVP_MD_CTX_new() };
	uint8_t digest[EVP_MAX_MD_SIZE];
	const char *why = NULL;
	struct sq_plan plan;
	int fd;

	if (argc != 2)
		errx(1, "usage: bench_squashfs image");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		err(1, "%s", argv[1]);
	if (sq_image_open(&b.image, fd, 0, 1, &why) != 0 ||
	    sq_tree_read(&b.image, &why) != 0 ||
	    sq_plan_make(&plan, &b.image) != 0 ||
	    sq_codec_open(&b.codec, b.image.super.compressor) != 0)
		errx(1, "%s: %s", argv[1], why != NULL ? why : "not read");
	b.packed = malloc(b.image.super.block);
	b.data = malloc(b.image.super.block);
	if (b.packed == NULL || b.data == NULL || b.hash == NULL ||
	    EVP_DigestInit_ex(b.hash, EVP_sha256(), NULL) != 1)
		errx(1, "no memory");
	for (size_t i = 0; i < plan.item_count; i++)
		for (size_t k = 0; k < plan.items[i].count; k++)
			add_unit(&b, &plan.units[plan.items[i].first + k]);
	EVP_DigestFinal_ex(b.hash, digest, NULL);
	printf("%02x%02x%02x%02x\n", digest[0], digest[1], digest[2],
	    digest[3]);
	EVP_MD_CTX_free(b.hash);
	sq_plan_free(&plan);
	sq_codec_close(b.codec);
	sq_image_close(&b.image);
	free(b.packed);
	free(b.data);
	return 0;
}
