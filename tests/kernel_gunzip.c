/*
 * kernel_gunzip.c - reads gzip files as Linux's boot decompressor does
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * kernel_gunzip <FILE.gz >FILE.  The kernel skips ten bytes of header, and a
 * name if the header's flags announce one; it ignores all other flags, so it
 * takes any other field for deflated data.  It reads one member, verifies
 * neither CRC nor size, and ignores what follows.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { HEADER = 10, FLAGS = 3, FNAME = 8, PIECE = 64 << 10 };

static void
skip_header(void)
{
	int h[HEADER], c;

	for (int i = 0; i < HEADER; i++)
		h[i] = getchar();
	if (h[0] != 0x1f || h[1] != 0x8b || h[2] != 8 || h[9] == EOF)
		errx(EXIT_FAILURE, "not a gzip file");
	if ((h[FLAGS] & FNAME) == 0)
		return;
	while ((c = getchar()) != 0)
		if (c == EOF)
			errx(EXIT_FAILURE, "header error");
}

static void
inflate_body(z_stream *z)
{
	static uint8_t in[PIECE], out[PIECE];
	int rc = Z_OK;

	while (rc != Z_STREAM_END) {
		if (z->avail_in == 0) {
			z->next_in = in;
			z->avail_in = (uInt)fread(in, 1, sizeof(in), stdin);
		}
		z->next_out = out;
		z->avail_out = sizeof(out);
		rc = inflate(z, Z_NO_FLUSH);
		if (rc != Z_OK && rc != Z_STREAM_END)
			errx(EXIT_FAILURE, "uncompression error");
		fwrite(out, 1, sizeof(out) - z->avail_out, stdout);
	}
}

int
main(void)
{
	z_stream z = { .avail_in = 0 };

	skip_header();
	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		errx(EXIT_FAILURE, "out of memory");
	inflate_body(&z);
	inflateEnd(&z);
	if (fflush(stdout) != 0)
		err(EXIT_FAILURE, "standard output");
	return 0;
}
