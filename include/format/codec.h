/*
 * codec.h - the table of formats
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A format is a row of the table and a folder of src/format: its coders, its
 * listing (pzc -l) and its ranges (pzseek).  A coder is one direction of it:
 * how much it needs, and the three stages of pipeline.h.
 *
 * Compressing: fill cuts the input, work compresses one block, join frames
 * it.  Decompressing: fill looks for where the next unit that can be decoded
 * on its own may begin (a guess), work decodes it, and join, which knows how
 * far the stream is decoded for certain, takes the result or decodes that
 * piece itself, in order.  A wrong guess costs time and nothing else.
 */
#ifndef COLDPRESS_CODEC_H
#define COLDPRESS_CODEC_H

#include "pipeline/pipeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the user asked for.  Strings are the caller's. */
struct codec_options {
	int level;		/* within the codec's range */
	size_t block;		/* bytes a block; 0: the codec chooses */
	unsigned threads;	/* at least 1 */
	bool rsyncable;		/* cut where the content says so */
	bool independent;	/* gzip: a member a block; zstd: a frame */
	bool seekable;		/* zstd: frames and a seek table */
	bool has_size;		/* zstd: the header tells the size, which is */
	uint64_t size;
	bool huffman, rle;	/* gzip, zlib: zlib's strategies */
	bool extreme;		/* xz, lzma: -e */
	bool copy_rest;		/* decoding gzip: copy what is behind it */
	int window_log;		/* zstd --long; 0: the level's */
	uint64_t window_max;	/* decoding: the largest window accepted */
	uint64_t memory;	/* the most bytes to use; 0: any */
	/* Decoding under a memory limit: how the stream begins, for plan(). */
	const uint8_t *head;
	size_t head_len;
	const char *name;	/* to be stored, or NULL */
	const char *comment;	/* likewise */
	const char *check;	/* xz: the name of its check, or NULL */
	bool block_check;	/* lz4: a checksum of each block, too */
	bool legacy;		/* lz4: the frame that lz4 -l writes */
	uint32_t mtime;		/* likewise, seconds since 1970, or 0 */
	int flush_ms;		/* see input.h; 0: never */
	struct adapt *adapt;	/* takes the place of level, which is then
				   the highest; or NULL */
};

/* What a direction needs: memory is slots * slot_B + threads * worker_B. */
struct plan {
	size_t block;		/* bytes of input a piece, when compressing;
				   a decoder's own otherwise */
	unsigned slots;
	uint64_t slot_B, worker_B, fixed_B;
};

/* What decoding found besides data.  Zeroed by the caller. */
struct codec_notes {
	bool trailing_garbage;	/* ignored, or copied (copy_rest) */
	/* gzip: what is behind it, zeros and garbage, and its first bytes */
	uint64_t trailing_B;
	uint8_t trailing[2];
	bool has_check;		/* zlib, gzip: check is the last member's */
	uint32_t check;
	bool unchecked;		/* a check of a kind that is not known */
	/*
	 * With -EFBIG: the bytes that decoding takes in all, where memory or
	 * window_max allows less.  0: not known.
	 */
	uint64_t need;
	const char *why;	/* a sentence, if it ended in -ENOTSUP or
				   -EBADMSG; or NULL */
};

/* What a stream's header says of the file that it was made from. */
struct codec_stored {
	char name[256];		/* the last component; "" if none */
	uint32_t mtime;		/* seconds since 1970, or 0 */
	size_t head_B;		/* gzip: length of the header */
};

/*
 * What a compressed file says of itself without being decompressed.  Zeroed
 * by the caller.
 */
struct codec_listing {
	const char *check;	/* the kind of check; NULL: the codec's */
	bool has_size;
	bool exact;		/* else size is a lower bound */
	uint64_t size;		/* uncompressed bytes */
	uint64_t frames;	/* members, streams; 0: not known */
	bool has_value;
	uint32_t value;		/* of the only check there is */
};

struct coder {
	/*
	 * Pure.  0, -ENOTSUP (options that the format does not have; *why
	 * is a sentence) or -EINVAL.
	 *
	 * A decoder plans for the largest units that its format has.  Where
	 * one thread and one slot of those are beyond o->memory, it may plan
	 * for those that o->head announces; open() and the stages must then
	 * refuse larger ones, with codec_notes.need.
	 */
	int (*plan)(const struct codec_options *o, struct plan *p,
	    const char **why);

	/* A job.  o and notes must outlive it.  0 or -errno. */
	int (*open)(void **job, const struct codec_options *o,
	    const struct plan *p, struct codec_notes *notes);
	void (*close)(void *job);	/* job may be NULL */

	struct pipeline_ops ops;
};

struct adapt;		/* adapt.h */
struct codec_seek;	/* seek.h */

struct codec_suffix {
	const char *packed;	/* ".tgz" */
	const char *plain;	/* ".tar": what takes its place */
};

struct codec {
	const char *name;			/* argument of -F */
	const char *short_name;			/* another, or NULL */
	const struct codec_suffix *suffixes;	/* ends with { NULL, NULL };
						   the first is for writing */
	int level_min, level_max, level_default;
	int adapt_max;		/* --adapt goes up to it; 0: there is none */

	/* Whether the first len bytes of a stream may be this format's. */
	bool (*magic)(const uint8_t *p, size_t len);

	const struct coder *encode;	/* NULL: read only */
	/* Which coder options ask for, where that is not always encode. */
	const struct coder *(*encoder_for)(const struct codec_options *o);
	const struct coder *decode;
	/* Reads the stream's first len bytes; NULL where none has such. */
	void (*stored)(const uint8_t *p, size_t len, struct codec_stored *to);
	/*
	 * Looks into the file fd of len bytes by pread(2), takes bounded
	 * memory, and believes what it finds.  NULL where a file says
	 * nothing.  0, -EBADMSG, -ENODATA (cut short), -ENOTSUP or -errno.
	 */
	int (*list)(int fd, uint64_t len, struct codec_listing *l);
	/* How a range is read; NULL: from the beginning on. */
	const struct codec_seek *seek;
	const char *check;		/* name of the check, NULL: it varies */
	const char *(*versions)(void);	/* of its library, for -V */
};

enum {
	CODEC_MAGIC_MAX = 32,		/* bytes that magic() may look at */
	CODEC_WINDOW_LOG_MAX = 30,	/* of codec_options.window_max */
	CODEC_BEYOND_WINDOW = 32 << 20	/* memory accepted beside a window */
};

/* The table, ending with NULL.  Thread-safe, as are all below. */
extern const struct codec *const codecs[];

/* The codec of that name or short name, or NULL. */
const struct codec *codec_by_name(const char *name);

/*
 * The codec that reads a stream beginning so, or NULL.  Formats without a
 * magic number of their own (lzma) are tried last.
 */
const struct codec *codec_by_magic(const uint8_t *p, size_t len);

/*
 * The codec that a file's name ends for, or NULL.  *suffix is the suffix's
 * row.
 */
const struct codec *codec_by_suffix(const char *name,
    const struct codec_suffix **suffix);

#endif
