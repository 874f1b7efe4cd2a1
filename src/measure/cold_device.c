/*
 * cold_device.c - the devices underlying a filesystem
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Filesystem numbers are from linux/magic.h and statfs(2).  The sysfs directory
 * of a loop device contains the name of its backing file; for a partition, the
 * name is in the parent directory.  The directory of a device-mapper device
 * (dm-verity, LVM) lists its components in slaves/.  For data that is not
 * visible in page and block counts, see the kernel's
 * Documentation/filesystems/fiemap.rst.
 */
#include "cold_impl.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SECTOR_B = 512, MOST_DEEP = 4, SQUASHFS = 0x73717368 };

enum { SUPER_B = 96, INODE_TABLE_AT = 64 };	/* of squashfs */

enum { EXTENTS = 64 };

/* The first extents of a file. */
union extents {
	struct fiemap map;
	char room[sizeof(struct fiemap) +
	    EXTENTS * sizeof(struct fiemap_extent)];
};

#define EROFS_FS UINT32_C(0xe0f5e1e2)	/* can be mounted from a file */

static enum device_kind
kind_of(uint32_t magic)
{
	switch (magic) {
	case 0x01021994:	/* tmpfs */
	case 0x858458f6:	/* ramfs */
	case 0x958458f6:	/* hugetlbfs */
	case 0x9fa0:		/* proc */
	case 0x62656572:	/* sysfs */
	case 0x27e0eb:		/* cgroup */
	case 0x63677270:	/* cgroup2 */
	case 0x64626720:	/* debugfs */
	case 0x74726163:	/* tracefs */
		return DEVICE_MEMORY;
	case 0x2fc12fc1:	/* zfs */
		return DEVICE_OWN_CACHE;
	case 0x65735546:	/* fuse */
	case 0x6969:		/* nfs */
	case 0x517b:		/* smb */
	case 0xff534d42:	/* cifs */
	case 0xfe534d42:	/* smb2 */
	case 0x01021997:	/* 9p */
	case 0x00c36400:	/* ceph */
	case 0x5346414f:	/* OpenAFS's afs */
	case 0x6b414653:	/* the kernel's afs */
	case 0x0bd00bd0:	/* lustre */
	case 0x786f4256:	/* vboxsf */
	case 0xbacbacbc:	/* vmhgfs */
		return DEVICE_REMOTE;
	case 0x794c7630:	/* overlay */
		return DEVICE_LAYERS;
	default:
		return DEVICE_SEEN;
	}
}

static int
open_sys(int dir, const char *path)
{
	return sys_openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

/*
 * Opens the first component of the device at dir.  Returns -errno on failure.
 */
static int
first_slave(int dir)
{
	int fd = open_sys(dir, "slaves"), found = -ENOENT;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (d == NULL) {
		if (fd >= 0)
			sys_close(fd);
		return -ENOENT;
	}
	while (found < 0 && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			found = open_sys(dirfd(d), e->d_name);
	closedir(d);
	return found;
}

/*
 * Opens the image.  The name was recorded when the loop device was set up, so
 * the file that now has this name must at least have the right size.
 */
static int
open_image(int dir, const char *path, uint64_t *at)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
	    O_NONBLOCK, 0);
	uint64_t sectors = 0, offset = 0;
	char text[64];
	struct stat st;

	if (fd < 0)
		return -1;
	fdio_read_line(dir, "loop/offset", text, sizeof(text));
	sscanf(text, "%" SCNu64, &offset);
	*at = offset;
	fdio_read_line(dir, "size", text, sizeof(text));
	sscanf(text, "%" SCNu64, &sectors);
	if (fstat(fd, &st) == 0 && (S_ISBLK(st.st_mode) ||
	    (uint64_t)st.st_size / SECTOR_B >= offset / SECTOR_B + sectors))
		return fd;
	sys_close(fd);
	return -1;
}

/* Finds the loop device beneath a stack of devices. */
static void
find_image(struct device *d, int dir)
{
	/*
	 * Devices that are in memory or backed by a server or daemon, by name.
	 * Others have no cache that we could observe.
	 */
	static const struct {
		const char *name;
		enum device_kind kind;
	} of[] = { { "zram", DEVICE_MEMORY }, { "ram", DEVICE_MEMORY },
		{ "pmem", DEVICE_MEMORY }, { "nbd", DEVICE_REMOTE },
		{ "rbd", DEVICE_REMOTE }, { "ublkb", DEVICE_REMOTE } };
	char path[PATH_MAX], text[512];

	for (int deep = 0; dir >= 0 && deep < MOST_DEEP; deep++) {
		const char *name;
		int below;

		fdio_read_text(dir, "uevent", text, sizeof(text));
		name = strstr(text, "DEVNAME=");
		for (size_t i = 0; name != NULL && d->kind == DEVICE_SEEN &&
		    i < sizeof(of) / sizeof(of[0]); i++)
			if (strncmp(name + strlen("DEVNAME="), of[i].name,
			    strlen(of[i].name)) == 0)
				d->kind = of[i].kind;
		if (fdio_read_line(dir, "loop/backing_file", path,
		    PATH_MAX) > 0 || fdio_read_line(dir,
		    "../loop/backing_file", path, PATH_MAX) > 0) {
			d->looped = true;
			d->image = open_image(dir, path, &d->image_at);
			break;
		}
		below = first_slave(dir);
		sys_close(dir);
		dir = below;
	}
	if (dir >= 0)
		sys_close(dir);
}

/* Returns whether any loop device on this machine has a backing file. */
static bool
any_loop(void)
{
	int fd = open_sys(AT_FDCWD, "/sys/block");
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char name[NAME_MAX + 32];
	struct dirent *e;
	bool found = d == NULL;

	if (d == NULL && fd >= 0)
		sys_close(fd);
	while (!found && (e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, "loop", 4) != 0)
			continue;
		snprintf(name, sizeof(name), "%s/loop/backing_file",
		    e->d_name);
		found = faccessat(dirfd(d), name, F_OK, 0) == 0;
	}
	if (d != NULL)
		closedir(d);
	return found;
}

/*
 * Returns the length of the data before the inode table.  Squashfs caches some
 * blocks of small files in its own memory, which cannot be inspected or
 * dropped, so all of this data must come from the device.
 */
static int64_t
squashfs_data_B(const struct device *d)
{
	uint64_t at = d->looped ? d->image_at : 0, inodes;
	uint8_t p[8];
	char path[64];
	int fd = d->image;
	bool absent;
	ssize_t n;

	snprintf(path, sizeof(path), "/dev/block/%u:%u", major(d->dev),
	    minor(d->dev));
	if (!d->looped)
		fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC |
		    O_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	absent = cold_page_absent(fd, at);
	n = fdio_pread(fd, p, sizeof(p), (off_t)(at + INODE_TABLE_AT));
	if (absent)
		cold_drop_page(fd, at);
	if (!d->looped)
		sys_close(fd);
	inodes = load_le64(p);
	return n != sizeof(p) || inodes < SUPER_B || inodes > INT64_MAX ? -1 :
	    (int64_t)(inodes - SUPER_B);
}

void
device_open(struct device *d, int fd, dev_t dev)
{
	struct statfs fs;
	struct stat st;
	char path[64];
	int dir;

	*d = (struct device){ .dev = dev, .image = -1, .stat = -1,
	    .data_B = -1 };
	/*
	 * a block device is a file on devtmpfs, whose type is irrelevant here
	 */
	if (fstat(fd, &st) == -1 || !S_ISBLK(st.st_mode)) {
		if (fstatfs(fd, &fs) == -1) {
			d->kind = DEVICE_OWN_CACHE;
			goto find_device;
		}
		d->kind = kind_of((uint32_t)fs.f_type);
		d->squashfs = (uint32_t)fs.f_type == SQUASHFS;
		/*
		 * There may be an image beneath some layer, or beneath a
		 * filesystem without its own device number, such as btrfs;
		 * there is no way to tell which image.
		 */
		if (d->kind == DEVICE_SEEN && major(dev) == 0)
			d->kind = DEVICE_LAYERS;
		if (d->kind == DEVICE_LAYERS &&
		    (uint32_t)fs.f_type != EROFS_FS && !any_loop())
			d->kind = DEVICE_SEEN;
	}
find_device:
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev),
	    minor(dev));
	dir = open_sys(AT_FDCWD, path);
	if (dir < 0) {
		if (d->kind == DEVICE_SEEN && major(dev) != 0)
			d->kind = DEVICE_HIDDEN;
		return;
	}
	d->stat = sys_openat(dir, "stat", O_RDONLY | O_CLOEXEC, 0);
	find_image(d, dir);
	if (d->squashfs)
		d->data_B = squashfs_data_B(d);
}

void
device_close(struct device *d)
{
	if (d->image >= 0)
		sys_close(d->image);
	if (d->stat >= 0)
		sys_close(d->stat);
}

/*
 * Returns the number of bytes read; the third number in the line is the number
 * of sectors.
 */
static int64_t
total_B(const struct device *d)
{
	char text[256];
	uint64_t ios, merges, sectors;
	ssize_t n = d->stat < 0 ? -1 :
	    fdio_pread(d->stat, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ios, &merges,
	    &sectors) != 3)
		return -1;
	return (int64_t)(sectors * SECTOR_B);
}

void
device_mark(struct device *d)
{
	int64_t total = total_B(d);

	d->read_B = total < 0 ? 0 : (uint64_t)total;
}

int64_t
device_read_B(const struct device *d)
{
	int64_t total = total_B(d);

	return total < 0 ? -1 : total - (int64_t)d->read_B;
}

/*
 * Queries the first extents of a file.  Returns their number, or -1 if the
 * filesystem does not report extents.
 */
static int
get_extents(int fd, uint64_t from, struct fiemap *m)
{
	memset(m, 0, sizeof(*m));
	m->fm_start = from;
	m->fm_length = FIEMAP_MAX_OFFSET - from;
	m->fm_extent_count = EXTENTS;
	/* musl's ioctl() takes an int, which is too small for the request */
	if (syscall(SYS_ioctl, fd, FS_IOC_FIEMAP, m) == -1)
		return -1;
	return (int)m->fm_mapped_extents;
}

bool
cold_is_inline(int fd)
{
	union extents u;

	return get_extents(fd, 0, &u.map) > 0 &&
	    (u.map.fm_extents[0].fe_flags & FIEMAP_EXTENT_DATA_INLINE) != 0;
}

uint64_t
cold_least_B(int fd, uint64_t stored_B)
{
	enum { UNREAD = FIEMAP_EXTENT_UNWRITTEN, PACKED =
	    FIEMAP_EXTENT_ENCODED, BLOCK_B = 4096 };
	union extents u;
	uint64_t from = 0, less = 0;
	int n;

	while ((n = get_extents(fd, from, &u.map)) > 0) {
		for (int i = 0; i < n; i++) {
			const struct fiemap_extent *e = &u.map.fm_extents[i];

			if ((e->fe_flags & UNREAD) != 0)
				less += e->fe_length;
			else if ((e->fe_flags & PACKED) != 0 &&
			    e->fe_length > BLOCK_B)
				less += e->fe_length - BLOCK_B;
			from = e->fe_logical + e->fe_length;
			if ((e->fe_flags & FIEMAP_EXTENT_LAST) != 0)
				goto end;
		}
	}
end:
	return less < stored_B ? stored_B - less : 0;
}
