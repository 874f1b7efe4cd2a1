/*
 * sys_fault.c - the seam that breaks where it is told to
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only a test: its state is the file's, since the calls have none to carry.
 */
#include "sys_fault.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RULES = 64, SHORT = -1, COUNT_FD = 100 };

struct rule {
	enum fault_kind kind;
	unsigned long from, to;
	int error;		/* errno, SHORT, or 0 for a signal */
	int signal;
};

const char *const fault_names[FAULT_KINDS] = {
	"malloc", "openat", "read", "pread", "write", "fsync", "close",
	"linkat", "renameat", "unlinkat", "thread", "now",
};

static struct rule rules[MOST_RULES];
static int rule_count;
static atomic_ulong counts[FAULT_KINDS];
static atomic_long blocks;
static int count_fd = -1;

static bool
parse_what(struct rule *r, const char *what)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{ "KILL", SIGKILL }, { "TERM", SIGTERM }, { "INT", SIGINT },
		{ "HUP", SIGHUP }, { "PIPE", SIGPIPE }, { "STOP", SIGSTOP },
	};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (strcmp(what, signals[i].name) == 0) {
			r->signal = signals[i].number;
			return true;
		}
	}
	if (strcmp(what, "short") == 0) {
		r->error = SHORT;
		return r->kind == FAULT_READ || r->kind == FAULT_PREAD ||
		    r->kind == FAULT_WRITE;
	}
	for (int e = 1; e < 200; e++) {
		const char *name = strerrorname_np(e);

		if (name != NULL && strcmp(name, what) == 0) {
			r->error = e;
			return r->kind != FAULT_NOW;
		}
	}
	return false;
}

static bool
parse_rule(struct rule *r, char *text)
{
	char *save, *kind = strtok_r(text, ":", &save);
	char *k = strtok_r(NULL, ":", &save), *what, *end;
	int i = 0;

	what = k == NULL ? NULL : strtok_r(NULL, "", &save);
	if (what == NULL)
		return false;
	while (i < FAULT_KINDS && strcmp(kind, fault_names[i]) != 0)
		i++;
	if (i == FAULT_KINDS)
		return false;
	*r = (struct rule){ .kind = (enum fault_kind)i };
	r->from = r->to = strtoul(k, &end, 10);
	if (strcmp(end, "+") == 0)
		r->to = ~0UL;
	else if (*end != '\0')
		return false;
	return r->from > 0 && parse_what(r, what);
}

bool
fault_plan(const char *plan)
{
	char *copy = strdup(plan), *save;
	bool good = copy != NULL;

	rule_count = 0;
	for (int i = 0; i < FAULT_KINDS; i++)
		atomic_store(&counts[i], 0);
	for (char *s = good ? strtok_r(copy, ",", &save) : NULL;
	    good && s != NULL; s = strtok_r(NULL, ",", &save))
		good = rule_count < MOST_RULES &&
		    parse_rule(&rules[rule_count++], s);
	if (!good)
		rule_count = 0;
	free(copy);
	return good;
}

unsigned long
fault_count(enum fault_kind kind)
{
	return atomic_load(&counts[kind]);
}

long
fault_blocks(void)
{
	return atomic_load(&blocks);
}

static void
write_counts(void)
{
	FILE *f = fdopen(count_fd, "w");

	if (f == NULL || ftruncate(count_fd, 0) == -1)
		return;
	for (int i = 0; i < FAULT_KINDS; i++)
		fprintf(f, "%s %lu\n", fault_names[i],
		    fault_count((enum fault_kind)i));
	fclose(f);
}

/* At once, since a tool may confine itself; out of the way of 0 to 2. */
static void
open_counts(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	count_fd = fcntl(fd, F_DUPFD_CLOEXEC, COUNT_FD);
	close(fd);
	if (count_fd != -1)
		atexit(write_counts);
}

/* Before main(): a run that calls nothing has counts, too. */
static void __attribute__((constructor))
start(void)
{
	const char *plan = getenv("COLDPRESS_FAULT");

	if (plan != NULL && !fault_plan(plan)) {
		fprintf(stderr, "COLDPRESS_FAULT=%s makes no sense\n", plan);
		_exit(125);
	}
	if (getenv("COLDPRESS_FAULT_COUNT") != NULL)
		open_counts(getenv("COLDPRESS_FAULT_COUNT"));
}

/* Counts a call: 0 (it is to be made), SHORT, or the errno it fails with. */
static int
fault(enum fault_kind kind)
{
	unsigned long n = atomic_fetch_add(&counts[kind], 1) + 1;

	for (int i = 0; i < rule_count; i++) {
		const struct rule *r = &rules[i];

		if (r->kind != kind || n < r->from || n > r->to)
			continue;
		if (r->signal == 0)
			return r->error;
		kill(getpid(), r->signal);
	}
	return 0;
}

void *
sys_malloc(size_t size)
{
	void *p = fault(FAULT_MALLOC) != 0 ? NULL : malloc(size);

	atomic_fetch_add(&blocks, p != NULL);
	return p;
}

void *
sys_calloc(size_t count, size_t size)
{
	void *p = fault(FAULT_MALLOC) != 0 ? NULL : calloc(count, size);

	atomic_fetch_add(&blocks, p != NULL);
	return p;
}

void *
sys_realloc(void *ptr, size_t size)
{
	void *p = fault(FAULT_MALLOC) != 0 ? NULL : realloc(ptr, size);

	atomic_fetch_add(&blocks, p != NULL && ptr == NULL);
	return p;
}

void
sys_free(void *ptr)
{
	atomic_fetch_sub(&blocks, ptr != NULL);
	free(ptr);
}

int
sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	int e = fault(FAULT_OPENAT);
	int fd = e != 0 ? -e : openat(dirfd, path, flags, mode);

	return fd == -1 && e == 0 ? -errno : fd;
}

/* Counted as openat. */
int
sys_open_beneath(int dirfd, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)flags,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	int e = fault(FAULT_OPENAT);
	long fd = e != 0 ? -e : syscall(SYS_openat2, dirfd, path, &how,
	    sizeof(how));

	return fd == -1 && e == 0 ? -errno : (int)fd;
}

/* The length that a call is to ask for, where it is to be made. */
static size_t
cut(int e, size_t len)
{
	return e == SHORT && len > 1 ? 1 : len;
}

ssize_t
sys_read(int fd, void *buf, size_t len)
{
	int e = fault(FAULT_READ);
	ssize_t n;

	if (e > 0)
		return -e;
	n = read(fd, buf, cut(e, len));
	return n == -1 ? -errno : n;
}

ssize_t
sys_pread(int fd, void *buf, size_t len, off_t offset)
{
	int e = fault(FAULT_PREAD);
	ssize_t n;

	if (e > 0)
		return -e;
	n = pread(fd, buf, cut(e, len), offset);
	return n == -1 ? -errno : n;
}

ssize_t
sys_write(int fd, const void *buf, size_t len)
{
	int e = fault(FAULT_WRITE);
	ssize_t n;

	if (e > 0)
		return -e;
	n = write(fd, buf, cut(e, len));
	return n == -1 ? -errno : n;
}

int
sys_fsync(int fd)
{
	int e = fault(FAULT_FSYNC);

	if (e != 0)
		return -e;
	return fsync(fd) == -1 ? -errno : 0;
}

/* Counted as fsync. */
int
sys_syncfs(int fd)
{
	int e = fault(FAULT_FSYNC);

	if (e != 0)
		return -e;
	return syncfs(fd) == -1 ? -errno : 0;
}

int
sys_close(int fd)
{
	int e = fault(FAULT_CLOSE);

	/* a close that fails has closed nevertheless: close(2) */
	if (close(fd) == -1)
		return -errno;
	return -e;
}

int
sys_linkat(int olddir, const char *old, int newdir, const char *name,
    int flags)
{
	int e = fault(FAULT_LINKAT);

	if (e != 0)
		return -e;
	return linkat(olddir, old, newdir, name, flags) == -1 ? -errno : 0;
}

int
sys_renameat(int olddir, const char *old, int newdir, const char *name)
{
	int e = fault(FAULT_RENAMEAT);

	if (e != 0)
		return -e;
	return renameat(olddir, old, newdir, name) == -1 ? -errno : 0;
}

int
sys_unlinkat(int dirfd, const char *path, int flags)
{
	int e = fault(FAULT_UNLINKAT);

	if (e != 0)
		return -e;
	return unlinkat(dirfd, path, flags) == -1 ? -errno : 0;
}

int
sys_thread(pthread_t *thread, void *(*entry)(void *), void *arg)
{
	int e = fault(FAULT_THREAD);

	return e != 0 ? -e : -pthread_create(thread, NULL, entry, arg);
}

/* The clock cannot fail; a signal may come when it is read. */
uint64_t
sys_now_ns(void)
{
	struct timespec ts;

	fault(FAULT_NOW);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}
