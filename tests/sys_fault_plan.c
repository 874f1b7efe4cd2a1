/*
 * sys_fault_plan.c - which calls fail, and how many were made
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Its state is static, because the calls have no argument to carry it.
 */
#include "sys_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

enum { MOST_RULES = 64, COUNT_FD = 100, MOST_SITES = 1 << 13 };

struct rule {
	enum fault_kind kind;
	uint32_t site;		/* or 0 for all */
	unsigned long from, to;
	int error;		/* as fault() returns it, or 0 for a signal */
	int signal;
	atomic_ulong calls;	/* from that site */
};

/* A place in the program that makes calls of that kind. */
struct site {
	enum fault_kind kind;
	uint32_t hash;
	unsigned long calls;
};

const char *const fault_names[FAULT_KINDS] = {
	"malloc", "openat", "read", "pread", "write", "pwrite", "lseek",
	"ftruncate", "fsync", "close", "dup", "pipe", "getdents", "stat",
	"readlinkat", "mkdirat", "symlinkat", "mknodat", "linkat",
	"renameat", "unlinkat", "chown", "chmod", "utimens", "setxattr",
	"getxattr", "thread", "now", "mmap", "fork", "wait", "poll",
	"lock", "library",
};

_Thread_local int fault_direct;

static struct rule rules[MOST_RULES];
static int rule_count;
static atomic_ulong counts[FAULT_KINDS];
static int count_fd = -1;
static pid_t started;
static unsigned depth;		/* 0: sites are not told apart */
static struct site sites[MOST_SITES];
static atomic_flag sites_busy = ATOMIC_FLAG_INIT;

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
		r->error = FAULT_SHORT;
		return r->kind == FAULT_READ || r->kind == FAULT_PREAD ||
		    r->kind == FAULT_WRITE || r->kind == FAULT_PWRITE;
	}
	if (strcmp(what, "end") == 0) {
		r->error = FAULT_END;
		return r->kind == FAULT_READ || r->kind == FAULT_PREAD;
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
	char *k = strtok_r(NULL, ":", &save), *what, *end, *at;
	uint32_t site = 0;
	int i = 0;

	what = k == NULL ? NULL : strtok_r(NULL, "", &save);
	if (what == NULL)
		return false;
	at = strchr(kind, '@');
	if (at != NULL) {
		*at = '\0';
		site = (uint32_t)strtoul(at + 1, &end, 16);
		if (site == 0 || *end != '\0')
			return false;
	}
	while (i < FAULT_KINDS && strcmp(kind, fault_names[i]) != 0)
		i++;
	if (i == FAULT_KINDS)
		return false;
	*r = (struct rule){ .kind = (enum fault_kind)i, .site = site };
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
	char *copy, *save;
	bool good;

	/* the plan before may refuse it */
	fault_direct++;
	copy = strdup(plan);
	fault_direct--;
	good = copy != NULL;
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

static void
write_counts(void)
{
	FILE *f = fdopen(count_fd, "w");

	if (f == NULL || ftruncate(count_fd, 0) == -1)
		return;
	for (int i = 0; i < FAULT_KINDS; i++)
		fprintf(f, "%s %lu\n", fault_names[i],
		    fault_count((enum fault_kind)i));
	for (int i = 0; i < MOST_SITES; i++) {
		if (sites[i].hash != 0)
			fprintf(f, "%s@%x %lu\n", fault_names[sites[i].kind],
			    sites[i].hash, sites[i].calls);
	}
	fclose(f);
}

/*
 * Opens the file immediately, on a descriptor above 2, because a tool may
 * confine itself later.
 */
static void
open_counts(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	count_fd = fcntl(fd, F_DUPFD_CLOEXEC, COUNT_FD);
	close(fd);
	if (count_fd != -1)
		atexit(write_counts);
}

/* Runs before main(), so that even a run without any calls has counts. */
static void __attribute__((constructor))
start(void)
{
	const char *plan = getenv("COLDPRESS_FAULT");

	if (plan != NULL && !fault_plan(plan)) {
		fprintf(stderr, "COLDPRESS_FAULT=%s makes no sense\n", plan);
		_exit(125);
	}
	started = getpid();
	if (getenv("COLDPRESS_FAULT_DEPTH") != NULL)
		depth = (unsigned)atoi(getenv("COLDPRESS_FAULT_DEPTH"));
	if (getenv("COLDPRESS_FAULT_COUNT") != NULL)
		open_counts(getenv("COLDPRESS_FAULT_COUNT"));
}

struct stack {
	uint32_t hash;
	unsigned frames;
};

/*
 * Addresses are counted from the start of the program, which is loaded
 * elsewhere each time; all addresses in libraries are the same.
 */
static _Unwind_Reason_Code
add_frame(struct _Unwind_Context *context, void *arg)
{
	extern const char __ehdr_start[], _end[];
	struct stack *s = arg;
	uintptr_t at = _Unwind_GetIP(context), start = (uintptr_t)__ehdr_start;

	at = at > start && at < (uintptr_t)_end ? at - start : 0;
	s->hash = (s->hash ^ (uint32_t)at) * 16777619 + 1;
	return ++s->frames < depth ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/*
 * Returns a hash of the innermost callers, not 0.  In a child that shares our
 * memory, the stack has no known end, and all callers are one.
 */
static uint32_t
site_of_call(void)
{
	struct stack s = { .hash = 2166136261 };

	if (getpid() == started)
		_Unwind_Backtrace(add_frame, &s);
	return s.hash != 0 ? s.hash : 1;
}

static void
count_site(enum fault_kind kind, uint32_t hash)
{
	uint32_t i = (hash + (uint32_t)kind) % MOST_SITES, tries = 0;

	while (atomic_flag_test_and_set(&sites_busy))
		;
	while (tries++ < MOST_SITES && sites[i].hash != 0 &&
	    (sites[i].hash != hash || sites[i].kind != kind))
		i = (i + 1) % MOST_SITES;
	if (sites[i].hash == 0)
		sites[i] = (struct site){ .kind = kind, .hash = hash };
	sites[i].calls++;
	atomic_flag_clear(&sites_busy);
}

int
fault(enum fault_kind kind)
{
	unsigned long n = atomic_fetch_add(&counts[kind], 1) + 1;
	uint32_t site = 0;

	if (depth > 0) {
		site = site_of_call();
		count_site(kind, site);
	}
	for (int i = 0; i < rule_count; i++) {
		struct rule *r = &rules[i];
		unsigned long k = n;

		if (r->kind != kind || (r->site != 0 && r->site != site))
			continue;
		if (r->site != 0)
			k = atomic_fetch_add(&r->calls, 1) + 1;
		if (k < r->from || k > r->to)
			continue;
		if (r->signal == 0)
			return r->error;
		kill(getpid(), r->signal);
	}
	return 0;
}
