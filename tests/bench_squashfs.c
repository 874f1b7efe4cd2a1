/*
 * bench_squashfs.c - measure the minimum work needed to read an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * usage: bench_squashfs image
 *
 * Each block with file data is read and unpacked once, in disk order, and all
 * bytes are hashed with a single SHA-256 by OpenSSL.  There are no names, rows
 * or threads.  scripts/bench-coldwalk compares coldwalk's CPU time with this.
 */
#include "../src/image/plan.h"
#include "../src/image/squashfs/read/squashfs.h"

#include <err.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

struct bench {
	struct image image;
	void *decoder;
	EVP_MD_CTX *hash;
	uint8_t *packed, *data;
};

static int
ignore(void *arg, uint64_t at, const char *reason)
{
	(void)arg;
	(void)at;
	(void)reason;
	return 0;
}

static void
add_block(struct bench *b, const struct image_job *j)
{
	size_t n = image_stored_B(j->word);
	bool raw = (j->word & IMAGE_RAW) != 0;
	int64_t made = (int64_t)n;

	if (n == 0 || n > b->image.block_B ||
	    image_read(&b->image, j->at, b->packed, n) != 0)
		errx(1, "a block cannot be read");
	if (!raw)
		made = b->image.source->unpack(b->decoder, b->packed, n,
		    b->data, b->image.block_B);
	if (made < 0)
		errx(1, "a block cannot be unpacked");
	EVP_DigestUpdate(b->hash, raw ? b->packed : b->data, (size_t)made);
}

int
main(int argc, char *argv[])
{
	struct bench b = { .hash = EVP_MD_CTX_new() };
	uint8_t digest[EVP_MAX_MD_SIZE];
	const char *why = NULL;
	struct image_plan plan;
	int fd;

	if (argc != 2)
		errx(1, "usage: bench_squashfs image");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		err(1, "%s", argv[1]);
	if (image_open(&b.image, &sq_image_source, fd, 0, NULL, NULL, 1, ignore,
	    NULL, &why) != 0 || image_plan_make(&plan, &b.image) != 0 ||
	    sq_image_source.decoder_open(&b.image, &b.decoder) != 0)
		errx(1, "%s: %s", argv[1], why != NULL ? why : "not read");
	b.packed = malloc(b.image.block_B);
	b.data = malloc(b.image.block_B);
	if (b.packed == NULL || b.data == NULL || b.hash == NULL ||
	    EVP_DigestInit_ex(b.hash, EVP_sha256(), NULL) != 1)
		errx(1, "no memory");
	for (size_t i = 0; i < plan.extent_count; i++)
		for (size_t k = 0; k < plan.extents[i].count; k++) {
			const struct image_job *j =
			    &plan.jobs[plan.extents[i].first + k];

			if (j->block != IMAGE_JOB_HOLES)
				add_block(&b, j);
		}
	EVP_DigestFinal_ex(b.hash, digest, NULL);
	printf("%02x%02x%02x%02x\n", digest[0], digest[1], digest[2],
	    digest[3]);
	EVP_MD_CTX_free(b.hash);
	image_plan_free(&plan);
	sq_image_source.decoder_close(b.decoder);
	image_close(&b.image);
	free(b.packed);
	free(b.data);
	return 0;
}
