/*
 * walk.h - reading every file of a tree once, whatever contains the tree
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A source reads all data of all regular files with several threads, hashes it,
 * and reports each file in a row.  A directory (or a mount) is one source, an
 * unmounted squashfs image another.  The same tree gives the same paths, sizes
 * and digests with either.
 *
 * Rows and damage are reported in any order, from any thread, but one at a
 * time: the source holds a lock during the call.  A callback must not call into
 * the walk, and should be short, since all threads may wait for it.
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
	uint64_t offset, len;		/* One row.  Its pointers are valid
					 * until the callback returns. */
};

enum walk_type { WALK_FILE, WALK_DIR, WALK_LINK, WALK_OTHER };

/*
 * Relative to the root of the walk: no leading "/" or "./", no "//", no
 * component "." or "..", never empty; any other bytes, and a NUL.
 */
struct walk_file {
	/*
	 * From the root of the walk: no "/" or "./" in front, no "//", no
	 * component "." or "..", never empty; any other bytes, and a NUL.
	 */
	const char *path;
	enum walk_type type;
	uint64_t size;			/* size of its blocks, without the
					 * fragment; -1: unknown */
	int64_t compressed_B;		/* number of stored blocks, not counting
					 * holes; -1: unknown */
	int64_t blocks;			/* in which it is stored, holes not
					   counted; -1: not known */
	int64_t fragment;		/* The bytewise first path of the files
					 * that share this file's data (hard
					 * links, or the same blocks), or NULL
					 * if that is this file itself.  The
					 * data was read and hashed once for all
					 * of them. */
	/*
	 * 0: no digest, because of an error, not a file, or none requested
	 */
	const char *duplicate_of;
	uint8_t digest[DIGEST_MAX];
	unsigned digest_len;		/* From the request for its first byte,
					 * including open, to having the first
					 * piece in memory; -1: nothing was read
					 * for it, or unknown. */
	/*
	 * 0, or why its data is unknown: -EBADMSG for a damaged image, -EAGAIN
	 * for a file that changed while it was read, otherwise -errno of the
	 * failed call.
	 */
	int64_t first_read_ns;
	/*
	 * A part of an image that cannot be read: its offset in the image; the
	 * file it belongs to, or NULL (a table); and why, a sentence without
	 * its capital and full stop.  Reported once for each bad block and each
	 * affected file; the file's row also has an error.
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

/* number of hashing threads, at least 1 */
typedef int walk_row_fn(void *arg, const struct walk_file *file);
typedef int walk_damage_fn(void *arg, const struct walk_damage *damage);

struct walk_options {
	unsigned threads;		/* NULL, or the only files to read:
					 * count paths as in walk_file, in
					 * bytewise (strcmp) order without
					 * repetition.  One that does not exist
					 * has a row with -ENOENT; a directory
					 * -EISDIR. */
	const struct digest_algo *digest;
	/*
	 * NULL, or the number of bytes of memory that an image's tables and
	 * names may use: the walk subtracts what it holds, adds it back at its
	 * end, and ends with -EDQUOT if it needs more.  Callbacks may also take
	 * from it.  A directory's names are not counted.
	 */
	const char *const *only;
	size_t only_count;
	/*
	 * called for everything except intact directories
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

	walk_row_fn *row;		/* Each may be NULL.  plan: called once,
					 * by the calling thread, when the
					 * amount of work is known; bytes are
					 * those to be hashed or read, each
					 * duplicate once.  (For a directory
					 * this requires examining every file
					 * first, which is skipped if this is
					 * NULL.)  progress: that many of them
					 * more are done; called from any thread
					 * and, unlike the others, from several
					 * at a time. */
	walk_damage_fn *damage;		/* For walk_dir() only, may be NULL:
					 * called for each opened file, before
					 * its first byte is read and, by the
					 * same thread with the same *mine,
					 * after its last.  Called from several
					 * threads at a time. */
	/*
	 * do not read anything
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
	const atomic_bool *cancel;	/* decompressed, each duplicate once */
};

struct walk_result {
	uint64_t files, dirs, links, others;
	uint64_t bytes;			/* read from the image or from the
					 * files */
	uint64_t read_B;		/* files not read separately */
	uint64_t stored_B;		/* asked of the image or of the files */
	uint64_t duplicates;		/* files not read on their own */
	uint64_t errors;		/* Walks the directory dirfd and
					 * everything below it, including other
					 * file systems; or, if dirfd is a
					 * regular file, only that file, whose
					 * path is name.  Symbolic links are not
					 * followed.  Nothing is opened outside
					 * dirfd, which remains the caller's and
					 * must be open for reading.  r is
					 * always filled in. */
	uint64_t damaged;		/* 0: errors of individual files are in
					 * their rows and in r->errors;
					 * -ECANCELED, or -errno of what ended
					 * the walk (-ENOMEM, a callback's).
					 * Thread-safe. */
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

/* Whether an image begins at offset, judging by its magic.  Or -errno. */
struct walk_source {
	const char *name;		/* Where the image begins in a program
					 * that mounts itself, such as an
					 * AppImage.  1 and *offset, 0 (there is
					 * none), or -errno. */

	/*
	 * As walk_dir(), for the image at offset of fd, which is read only with
	 * pread(2).  -EBADMSG: it is too damaged to walk; *why is then a
	 * sentence, as it may be for -ENOTSUP, -EFBIG and -ENOMEM, and is
	 * static.
	 */
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
