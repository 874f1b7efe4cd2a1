/*
 * pack_zstd_chunked.c - zstd:chunked: frames, and an index that zstd skips
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: RFC 8878, 3.1.2 (skippable frames); package zstdchunked in
 * containerd/stargz-snapshotter, whose footer is used, because
 * containers/storage finds the index through annotations; packages
 * pkg/chunked/compressor and pkg/chunked/internal/minimal in containers/storage
 * for everything else.
 */
#include "pack_impl.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
	FOOTER = 40,
	TYPE_CRFS = 1,
	/* Base-2 logarithms that limit an encoder's memory to about 12 MiB */
	WINDOW_LOG = 22, HASH_LOG = 20, CHAIN_LOG = 20
};

static int
encoder_open(void **e, int level)
{
	*e = pack_store_encoder(level, WINDOW_LOG, HASH_LOG, CHAIN_LOG);
	return *e == NULL ? -ENOMEM : 0;
}

static void
encoder_close(void *e)
{
	ZSTD_freeCCtx(e);
}

static size_t
bound(size_t len)
{
	return ZSTD_compressBound(len);
}

static ssize_t
encode_frame(void *e, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	size_t n = ZSTD_compress2(e, out, cap, in, len);

	return ZSTD_isError(n) ? -ENOMEM : (ssize_t)n;
}

/* The end of the layer */

static int
digest_of(const struct strbuf *b, uint8_t to[LAYER_DIGEST])
{
	uint8_t digest[DIGEST_MAX];
	int rc = digest_sha256(b->data, b->len, digest);

	memcpy(to, digest, LAYER_DIGEST);
	return rc;
}

/*
 * Writes a skippable frame; *offset and *length are set to the position and
 * length of its content.
 */
static int
write_store(struct pack *p, const struct pack_store *s, uint64_t *offset,
    uint64_t *length, uint64_t *content)
{
	*offset = p->out.at + p->wrapping->before;
	*length = s->frame.len;
	*content = s->content;
	if (s->frame.len > UINT32_MAX)
		return -EFBIG;
	return pack_out_wrapped(p, s->frame.data, s->frame.len);
}

static int
finish_chunked(struct pack *p)
{
	struct pack_result *r = p->r;
	const struct pack_store *split = NULL;
	uint8_t digest[LAYER_DIGEST], footer[FOOTER];
	int rc = pack_cut_tar_split(p->cut, &split);

	if (rc != 0)
		return rc;
	if (split != NULL) {
		rc = write_store(p, split, &r->tar_split_offset,
		    &r->tar_split_length, &r->tar_split_content);
		if (rc == 0)
			rc = digest_of(&split->frame, digest);
		if (rc != 0)
			return rc;
	}
	rc = pack_toc_finish(p, split == NULL ? NULL : digest);
	if (rc != 0)
		return rc;
	rc = digest_of(&p->toc.store.frame, r->index_digest);
	if (rc != 0)
		return rc;
	rc = write_store(p, &p->toc.store, &r->index_offset, &r->index_length,
	    &r->index_content);
	if (rc != 0)
		return rc;
	store_le64(footer, r->index_offset);
	store_le64(footer + 8, r->index_length);
	store_le64(footer + 16, r->index_content);
	store_le64(footer + 24, TYPE_CRFS);
	memcpy(footer + 32, "GnUlInUx", 8);
	return pack_out_wrapped(p, footer, sizeof(footer));
}

const struct pack_format pack_zstd_chunked = {
	.kind = LAYER_ZSTD_CHUNKED, .levels = { 1, 19, 10 }, .chunk = 1 << 20,
	.encoder_open = encoder_open, .encoder_close = encoder_close,
	.bound = bound, .encode = encode_frame,
	.finish = finish_chunked,
};
