/*
 * walk.h - reading every file of a tree once, from a directory or an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A source reads all data of all regular files with several threads, hashes it,
 * and reports each file in a row.  A directory (or a mount) is a source, and so
 * is an unmounted squashfs image.  Both report the same paths, sizes and
 * digests for the same tree.
 *
 * Rows and damage are reported in any order, from any thread, but one at a
 * time: the source holds a lock during the call.  A callback must not call
 * functions of the walk, and should be fast, because all threads may wait for
 * it.
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
	uint64_t offset, len;		/* byte range of a file */
};

enum walk_type { WALK_FILE, WALK_DIR, WALK_LINK, WALK_OTHER };

/*
 * One row.  Its pointers are valid until the callback returns.
 */
struct walk_file {
	/*
	 * Relative to the root of the walk: no leading "/" or "./", no "//", no
	 * component "." or "..", never empty; otherwise arbitrary bytes,
	 * NUL-terminated.
	 */
	const char *path;
	enum walk_type type;
	uint64_t size;			/* size of the file's data; 0 for other
					 * types */
	int64_t compressed_B;		/* size of the file's blocks, without
					 * the fragment; -1: unknown */
	int64_t blocks;			/* number of stored blocks, not counting
					 * holes; -1: unknown */
	int64_t fragment;		/* index of the fragment block, or -1 */
	/*
	 * The first path, in byte order, among the files that share this file's
	 * data (hard links, or the same blocks), or NULL if that is this file
	 * itself.  The data was read and hashed once for all of them.
	 */
	const char *duplicate_of;
	uint8_t digest[DIGEST_MAX];
	unsigned digest_len;		/* 0 after an error, for other types, or
					 * if no digest was requested */
	/*
	 * Time from the request for the first byte, including open, until the
	 * first piece was in memory; -1: unknown, or nothing was read for this
	 * file.
	 */
	int64_t first_read_ns;
	/*
	 * 0, or the reason why the data is unknown: -EBADMSG for a damaged
	 * image, -EAGAIN for a file that changed while it was being read,
	 * otherwise -errno from the failed call.
	 */
	int err;
};

/*
 * A part of an image that cannot be read: its offset in the image, the file
 * that contains it or NULL (a table), and the reason.  Reported once for each
 * bad block and each affected file; the row of the file also has an error.
 */
struct walk_damage {
	uint64_t offset;
	const char *path;
	const char *reason;
};

/* Returns 0, or -errno, which ends the walk and becomes its result. */
typedef int walk_row_fn(void *arg, const struct walk_file *file);
typedef int walk_damage_fn(void *arg, const struct walk_damage *damage);

struct walk_options {
	unsigned threads;		/* number of hashing threads, at least
					 * 1 */
	const struct digest_algo *digest;
	/*
	 * NULL, or the only files to read: only_count paths as in walk_file, in
	 * bytewise (strcmp) order without duplicates.  A path that does not
	 * exist is reported in a row with -ENOENT, a directory in a row with
	 * -EISDIR.
	 */
	const char *const *only;
	size_t only_count;
	/*
	 * NULL, or the parts of these files to read, for walk_dir() only and
	 * without a digest.  The parts of only[i] are the ranges from
	 * range_ends[i - 1] (0 for the first file) up to range_ends[i].  A
	 * range may extend past the end of a file.
	 */
	const struct walk_range *ranges;
	const size_t *range_ends;

	/*
	 * NULL, or the number of bytes available for the tables and names of an
	 * image.  The walk subtracts the memory that it allocates, adds it back
	 * at the end, and fails with -EDQUOT if it needs more.  Callbacks may
	 * also subtract from it.  The names in a directory are not counted.
	 */
	uint64_t *memory_left;
	/*
	 * NULL, or the root hash of the dm-verity tree behind an image, which
	 * everything that is read must match.
	 */
	const uint8_t *verity_root;

	walk_row_fn *row;		/* called for everything except intact
					 * directories */
	walk_damage_fn *damage;		/* may be NULL */
	/*
	 * Each may be NULL.  plan is called once, by the calling thread, when
	 * the amount of work is known.  bytes is the amount of data to be
	 * hashed or read, counting duplicates once.  (For a directory this
	 * requires examining every file first, which is not done if plan is
	 * NULL.)  progress reports how many more bytes have been processed; it
	 * is called from any thread and, unlike the others, from several
	 * threads at a time.
	 */
	void (*plan)(void *arg, uint64_t files, uint64_t bytes);
	void (*progress)(void *arg, uint64_t bytes);
	/*
	 * For walk_dir() only; may be NULL.  Called for each opened file,
	 * before its first byte is read and, by the same thread with the same
	 * *mine, after its last.  asked_B is the number of bytes to be read;
	 * UINT64_MAX means the whole file.  Called from several threads at a
	 * time.
	 */
	void (*look)(void *arg, int fd, const struct stat *st, bool after,
	    uint64_t asked_B, uint64_t *mine);
	bool look_only;			/* do not read anything */
	void *arg;			/* first argument of all callbacks */
	const atomic_bool *cancel;	/* if set, end soon with -ECANCELED;
					 * or NULL */
};

struct walk_result {
	uint64_t files, dirs, links, others;
	uint64_t bytes;			/* sum of the files' sizes */
	uint64_t read_B;		/* decompressed bytes, counting
					 * duplicates once */
	uint64_t stored_B;		/* bytes read from the image or from the
					 * files */
	uint64_t duplicates;		/* files that were not read because they
					 * are duplicates */
	uint64_t errors;		/* rows with an error */
	uint64_t damaged;		/* calls to damage() */
};

/*
 * Walks the directory dirfd and everything below it, including other
 * filesystems; or, if dirfd is a regular file, only that file, whose path is
 * name.  Symbolic links are not followed.  Nothing is opened outside dirfd,
 * which must be open for reading and is not closed.  r is always filled in.
 *
 * Returns 0 (errors in individual files are reported in their rows and in
 * r->errors), -ECANCELED, or the -errno that ended the walk (-ENOMEM, or from a
 * callback).  Thread-safe.
 */
int walk_dir(int dirfd, const char *name, const struct walk_options *o,
    struct walk_result *r);

/* An image format.  Images may be in files or on block devices. */
struct walk_source {
	const char *name;		/* name of the format */

	/*
	 * Returns whether there is an image at offset, according to its magic
	 * number; or -errno.
	 */
	int (*probe)(int fd, uint64_t offset);

	/*
	 * Finds the image in an executable that mounts itself, such as an
	 * AppImage.  Returns 1 with *offset set, 0 (no image found), or -errno.
	 */
	int (*find)(int fd, uint64_t *offset);

	/*
	 * Like walk_dir(), for the image at offset in fd, which is read with
	 * pread(2) only.  Returns -EBADMSG if the image is too damaged to be
	 * walked; *why is then the reason, a static string, and may also be set
	 * for -ENOTSUP, -EFBIG and -ENOMEM.
	 */
	int (*walk)(int fd, uint64_t offset, const struct walk_options *o,
	    struct walk_result *r, const char **why);
};

extern const struct walk_source walk_squashfs;

#endif
