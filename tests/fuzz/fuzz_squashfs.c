/*
 * fuzz_squashfs.c - any bytes as a squashfs image: no crash, and an end
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A hole of a petabyte is no error, but takes its time. */
enum { MOST = 16 << 20 };

struct state {
	atomic_bool cancel;
	atomic_ullong bytes;
};

static int
row(void *arg, const struct walk_file *f)
{
	(void)arg;
	if (f->path[0] == '\0' || f->path[0] == '/')
		abort();
	return 0;
}

static void
progress(void *arg, uint64_t bytes)
{
	struct state *s = arg;

	if (atomic_fetch_add(&s->bytes, bytes) + bytes > MOST)
		s->cancel = true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct digest_algo *algo;
	static int fd = -1;
	struct state s = { false, 0 };
	struct walk_options o = { .threads = 2, .row = row,
	    .progress = progress, .arg = &s, .cancel = &s.cancel };
	struct walk_result r;
	const char *why;

	if (fd == -1 && ((fd = memfd_create("image", MFD_CLOEXEC)) == -1 ||
	    digest_algo_open(&algo, "sha256") != 0))
		abort();
	if (ftruncate(fd, 0) != 0 ||
	    pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	o.digest = algo;
	walk_squashfs.walk(fd, 0, &o, &r, &why);
	return 0;
}
