/*
 * cold.h - evicting files from the caches, and proving that they are cold
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: posix_fadvise(2), mincore(2), cachestat(2), and the kernel's
 * Documentation/admin-guide/sysctl/vm.rst (drop_caches), .../iostats.rst and
 * Documentation/block/stat.rst.
 *
 * A file is cold if none of its pages is in memory, nor any page of a
 * loop-device image that may hold its filesystem (the file could simply be
 * copied from there), and the calling thread, or process, had to read at least
 * as many bytes from a device as the file occupies there.  A file whose state
 * cannot be observed is never reported as cold.  mincore(2) reports every page
 * as present to a user who neither owns the file nor may write to it; the bytes
 * read are then the only proof.  A remote filesystem, or one with its own cache
 * (ZFS), reveals nothing.  Data inside an inode (ext4, btrfs) is not in a page
 * of its own.  squashfs caches blocks of small files, so its whole image has to
 * be read.
 *
 * Caches in a virtual machine's host, a RAID controller or a disk cannot be
 * observed here.
 *
 * Functions that operate on a single file are thread-safe; the others are not.
 */
#ifndef COLDPRESS_COLD_H
#define COLDPRESS_COLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum cold_method {
	COLD_AUTO,		/* fadvise where it works */
	COLD_FADVISE,		/* file by file, and images backing mounts;
				   names and inodes stay in memory */
	COLD_DROP,		/* drop all system caches; root only */
	COLD_NONE,		/* keep the caches; count pages when files are
				 * read */
	COLD_LOOK,		/* keep the caches; count pages when files are
				 * added */
};

enum cold_state { COLD_YES, COLD_NO, COLD_UNKNOWN };

enum { COLD_WHY_B = 256 };

struct cold_count {
	uint64_t files;
	uint64_t pages;			/* pages of all files */
	uint64_t resident;		/* pages in memory */
	uint64_t unseen;		/* files that we are not allowed to
					 * query */
};

struct cold_report {
	enum cold_state state;		/* state of the files when they were
					 * read */
	char why[COLD_WHY_B];		/* reason; "" if COLD_YES was determined
					 * from pages */
	const char *made;		/* method: "fadvise", "drop_caches",
					 * "nothing" */
	struct cold_count found;	/* before anything was done */
	struct cold_count before;	/* when each file was opened for
					 * reading */
	struct cold_count after;	/* after each file was read */
	struct cold_count images;	/* images backing mounts, before the
					 * walk */
	int64_t device_B;		/* bytes read from devices by any
					 * process during the walk; -1:
					 * unknown */
	uint64_t own_B;			/* the part read by this process */
	bool squashfs;			/* a filesystem is squashfs */
};

struct cold;

/* Returns 0 or -ENOMEM; on failure there is nothing to close. */
int cold_open(struct cold **c, enum cold_method method);
void cold_close(struct cold *c);		/* may be NULL */

/*
 * Adds a file that is going to be read, or a directory of such files.  Counts
 * its pages in memory, and evicts them if the method works file by file.
 * cold_end() reports failures.
 */
void cold_add(struct cold *c, int fd, const struct stat *st);

/*
 * Evicts images backing mounts, or drops all caches, and starts counting device
 * traffic.  Call this after adding all files.  Returns 0, -EPERM or -EACCES
 * (only root may drop caches), or another -errno.
 */
int cold_apply(struct cold *c);

enum cold_reader {
	COLD_THREAD,		/* the calling thread */
	COLD_PROCESS,		/* all threads of the process, which read
				 * nothing else */
};

/*
 * Call these before and after a file is read, from the same reader and with the
 * same *mine.  asked_B is the number of bytes requested from the file, each
 * byte counted once; UINT64_MAX means the whole file.
 */
void cold_before(struct cold *c, int fd, const struct stat *st,
    enum cold_reader reader, uint64_t *mine);
void cold_after(struct cold *c, int fd, const struct stat *st,
    enum cold_reader reader, uint64_t *mine, uint64_t asked_B);

/*
 * Determines whether everything read since cold_apply() was cold, and fills in
 * *r.
 */
void cold_end(struct cold *c, struct cold_report *r);

/*
 * Counts the pages of a file of the given size, and those in memory.  Returns
 * 0, -EPERM (we are not allowed to see its pages) or -errno.  Thread-safe;
 * needs no struct cold.
 */
int cold_resident(int fd, const struct stat *st, uint64_t *pages,
    uint64_t *resident);

/*
 * Called with a range of a file, in bytes.  Returns 0, or -errno to end the
 * search.
 */
typedef int cold_range_fn(void *arg, uint64_t offset, uint64_t len);

/*
 * Calls range() for every part of a file of the given size that is in memory,
 * in order; the parts begin on page boundaries and are not adjacent.  The file
 * must be open for reading, and we must be allowed to see its pages.  Returns 0
 * or -errno.  Thread-safe; needs no struct cold.
 */
int cold_ranges(int fd, uint64_t size, cold_range_fn *range, void *arg);

/*
 * cold_page_absent() returns whether the page containing byte `at` is known not
 * to be in memory; cold_drop_page() evicts it.  Thread-safe.
 */
bool cold_page_absent(int fd, uint64_t at);
void cold_drop_page(int fd, uint64_t at);

/* Returns a static string: "yes", "no" or "unknown". */
const char *cold_word(enum cold_state state);

#endif
