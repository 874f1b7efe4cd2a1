/*
 * fuzz_squashfs.c - any bytes as an image: no crash or hang, bounded memory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The input is the image.  A file larger than MOST bytes ends the walk, because
 * holes use no space in the image.
 */
#include "walk/walk.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 16 << 20 };

static atomic_ullong passed;
static atomic_bool enough;

static int
row(void *arg, const struct walk_file *f)
{
	(void)arg;
	if (f->path == NULL || f->path[0] == '\0' || f->path[0] == '/')
		abort();
	return 0;
}

static int
damage(void *arg, const struct walk_damage *d)
{
	(void)arg;
	if (d->reason == NULL)
		abort();
	return 0;
}

static void
progress(void *arg, uint64_t bytes)
{
	(void)arg;
	if (atomic_fetch_add(&passed, bytes) > MOST)
		atomic_store(&enough, true);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct digest_algo *algo;
	struct walk_result r;
	const char *why;
	int fd = memfd_create("image", MFD_CLOEXEC);

	atomic_store(&passed, 0);
	atomic_store(&enough, false);
	if (fd == -1 || write(fd, data, size) != (ssize_t)size ||
	    digest_algo_open(&algo, "none") != 0)
		abort();
	walk_squashfs.walk(fd, 0, &(struct walk_options){ .threads = 2,
	    .digest = algo, .row = row, .damage = damage,
	    .progress = progress, .cancel = &enough }, &r, &why);
	digest_algo_close(algo);
	close(fd);
	return 0;
}
