/*
 * cold.h - files out of the caches, and what proves that they are
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: posix_fadvise(2), mincore(2), cachestat(2), and the kernel's
 * Documentation/admin-guide/sysctl/vm.rst (drop_caches), .../iostats.rst and
 * Documentation/block/stat.rst.
 *
 * A file is cold when none of its pages is in memory; nor, if its file system
 * lies in an image behind a loop device, any page of that image, from which
 * it would only be copied; and if this very thread, or process, had to fetch
 * from a device at least the bytes that the file takes there.  What cannot be
 * seen is never called cold: mincore shows every page as present to one who
 * neither owns nor may write a file (then the bytes alone are the proof), a
 * file system with a cache of its own (ZFS) or a server behind it shows
 * nothing, data in an inode (ext4, btrfs) has no page of its own, and squashfs
 * keeps blocks of small files, so that all of its image has to be fetched.
 *
 * What a virtual machine's host, a RAID controller or a disk keeps in memory
 * cannot be seen by anyone here.
 *
 * The calls for one file are thread-safe, the others are not.
 */
#ifndef COLDPRESS_COLD_H
#define COLDPRESS_COLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum cold_method {
	COLD_AUTO,		/* fadvise, as far as it goes */
	COLD_FADVISE,		/* file by file, and images behind mounts;
				   names and inodes stay in memory */
	COLD_DROP,		/* drop_caches: everything there is; root */
	COLD_NONE,		/* left as they are; seen when they are read */
	COLD_LOOK,		/* left as they are; seen when they are added */
};

enum cold_state { COLD_YES, COLD_NO, COLD_UNKNOWN };

enum { COLD_WHY_B = 256 };

struct cold_count {
	uint64_t files;
	uint64_t pages;			/* of all files */
	uint64_t resident;		/* of them in memory */
	uint64_t unseen;		/* files that we may not ask about */
};

struct cold_report {
	enum cold_state state;		/* when each file was read */
	char why[COLD_WHY_B];		/* a clause, "" for COLD_YES by pages */
	const char *made;		/* how: "fadvise", "drop_caches",
					   "nothing" */
	struct cold_count found;	/* before anything was done */
	struct cold_count before;	/* as each file was opened to be read */
	struct cold_count after;	/* as each had been read */
	struct cold_count images;	/* behind mounts, before the walk */
	int64_t device_B;		/* fetched from devices by anyone during
					   the walk; -1: not known */
	uint64_t own_B;			/* of them, for this process */
	bool squashfs;			/* one of the file systems is that */
};

struct cold;

/* 0, or -ENOMEM and nothing to close. */
int cold_open(struct cold **c, enum cold_method method);
void cold_close(struct cold *c);		/* may be NULL */

/* By its name: auto, fadvise, drop, none.  Or -EINVAL. */
int cold_method_by_name(const char *name, enum cold_method *method);

/*
 * A file that is going to be read, or a directory of such.  Counts what of it
 * is in memory, and takes it out if the method does that file by file.
 * Failures are what cold_end() reports.
 */
void cold_add(struct cold *c, int fd, const struct stat *st);

/*
 * After all were added: takes out images behind mounts, or drops all caches.
 * From here on device traffic is counted.  0; -EPERM or -EACCES: only root
 * may drop; or another -errno of that.
 */
int cold_apply(struct cold *c);

enum cold_reader {
	COLD_THREAD,		/* the one that calls */
	COLD_PROCESS,		/* its threads, which read nothing else */
};

/*
 * A file about to be read, and having been read, by the same reader with the
 * same *mine in between.  asked_B: how much of it was asked for, each byte
 * counted once; UINT64_MAX: all of it.
 */
void cold_before(struct cold *c, int fd, const struct stat *st,
    enum cold_reader reader, uint64_t *mine);
void cold_after(struct cold *c, int fd, const struct stat *st,
    enum cold_reader reader, uint64_t *mine, uint64_t asked_B);

/* The verdict on what was read since cold_apply(), all of it filled in. */
void cold_end(struct cold *c, struct cold_report *r);

/*
 * How many pages a file of that size has, and how many are in memory.
 * 0, -EPERM (we may not know), or -errno.  Thread-safe; needs no struct cold.
 */
int cold_resident(int fd, const struct stat *st, uint64_t *pages,
    uint64_t *resident);

/* A part of a file, in bytes.  0, or a -errno that ends the search. */
typedef int cold_range_fn(void *arg, uint64_t offset, uint64_t len);

/*
 * Calls range() for every part of a file of that size that is in memory, in
 * their order; they begin at pages, and do not touch each other.  The file is
 * to be open for reading, and its pages to be shown to us.  0 or -errno.
 * Thread-safe; needs no struct cold.
 */
int cold_ranges(int fd, uint64_t size, cold_range_fn *range, void *arg);

/*
 * Whether the page of a file that has the byte at offset at is known not to be
 * in memory; and takes it out.  Thread-safe.
 */
bool cold_page_absent(int fd, uint64_t at);
void cold_drop_page(int fd, uint64_t at);

/* yes, no, unknown: static. */
const char *cold_word(enum cold_state state);

#endif
