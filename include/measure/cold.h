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
 * as many bytes from a device as the file occupies there.  Whatever cannot be
 * observed is never called cold: mincore(2) reports every page as present to a
 * user who neither owns nor may write a file (the bytes read are then the only
 * proof); a filesystem with its own cache (ZFS) or a remote one reveals
 * nothing; data inside an inode (ext4, btrfs) has no page of its own; and
 * squashfs caches blocks of small files, so its whole image has to be read.
 *
 * Caches in a virtual machine's host, a RAID controller or a disk cannot be
 * observed here.
 *
 * The calls for a single file are thread-safe, the others are not.
 */
#ifndef COLDPRESS_COLD_H
#define COLDPRESS_COLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum cold_method {
	COLD_AUTO,		/* fadvise, where that works */
	COLD_FADVISE,		/* file by file, and images backing mounts;
				   names and inodes stay in memory */
	COLD_DROP,		/* drop all system caches; root only */
	COLD_NONE,		/* leave them; count when they are read */
	COLD_LOOK,		/* leave them; count when they are added */
};

enum cold_state { COLD_YES, COLD_NO, COLD_UNKNOWN };

enum { COLD_WHY_B = 256 };

struct cold_count {
	uint64_t files;
	uint64_t pages;			/* pages of all files */
	uint64_t resident;		/* pages in memory */
	uint64_t unseen;		/* files we may not query */
};

struct cold_report {
	enum cold_state state;		/* when each file was read */
	char why[COLD_WHY_B];		/* a clause; "" if COLD_YES was
					 * determined from pages */
	const char *made;		/* method: "fadvise", "drop_caches",
					 * "nothing" */
	struct cold_count found;	/* before anything was done */
	struct cold_count before;	/* when each was opened for reading */
	struct cold_count after;	/* after each was read */
	struct cold_count images;	/* images backing mounts, before the
					 * walk */
	int64_t device_B;		/* bytes read from devices by any
					 * process during the walk; -1:
					 * unknown */
	uint64_t own_B;			/* the part read by this process */
	bool squashfs;			/* a filesystem is squashfs */
};

struct cold;

/* Returns 0, or -ENOMEM with nothing to close. */
int cold_open(struct cold **c, enum cold_method method);
void cold_close(struct cold *c);		/* may be NULL */

/* Looks up auto, fadvise, drop or none.  Returns 0 or -EINVAL. */
int cold_method_by_name(const char *name, enum cold_method *method);

/*
 * Adds a file that is going to be read, or a directory of such files.  Counts
 * its pages in memory, and evicts them if the method works file by file.
 * cold_end() reports failures.
 */
void cold_add(struct cold *c, int fd, const struct stat *st);

/*
 * To be called after all files have been added: evicts images backing mounts,
 * or drops all caches.  Device traffic is counted from then on.  Returns 0,
 * -EPERM or -EACCES (only root may drop caches), or another -errno.
 */
int cold_apply(struct cold *c);

enum cold_reader {
	COLD_THREAD,		/* the calling thread */
	COLD_PROCESS,		/* all threads of the process, which read
				 * nothing else */
};

/*
 * To be called before and after a file is read, by the same reader and with the
 * same *mine.  asked_B is how much of the file was requested, each byte counted
 * once; UINT64_MAX means all of it.
 */
void cold_before(struct cold *c, int fd, const struct stat *st,
    enum cold_reader reader, uint64_t *mine);
void cold_after(struct cold *c, int fd, const struct stat *st,
    enum cold_reader reader, uint64_t *mine, uint64_t asked_B);

/* Judges everything read since cold_apply(), and fills in all of r. */
void cold_end(struct cold *c, struct cold_report *r);

/*
 * Counts the pages of a file of the given size, and those in memory.  Returns
 * 0, -EPERM (not visible to us), or -errno.  Thread-safe; needs no struct cold.
 */
int cold_resident(int fd, const struct stat *st, uint64_t *pages,
    uint64_t *resident);

/*
 * Receives a range of a file, in bytes.  Returns 0, or a -errno that ends the
 * search.
 */
typedef int cold_range_fn(void *arg, uint64_t offset, uint64_t len);

/*
 * Calls range() for every part of a file of the given size that is in memory,
 * in order; the parts begin on page boundaries and are not adjacent.  The file
 * must be open for reading, and its pages visible to us.  Returns 0 or -errno.
 * Thread-safe; needs no struct cold.
 */
int cold_ranges(int fd, uint64_t size, cold_range_fn *range, void *arg);

/*
 * cold_page_absent() returns whether the page containing byte `at` is known not
 * to be in memory; cold_drop_page() evicts it.  Thread-safe.
 */
bool cold_page_absent(int fd, uint64_t at);
void cold_drop_page(int fd, uint64_t at);

/* Returns "yes", "no" or "unknown", static strings. */
const char *cold_word(enum cold_state state);

#endif
