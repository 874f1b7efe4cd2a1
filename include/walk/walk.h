/*
 * walk.h - every file of a tree, read once, whatever the tree lies in
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A source reads all the data of all regular files with several threads,
 * hashes it, and tells of each file in a row.  A directory (or a mount) is one
 * source, a squashfs image that is not mounted another.  The same tree gives
 * the same paths, sizes and digests from each.
 *
 * Rows and damage come in any order, from any thread, but one at a time: the
 * source calls under one lock of its own.  A callback must not call into the
 * walk, and should be short, since all threads may wait for it.
 */
#ifndef COLDPRESS_WALK_H
#define COLDPRESS_WALK_H

#include "engine/digest/digest.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct walk_range {
	uint64_t offset, len;		/* bytes of a file */
};

enum walk_type { WALK_FILE, WALK_DIR, WALK_LINK, WALK_OTHER };

/* One row.  What it points to lasts until the callback returns. */
struct walk_file {
	/*
	 * From the root of the walk: no "/" or "./" in front, no "//", no
	 * component "." or "..", never empty; any other bytes, and a NUL.
	 */
	const char *path;
	enum walk_type type;
	uint64_t size;			/* bytes of its data; 0 unless a file */
	int64_t compressed_B;		/* that its blocks take, without the
					   fragment; -1: not known */
	int64_t blocks;			/* in which it is stored, holes not
					   counted; -1: not known */
	int64_t fragment;		/* index of its fragment block, or -1 */
	/*
	 * The bytewise first path of the files that share this one's data (a
	 * hard link, or the same blocks), unless this is it: then NULL.  Its
	 * data was read and hashed once for all of them.
	 */
	const char *duplicate_of;
	uint8_t digest[DIGEST_MAX];
	unsigned digest_len;		/* 0: none, since it has an error, is
					   no file, or no digest was asked */
	/*
	 * From asking for its first byte, opening included, to having the
	 * first piece in memory; -1: nothing was read for it, or not known.
	 */
	int64_t first_read_ns;
	/*
	 * 0, or why its data is not known: -EBADMSG for a damaged image,
	 * -EAGAIN for a file that changed while it was read, else -errno of
	 * the failed call.
	 */
	int err;
};

/*
 * A part of an image that cannot be read: where it begins in the image, from
 * the image's own start; the file it belongs to, or NULL (a table); and why,
 * a sentence without its capital and full stop.  One for each bad block and
 * each file in it, so that nothing is left unsaid; the file's row has an
 * error, too.
 */
struct walk_damage {
	uint64_t offset;
	const char *path;
	const char *reason;
};

/* 0, or a -errno that ends the walk and becomes its result. */
typedef int walk_row_fn(void *arg, const struct walk_file *file);
typedef int walk_damage_fn(void *arg, const struct walk_damage *damage);

struct walk_options {
	unsigned threads;		/* that hash; at least 1 */
	const struct digest_algo *digest;
	/*
	 * NULL, or only these: count paths as in walk_file, in bytewise
	 * (strcmp) order and each once.  One that is not there has a row with
	 * -ENOENT; a directory -EISDIR.
	 */
	const char *const *only;
	size_t only_count;
	/*
	 * NULL, or what of them is read, by walk_dir() alone and without a
	 * digest: of only[i] the ranges from range_ends[i - 1] (0) to before
	 * range_ends[i].  What lies behind the end of a file is not read.
	 */
	const struct walk_range *ranges;
	const size_t *range_ends;

	/*
	 * NULL, or how many bytes of memory an image's tables and names may
	 * take: the walk takes from it what it holds, gives that back at its
	 * end, and ends with -EDQUOT if it needs more.  Callbacks may take
	 * from it, too.  A directory's names are not counted.
	 */
	uint64_t *memory_left;

	walk_row_fn *row;		/* for all but good directories */
	walk_damage_fn *damage;		/* may be NULL */
	/*
	 * Each may be NULL.  plan: once, by the calling thread, when it is
	 * known how much there is; bytes are those to be hashed or read, each
	 * duplicate once.  (In a directory that takes a look at every file
	 * first, which is spared if this is NULL.)  progress: so many of them
	 * more are done; from any thread and, unlike the others, from several
	 * at a time.
	 */
	void (*plan)(void *arg, uint64_t files, uint64_t bytes);
	void (*progress)(void *arg, uint64_t bytes);
	/*
	 * Of walk_dir() alone, may be NULL: called for each file that is
	 * opened, before its first byte is read and, by the same thread with
	 * the same *mine, after its last.  From several threads at a time.
	 */
	void (*look)(void *arg, int fd, const struct stat *st, bool after,
	    uint64_t *mine);
	bool look_only;			/* and read nothing */
	void *arg;			/* of all callbacks */
	const atomic_bool *cancel;	/* NULL, or: end soon, -ECANCELED */
};

struct walk_result {
	uint64_t files, dirs, links, others;
	uint64_t bytes;			/* sum of the files' sizes */
	uint64_t read_B;		/* unpacked, each duplicate once */
	uint64_t stored_B;		/* asked of the image or of the files */
	uint64_t duplicates;		/* files not read on their own */
	uint64_t errors;		/* rows with an error */
	uint64_t damaged;		/* calls of damage() */
};

/*
 * Walks the directory dirfd and all below it, also in other file systems; or,
 * if dirfd is a regular file, that file alone, whose path is name.  Symbolic
 * links are not followed.  Nothing is opened but beneath dirfd, which stays
 * the caller's and is to be open for reading.  r is always filled in.
 *
 * 0: what went wrong with single files is in their rows and in r->errors;
 * -ECANCELED, or -errno of what ended the walk (-ENOMEM, a callback's).
 * Thread-safe.
 */
int walk_dir(int dirfd, const char *name, const struct walk_options *o,
    struct walk_result *r);

/* An image of some format, in a file or on a block device. */
struct walk_source {
	const char *name;		/* of the format */

	/* Whether an image begins at offset, by its magic.  Or -errno. */
	int (*probe)(int fd, uint64_t offset);

	/*
	 * Where in a program that mounts itself, as an AppImage, its image
	 * begins.  1 and *offset, 0 (there is none), or -errno.
	 */
	int (*find)(int fd, uint64_t *offset);

	/*
	 * As walk_dir(), of the image at offset of fd, which is read by
	 * pread(2) alone.  -EBADMSG: it is damaged beyond a walk; *why then
	 * is a sentence, as it may be for -ENOTSUP, -EFBIG and -ENOMEM, and
	 * lasts for good.
	 */
	int (*walk)(int fd, uint64_t offset, const struct walk_options *o,
	    struct walk_result *r, const char **why);
};

extern const struct walk_source walk_squashfs;

#endif
