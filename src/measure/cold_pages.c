/*
 * cold_pages.c - how much of a file is in memory, and which parts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cachestat(2), since Linux 6.5, is a single call and rejects callers without
 * permission.  On overlayfs, however, it reports on the overlay rather than on
 * the underlying file.  There, and on older kernels, the file is mapped and
 * mincore(2) is used.
 */
#include "measure/cold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	STEP_PAGES = 1 << 16,
	NR_CACHESTAT = 451,		/* on every architecture */
	OVERLAY = 0x794c7630,
	NOBODY = 65534,			/* an owner without an ID in this
					 * namespace */
};

struct range {
	uint64_t offset, len;		/* len 0: to the end */
};

struct counts {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

static int
by_cachestat(int fd, struct range r, uint64_t *resident)
{
	struct counts n = { 0 };
	struct statfs fs;

	if (fstatfs(fd, &fs) == -1)
		return -errno;
	if ((uint32_t)fs.f_type == OVERLAY)
		return -ENOTSUP;
	if (syscall(NR_CACHESTAT, fd, &r, &n, 0) == -1)
		return -errno;
	*resident = n.cached;
	return 0;
}

/*
 * Maps a part of the file, without reading it, to ask which pages are present.
 */
static int
ask_mincore(int fd, uint64_t at, size_t len, unsigned char *in)
{
	void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, (off_t)at);
	int rc;

	if (map == MAP_FAILED)
		return -errno;
	rc = mincore(map, len, in) == -1 ? -errno : 0;
	munmap(map, len);
	return rc;
}

/*
 * Counts the pages in memory from one page up to, but not including, another.
 */
static int
by_mincore(int fd, uint64_t from, uint64_t to, uint64_t page_B,
    uint64_t *resident)
{
	unsigned char in[STEP_PAGES];

	*resident = 0;
	for (uint64_t at = from; at < to; at += STEP_PAGES) {
		uint64_t n = to - at < STEP_PAGES ? to - at : STEP_PAGES;
		int rc = ask_mincore(fd, at * page_B, (size_t)(n * page_B), in);

		if (rc != 0)
			return rc;
		for (uint64_t i = 0; i < n; i++)
			*resident += in[i] & 1;
	}
	return 0;
}

int
cold_resident(int fd, const struct stat *st, uint64_t *pages,
    uint64_t *resident)
{
	uint64_t page_B = (uint64_t)sysconf(_SC_PAGESIZE);
	/* stat(2) does not report the size of a block device */
	off_t size = S_ISBLK(st->st_mode) ? lseek(fd, 0, SEEK_END) :
	    st->st_size;
	uid_t me = geteuid();
	char name[40];
	int rc;

	*pages = size <= 0 ? 0 : ((uint64_t)size + page_B - 1) / page_B;
	*resident = 0;
	if (*pages == 0)
		return 0;
	rc = by_cachestat(fd, (struct range){ 0, 0 }, resident);
	if (rc != 0) {
		rc = by_mincore(fd, 0, *pages, page_B, resident);
		/*
		 * A page reported as absent is absent, but a page reported as
		 * present may not be in memory: mincore(2) reports the true
		 * state only to the owner, to root, and to users who may write
		 * the file.
		 */
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		if (rc == 0 && *resident == *pages && st->st_uid != me &&
		    (me != 0 || st->st_uid == NOBODY) &&
		    faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) != 0)
			rc = -EPERM;
	}
	if (*resident > *pages)
		*resident = *pages;
	return rc;
}

bool
cold_page_absent(int fd, uint64_t at)
{
	uint64_t page_B = (uint64_t)sysconf(_SC_PAGESIZE), resident;
	uint64_t page = at / page_B;
	struct range r = { page * page_B, page_B };

	if (by_cachestat(fd, r, &resident) != 0 &&
	    by_mincore(fd, page, page + 1, page_B, &resident) != 0)
		return false;
	return resident == 0;
}

void
cold_drop_page(int fd, uint64_t at)
{
	uint64_t page_B = (uint64_t)sysconf(_SC_PAGESIZE);

	/* a partial page would not be evicted */
	posix_fadvise(fd, (off_t)(at / page_B * page_B), (off_t)page_B,
	    POSIX_FADV_DONTNEED);
}

int
cold_ranges(int fd, uint64_t size, cold_range_fn *range, void *arg)
{
	uint64_t page_B = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t step_B = STEP_PAGES * page_B;
	uint64_t from = 0, to = 0;	/* grows while pages are contiguous */
	unsigned char in[STEP_PAGES];

	for (uint64_t at = 0; at < size; at += step_B) {
		size_t len = (size_t)(size - at < step_B ? size - at : step_B);
		int rc = ask_mincore(fd, at, len, in);

		for (uint64_t i = 0; rc == 0 && i * page_B < len; i++) {
			uint64_t page = at + i * page_B;

			if (!(in[i] & 1))
				continue;
			if (page != to) {
				if (from < to)
					rc = range(arg, from, to - from);
				from = page;
			}
			to = page + page_B;
		}
		if (rc != 0)
			return rc;
	}
	to = to < size ? to : size;
	return from < to ? range(arg, from, to - from) : 0;
}
