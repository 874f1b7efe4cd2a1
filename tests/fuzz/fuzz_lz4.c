/*
 * fuzz_lz4.c - the LZ4 decoder agrees with liblz4 on any bytes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects whether the rest is unchanged, or has the header's
 * checksum corrected so that more of it is read, whether memory is limited, and
 * whether there is a dictionary.
 * The output before an error must be a prefix of liblz4's output; for valid
 * input it must be complete.  (liblz4 does not read legacy frames, so for these
 * only crashes are detected.)
 */
#define LZ4F_STATIC_LINKING_ONLY

#include "format/codec.h"

#include "base/bytes.h"

#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

extern const struct codec codec_lz4;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20, LEGACY = 0x184c2102, MEMORY = 4 << 20,
    DICTIONARY = 70000 };

/* Fills in a dictionary that is longer than a match can reach. */
static void
fill_dictionary(char *p)
{
	for (size_t i = 0; i < DICTIONARY; i++)
		p[i] = (char)(i * i >> 7);
}

/*
 * Returns the decoder's result for size bytes; its output is written to out_fd.
 * d may be NULL.
 */
static int
ours(const uint8_t *data, size_t size, uint64_t memory, const char *d,
    int out_fd)
{
	struct codec_options o = { .threads = 1, .memory = memory,
	    .head = data, .head_len = size < INPUT_PEEK ? size : INPUT_PEEK };
	struct codec_notes notes = { .need = 0 };
	struct pipeline_stats stats = { .in_bytes = 0 };
	struct pipeline_params params = { .threads = 1, .out_fd = out_fd };
	int fd = memfd_create("in", 0), rc;
	struct input in;
	const char *why;
	struct memory_plan p;
	void *job;

	if (d != NULL && codec_set(&o, "dictionary", DICTIONARY, d) != 0)
		abort();
	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) != 0 ||
	    codec_lz4.decode->plan(&o, &p, &why) != 0 ||
	    codec_lz4.decode->open(&job, &o, &p, &notes) != 0 ||
	    input_open(&in, fd) != 0)
		abort();
	params.slots = p.slots;
	rc = pipeline_run(&codec_lz4.decode->ops, job, &in, &params, &stats);
	codec_lz4.decode->close(job);
	input_close(&in);
	close(fd);
	return rc;
}

/*
 * Produces liblz4's output, at most MOST bytes.  Returns whether it found no
 * error.
 */
static int
theirs(const uint8_t *data, size_t size, const char *dictionary, uint8_t *out,
    size_t *len)
{
	LZ4F_dctx *d;
	size_t rc = 0, used, made;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&d, LZ4F_VERSION)))
		abort();
	*len = 0;
	do {
		used = size;
		made = MOST - *len;
		rc = dictionary == NULL ? LZ4F_decompress(d, out + *len, &made,
		    data, &used, NULL) : LZ4F_decompress_usingDict(d,
		    out + *len, &made, data, &used, dictionary, DICTIONARY,
		    NULL);
		data += used;
		size -= used;
		*len += LZ4F_isError(rc) ? 0 : made;
	} while (!LZ4F_isError(rc) && size > 0 && (used > 0 || made > 0));
	LZ4F_freeDecompressionContext(d);
	return rc == 0;
}

static void
compare(const uint8_t *data, size_t size, uint64_t memory, const char *d)
{
	int fd = memfd_create("out", 0), rc;
	uint8_t *want = malloc(MOST), *got;
	size_t len;
	off_t n;

	if (fd < 0 || want == NULL)
		abort();
	rc = ours(data, size, memory, d, fd);
	n = lseek(fd, 0, SEEK_END);
	if (memmem(data, size, "\x02\x21\x4c\x18", 4) == NULL && n < MOST) {
		int good = theirs(data, size, d, want, &len);

		got = malloc((size_t)n + 1);
		if (got == NULL || pread(fd, got, (size_t)n, 0) != n)
			abort();
		if (rc == 0 && good && (size_t)n != len)
			abort();
		if ((size_t)n <= len && memcmp(got, want, (size_t)n) != 0)
			abort();
		free(got);
	}
	free(want);
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char dictionary[DICTIONARY];
	uint8_t *in;
	size_t n;

	fill_dictionary(dictionary);
	if (size < 8)
		return 0;
	in = malloc(size);
	if (in == NULL)
		abort();
	memcpy(in, data + 1, --size);
	n = size;
	if (data[0] & 1) {
		store_le32(in, data[0] & 2 ? LEGACY : 0x184d2204);
		n = 7 + (in[4] & 8 ? 8U : 0U) + (in[4] & 1 ? 4U : 0U);
		if (!(data[0] & 2) && n <= size)
			in[n - 1] = XXH32(in + 4, n - 5, 0) >> 8 & 0xff;
	}
	compare(in, size, data[0] & 4 ? MEMORY : 0,
	    data[0] & 8 ? dictionary : NULL);
	free(in);
	return 0;
}
