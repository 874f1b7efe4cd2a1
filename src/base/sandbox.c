/*
 * sandbox.c - preventing a process from opening more files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The C library has no wrappers for these system calls, and the kernel headers
 * may be older than the kernel, so the constants are defined here.
 */
#include "base/sandbox.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * An older kernel accepts a struct longer than its own if the extra bytes are
 * zero.
 */
struct ruleset {
	uint64_t fs, net, scoped;
};

enum { QUERY_VERSION = 1 };

/* Returns all rights that a kernel with this ABI can restrict. */
static struct ruleset
all_rights(long abi)
{
	/* execute ... make_sym; then refer, truncate, ioctl_dev */
	unsigned fs = abi < 2 ? 13 : abi < 3 ? 14 : abi < 5 ? 15 : 16;

	return (struct ruleset){
		.fs = (UINT64_C(1) << fs) - 1,
		.net = abi < 4 ? 0 : 3,		/* bind_tcp, connect_tcp */
		.scoped = abi < 6 ? 0 : 1,	/* abstract_unix_socket */
	};
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS_PROC 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_PROC 1
#endif

enum {
	WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3,
	REMOVE_DIR = 1 << 4, REMOVE_FILE = 1 << 5, MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	READING = READ_FILE | READ_DIR,
	SPOOLING = READ_FILE | WRITE_FILE,
	RENAMING = REMOVE_DIR | MAKE_DIR,
	/*
	 * within one directory: moving between directories would also need
	 * REFER
	 */
	NAMING = REMOVE_FILE | MAKE_REG,
	/* linking across directories, impossible before ABI 2 */
	REFER = 1 << 13,
	EXECUTE = 1 << 0, IOCTL_DEVICE = 1 << 15,
	PATH_BENEATH = 1
};

/* Allows these rights beneath the directory. */
static int
allow(int ruleset, int dir, uint64_t rights)
{
	struct {
		uint64_t access;
		int32_t fd;
	} __attribute__((packed)) beneath = { .access = rights, .fd = dir };

	return syscall(SYS_landlock_add_rule, ruleset, PATH_BENEATH, &beneath,
	    0) == -1 ? -errno : 0;
}

#ifdef KEEPS_PROC
/* Allows reading /proc/self; only the leak checker needs it, at exit. */
static int
keep_proc(int ruleset)
{
	int fd = sys_openat(AT_FDCWD, "/proc",
	    O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : allow(ruleset, fd, READING);

	if (fd >= 0)
		sys_close(fd);
	return rc;
}
#else
static int
keep_proc(int ruleset)
{
	(void)ruleset;
	return 0;
}
#endif

/* Directories, and the access granted beneath them. */
struct grant {
	const int *dirs;
	size_t count;
	uint64_t access;
};

/*
 * Returns a ruleset that forbids everything except connections, if connecting
 * is set, and what will be allowed, or -errno; -ENOSYS: the kernel has none, or
 * cannot express the exceptions.
 */
static int
open_ruleset(bool connecting, bool refers, struct ruleset *rights)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, QUERY_VERSION);
	int fd, rc;

	if (abi < 0 && errno != ENOSYS && errno != EOPNOTSUPP &&
	    errno != EPERM)
		return -errno;
	/*
	 * Landlock may not be built in, be disabled at boot, or be blocked by a
	 * container's seccomp filter, which may return EPERM for unknown system
	 * calls
	 */
	if (abi <= 0 || (refers && abi < 2))
		return -ENOSYS;
	*rights = all_rights(abi);
	if (connecting)
		rights->net = rights->scoped = 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, rights,
	    sizeof(*rights), 0);
	if (fd == -1)
		return -errno;
	rc = keep_proc(fd);
	if (rc == 0)
		return fd;
	sys_close(fd);
	return rc;
}

static int
refuse_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ? -errno : 0;
}

/* Enters the ruleset, if there is one, and closes it. */
static int
enter_ruleset(int fd, bool *confined)
{
	int rc = refuse_privileges();

	if (rc == 0 && fd >= 0 &&
	    syscall(SYS_landlock_restrict_self, fd, 0) == -1)
		rc = -errno;
	*confined = rc == 0 && fd >= 0;
	if (fd >= 0)
		sys_close(fd);
	return rc;
}

/*
 * Forbids everything except the access in g and, if connecting is set,
 * connections.  If the kernel cannot express these exceptions, nothing is
 * confined.
 */
static int
enter_all(const struct grant *g, size_t count, bool connecting, bool *confined)
{
	struct ruleset rights;
	bool refers = false;
	int fd, rc = refuse_privileges();

	*confined = false;
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		refers = refers || (g[i].access & REFER) != 0;
	fd = open_ruleset(connecting, refers, &rights);
	if (fd < 0 && fd != -ENOSYS)
		return fd;
	for (size_t i = 0; i < count && fd >= 0; i++)
		for (size_t k = 0; k < g[i].count && rc == 0; k++)
			rc = allow(fd, g[i].dirs[k], g[i].access & rights.fs);
	if (rc == 0)
		return enter_ruleset(fd, confined);
	sys_close(fd);
	return rc;
}

int
sandbox_enter(bool *confined)
{
	return enter_all(NULL, 0, false, confined);
}

int
sandbox_enter_reading(const int *dirs, size_t count, bool *confined)
{
	const struct grant g = { .dirs = dirs, .count = count,
		.access = READING };

	return enter_all(&g, 1, false, confined);
}

/* Returns all rights except execution. */
static uint64_t
making(void)
{
	return all_rights(LONG_MAX).fs & ~(uint64_t)(EXECUTE | IOCTL_DEVICE);
}

int
sandbox_enter_making(int dir, const int *dirs, size_t count, bool *confined)
{
	const struct grant g[] = {
		{ .dirs = &dir, .count = 1, .access = making() },
		{ .dirs = dirs, .count = count, .access = READING },
	};

	return enter_all(g, 2, false, confined);
}

int
sandbox_making_begin(struct sandbox_making *s, int dir)
{
	struct ruleset rights;

	s->ruleset = open_ruleset(false, true, &rights);
	if (s->ruleset < 0)
		return s->ruleset == -ENOSYS ? 0 : s->ruleset;
	s->access = making() & rights.fs;
	return sandbox_making_add(s, dir);
}

int
sandbox_making_add(struct sandbox_making *s, int dir)
{
	return s->ruleset < 0 ? 0 : allow(s->ruleset, dir, s->access);
}

int
sandbox_making_enter(struct sandbox_making *s, bool *confined)
{
	int fd = s->ruleset;

	s->ruleset = -1;
	return enter_ruleset(fd, confined);
}

void
sandbox_making_close(struct sandbox_making *s)
{
	if (s->ruleset >= 0)
		sys_close(s->ruleset);
	s->ruleset = -1;
}

/* As sandbox_enter_dirs() and, if connecting is set, sandbox_enter_fetching(). */
static int
enter_dirs(const struct sandbox_dirs *d, const int *dirs, size_t count,
    bool connecting, bool *confined)
{
	const struct grant all[] = {
		{ &d->reading, 1, READING }, { &d->naming, 1, NAMING },
		{ &d->making, 1, making() }, { &d->renaming, 1, RENAMING },
		{ &d->spooling, 1, SPOOLING },
	};
	struct grant g[sizeof(all) / sizeof(all[0]) + 1];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (*all[i].dirs >= 0)
			g[n++] = all[i];
	/* libraries that resolve host names are loaded on demand */
	g[n++] = (struct grant){ dirs, count, READING | EXECUTE };
	return enter_all(g, n, connecting, confined);
}

int
sandbox_enter_dirs(const struct sandbox_dirs *d, bool *confined)
{
	return enter_dirs(d, NULL, 0, false, confined);
}

int
sandbox_enter_fetching(int dir, const int *dirs, size_t count, bool *confined)
{
	const struct sandbox_dirs d = { .reading = -1, .naming = -1,
		.making = dir, .renaming = -1, .spooling = -1 };

	return enter_dirs(&d, dirs, count, true, confined);
}

int
sandbox_enter_pulling(const struct sandbox_dirs *d, const int *dirs,
    size_t count, bool *confined)
{
	return enter_dirs(d, dirs, count, true, confined);
}

int
sandbox_enter_naming(int dir, bool *confined)
{
	const struct grant g = { .dirs = &dir, .count = 1, .access = NAMING };

	return enter_all(&g, 1, false, confined);
}
