/*
 * toc_load.c - fetching a table of contents in pieces, and reading it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/toc/toc.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 4 << 20, TEXT = 64 << 10 };

ssize_t
toc_input_next(struct toc_input *in, const uint8_t **data, char why[LAYER_WHY])
{
	struct layer_range r = { .offset = in->at, .length = in->left };
	int rc;

	if (in->left == 0)
		return 0;
	if (r.length > PIECE)
		r.length = PIECE;
	if (in->piece == NULL)
		in->piece = sys_malloc((size_t)r.length);
	if (in->piece == NULL)
		return layer_refuse(why, -ENOMEM, "%s", strerror(ENOMEM));
	r.buf = in->piece;
	rc = layer_fetch(in->l, &r, why);
	if (rc == 0 && in->digest != NULL)
		rc = digest_add(in->digest, r.buf, (size_t)r.length);
	if (rc != 0)
		return rc;
	in->at += r.length;
	in->left -= r.length;
	*data = in->piece;
	return (ssize_t)r.length;
}

void
toc_input_close(struct toc_input *in)
{
	sys_free(in->piece);
	in->piece = NULL;
}

/* Reads the document; text contains one part at a time. */
static int
read_all(struct toc_reader *r, const struct toc_source *s, struct digest *d,
    uint8_t *text, char why[LAYER_WHY])
{
	uint64_t total = 0;
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = s->read(s->arg, text, TEXT, why)) != 0) {
		if (n < 0)
			return (int)n;
		total += (uint64_t)n;
		if (total > LAYER_INDEX_MAX)
			return layer_refuse(why, -EFBIG, "the index is larger "
			    "than 256 MiB");
		rc = digest_add(d, text, (size_t)n);
		if (rc == 0)
			rc = toc_reader_add(r, text, (size_t)n, why);
	}
	return rc;
}

static int
load(struct toc_reader *r, const struct toc_source *s, struct digest *d,
    uint8_t sum[LAYER_DIGEST], char why[LAYER_WHY])
{
	uint8_t *text = sys_malloc(TEXT);
	int rc = text == NULL ? -ENOMEM : digest_start(d);

	if (rc == 0)
		rc = read_all(r, s, d, text, why);
	if (rc == 0)
		rc = digest_end(d, sum);
	sys_free(text);
	return rc;
}

int
toc_load(struct layer *l, const struct toc_source *source, uint64_t end,
    uint8_t sum[LAYER_DIGEST], char why[LAYER_WHY])
{
	struct digest_algo *sha256 = NULL;
	struct digest *d = NULL;
	struct toc_reader *r = NULL;
	struct toc *t = sys_calloc(1, sizeof(*t));
	int rc = t == NULL ? -ENOMEM : 0;

	l->state = t;
	if (rc == 0)
		rc = digest_algo_open(&sha256, "sha256");
	if (rc == 0)
		rc = digest_new(&d, sha256);
	if (rc == 0)
		rc = toc_reader_open(&r, t, &l->index, true);
	if (rc == 0)
		rc = load(r, source, d, sum, why);
	if (rc == 0)
		rc = toc_reader_end(r, end, why);
	toc_reader_close(r);
	digest_free(d);
	digest_algo_close(sha256);
	return rc;
}
