/*
 * bench_deflate_walk.c - measure the cost of walking relative to compressing
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * usage: bench_deflate_walk file [block_KiB [rounds [level ...]]]
 *
 * Compresses each block of the file with libdeflate and walks the result
 * immediately, so that other load affects both equally.  Writes one CSV row per
 * round and level, rounds outermost.
 */
#include "engine/deflate/deflate_walk.h"

#include <err.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct input {
	const uint8_t *data;
	size_t len, block;
};

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
bench(const struct input *in, int round, int level)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
	size_t cap = in->block + in->block / 8 + 1024, out = 0;
	uint8_t *buf = malloc(cap);
	double t0, t1, pack = 0, walk = 0;

	if (c == NULL || buf == NULL)
		err(EXIT_FAILURE, NULL);
	for (size_t at = 0; at < in->len; at += in->block) {
		size_t n = in->len - at < in->block ? in->len - at : in->block;
		struct deflate_last last;

		t0 = cpu_s();
		n = libdeflate_deflate_compress(c, in->data + at, n, buf, cap);
		t1 = cpu_s();
		if (deflate_walk(buf, n, &last) != 0 ||
		    (last.end + 7) / 8 != n)
			errx(EXIT_FAILURE, "wrong at %zu", at);
		walk += cpu_s() - t1;
		pack += t1 - t0;
		out += n;
	}
	printf("%d,%d,%zu,%zu,%.4f,%.4f,%.2f\n", round, level, in->len, out,
	    pack, walk, 100 * walk / pack);
	fflush(stdout);
	libdeflate_free_compressor(c);
	free(buf);
}

int
main(int argc, char *argv[])
{
	static const int levels[] = { 3, 5, 6, 8, 9, 12 };
	struct input in = { .block = 512 << 10 };
	struct stat st;
	volatile uint8_t page;
	int fd, rounds = 1;

	if (argc < 2)
		errx(EXIT_FAILURE, "usage: bench_deflate_walk file "
		    "[block_KiB [rounds [level ...]]]");
	if (argc > 2)
		in.block = strtoul(argv[2], NULL, 10) << 10;
	if (argc > 3)
		rounds = atoi(argv[3]);
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1)
		err(EXIT_FAILURE, "%s", argv[1]);
	in.len = (size_t)st.st_size;
	in.data = mmap(NULL, in.len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (in.data == MAP_FAILED || in.block == 0)
		err(EXIT_FAILURE, "%s", argv[1]);
	/* Touches the pages, so that page faults are not counted. */
	for (size_t i = 0; i < in.len; i += 4096)
		page = in.data[i];
	(void)page;
	puts("round,level,in_B,out_B,compress_cpu_s,walk_cpu_s,walk_pct");
	for (int r = 1; r <= rounds; r++) {
		if (argc > 4) {
			for (int i = 4; i < argc; i++)
				bench(&in, r, atoi(argv[i]));
			continue;
		}
		for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
			bench(&in, r, levels[i]);
	}
	return 0;
}
