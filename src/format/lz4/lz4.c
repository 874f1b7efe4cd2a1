/*
 * lz4.c - LZ4, the row and the compressing half
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One frame of blocks that stand alone, as lz4(1) writes it, with a checksum
 * of each block beside the one of the content.  The latter cannot be combined
 * of parts: the reader computes it on the way.  Source: LZ4 Frame Format
 * Description 1.6.4.
 */
#include "format/formats.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/other/lz4_fast.h"
#include "format/cutter.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "lz4_frame.h"
#include "pipeline/adapt.h"

#include <errno.h>
#include <lz4.h>
#include <lz4hc.h>
#include <string.h>
#include <xxhash.h>

enum {
	HC_LEVEL = 3,		/* the first; below is the fast compressor */
	AROUND = FRAME_HEADER + 4 + FRAME_CHECK + 4 + FRAME_CHECK
};

struct job {
	struct cutter cut;
	int level;
	struct adapt *adapt;
	XXH32_state_t *check;	/* of the content, the reader's */
};

/* The least block size of the format that n fits in. */
static size_t
round_block(size_t n)
{
	size_t block = FRAME_BLOCK_MAX;

	while (n != 0 && block > (size_t)64 << 10 && n <= block / 4)
		block /= 4;
	return block;
}

static size_t
state_size(int level)
{
	return level < HC_LEVEL ? sizeof(struct lz4_fast) :
	    (size_t)LZ4_sizeofStateHC();
}

static int
plan(const struct codec_options *o, struct plan *p, const char **why)
{
	if (o->block > FRAME_BLOCK_MAX) {
		*why = "blocks of this format are at most 4 MiB";
		return -ENOTSUP;
	}
	p->block = round_block(o->block);
	p->slots = o->threads + 3;
	p->slot_B = p->block + (size_t)LZ4_compressBound((int)p->block) +
	    AROUND;
	p->worker_B = state_size(o->level);
	p->fixed_B = ((uint64_t)1 << 20) + (o->rsyncable ? p->block : 0);
	return 0;
}

static void
close_job(void *job)
{
	struct job *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	XXH32_freeState(j->check);
	sys_free(j);
}

static int
open_job(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	struct job *j = sys_calloc(1, sizeof(*j));

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	j->cut.rsyncable = o->rsyncable;
	j->level = o->level;
	j->adapt = o->adapt;
	j->check = XXH32_createState();
	if (j->check == NULL) {
		close_job(j);
		return -ENOMEM;
	}
	XXH32_reset(j->check, 0);
	*job = j;
	return 0;
}

static int
worker_open(void *job, void **ctx)
{
	struct job *j = job;

	*ctx = sys_malloc(state_size(j->level));
	return *ctx == NULL ? -ENOMEM : 0;
}

static void
worker_close(void *ctx)
{
	sys_free(ctx);
}

static int
fill(void *job, struct input *in, struct slot *s)
{
	struct job *j = job;
	int rc = cutter_fill(&j->cut, in, s);

	if (rc != 0)
		return rc;
	XXH32_update(j->check, s->in.data, s->in.len);
	if (s->last)
		s->check = XXH32_digest(j->check);
	return 0;
}

/* Version 1; the flags for what there is; the code of the block size. */
static size_t
put_header(uint8_t *p, size_t block)
{
	store_le32(p, FRAME_MAGIC);
	p[4] = 0x74;
	p[5] = block <= (size_t)64 << 10 ? 0x40 :
	    block <= (size_t)256 << 10 ? 0x50 :
	    block <= (size_t)1 << 20 ? 0x60 : 0x70;
	p[6] = XXH32(p + 4, 2, 0) >> 8 & 0xff;
	return FRAME_HEADER;
}

/* A block that compressing does not make smaller is stored. */
static size_t
put_block(const struct job *j, void *state, const struct buf *in, uint8_t *p,
    size_t room)
{
	const char *src = (const char *)in->data;
	char *dst = (char *)p + 4;
	size_t len = in->len;
	int level = j->adapt != NULL ? adapt_take(j->adapt) : j->level;
	int n = level < HC_LEVEL ?
	    (int)lz4_fast_block(state, in->data, len, p + 4) :
	    LZ4_compress_HC_extStateHC(state, src, dst, (int)len, (int)room,
	    level);

	if (n > 0 && (size_t)n < len) {
		len = (size_t)n;
		store_le32(p, (uint32_t)len);
	} else {
		memcpy(dst, src, len);
		store_le32(p, (uint32_t)len | FRAME_STORED);
	}
	store_le32(dst + len, XXH32(dst, len, 0));
	return 4 + len + FRAME_CHECK;
}

/* The header goes with the first block, the end with the last. */
static int
work(void *job, void *ctx, struct slot *s)
{
	struct job *j = job;
	size_t bound = (size_t)LZ4_compressBound((int)s->in.len);
	int rc = buf_reserve(&s->out, bound + AROUND);
	uint8_t *p = s->out.data;

	if (rc != 0)
		return rc;
	if (s->seq == 0)
		p += put_header(p, j->cut.block);
	if (s->in.len > 0)
		p += put_block(j, ctx, &s->in, p, bound);
	if (s->last) {
		store_le32(p, 0);
		store_le32(p + 4, s->check);
		p += 4 + FRAME_CHECK;
	}
	s->out.len = (size_t)(p - s->out.data);
	return 0;
}

static int
join(void *job, struct slot *s, struct sink *out)
{
	(void)job;
	return sink_slot(out, s);
}

/*
 * Skippable frames are zstd's as well: what comes behind them decides, where
 * it can be seen.
 */
static bool
magic(const uint8_t *p, size_t len)
{
	uint32_t word;
	size_t n;

	for (;;) {
		if (len < 4)
			return false;
		word = load_le32(p);
		if (word == FRAME_MAGIC || word == LEGACY_MAGIC)
			return true;
		if ((word & ~15U) != SKIP_MAGIC)
			return false;
		n = len < 8 ? SIZE_MAX : load_le32(p + 4);
		if (len < 8 || n >= len - 8)
			return true;
		p += 8 + n;
		len -= 8 + n;
	}
}

static const char *
versions(void)
{
	return "liblz4 " LZ4_VERSION_STRING;
}

static const struct coder encoder = {
	.plan = plan, .open = open_job, .close = close_job,
	.ops = { .fill = fill, .work = work, .join = join,
	    .worker_open = worker_open, .worker_close = worker_close },
};

const struct codec codec_lz4 = {
	.name = "lz4",
	.suffixes = (const struct codec_suffix[]){ { ".lz4", "" },
	    { ".tlz4", ".tar" }, { NULL, NULL } },
	.level_min = 1, .level_max = 12, .level_default = 1,
	.adapt_max = 9,
	.list = lz4_list, .seek = &lz4_seek,
	.magic = magic, .encode = &encoder, .decode = &lz4_decoder,
	.versions = versions,
};
