/*
 * codec.h - the table of formats
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A format is a row in the table and a folder in src/format: its coders, its
 * listing (pzc -l) and its ranges (pzseek).  A coder implements one direction
 * of a format: a memory plan, and the three stages of pipeline.h.
 *
 * Compressing: fill cuts the input, work compresses one block, join frames it.
 * Decompressing: fill guesses where the next independently decodable unit
 * begins, work decodes it, and join, which knows how far the stream has been
 * decoded, accepts the result or decodes the piece itself, in order.  A wrong
 * guess only costs time.
 */
#ifndef COLDPRESS_CODEC_H
#define COLDPRESS_CODEC_H

#include "pipeline/pipeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CODEC_SETTINGS_MAX = 32 };

/*
 * A setting is an option that only some formats have: a number (1 switches
 * something on) or a string.  codec.settings lists a format's own.
 */
struct codec_setting {
	const char *key;	/* NULL: not in use */
	uint64_t number;
	const char *text;
};

/* A block of bzip2, or the end of a stream of them. */
struct codec_block {
	uint64_t number;	/* in its stream, from 1; 0: the end */
	uint32_t crc;		/* of its data */
	uint32_t combined;	/* of the stream so far */
	size_t size;		/* compressing: bytes, after run lengths */
};

/*
 * Whom the decoder of gzip tells where members and blocks begin, each before
 * any data after that position is written.  It calls the functions in the
 * caller's thread, in the order of the file.  They return 0 or -errno, which
 * ends the run.
 */
struct codec_marks {
	void *arg;
	uint64_t spacing;	/* bytes of data, at least 1 */
	/* a member's header begins at byte `at`, after `plain` bytes of data */
	int (*begin)(void *arg, uint64_t at, uint64_t plain);
	/*
	 * A block begins at bit `bit`: the first one that has at least
	 * `spacing` bytes of data between it and the start of its member, or
	 * the last such block in it.
	 */
	int (*block)(void *arg, uint64_t bit, uint64_t plain);
	/* a member, which was verified, ends at byte `at` */
	int (*end)(void *arg, uint64_t at, uint64_t plain);
};

/* The user's options.  Strings belong to the caller. */
struct codec_options {
	int level;		/* within the codec's range */
	size_t block;		/* bytes per block; 0: the codec chooses */
	unsigned threads;	/* at least 1 */
	bool rsyncable;		/* choose block boundaries by content */
	bool independent;	/* one member, frame or stream per block; its
				 * data begins at multiples of plan()'s block */
	uint64_t window_max;	/* decoding: the largest window accepted */
	uint64_t memory;	/* maximum bytes to use; 0: unlimited */
	/*
	 * Decoding under a memory limit: the beginning of the stream, for
	 * plan().
	 */
	const uint8_t *head;
	size_t head_len;
	const char *name;	/* name to store, or NULL */
	uint32_t mtime;		/* time to store, in seconds since 1970, or 0 */
	int flush_ms;		/* see input.h; 0: never */
	struct adapt *adapt;	/* overrides level, which is then the highest;
				 * or NULL */
	/* bzip2: called for each block in order, in the caller's thread */
	void (*report)(void *arg, const struct codec_block *b);
	void *report_arg;
	const struct codec_marks *marks;	/* gzip, decoding; or NULL */
	struct codec_setting settings[CODEC_SETTINGS_MAX];
};

/*
 * Gives the setting `key` a value; text may be NULL.  Returns 0, -EINVAL if no
 * format has such a setting, or -ENOSPC.
 */
int codec_set(struct codec_options *o, const char *key, uint64_t number,
    const char *text);

/* These functions return a setting's value: 0 or NULL if it was not given. */
uint64_t codec_number(const struct codec_options *o, const char *key);
const char *codec_text(const struct codec_options *o, const char *key);

/* A coder's memory plan: slots * slot_B + threads * worker_B bytes. */
struct memory_plan {
	size_t block;		/* input bytes per piece; when decompressing,
				 * its meaning is up to the decoder */
	unsigned slots;
	uint64_t slot_B, worker_B, fixed_B;
};

/* Information found while decoding.  The caller must zero it first. */
struct codec_notes {
	bool trailing_garbage;	/* trailing data was ignored, or copied
				 * (copy_rest) */
	/*
	 * gzip: size of the trailing data (zeros and garbage), and its first
	 * bytes
	 */
	uint64_t trailing_B;
	uint8_t trailing[2];
	bool has_check;		/* zlib, gzip: check is that of the last
				 * member */
	uint32_t check;
	bool unchecked;		/* data has a check of unknown type */
	/*
	 * After -EFBIG: the total number of bytes needed for decoding, if
	 * memory or window_max is lower; 0: unknown.
	 */
	uint64_t need;
	const char *why;	/* reason for -ENOTSUP or -EBADMSG, or
				   NULL */
};

/* Information about the original file in a stream's header. */
struct codec_stored {
	char name[256];		/* last path component; "" if none */
	uint32_t mtime;		/* seconds since 1970, or 0 */
	size_t head_B;		/* gzip: length of the header */
};

/* A frame, as a listing of all of them has it. */
struct codec_frame {
	uint64_t number;	/* from 1 */
	enum { CODEC_FRAME, CODEC_FRAME_LEGACY, CODEC_FRAME_SKIPPABLE } kind;
	unsigned block_code;	/* lz4: 4 to 7 */
	bool linked, check;	/* its blocks are; it has one of its content */
	uint64_t packed;	/* bytes */
	uint64_t size;		/* of its content; 0: not recorded */
};

/*
 * Information about a compressed file, obtained without decompressing it.  The
 * caller must zero it first.
 */
struct codec_listing {
	const char *check;	/* type of check; NULL: the codec's */
	bool has_size;
	bool exact;		/* size is exact, not a lower bound */
	uint64_t size;		/* uncompressed bytes */
	uint64_t frames;	/* members, streams; 0: unknown */
	bool has_value;
	uint32_t value;		/* value of the only check */
	uint64_t skipped;	/* zstd, lz4: skippable frames */
	uint64_t window;	/* zstd: the largest window, */
	uint32_t dictionary;	/* and the ID of the dictionary */
	bool legacy, linked;	/* lz4: the last frame is, its blocks are; */
	unsigned block_code;	/* 4 to 7, the size of all its blocks; or 0 */
	int kind;		/* lz4: of the last frame, */
	bool kinds;		/* and whether others differ */
	/* lz4, zstd: called with each frame; NULL: not wanted */
	void (*frame)(void *arg, const struct codec_frame *f);
	void *frame_arg;
};

struct coder {
	/*
	 * Computes the memory plan, without side effects.  Returns 0, -ENOTSUP
	 * (the format does not support an option; *why states the reason) or
	 * -EINVAL.
	 *
	 * A decoder plans for the largest units that its format allows.  If one
	 * thread and one slot for these exceed o->memory, it may plan for the
	 * size declared in o->head; open() and the stages must then reject
	 * larger ones, setting codec_notes.need.
	 */
	int (*plan)(const struct codec_options *o, struct memory_plan *p,
	    const char **why);

	/*
	 * Creates a job.  o and notes must outlive it.  Returns 0 or -errno.
	 * NULL, as close is then: the stages need no job.
	 */
	int (*open)(void **job, const struct codec_options *o,
	    const struct memory_plan *p, struct codec_notes *notes);
	void (*close)(void *job);	/* job may be NULL */

	struct pipeline_ops ops;
};

struct adapt;		/* adapt.h */
struct codec_seek;	/* seek.h */

struct codec_suffix {
	const char *packed;	/* ".tgz" */
	const char *plain;	/* ".tar": its replacement */
};

struct codec {
	const char *name;			/* name, for -F */
	const char *short_name;			/* another name, or NULL */
	const struct codec_suffix *suffixes;	/* ends with { NULL, NULL };
						   output files get the
						   first */
	int level_min, level_max, level_default;
	int adapt_max;		/* highest level for --adapt; 0: not
				 * supported */

	/*
	 * Returns whether a stream that begins with these len bytes may be in
	 * this format.
	 */
	bool (*magic)(const uint8_t *p, size_t len);

	/* Whether a stream may also begin in another way: magic() guesses. */
	bool magic_is_guess;
	/*
	 * Returns the ID of the dictionary that a stream that begins with these
	 * bytes needs; 0: no ID is given.  NULL: the format has no
	 * dictionaries.
	 */
	uint32_t (*dictionary)(const uint8_t *p, size_t len);

	/* The keys of its settings, with a NULL at the end; NULL: none. */
	const char *const *settings;

	const struct coder *encode;	/* NULL: read only */
	/* Returns the coder for these options.  NULL: always use encode. */
	const struct coder *(*encoder_for)(const struct codec_options *o);
	const struct coder *decode;
	const struct coder *(*decoder_for)(const struct codec_options *o);
	/*
	 * Parses the first len bytes of the stream.  NULL if the format stores
	 * no such information.
	 */
	void (*stored)(const uint8_t *p, size_t len, struct codec_stored *to);
	/*
	 * Inspects the file fd of len bytes with pread(2), using bounded memory
	 * and assuming that its contents are valid.  Returns 0, -EBADMSG,
	 * -ENODATA (truncated), -ENOTSUP or -errno.  NULL if files in this
	 * format do not record a size.
	 */
	int (*list)(int fd, uint64_t len, struct codec_listing *l);
	/* How to read a range; NULL: by decoding from the start. */
	const struct codec_seek *seek;
	const char *check;		/* name of the check; NULL: varies */
	const char *(*versions)(void);	/* library versions, for -V */
};

enum {
	CODEC_MAGIC_MAX = 32,		/* bytes that magic() may examine */
	CODEC_WINDOW_LOG_MAX = 30,	/* limit for codec_options.window_max */
	CODEC_BEYOND_WINDOW = 32 << 20	/* memory allowed in addition to a
					 * window */
};

/*
 * The NULL-terminated table of codecs.  Thread-safe, as are all functions
 * below.
 */
extern const struct codec *const codecs[];

/* Returns the codec with that name or short name, or NULL. */
const struct codec *codec_by_name(const char *name);

/*
 * Returns the codec for a stream that begins with these bytes, or NULL.
 * Formats without a magic number (lzma) are tried last.
 */
const struct codec *codec_by_magic(const uint8_t *p, size_t len);

/*
 * Returns the codec for a file name's suffix, or NULL.  *suffix is the suffix's
 * row.
 */
const struct codec *codec_by_suffix(const char *name,
    const struct codec_suffix **suffix);

#endif
