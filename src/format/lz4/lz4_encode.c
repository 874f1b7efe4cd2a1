/*
 * lz4_encode.c - compressing to LZ4 frames
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The output is one frame of independent blocks with a content checksum, as
 * written by lz4(1).  Block checksums are optional, because lz4js mistakes them
 * for data.  The content checksum cannot be combined from parts, so the reader
 * computes it.
 *
 * The legacy frame, which the kernel reads, is a magic number and blocks of 8
 * MiB of input, each preceded by its compressed length.  Legacy frames have no
 * checksums, no stored blocks and no end mark.
 *
 * With --independent, every block is a frame of its own, with its size and its
 * checksum, which a worker computes.
 *
 * Source: LZ4 Frame Format Description 1.6.4.
 */
#include "lz4_frame.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/other/lz4_fast.h"
#include "format/cutter.h"
#include "pipeline/adapt.h"

#include <errno.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

enum {
	HC_LEVEL = 3,		/* first high-compression level; lower ones
				 * use the fast compressor */
	AROUND = FRAME_HEADER_MAX + 4 + FRAME_CHECK + 4 + FRAME_CHECK
};

struct lz4_job {
	struct cutter cut;
	int level;
	bool legacy, block_check, content_check, independent;
	int fast;		/* acceleration of liblz4's; 0: our own */
	struct lz4_dictionary dictionary;
	uint64_t size, total;	/* to be recorded, or 0; and seen so far */
	struct adapt *adapt;
	XXH32_state_t *check;	/* content checksum, for the reader */
};

/* Compressing to LZ4. */
struct lz4_notes {
	uint32_t check;		/* fill, the last: XXH32 of all content */
	bool hole;		/* fill: `in` has no data, which is zero */
};
SLOT_NOTES(lz4_notes)

/* Returns the format's smallest block size of at least n bytes. */
static size_t
round_block(size_t n)
{
	size_t block = FRAME_BLOCK_MAX;

	while (n != 0 && block > (size_t)64 << 10 && n <= block / 4)
		block /= 4;
	return block;
}

static size_t
state_size(int level, bool fast, bool dictionary)
{
	if (fast || (dictionary && level < HC_LEVEL))
		return (size_t)LZ4_sizeofState();
	return level < HC_LEVEL ? sizeof(struct lz4_fast) :
	    (size_t)LZ4_sizeofStateHC();
}

static int
lz4_plan(const struct codec_options *o, struct memory_plan *p, const char **why)
{
	bool legacy = codec_number(o, "legacy") != 0;

	if (legacy && (o->block != 0 || codec_number(o, "block-check"))) {
		*why = "legacy frames use 8 MiB blocks without checksums";
		return -ENOTSUP;
	}
	if (legacy && o->independent) {
		*why = "legacy frames cannot follow each other";
		return -ENOTSUP;
	}
	if (legacy && codec_number(o, "dictionary") != 0) {
		*why = "legacy frames have no dictionaries";
		return -ENOTSUP;
	}
	if (o->block > FRAME_BLOCK_MAX) {
		*why = "this format limits blocks to 4 MiB";
		return -ENOTSUP;
	}
	p->block = legacy ? LEGACY_BLOCK : round_block(o->block);
	p->slots = o->threads + 3;
	p->slot_B = p->block + (size_t)LZ4_compressBound((int)p->block) +
	    AROUND;
	p->worker_B = state_size(o->level, codec_number(o, "fast") != 0,
	    codec_number(o, "dictionary") != 0);
	p->fixed_B = ((uint64_t)1 << 20) + (o->rsyncable ? p->block : 0);
	return 0;
}

static void
lz4_close(void *job)
{
	struct lz4_job *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	XXH32_freeState(j->check);
	sys_free(j);
}

static int
lz4_open(void **job, const struct codec_options *o, const struct memory_plan *p,
    struct codec_notes *notes)
{
	struct lz4_job *j = sys_calloc(1, sizeof(*j));

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	j->cut.rsyncable = o->rsyncable;
	j->level = o->level;
	j->legacy = codec_number(o, "legacy") != 0;
	j->block_check = codec_number(o, "block-check") != 0;
	j->content_check = codec_number(o, "no-check") == 0;
	j->independent = o->independent;
	j->fast = codec_number(o, "fast") > INT32_MAX ? INT32_MAX :
	    (int)codec_number(o, "fast");
	if (codec_number(o, "content-size") != 0)
		j->size = codec_number(o, "size");
	j->dictionary = lz4_dictionary_of(o);
	j->adapt = o->adapt;
	j->check = XXH32_createState();
	if (j->check == NULL) {
		lz4_close(j);
		return -ENOMEM;
	}
	XXH32_reset(j->check, 0);
	*job = j;
	return 0;
}

struct lz4_worker {
	struct cutter_zeros zeros;
	max_align_t state[];
};

static int
lz4_worker_open(void *job, void **ctx)
{
	struct lz4_job *j = job;
	struct lz4_worker *w = sys_malloc(sizeof(*w) +
	    state_size(j->level, j->fast != 0, j->dictionary.p != NULL));

	if (w == NULL)
		return -ENOMEM;
	w->zeros = (struct cutter_zeros){ .len = 0 };
	*ctx = w;
	return 0;
}

static void
lz4_worker_close(void *ctx)
{
	struct lz4_worker *w = ctx;

	cutter_zeros_free(&w->zeros);
	sys_free(w);
}

static int
lz4_fill(void *job, struct input *in, struct slot *s)
{
	struct lz4_job *j = job;
	int rc = cutter_hole(&j->cut, in, s);

	if (rc == 1) {
		/* a block is 64 KiB or a multiple of it */
		for (size_t n = s->in.len; n > 0 && !j->legacy && !j->independent;
		    n -= CUTTER_ZERO)
			XXH32_update(j->check, cutter_zero, CUTTER_ZERO);
		j->total += s->in.len;
		lz4_notes(s)->hole = true;
		return 0;
	}
	if (rc == 0)
		rc = cutter_fill(&j->cut, in, s);
	if (rc != 0 || j->legacy || j->independent)
		return rc;
	j->total += s->in.len;
	if (j->size != 0 && s->last && j->total != j->size)
		return -ESTALE;
	XXH32_update(j->check, s->in.data, s->in.len);
	if (s->last)
		lz4_notes(s)->check = XXH32_digest(j->check);
	return 0;
}

/* Compresses a block, which may refer to the dictionary.  Returns the length. */
static size_t
pack_with_dictionary(const struct lz4_job *j, void *state, int level,
    const struct buf *in, uint8_t *p, size_t room)
{
	const struct lz4_dictionary *d = &j->dictionary;

	if (level < HC_LEVEL) {
		LZ4_stream_t *stream = LZ4_initStream(state,
		    sizeof(LZ4_stream_t));

		LZ4_loadDict(stream, d->p, d->len);
		return (size_t)LZ4_compress_fast_continue(stream,
		    (const char *)in->data, (char *)p, (int)in->len, (int)room,
		    j->fast != 0 ? j->fast : 1);
	} else {
		LZ4_streamHC_t *stream = LZ4_initStreamHC(state,
		    sizeof(LZ4_streamHC_t));

		LZ4_resetStreamHC_fast(stream, level);
		LZ4_loadDictHC(stream, d->p, d->len);
		return (size_t)LZ4_compress_HC_continue(stream,
		    (const char *)in->data, (char *)p, (int)in->len, (int)room);
	}
}

/*
 * Writes a block: its length and its data, which are stored if compression does
 * not make them smaller.  Returns the end.
 */
static uint8_t *
put_block(const struct lz4_job *j, void *state, const struct buf *in,
    uint8_t *p, size_t room)
{
	int level = j->adapt != NULL ? adapt_take(j->adapt) : j->level;
	uint32_t flag = 0;
	size_t len;

	if (j->dictionary.p != NULL)
		len = pack_with_dictionary(j, state, level, in, p + 4, room);
	else if (j->fast != 0)
		len = (size_t)LZ4_compress_fast_extState(state,
		    (const char *)in->data, (char *)p + 4, (int)in->len,
		    (int)room, j->fast);
	else if (level < HC_LEVEL)
		len = lz4_fast_block(state, in->data, in->len, p + 4);
	else
		len = (size_t)LZ4_compress_HC_extStateHC(state,
		    (const char *)in->data, (char *)p + 4, (int)in->len,
		    (int)room, level);
	if (!j->legacy && (len == 0 || len >= in->len)) {
		len = in->len;
		memcpy(p + 4, in->data, len);
		flag = FRAME_STORED;
	}
	store_le32(p, (uint32_t)len | flag);
	p += 4 + len;
	if (j->block_check) {
		store_le32(p, XXH32(p - len, len, 0));
		p += FRAME_CHECK;
	}
	return p;
}

/* Writes a header; size 0 is not recorded.  Returns its length. */
static size_t
put_header(const struct lz4_job *j, uint64_t size, uint8_t *p)
{
	int flags = (j->content_check ? FLG_CONTENT_CHECK : 0) |
	    (j->block_check ? FLG_BLOCK_CHECK : 0) |
	    (size != 0 ? FLG_SIZE : 0);
	size_t len = lz4_header_len((uint8_t)flags);

	lz4_header_store(p, __builtin_ctzl(j->cut.block), flags);
	if (size != 0) {
		store_le64(p + 6, size);
		p[len - 1] = XXH32(p + 4, len - 5, 0) >> 8 & 0xff;
	}
	return len;
}

/*
 * Writes the header with the first block of a frame, and the end with the last.
 */
static int
write_block(const struct lz4_job *j, void *state, struct slot *s)
{
	size_t bound = (size_t)LZ4_compressBound((int)s->in.len);
	int rc = buf_reserve(&s->out, bound + AROUND);
	uint8_t *p = s->out.data;

	if (rc != 0)
		return rc;
	/* the end of an input that consists of whole blocks */
	if (j->independent && s->seq > 0 && s->in.len == 0)
		return 0;
	if (s->seq == 0 && j->legacy) {
		store_le32(p, LEGACY_MAGIC);
		p += 4;
	} else if (j->independent) {
		p += put_header(j, s->in.len, p);
	} else if (s->seq == 0) {
		p += put_header(j, j->size, p);
	}
	if (s->in.len > 0)
		p = put_block(j, state, &s->in, p, bound);
	if (j->independent || (s->last && !j->legacy)) {
		store_le32(p, 0);
		p += 4;
		if (j->content_check) {
			store_le32(p, j->independent ?
			    XXH32(s->in.data, s->in.len, 0) :
			    lz4_notes(s)->check);
			p += FRAME_CHECK;
		}
	}
	s->out.len = (size_t)(p - s->out.data);
	return 0;
}

static int
lz4_work(void *job, void *ctx, struct slot *s)
{
	static const struct cutter_zeros none;
	struct lz4_job *j = job;
	struct lz4_worker *w = ctx;
	int rc = !lz4_notes(s)->hole ? 0 :
	    cutter_zeros_get(s->seq == 0 ? &none : &w->zeros, s, j->level);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = write_block(j, w->state, s);
	return rc != 0 || !lz4_notes(s)->hole || s->seq == 0 ? rc :
	    cutter_zeros_keep(&w->zeros, s, j->level);
}

const struct coder lz4_encoder = {
	.plan = lz4_plan, .open = lz4_open, .close = lz4_close,
	.ops = { .fill = lz4_fill, .work = lz4_work, .join = sink_join,
	    .worker_open = lz4_worker_open,
	    .worker_close = lz4_worker_close },
};
