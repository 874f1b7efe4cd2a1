/*
 * ordeal.c - puts a command through faults and signals
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ordeal [option...] command [argument...]
 * 	-C DIR		the directory
 * 	-o PATH		the command creates this file or directory (repeatable)
 * 	-p PATH		the same, but a failure may leave some of the files in
 * 			it, each of them complete
 * 	-O PATH		the same, but a failure may leave anything there
 * 	-i FILE		the command may remove this file once it is done
 * 	-c COMMAND	a shell command that succeeds if what the status,
 * 			$ORDEAL_STATUS, promises is there; without it, that is
 * 			everything as without faults
 * 	-a STATUS,...	the statuses of failures (1)
 * 	-f KIND:WHAT,...	the faults (all that there are; see sys_fault.h)
 * 	-x KIND[:WHAT],...	except for these
 * 	-g KIND,...	whoever sees such an error must fail (fsync)
 * 	-d DEPTH	callers are told apart by so many frames (6)
 * 	-n COUNT	at most so many runs: of faults, an even sample
 * 	-s SIGNAL,...	not faults but signals, at random times in COUNT runs
 * 	-S SEED		of these times
 * 	-t SECONDS	longer runs hang (60)
 *
 * The command runs without faults, to learn what it makes, and then again and
 * again in the same directory.  Of each caller of each kind of call, the first
 * call fails, the second, the last, and all.  With COLDPRESS_FAULT_ALL=N, each
 * call of each kind fails in turn, but at most N.
 *
 * A run must end, with status 0 and the same output, or with a status of failure
 * and a message; nothing incomplete, no other file and no process may be left,
 * and the other files must not change.  Calls that are interrupted or transfer
 * less must not make a difference.  After SIGKILL, or if no name can be removed,
 * temporary names (.coldpress-*) may remain.
 */
#include "ordeal_files.h"
#include "ordeal_run.h"
#include "rnd.h"

#include <err.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 16, MOST_PLANS = 1 << 20, SHOWN = 12, BURST = 4, PLAN_B = 80 };

static const char standard[] = "malloc:ENOMEM,openat:EMFILE,openat:EACCES,"
    "read:EIO,read:short,read:EINTR,pread:EIO,pread:short,pread:EINTR,"
    "write:ENOSPC,write:short,write:EINTR,pwrite:ENOSPC,pwrite:short,"
    "pwrite:EINTR,lseek:EIO,ftruncate:EFBIG,fsync:EIO,close:EIO,dup:EMFILE,"
    "pipe:EMFILE,getdents:EIO,stat:EIO,readlinkat:EIO,mkdirat:ENOSPC,"
    "symlinkat:ENOSPC,mknodat:EPERM,linkat:EIO,renameat:EIO,unlinkat:EIO,"
    "chown:EPERM,chmod:EPERM,utimens:EPERM,setxattr:ENOSPC,getxattr:EIO,"
    "thread:EAGAIN,mmap:ENOMEM,fork:EAGAIN,wait:EINTR,poll:EINTR,lock:EIO,"
    "library:ENOMEM";

struct ordeal {
	const char *made[MOST], *partly[MOST];
	int made_count, partly_count;
	const char *consumed, *loose, *check, *statuses, *faults, *except, *grave;
	const char *depth, *signals;
	long most;
	uint32_t seed;
	unsigned limit_s;
	char *const *argv;

	char *counts;			/* path of the file of counts */
	struct files before, after;	/* around the run without faults */
	struct text out;		/* its output */
	uint64_t took_ns;
	int bad;
};

/* Whether the list, "a,b", has the word. */
static bool
listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = list; s != NULL && *s != '\0';) {
		size_t len = strcspn(s, ",");

		if (len == n && strncmp(s, word, n) == 0)
			return true;
		s += len + (s[len] == ',');
	}
	return false;
}

static bool
is_temporary(const char *path)
{
	return strncmp(path, ".coldpress-", 11) == 0 ||
	    strstr(path, "/.coldpress-") != NULL;
}

static bool
is_below_any(const char *path, const char *const *tops, int count)
{
	for (int i = 0; i < count; i++) {
		if (files_below(path, tops[i]))
			return true;
	}
	return false;
}

/* What is wrong with one run, and where. */
struct fault_found {
	const char *what, *where;
};

/* The judgement on what is neither made nor consumed. */
static struct fault_found
look_elsewhere(const struct ordeal *o, const struct files *now, bool rough)
{
	const struct fault_found none = { 0 };

	for (size_t i = 0; i < now->count; i++) {
		const struct file *f = &now->all[i];

		if (is_below_any(f->path, o->made, o->made_count) ||
		    is_below_any(f->path, o->partly, o->partly_count) ||
		    (rough && is_temporary(f->path)))
			continue;
		if (files_find(&o->before, f->path) == NULL)
			return (struct fault_found){ "this is left", f->path };
	}
	for (size_t i = 0; i < o->before.count; i++) {
		const struct file *f = &o->before.all[i];
		const struct file *is = files_find(now, f->path);

		if (is_below_any(f->path, o->made, o->made_count) ||
		    is_below_any(f->path, o->partly, o->partly_count))
			continue;
		if (is == NULL && o->consumed != NULL &&
		    strcmp(f->path, o->consumed) == 0)
			continue;
		if (!files_same(f, is, false)) {
			return (struct fault_found){ is == NULL ?
			    "this is lost" : "this has changed", f->path };
		}
	}
	return none;
}

static bool
complete(const struct ordeal *o, const struct files *now, const char *path,
    bool succeeded)
{
	return o->check != NULL ||
	    files_same_below(now, &o->after, path, !succeeded);
}

/* The judgement on what is made. */
static struct fault_found
look_at_made(const struct ordeal *o, const struct files *now, bool succeeded)
{
	bool gone = o->consumed != NULL &&
	    files_find(now, o->consumed) == NULL;

	for (int i = 0; i < o->made_count; i++) {
		const char *path = o->made[i];
		bool absent = files_same_below(now, &o->before, path, false);

		if (complete(o, now, path, succeeded) && !(o->check != NULL && absent))
			continue;
		if (succeeded)
			return (struct fault_found){ "incomplete, status 0",
			    path };
		if (gone)
			return (struct fault_found){ "nothing is left", path };
		if (!absent)
			return (struct fault_found){ "partial", path };
	}
	for (size_t i = 0; i < now->count; i++) {
		const struct file *f = &now->all[i];
		const struct file *want = files_find(&o->after, f->path);

		if (!is_below_any(f->path, o->partly, o->partly_count) ||
		    !S_ISREG(f->mode) || f->size == 0 || (o->loose != NULL &&
		    files_below(f->path, o->loose)))
			continue;
		if (want == NULL || want->size != f->size ||
		    memcmp(want->data, f->data, f->size) != 0)
			return (struct fault_found){ "partial", f->path };
	}
	for (int i = 0; succeeded && i < o->partly_count; i++) {
		if (!complete(o, now, o->partly[i], true))
			return (struct fault_found){ "incomplete, status 0",
			    o->partly[i] };
	}
	return (struct fault_found){ 0 };
}

static bool
is_failure(const struct ordeal *o, int status)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", status);
	return listed(o->statuses, text);
}

static bool
was_made(const struct ordeal *o, const struct files *now)
{
	for (int i = 0; i < o->made_count; i++) {
		if (!files_same_below(now, &o->before, o->made[i], false))
			return true;
	}
	return false;
}

static bool
passes(const struct ordeal *o, int status)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", status);
	setenv("ORDEAL_STATUS", text, 1);
	return system(o->check) == 0;
}

/*
 * Judges a run and restores the directory.  A rough end is one that the command
 * cannot help; signalled tells that it may end by a signal.
 */
static void
judge(struct ordeal *o, const struct run *r, const char *plan, bool rough,
    bool signalled, bool must_succeed, bool must_fail)
{
	struct files now = files_take();
	struct fault_found f = look_elsewhere(o, &now, rough);
	bool succeeded = r->status == 0;

	if (f.what == NULL)
		f = look_at_made(o, &now, succeeded);
	if (f.what == NULL && r->left > 0 && !rough)
		f.what = "a process is left";
	if (r->hung)
		f.what = "hangs";
	else if (!succeeded && !is_failure(o, r->status) &&
	    !(signalled && r->status > 128))
		f.what = "crash";
	else if (!succeeded && r->status <= 128 && r->err.size == 0)
		f.what = "no message";
	else if (!succeeded && must_succeed)
		f.what = "an error without a cause";
	else if (succeeded && must_fail)
		f.what = "the error is not reported";
	else if (succeeded && f.what == NULL && o->check == NULL &&
	    (r->out.size != o->out.size ||
	    memcmp(r->out.data, o->out.data, r->out.size) != 0))
		f.what = "another output, status 0";
	if (f.what == NULL && o->check != NULL &&
	    (succeeded || was_made(o, &now))) {
		if (!passes(o, r->status))
			f.what = "the check fails";
		/* it may have changed what the command left alone */
		files_free(&now);
		now = files_take();
	}
	if (f.what != NULL && o->bad++ < SHOWN)
		printf("# %s: status %d: %s%s%s: %.160s\n", plan, r->status,
		    f.what, f.where != NULL ? ": " : "",
		    f.where != NULL ? f.where : "",
		    strtok(r->err.data, "\n") != NULL ? r->err.data : "");
	files_restore(&o->before, &now);
	files_free(&now);
}

static void
run_clean(struct ordeal *o)
{
	o->before = files_take();
	for (int i = 0; i < 2; i++) {
		struct run r = { .argv = o->argv, .limit_s = o->limit_s,
		    .counts = o->signals == NULL ? o->counts : NULL,
		    .depth = getenv("COLDPRESS_FAULT_ALL") == NULL ?
		    o->depth : NULL };

		run_command(&r);
		if (r.status != 0) {
			unlink(o->counts);
			errx(99, "%s: status %d without faults: %s",
			    o->argv[0], r.status, r.err.data);
		}
		if (i == 0) {
			o->out = r.out;
			o->took_ns = r.took_ns;
			o->after = files_take();
			files_restore(&o->before, &o->after);
			free(r.err.data);
			continue;
		}
		/* a command with an output of its own needs a check */
		if (r.took_ns < o->took_ns)
			o->took_ns = r.took_ns;
		judge(o, &r, "no fault", false, false, true, false);
		run_free(&r);
	}
}

static void
try_fault(struct ordeal *o, const char *plan)
{
	const char *what = strrchr(plan, ':') + 1;
	size_t len = strcspn(plan, "@:");
	struct run r = { .argv = o->argv, .plan = plan, .counts = o->counts,
	    .depth = strchr(plan, '@') != NULL ? o->depth : NULL,
	    .limit_s = o->limit_s };
	char kind[32];
	FILE *f;
	bool once = strchr(plan, '+') == NULL, fired = false;
	unsigned long n;
	char name[64];

	snprintf(kind, sizeof(kind), "%.*s", (int)len, plan);
	run_command(&r);
	/* calls can move from one thread to another */
	f = fopen(o->counts, "re");
	while (f != NULL && fscanf(f, "%63s %lu", name, &n) == 2) {
		size_t at = strcspn(plan, ":");

		fired |= strlen(name) == at && strncmp(name, plan, at) == 0 &&
		    n >= strtoul(plan + at + 1, NULL, 10);
	}
	if (f != NULL)
		fclose(f);
	judge(o, &r, plan, strcmp(kind, "unlinkat") == 0, false,
	    once && (strcmp(what, "short") == 0 ||
	    strcmp(what, "EINTR") == 0), fired && listed(o->grave, kind));
	run_free(&r);
}

struct plans {
	char (*all)[PLAN_B];
	long count;
};

static void __attribute__((format(printf, 2, 3)))
add(struct plans *p, const char *format, ...)
{
	va_list ap;

	if (p->count == MOST_PLANS)
		errx(99, "more than %d plans", MOST_PLANS);
	va_start(ap, format);
	vsnprintf(p->all[p->count++], PLAN_B, format, ap);
	va_end(ap);
}

/* Adds the plans for these calls: "write 3" or "write@1234abcd 3". */
static void
add_plans(struct ordeal *o, struct plans *p, const char *name, long calls)
{
	size_t len = strcspn(name, "@");
	bool each = getenv("COLDPRESS_FAULT_ALL") != NULL;

	if (each != (name[len] == '\0'))
		return;
	for (const char *s = o->faults; *s != '\0';) {
		size_t end = strcspn(s, ",");
		char fault[32], kind[32];
		const char *what = fault + len + 1;

		snprintf(fault, sizeof(fault), "%.*s", (int)end, s);
		snprintf(kind, sizeof(kind), "%.*s", (int)len, name);
		s += end + (s[end] == ',');
		if (strncmp(fault, name, len) != 0 || fault[len] != ':' ||
		    listed(o->except, fault) || listed(o->except, kind))
			continue;
		for (long k = 1; k <= calls; k++) {
			if (each || k <= 2 || k == calls)
				add(p, "%s:%ld:%s", name, k, what);
		}
		if (calls > 1 && strcmp(what, "EINTR") != 0)
			add(p, "%s:1+:%s", name, what);
	}
}

static void
try_faults(struct ordeal *o)
{
	struct plans p = { .all = calloc(MOST_PLANS, PLAN_B) };
	FILE *f = fopen(o->counts, "re");
	char name[64];
	long n, runs, sites = 0;

	if (p.all == NULL || f == NULL)
		err(99, "%s", o->counts);
	while (fscanf(f, "%63s %ld", name, &n) == 2) {
		if (n > 0)
			add_plans(o, &p, name, n);
		sites += strchr(name, '@') != NULL;
	}
	fclose(f);
	if (p.count == 0)
		errx(99, "%s: no calls to fail", o->argv[0]);
	runs = p.count;
	if (getenv("COLDPRESS_FAULT_ALL") != NULL)
		o->most = atol(getenv("COLDPRESS_FAULT_ALL"));
	if (o->most > 0 && o->most < runs)
		runs = o->most;
	for (long i = 0; i < runs; i++)
		try_fault(o, p.all[i * p.count / runs]);
	printf("# %ld callers, %ld plans, %ld runs, %d bad\n", sites, p.count,
	    runs, o->bad);
	free(p.all);
}

static int
signal_number(const char *name, size_t len)
{
	for (int i = 1; i < 32; i++) {
		const char *abbrev = sigabbrev_np(i);

		if (abbrev != NULL && strlen(abbrev) == len &&
		    strncmp(abbrev, name, len) == 0)
			return i;
	}
	errx(99, "%s: no such signal", name);
}

static void
try_signals(struct ordeal *o)
{
	int known[MOST], count = 0;
	long by_signal = 0, done = 0;

	for (const char *s = o->signals; *s != '\0' && count < MOST;) {
		size_t len = strcspn(s, ",");

		known[count++] = signal_number(s, len);
		s += len + (s[len] == ',');
	}
	for (long i = 0; i < o->most; i++) {
		int sent[BURST];
		uint64_t delays[BURST];
		char plan[PLAN_B] = "";
		struct run r = { .argv = o->argv, .limit_s = o->limit_s,
		    .signals = sent, .delays_ns = delays,
		    .signal_count = 1 + rnd(&o->seed) % BURST };
		bool rough = false, harmless = true;
		size_t len = 0;

		for (size_t k = 0; k < r.signal_count; k++) {
			uint64_t most = o->took_ns * 5 / 4 /
			    (k == 0 ? 1 : BURST) + 1;

			sent[k] = known[rnd(&o->seed) % (unsigned)count];
			delays[k] = rnd(&o->seed) % most;
			rough |= sent[k] == SIGKILL || sent[k] == SIGUSR1;
			harmless &= sent[k] == SIGWINCH;
			len += (size_t)snprintf(plan + len,
			    sizeof(plan) - len, "%s%s+%lu us", k > 0 ? " " : "",
			    sigabbrev_np(sent[k]),
			    (unsigned long)delays[k] / 1000);
		}
		run_command(&r);
		by_signal += r.status > 128;
		done += r.status == 0;
		judge(o, &r, plan, rough, true, harmless, false);
		run_free(&r);
	}
	printf("# %ld runs: %ld ended by a signal, %ld complete; %d bad\n",
	    o->most, by_signal, done, o->bad);
}

static void
parse(struct ordeal *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "+C:o:O:p:i:c:a:f:x:g:d:n:s:S:t:")) != -1) {
		switch (c) {
		case 'C':
			if (chdir(optarg) == -1)
				err(99, "%s", optarg);
			break;
		case 'o':
		case 'O':
		case 'p':
			if (o->made_count == MOST || o->partly_count == MOST)
				errx(99, "more than %d paths", MOST);
			if (c == 'o')
				o->made[o->made_count++] = optarg;
			else
				o->partly[o->partly_count++] = optarg;
			if (c == 'O')
				o->loose = optarg;
			break;
		case 'i': o->consumed = optarg; break;
		case 'c': o->check = optarg; break;
		case 'a': o->statuses = optarg; break;
		case 'f': o->faults = optarg; break;
		case 'x': o->except = optarg; break;
		case 'g': o->grave = optarg; break;
		case 'd': o->depth = optarg; break;
		case 'n': o->most = atol(optarg); break;
		case 's': o->signals = optarg; break;
		case 'S': o->seed = (uint32_t)atol(optarg); break;
		case 't': o->limit_s = (unsigned)atoi(optarg); break;
		default: exit(99);
		}
	}
	if (optind == argc || o->seed == 0)
		errx(99, "usage: ordeal [option...] command [argument...]");
	o->argv = argv + optind;
}

int
main(int argc, char **argv)
{
	struct ordeal o = { .statuses = "1", .faults = standard,
	    .except = "", .grave = "fsync", .depth = "6", .seed = 1,
	    .limit_s = 60 };
	const char *tmp = getenv("TMPDIR");
	char counts[4096];
	int fd;

	parse(&o, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(counts, sizeof(counts), "%s/ordeal.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	fd = mkstemp(counts);
	if (fd == -1)
		err(99, "%s", counts);
	close(fd);
	o.counts = counts;
	run_clean(&o);
	if (o.bad > 0)
		warnx("%s: no two runs are equal", o.argv[0]);
	else if (o.signals != NULL)
		try_signals(&o);
	else
		try_faults(&o);
	unlink(counts);
	files_free(&o.before);
	files_free(&o.after);
	free(o.out.data);
	return o.bad > 0;
}
