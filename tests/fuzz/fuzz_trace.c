/*
 * fuzz_trace.c - arbitrary bytes as a trace: its pieces belong to indexed files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects the format, and whether the rest is the stored form,
 * or the content, which is then compressed and wrapped.  The same bytes are
 * decoded as each section that the trace names.
 */
#include "lazy/toc/toc.h"
#include "lazy/toc/toc_trace.h"

#include "base/bytes.h"
#include "base/strbuf.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PART = 60000, SIZE = 100000 };

static void
check(bool right)
{
	if (!right)
		abort();
}

static void
wrap(struct strbuf *b, bool gzip, const void *data, size_t len)
{
	uint8_t head[16] = { 0x1f, 0x8b, 8, 4 };

	if (gzip) {
		store_le16(head + 10, (uint16_t)(len + 4));
		memcpy(head + 12, "CT", 2);
		store_le16(head + 14, (uint16_t)len);
		strbuf_add(b, head, sizeof(head));
	} else {
		store_le32(head, 0x184d2a50);
		store_le32(head + 4, (uint32_t)len);
		strbuf_add(b, head, 8);
	}
	strbuf_add(b, data, len);
	if (gzip)
		strbuf_add(b, "\3\0\0\0\0\0\0\0\0\0", 10);
}

/* Stores the content as one frame, in wrapped parts. */
static void
compose(struct strbuf *b, bool gzip, const uint8_t *data, size_t size)
{
	size_t room = ZSTD_compressBound(size);
	uint8_t *frame = malloc(room);
	size_t n;

	check(frame != NULL);
	n = ZSTD_compress(frame, room, data, size, 1);
	check(!ZSTD_isError(n));
	for (size_t at = 0; at < n; at += PART)
		wrap(b, gzip, frame + at, n - at < PART ? n - at : PART);
	free(frame);
}

struct input {
	const uint8_t *data;
	size_t left;
	uint64_t taken;			/* bytes of pieces */
	uint64_t named;			/* bytes of sections' pieces */
	size_t sections;
	const struct layer *l;
	const struct strbuf *all;
};

/* Pieces of varying lengths */
static ssize_t
next(void *arg, const uint8_t **data)
{
	struct input *in = arg;
	size_t n = in->left % 1000 + 1;

	n = n < in->left ? n : in->left;
	*data = in->data;
	in->data += n;
	in->left -= n;
	return (ssize_t)n;
}

/*
 * Checks a piece, which must belong to one of the two files, and adds up
 * lengths.
 */
static int
take(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct input *in = arg;
	volatile uint8_t sum = 0;

	check(entry == 1 || entry == 2);
	check(length > 0 && offset < SIZE && length <= SIZE - offset);
	for (size_t i = 0; i < length; i++)
		sum ^= ((const uint8_t *)data)[i];
	(void)sum;	/* all bytes can be read */
	in->taken += length;
	check(in->taken <= LAYER_TRACE_CONTENT_MAX);
	return 0;
}

/* Checks a section, and decodes it from all bytes as if they were its own. */
static int
take_section(void *arg, const struct layer_section *s)
{
	struct input *in = arg;
	struct layer_section mine = *s;
	struct input all = { .data = (const uint8_t *)in->all->data,
		.left = in->all->len };
	const struct layer_trace_io io = { .next = next, .take = take,
		.arg = &all };

	check(s->count > 0 && s->count <= TRACE_RECORDS_MAX);
	check(++in->sections <= TRACE_SECTIONS_MAX);
	check(s->stored.object == NULL && s->stored.length > 0);
	check(s->stored.length <= in->l->size);
	check(s->stored.offset <= in->l->size - s->stored.length);
	for (size_t i = 0; i < s->count; i++) {
		const struct layer_piece *p = &s->pieces[i];

		check(p->entry == 1 || p->entry == 2);
		check(p->offset <= SIZE && p->length <= SIZE - p->offset);
		in->named += p->length;
	}
	check(in->named <= LAYER_TRACE_CONTENT_MAX);
	/* a few are enough */
	if (in->sections > 3)
		return 0;
	mine.stored.length = all.left;
	EVP_Digest(all.data, all.left, mine.digest, NULL, EVP_sha256(), NULL);
	if (layer_section_decode(in->l, &mine, &io) == 0)
		check(all.left == 0);
	return 0;
}

static void
decode(struct layer *l, struct strbuf *b)
{
	struct toc *t = l->state;
	struct input in = { .data = (const uint8_t *)b->data,
		.left = b->len, .l = l, .all = b };
	const struct layer_trace_io io = { .next = next, .take = take,
		.section = take_section, .arg = &in };

	EVP_Digest(b->data, b->len, t->trace.digest, NULL, EVP_sha256(), NULL);
	t->trace.length = b->len;
	toc_trace_decode(l, &io);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct layer_entry entries[3] = { { .type = TAR_DIR },
		{ .type = TAR_FILE, .size = SIZE },
		{ .type = TAR_FILE, .size = SIZE } };
	struct toc t = { .units = NULL };
	struct layer l = { .state = &t, .size = 1 << 20,
		.index = { .entries = entries, .entry_count = 3 } };
	struct strbuf b = { .len = 0 };
	bool gzip;

	if (size < 1)
		return 0;
	gzip = (data[0] & 1) != 0;
	l.format = gzip ? &format_estargz : &format_zstd_chunked;
	if ((data[0] & 2) != 0)
		strbuf_add(&b, data + 1, size - 1);
	else
		compose(&b, gzip, data + 1, size - 1);
	check(!b.failed);
	decode(&l, &b);
	strbuf_free(&b);
	return 0;
}
