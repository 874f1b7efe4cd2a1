/*
 * advise.h - what a tree holds, and what it would take in other formats
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A census lists the files below some operands, with a kind for each.  A group
 * is the part of it that one proposal is about: files to be compressed one by
 * one, or a tree that becomes a tar stream or an image.  A group is cut into
 * units, some of which are drawn at random (measure/sample.h); each is read and
 * compressed with every candidate.  Nothing is written to disk.
 *
 * Functions return 0 or -errno.  A census or a group belongs to one thread.
 */
#ifndef COLDPRESS_ADVISE_H
#define COLDPRESS_ADVISE_H

#include "base/arena.h"
#include "measure/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct advise_image;

/* What a file contains. */
enum advise_kind {
	ADVISE_LOG,		/* lines that begin with a time */
	ADVISE_TEXT,		/* other text */
	ADVISE_SOURCE,		/* text of a programming language */
	ADVISE_MAIL,
	ADVISE_PROGRAM,		/* machine code */
	ADVISE_TAR,		/* not compressed */
	ADVISE_GZIP,		/* gzip, bzip2, compress or lzma: read slowly */
	ADVISE_PACKED,		/* zstd, xz, zip and the like */
	ADVISE_IMAGE,		/* squashfs, SIF, AppImage, snap */
	ADVISE_LAYER,		/* a compressed layer of an OCI layout */
	ADVISE_DATABASE,
	ADVISE_MEDIA,		/* pictures, sound, films */
	ADVISE_OTHER,
	ADVISE_KINDS
};

enum { ADVISE_HEAD_B = 1024 };

/*
 * Tells the kind of a file from the first len bytes of its contents, up to
 * ADVISE_HEAD_B, and, where these leave a choice, from its path; if len is 0,
 * from its path alone.  Thread-safe.
 */
enum advise_kind advise_kind_of(const char *path, const uint8_t *head,
    size_t len);

/* Names of kinds: "log"; "plain logs".  Thread-safe. */
const char *advise_kind_name(enum advise_kind kind);
const char *advise_kind_words(enum advise_kind kind);

/* Returns the kind of that name, or ADVISE_KINDS.  Thread-safe. */
enum advise_kind advise_kind_by_name(const char *name);

struct advise_file {
	const char *path;		/* as it is opened */
	uint64_t size;
	int64_t mtime;			/* seconds since 1970 */
	uint32_t operand;
	uint8_t kind;			/* enum advise_kind */
	bool seen;			/* kind was told from the contents */
	int err;			/* why, after the census, a part could
					 * not be read; ENODATA: it has become
					 * shorter; 0: all was read */
	uint64_t head;			/* hash of the beginning, if so */
	struct advise_image *image;	/* that it is in, NULL: none; */
	size_t number;			/* its number there */
};

struct advise_census {
	struct advise_file *files;
	size_t count, room;
	uint64_t bytes;			/* total size of the files */
	uint64_t dirs, unreadable;	/* directories; files and directories
					 * that could not be opened */
	uint64_t left_out;		/* directories not entered, because
					 * time or memory ran out */
	uint64_t other_devices;		/* mount points not entered */
	struct arena text;
};

/* Files beyond this number are left out; it bounds memory. */
enum { ADVISE_FILES_MAX = 4000000 };

/*
 * Adds the files below path, or path itself, as operand number `operand`.  Does
 * not follow links or enter other filesystems, counts a file with several names
 * once per name, and stops when sys_now_ns() reaches deadline_ns.  Returns 0,
 * -ENOMEM, or -errno for path itself.
 */
int advise_census_add(struct advise_census *c, const char *path,
    uint32_t operand, uint64_t deadline_ns);

/*
 * Reads the beginnings of the files, the largest first, until deadline_ns; the
 * others keep the kind that their name suggests.  Returns 0 or -ENOMEM.
 */
int advise_census_look(struct advise_census *c, uint64_t deadline_ns);

void advise_census_free(struct advise_census *c);

/* What files become. */
enum advise_target {
	ADVISE_FILES,			/* each is compressed by itself */
	ADVISE_STREAM,			/* one compressed tar stream */
	ADVISE_SQUASHFS,		/* one squashfs image */
	ADVISE_BTRFS,			/* on a compressing filesystem */
	ADVISE_ZFS,
	ADVISE_SNAP,			/* a squashfs image without fragments */
	ADVISE_LAYERS,			/* layers of a container image */
	ADVISE_MAIL_STORE,		/* each mail compressed by the server */
	ADVISE_TARGETS
};

/* Whether what a target makes is compressed by pzc, as a stream. */
static inline bool
advise_is_stream(enum advise_target t)
{
	return t == ADVISE_FILES || t == ADVISE_STREAM || t == ADVISE_LAYERS ||
	    t == ADVISE_MAIL_STORE;
}

enum { ADVISE_CANDIDATES = 16 };

/* A way to compress; the first of a target is cheap, and the auxiliary. */
struct advise_candidate {
	const char *name;		/* zstd-19 */
	const char *format;		/* the name of its codec or packer */
	int level;			/* 0: the format has no levels */
	uint32_t block;			/* the size of blocks or records; of a
					 * layer, of pieces of files */
	/*
	 * STREAM, FILES: pzc compresses pieces of this size independently, in
	 * which matches go back as far as the window; 0: pieces are small.
	 */
	uint32_t job_MiB, window_KiB;
	/*
	 * If not 0: it is slow, and tried on fewer units than this other one,
	 * whose results serve as the auxiliary.
	 */
	unsigned like;
};

/* The candidates of a target; a NULL name is the last. */
const struct advise_candidate *advise_candidates(enum advise_target target);

/* Whether what a candidate makes can be read in part. */
bool advise_in_parts(enum advise_target target,
    const struct advise_candidate *c);

/* What one candidate did to one unit. */
struct advise_trial {
	uint64_t size;			/* compressed */
	double cpu_s, back_cpu_s;	/* CPU time: compressing, and back */
	double spent_s;			/* CPU time of the trial as a whole */
	/* the part of the first two that is not the library's; set by the
	 * first zstd or xz candidate if io_s is NaN, used by the others */
	double io_s, back_io_s;
	bool timed;			/* the first two are valid */
	bool part;			/* data is a part of something longer */
	bool first;			/* it begins with the first byte of that */
	bool beside;			/* other trials run at the same time */
};

/*
 * Compresses len bytes with the tools' own code, and back.  t->size is what
 * they add to data that begins with the `before` bytes in front of data, which
 * are not compressed.  With t->timed set, CPU times are measured, too: what data
 * adds, if t->part is set, otherwise that of everything.  Returns 0, -EIO if the
 * result is not the input, or -errno.  Thread-safe, but unless t->beside is set,
 * CPU time is that of the whole process.
 */
int advise_try(enum advise_target target, const struct advise_candidate *c,
    const uint8_t *data, size_t len, size_t before, struct advise_trial *t);

/*
 * Returns how many bytes before an offset of a stream a candidate can refer to.
 */
size_t advise_reach(const struct advise_candidate *c, uint64_t offset);

/*
 * Returns how many bytes before a part of len bytes to pass to advise_try(), so
 * that it can refer to as much, on average, as in its stream.
 */
size_t advise_history(const struct advise_candidate *c, uint64_t offset,
    size_t len);

struct advise_frame;

/* A draw: a unit, and what the candidates did to it. */
struct advise_draw {
	unsigned stratum;
	uint64_t number;		/* in the order of its stratum */
	double size;			/* plain bytes that could be read */
	double read_s;			/* CPU time of reading them */
	double aux;			/* what the auxiliary made of it */
	bool tried[ADVISE_CANDIDATES];
	struct advise_trial trial[ADVISE_CANDIDATES];
};

struct advise_group {
	uint32_t operand;
	enum advise_kind kind;		/* ADVISE_KINDS: all of a tree */
	enum advise_target target;
	const char *place;		/* belongs to the group's maker */
	struct advise_file **files;	/* of the census */
	size_t count, room;
	size_t twins;			/* files taken out, because an equal
					 * one is in the group */
	size_t images;			/* that contain the files; 0: none do */
	uint32_t block;			/* of these, which does not change; 0:
					 * that of the candidate */
	uint64_t now_B;			/* size of the files, with these */
	uint64_t plain_B;		/* size when decompressed, or of the tar
					 * stream */
	uint64_t unknown_B;		/* size of files that could not be
					 * sampled, which stay as they are */
	int64_t newest;			/* the latest mtime */

	struct advise_frame *frame;
	unsigned names;			/* number of candidates */
	size_t unit_B;
	unsigned threads;		/* for slow candidates; set by the
					 * group's maker */
	struct advise_draw *draws;
	size_t draw_count, draw_room;
	size_t tried;			/* draws with the fast candidates, */
	size_t slow_tried;		/* and with the slow ones */
	size_t lost;			/* units that, or parts of which, could
					 * not be read */
	bool dropped[ADVISE_CANDIDATES];	/* no longer tried, because
					 * another one is better in all */
	uint64_t read_B;		/* read for the sample */
	double read_s;
	double fast_s, slow_s;		/* spent on candidates of both sorts */
	/* CPU time of starting one of the tools, and of each byte of memory
	 * that it uses for the first time; set by the group's maker */
	double start_s, touch_s;
	/* the same work, timed twice: the number of pairs, and the sum of the
	 * squares of the differences of their logarithms */
	unsigned clock_pairs;
	double clock_squares;
};

/*
 * Opens the squashfs image in a file, which may be preceded by a program or the
 * head of a SIF file.  Returns 0, -ENOTSUP or -EBADMSG for what is not a sound
 * image, -ENOMEM, or -errno.
 */
int advise_image_open(struct advise_image **image, const char *path);
void advise_image_close(struct advise_image *image);	/* may be NULL */

/* The bytes before the image in its file; the size of its blocks. */
uint64_t advise_image_offset(const struct advise_image *image);
uint32_t advise_image_block(const struct advise_image *image);

/*
 * Adds the image's files to a group: those with the same data once, and one of
 * several names.  They belong to the image.  Returns 0 or -ENOMEM.
 */
int advise_image_list(struct advise_image *image, struct advise_group *g);

/*
 * Reads a part of a file of an image.  Returns how much of it could be read;
 * -errno if an error came first.
 */
ssize_t advise_image_read(struct advise_image *image, size_t number,
    uint64_t offset, uint8_t *to, size_t len);

/*
 * Takes out the files that seem to equal another one: of the same size, with
 * the same beginning and the same last 64 KiB.  An image stores them once.
 * Returns 0 or -ENOMEM.
 */
int advise_group_unique(struct advise_group *g);

/*
 * Cuts a group with files into units whose size suits `seconds` of measuring.
 * Returns 0, -ENODATA (nothing to sample) or -ENOMEM.
 */
int advise_group_frame(struct advise_group *g, double seconds, uint64_t seed);
void advise_group_free(struct advise_group *g);

/*
 * Draws the next unit and tries the auxiliary on it; passes over one that cannot
 * be read.  Returns 1, 0 if there are no more units, or -errno.
 */
int advise_group_draw(struct advise_group *g);

/*
 * Tries the fast candidates on the next draw, or the slow ones on one that is
 * behind.  Returns 1, 0 if there is nothing left to try, or -errno.
 */
int advise_group_try(struct advise_group *g);

/* Whether the next trial is of the slow candidates. */
bool advise_group_slow_due(const struct advise_group *g);

/* An estimate for a group and a candidate. */
struct advise_estimate {
	/*
	 * With 95 % intervals: bytes; and seconds of CPU time for compressing
	 * everything, and for the way back, in a single run.
	 */
	struct sample_total size, cpu, back_cpu;
	size_t units;			/* on which it was tried */
	bool complete;			/* all data was compressed */
};

/* Returns 0, -ENODATA (never tried) or -ENOMEM. */
int advise_group_estimate(const struct advise_group *g, unsigned candidate,
    struct advise_estimate *e);

#endif
