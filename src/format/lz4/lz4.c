/*
 * lz4.c - the LZ4 codec, and the headers of frames
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * lz4_encode.c compresses, lz4_decode.c decompresses.
 */
#include "lz4_frame.h"

#include "base/bytes.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "format/skippable.h"

#include <errno.h>
#include <lz4.h>
#include <xxhash.h>

enum { BD_RESERVED = 0x8f };

int
lz4_header_parse(struct lz4_header *h, const uint8_t *p, size_t len)
{
	int code;

	*h = (struct lz4_header){ .size = 0 };
	if (load_le32(p) == LEGACY_MAGIC) {
		h->flags = PIECE_LEGACY | 23;
		return 0;
	}
	code = p[5] >> 4;
	if (p[4] >> 6 != 1)
		return -ENOTSUP;
	if (len != lz4_header_len(p[4]) || p[4] & FLG_RESERVED ||
	    p[5] & BD_RESERVED || code < 4 ||
	    (XXH32(p + 4, len - 5, 0) >> 8 & 0xff) != p[len - 1])
		return -EBADMSG;
	h->dictionary = p[4] & FLG_DICT;
	h->flags = (8 + 2 * code) |
	    (p[4] & FLG_INDEPENDENT ? 0 : PIECE_LINKED) |
	    (p[4] & FLG_BLOCK_CHECK ? PIECE_BLOCK_CHECK : 0);
	h->content_check = p[4] & FLG_CONTENT_CHECK;
	if (p[4] & FLG_SIZE)
		h->size = load_le64(p + 6);
	return h->dictionary ? -ENOTSUP : 0;
}

struct lz4_dictionary
lz4_dictionary_of(const struct codec_options *o)
{
	const char *p = codec_text(o, "dictionary");
	uint64_t n = codec_number(o, "dictionary");

	if (n == 0)
		return (struct lz4_dictionary){ .p = NULL };
	if (n > LZ4_HISTORY)
		p += n - LZ4_HISTORY;
	return (struct lz4_dictionary){ p, n < LZ4_HISTORY ? (int)n :
	    LZ4_HISTORY };
}

void
lz4_header_store(uint8_t *p, int log, int checks)
{
	store_le32(p, FRAME_MAGIC);
	p[4] = (uint8_t)(FLG_VERSION | FLG_INDEPENDENT | checks);
	p[5] = (uint8_t)((log - 8) / 2 << 4);
	p[6] = XXH32(p + 4, 2, 0) >> 8 & 0xff;
}

/* zstd also has skippable frames; the data after them decides, if available. */
static bool
lz4_magic(const uint8_t *p, size_t len)
{
	return skippable_pass(&p, &len) || (len >= 4 &&
	    (load_le32(p) == FRAME_MAGIC || load_le32(p) == LEGACY_MAGIC));
}

static uint32_t
lz4_dictionary(const uint8_t *p, size_t len)
{
	struct lz4_header h;
	size_t n;

	if (len < FRAME_HEADER || load_le32(p) != FRAME_MAGIC)
		return 0;
	n = lz4_header_len(p[4]);
	return n <= len && lz4_header_parse(&h, p, n) == -ENOTSUP &&
	    h.dictionary ? load_le32(p + n - 5) : 0;
}

static const char *
lz4_versions(void)
{
	return "liblz4 " LZ4_VERSION_STRING;
}

const struct codec codec_lz4 = {
	.name = "lz4",
	.suffixes = (const struct codec_suffix[]){ { ".lz4", "" },
	    { ".tlz4", ".tar" }, { NULL, NULL } },
	.level_min = 1, .level_max = 12, .level_default = 1,
	.adapt_max = 9,
	.settings = (const char *const[]){
	    "dictionary",	/* its size; the text is its bytes */
	    "content-size",	/* record "size", if it is given */
	    "fast",		/* liblz4's acceleration */
	    "no-check",		/* no checksum of the content */
	    "block-check",	/* also add a checksum to each block */
	    "legacy",		/* the frame that lz4 -l writes */
	    NULL },
	.list = lz4_list, .seek = &lz4_seek,
	.magic = lz4_magic, .dictionary = lz4_dictionary,
	.encode = &lz4_encoder, .decode = &lz4_decoder, .versions = lz4_versions,
};
