/*
 * test_cold_judge.c - the verdict that each set of counts leads to
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/measure/cold_impl.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

/*
 * A walk of one file of 8 pages, all of which a device delivered: cold, unless
 * a test changes something.
 */
struct scene {
	struct device devices[2];
	struct cold c;
	struct cold_report r;
};

static struct scene
scene(void)
{
	struct scene s = {
		.devices = { { .data_B = 32768, .came_B = 32768, .image = -1 },
		    { .data_B = 32768, .came_B = 32768, .image = -1 } },
		.c = { .accounted = true, .count = 2, .needed_B = 32768,
		    .proven_B = 32768 },
		.r = { .before = { .files = 1, .pages = 8 },
		    .device_B = 32768 },
	};

	return s;
}

/* Checks the verdict, and that the reason contains `why`. */
static void
judged(struct scene s, enum cold_state state, const char *why)
{
	s.c.devices = s.devices;
	cold_judge(&s.c, &s.r);
	if (s.r.state != state || strstr(s.r.why, why) == NULL ||
	    (*why == '\0') != (*s.r.why == '\0'))
		fail_msg("state %d, not %d: '%s', not '%s'", s.r.state, state,
		    s.r.why, why);
}

static void
test_pages(void **state)
{
	struct scene s = scene();

	(void)state;
	judged(s, COLD_YES, "");
	s.r.before.resident = 1;
	judged(s, COLD_NO, "1 of 8 pages were in memory");
	s = scene();
	s.r.images = (struct cold_count){ .pages = 3, .resident = 2 };
	judged(s, COLD_NO, "2 of 11 pages were in memory");
	s = scene();
	s.r.before.files = 0;
	judged(s, COLD_UNKNOWN, "nothing was read");
}

static void
test_devices(void **state)
{
	static const struct {
		enum device_kind kind;
		enum cold_state state;
		const char *why;
	} kinds[] = {
		{ DEVICE_SEEN, COLD_YES, "" },
		{ DEVICE_HIDDEN, COLD_UNKNOWN, "not in /sys" },
		{ DEVICE_LAYERS, COLD_UNKNOWN, "on a cached image" },
		{ DEVICE_REMOTE, COLD_UNKNOWN, "a server or userspace" },
		{ DEVICE_OWN_CACHE, COLD_UNKNOWN, "its own cache" },
		{ DEVICE_MEMORY, COLD_NO, "in memory" },
	};
	struct scene s;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		s = scene();
		s.devices[1].kind = kinds[i].kind;
		judged(s, kinds[i].state, kinds[i].why);
		/* pages in memory are certain, whatever else is unknown */
		s.r.before.resident = 1;
		judged(s, COLD_NO, kinds[i].kind == DEVICE_MEMORY ?
		    kinds[i].why : "1 of 8 pages");
	}
	s = scene();
	s.c.lost = true;
	judged(s, COLD_UNKNOWN, "its own cache");
	s = scene();
	s.devices[1].looped = true;
	judged(s, COLD_UNKNOWN, "the image behind a loop device");
	s.devices[1].image = 3;
	judged(s, COLD_YES, "");
	s.r.images.unseen = 1;
	judged(s, COLD_UNKNOWN, "only its owner can see");
}

static void
test_traffic(void **state)
{
	struct scene s = scene();

	(void)state;
	s.c.proven_B--;
	judged(s, COLD_UNKNOWN, "delivered 32767 of the 32768 bytes");
	/* without counts per process, the devices' counters can confirm */
	s.c.accounted = false;
	judged(s, COLD_YES, "");
	s.r.device_B = 32767;
	judged(s, COLD_UNKNOWN, "delivered 32767");
	s.r.device_B = -1;
	judged(s, COLD_UNKNOWN, "delivered 32767");
	s.r.device_B = 32768;
	s.r.before.unseen = 1;
	judged(s, COLD_UNKNOWN, "delivered 32767");
	s = scene();
	s.c.inline_files = 1;
	judged(s, COLD_UNKNOWN, "(files: 1)");
	s = scene();
	s.r.before.unseen = 1;
	judged(s, COLD_YES, "proven by the number of bytes");
	s.c.needed_B = s.c.proven_B = 0;
	judged(s, COLD_UNKNOWN, "only their owners");
}

/* squashfs keeps decompressed blocks: all of its image must have been read. */
static void
test_squashfs(void **state)
{
	struct scene s = scene();

	(void)state;
	s.devices[1].squashfs = true;
	judged(s, COLD_YES, "");
	s.devices[1].came_B--;
	judged(s, COLD_UNKNOWN, "delivered 32767 of its image's 32768 bytes");
	s.devices[1].data_B = -1;
	judged(s, COLD_UNKNOWN, "the size of its image cannot be read");
	s = scene();
	s.devices[0].squashfs = true;
	s.devices[0].came_B = 0;
	judged(s, COLD_UNKNOWN, "squashfs has its own cache");
	s.devices[0].squashfs = false;
	judged(s, COLD_YES, "");
}

/* An old kernel, a user, what mincore(2) says, and whether one may write. */
enum { ME = 1000, OTHER = 1001, NOBODY = 65534 };

static struct {
	uid_t me;
	bool present, refused, writable;
} kernel;

long __wrap_syscall(long number, ...);
uid_t __wrap_geteuid(void);
int __wrap_mincore(void *at, size_t len, unsigned char *in);
int __wrap_faccessat(int dir, const char *path, int mode, int flags);

long
__wrap_syscall(long number, ...)
{
	(void)number;
	errno = ENOSYS;
	return -1;
}

uid_t
__wrap_geteuid(void)
{
	return kernel.me;
}

int
__wrap_mincore(void *at, size_t len, unsigned char *in)
{
	size_t pages = len / (size_t)sysconf(_SC_PAGESIZE);

	(void)at;
	memset(in, 1, pages);
	in[pages - 1] = kernel.present;
	errno = EAGAIN;
	return kernel.refused ? -1 : 0;
}

int
__wrap_faccessat(int dir, const char *path, int mode, int flags)
{
	(void)dir;
	(void)flags;
	assert_memory_equal(path, "/proc/self/fd/", 14);
	assert_int_equal(mode, W_OK);
	return kernel.writable ? 0 : -1;
}

/*
 * That all pages are present is only believed if the kernel tells this user:
 * root, unless the owner is unknown here, the owner, or whoever may write.
 */
static void
test_resident(void **state)
{
	static const uid_t users[] = { 0, ME, NOBODY },
	    owners[] = { 0, ME, OTHER, NOBODY };
	uint64_t page_B = (uint64_t)sysconf(_SC_PAGESIZE), pages, resident;
	int fd = memfd_create("pages", MFD_CLOEXEC);
	struct stat st;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(3 * page_B)), 0);
	assert_int_equal(fstat(fd, &st), 0);
	for (unsigned i = 0; i < 3 * 4 * 8; i++) {
		bool told;
		int rc;

		kernel.me = users[i / 32];
		st.st_uid = owners[i / 8 % 4];
		kernel.present = i & 1;
		kernel.writable = i & 2;
		kernel.refused = i & 4;
		told = kernel.writable || st.st_uid == kernel.me ||
		    (kernel.me == 0 && st.st_uid != NOBODY);
		rc = cold_resident(fd, &st, &pages, &resident);
		assert_int_equal(rc, kernel.refused ? -EAGAIN :
		    kernel.present && !told ? -EPERM : 0);
		assert_int_equal(pages, 3);
		if (!kernel.refused)
			assert_int_equal(resident, 2 + kernel.present);
	}
	/* what is empty has no pages */
	st.st_size = 0;
	assert_int_equal(cold_resident(-1, &st, &pages, &resident), 0);
	assert_int_equal(pages, 0);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_squashfs),
		cmocka_unit_test(test_resident),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
