/*
 * bzip2.c - the bzip2 codec and compressor
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The output is a single stream.  The reader does the initial run-length
 * coding, because the size of its output determines when a block is full; a
 * worker encodes the block (bz2_block.h); the joiner shifts its bits to the end
 * of the previous block.
 */
#include "bzip2_codec.h"

#include "base/sys.h"
#include "engine/bzip2/bz2_block.h"
#include "format/codec.h"
#include "format/cutter.h"

#include <errno.h>
#include <string.h>

enum { RAW_LEN = 64 << 10 };

struct bzip2_job {
	struct cutter cut;	/* input not yet in a block; finds
				 * content-defined boundaries */
	struct slot raw;
	size_t raw_pos;
	int level;
	struct bz2_join bits;
	struct buf joined;
	bool begun;
};

/* Compressing to bzip2. */
struct bzip2_notes {
	uint64_t len;		/* work: number of bits in `out`; 0: no block */
	uint32_t crc;		/* work: CRC of the block's content */
};
SLOT_NOTES(bzip2_notes)

static int
bzip2_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	if (o->block != 0) {
		*why = "bzip2's level sets its block size";
		return -ENOTSUP;
	}
	*p = (struct memory_plan){ .slots = pipeline_slots(o->threads) };
	p->block = bz2_rle_cap(o->level);
	p->slot_B = p->block + bz2_encode_bound(o->level);
	p->worker_B = bz2_encoder_memory(o->level);
	p->fixed_B = (1 << 20) + bz2_encode_bound(o->level);
	return 0;
}

/*
 * Cutting leaves room for run-length coding, which may add one byte to every
 * four.
 */
static int
bzip2_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct bzip2_job *j = sys_calloc(1, sizeof(*j));

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.rsyncable = o->rsyncable;
	j->cut.block = o->rsyncable ? p->block / 5 * 4 : RAW_LEN;
	j->level = o->level;
	*job = j;
	return 0;
}

static void
bzip2_close(void *job)
{
	struct bzip2_job *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	sys_free(j->raw.in.data);
	sys_free(j->joined.data);
	sys_free(j);
}

/* Adds the input read so far.  Returns true when the block is complete. */
static bool
add_raw(struct bzip2_job *j, struct bz2_rle *r)
{
	if (j->raw_pos < j->raw.in.len)
		j->raw_pos += bz2_rle_fill(r, j->raw.in.data + j->raw_pos,
		    j->raw.in.len - j->raw_pos);
	return bz2_rle_full(r);
}

static int
bzip2_fill(void *job, struct input *in, struct slot *s)
{
	struct bzip2_job *j = job;
	struct bz2_rle r;
	bool complete;
	int rc = buf_reserve(&s->in, bz2_rle_cap(j->level));

	if (rc != 0)
		return rc;
	bz2_rle_start(&r, j->level, s->in.data);
	complete = add_raw(j, &r);
	while (!complete && !j->raw.last) {
		rc = cutter_fill(&j->cut, in, &j->raw);
		if (rc != 0)
			return rc;
		j->raw_pos = 0;
		complete = add_raw(j, &r) || j->cut.rsyncable ||
		    (j->raw.in.len < j->cut.block && !j->raw.last);
	}
	s->in.len = bz2_rle_end(&r);
	s->last = j->raw.last && j->raw_pos == j->raw.in.len;
	return 0;
}

static int
bzip2_worker_open(void *job, void **ctx)
{
	struct bzip2_job *j = job;

	*ctx = bz2_encoder_new(j->level);
	return *ctx == NULL ? -ENOMEM : 0;
}

static void
bzip2_worker_close(void *ctx)
{
	bz2_encoder_free(ctx);
}

static int
bzip2_work(void *job, void *ctx, struct slot *s)
{
	struct bzip2_job *j = job;
	int64_t bits;
	int rc;

	if (s->in.len == 0)
		return 0;
	rc = buf_reserve(&s->out, bz2_encode_bound(j->level));
	if (rc != 0)
		return rc;
	bits = bz2_encode_block(ctx, s->in.data, s->in.len, s->out.data,
	    s->out.cap, &bzip2_notes(s)->crc);
	if (bits < 0)
		return (int)bits;
	bzip2_notes(s)->len = (uint64_t)bits;
	return 0;
}

static int
bzip2_join(void *job, struct slot *s, struct sink *out)
{
	struct bzip2_job *j = job;
	const struct bzip2_notes *note = bzip2_notes(s);
	int rc = buf_reserve(&j->joined, note->len / 8 + 64);
	size_t n = 0;

	if (rc != 0)
		return rc;
	if (!j->begun)
		n = bz2_join_header(&j->bits, j->level, j->joined.data);
	j->begun = true;
	if (note->len > 0)
		n += bz2_join_block(&j->bits, s->out.data, note->len,
		    note->crc, j->joined.data + n);
	if (s->last)
		n += bz2_join_trailer(&j->bits, j->joined.data + n);
	return sink_write(out, j->joined.data, n);
}

static bool
bzip2_magic(const uint8_t *p, size_t len)
{
	return len >= 4 && memcmp(p, "BZh", 3) == 0 && p[3] >= '1' &&
	    p[3] <= '9';
}

static const char *
bzip2_versions(void)
{
	return "coldpress " COLDPRESS_VERSION;
}

static const struct coder encoder = {
	.plan = bzip2_plan, .open = bzip2_open, .close = bzip2_close,
	.ops = { .fill = bzip2_fill, .work = bzip2_work, .join = bzip2_join,
	    .worker_open = bzip2_worker_open,
	    .worker_close = bzip2_worker_close },
};

const struct codec codec_bzip2 = {
	.name = "bzip2", .short_name = "bz2",
	.suffixes = (const struct codec_suffix[]){ { ".bz2", "" },
	    { ".tbz2", ".tar" }, { ".tbz", ".tar" }, { ".bz", "" },
	    { NULL, NULL } },
	.level_min = 1, .level_max = 9, .level_default = 9,
	.check = "CRC-32",
	.magic = bzip2_magic, .encode = &encoder, .decode = &bzip2_decoder,
	.versions = bzip2_versions,
};
