/*
 * tar.h - a streaming reader of tar archives
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Interchange
 * Format"; libarchive's tar(5); GNU tar's manual, "Basic Tar Format" and
 * "Storing Sparse Files".
 *
 * Reads v7, ustar, pax (local and global records) and GNU archives, with long
 * names, base-256 numbers, extended attributes, and sparse files in all four
 * encodings (old GNU, pax 0.0, 0.1 and 1.0).  The archive is read once,
 * sequentially, in pieces of any length; memory is needed only for the headers
 * of an entry.
 *
 * Nothing in the archive is trusted: numbers are checked as 64-bit integers,
 * and memory for an entry is limited (TAR_EXTENSION_MAX, TAR_EXTENTS_MAX).
 * Names are returned as stored: see path_clean().
 *
 * A struct tar belongs to one thread at a time.
 */
#ifndef COLDPRESS_TAR_H
#define COLDPRESS_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	TAR_BLOCK = 512,
	TAR_EXTENSION_MAX = 8 << 20,	/* maximum size of the pax records, or
					 * of a name */
	TAR_EXTENTS_MAX = 1 << 20	/* maximum number of data runs in a
					 * sparse file */
};

enum tar_type {
	TAR_FILE, TAR_HARDLINK, TAR_SYMLINK, TAR_CHAR, TAR_BLOCK_DEVICE,
	TAR_DIR, TAR_FIFO
};

/* A run of data in a sparse file; the gaps between runs read as zeros. */
struct tar_extent {
	uint64_t offset, length;
};

/*
 * A SCHILY.xattr or LIBARCHIVE.xattr record; the value may contain arbitrary
 * bytes.
 */
struct tar_xattr {
	const char *name;
	const void *value;
	size_t length;
};

/* A time that an entry may have; zeros: it has none. */
struct tar_time {
	bool known;
	uint32_t ns;
	int64_t seconds;		/* since 1970 */
};

/* An entry's pointers are valid until the next call to tar_next(). */
struct tar_entry {
	enum tar_type type;
	const char *path;		/* never empty */
	const char *link;		/* target of a hard or symbolic link */
	const char *uname, *gname;	/* names, or "" */
	uint32_t mode;			/* permissions, 12 bits */
	bool more_mode;			/* the header has other bits, too */
	uint64_t uid, gid;
	int64_t mtime;			/* seconds since 1970 */
	uint32_t mtime_ns;
	struct tar_time atime, ctime;	/* of pax records for it alone */
	uint32_t major, minor;		/* device number */
	uint64_t size;			/* size of the file, including holes */
	uint64_t stored;		/* bytes that tar_read() will return */
	/*
	 * The data runs of a sparse file, in ascending order without overlaps,
	 * `stored` bytes in total; otherwise NULL and 0.
	 */
	const struct tar_extent *extents;
	size_t extent_count;
	const struct tar_xattr *xattrs;
	size_t xattr_count;
	/*
	 * All pax records for this entry alone, with their full keys, in
	 * archive order.
	 */
	const struct tar_xattr *records;
	size_t record_count;
	/*
	 * Archive offsets of the entry's first header, which may be an
	 * extension, and of its data.
	 */
	uint64_t header_offset, data_offset;
	bool after_global;		/* global records precede that header */
	bool from_global;		/* some of this comes from such records,
					 * which Go's archive/tar ignores */
};

struct tar_source {
	/*
	 * Reads up to len bytes into buf.  Returns the number read, possibly
	 * less than len; 0 at the end; or -errno.
	 */
	ssize_t (*read)(void *arg, void *buf, size_t len);
	/*
	 * If not NULL, called with every byte of the archive once, in order,
	 * before the entry that contains it is returned.  Returns 0, or -errno,
	 * which the reader then returns.
	 */
	int (*raw)(void *arg, const void *data, size_t len);
	void *arg;
	/*
	 * Input without a single byte is an error, because most likely the
	 * command that writes to the pipe has failed.
	 */
	bool refuse_empty;
	/*
	 * Blocks of zeros do not end the archive: another may follow, and what
	 * is between them is skipped.
	 */
	bool skip_ends;
};

struct tar;

/*
 * Creates a reader at the start of source, which is copied.  Returns 0 or
 * -ENOMEM.
 */
int tar_open(struct tar **t, const struct tar_source *source);
void tar_close(struct tar *t);		/* t may be NULL */

/*
 * Reads the next entry, skipping the rest of the previous one.  Returns 1; 0 at
 * the end of the archive (a block of zeros, or the end of input between
 * entries); or -EBADMSG (not a tar archive, or damaged), -ENODATA (truncated),
 * -EFBIG (a cap is exceeded), -ENOMEM, or the source's -errno.  The padding
 * after the last entry may be missing.  GNU tar's volume labels and continued members are skipped.  After an error, only
 * tar_close() may be called.
 */
int tar_next(struct tar *t, struct tar_entry *e);

/*
 * Reads up to len of the entry's stored bytes, without holes.  Returns the
 * number read, 0 when all have been read, or -errno as above.
 */
ssize_t tar_read(struct tar *t, void *buf, size_t len);

/*
 * Reads the source to its end, so that raw() sees every byte.  Call this after
 * the last entry.  Returns 0 or -errno.
 */
int tar_drain(struct tar *t);

/*
 * Once tar_next() has returned 0, returns a static description of what is
 * missing at the end of the archive although no entry's data is, or NULL.
 */
const char *tar_flaw(const struct tar *t);

/* Returns how many bytes of the archive have been read so far. */
uint64_t tar_offset(const struct tar *t);

/*
 * Returns a static description of why the last call failed, or NULL if -errno
 * is sufficient.
 */
const char *tar_why(const struct tar *t);

/*
 * Whether 512 bytes from somewhere in an archive look like a header: returns the
 * size of the file whose data follows it, 0 if none does, or -1 if they do not.
 * What pax records say of the size is not known here.  Thread-safe.
 */
int64_t tar_peek(const uint8_t block[TAR_BLOCK]);

/*
 * Returns the bits of st_mode for a type; a hard link has those of a regular
 * file.  Thread-safe.
 */
mode_t tar_type_mode(enum tar_type type);

/* The content of a file, including holes. */
struct tar_content {
	struct tar *tar;
	const struct tar_entry *e;	/* the entry last returned by
					 * tar_next() */
	uint64_t at;			/* offset of the next byte to read */
	size_t extent;
};

/* Returns the number of bytes left in a hole at the current position, or 0. */
uint64_t tar_content_hole(struct tar_content *c);

/*
 * Reads the next len bytes of the file, all of which must exist; holes are read
 * as zeros.  Returns 0, -ENODATA (the archive is truncated) or -errno as
 * tar_read() does.
 */
int tar_content_read(struct tar_content *c, void *buf, size_t len);

/* Skips bytes of a hole. */
void tar_content_skip(struct tar_content *c, uint64_t len);

#endif
