/*
 * advise.c - say what to compress, how, and what that saves
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise_tool.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { THERE_IS_ADVICE = 3, NICE = 19, KEPT_B = 32 << 20 };

/* Shares of the budget: the names, and with them the kinds. */
static const double NAMES = 0.25, KINDS = 0.35;

static uint64_t
at_share(const struct advise_tool *t, uint64_t start_ns, double share)
{
	return start_ns + (uint64_t)(t->o.budget_s * share * 1e9);
}

static double
cpu_used(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec;
}

/*
 * Returns the CPU time of getting a byte of memory, using it, and giving it
 * back, which the kernel does by pages; 0 if there is no memory.
 */
static double
cpu_of_memory(void)
{
	double start = cpu_used();
	char *p = mmap(NULL, KEPT_B, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	memset(p, 1, KEPT_B);
	munmap(p, KEPT_B);
	start = cpu_used() - start;
	return start / KEPT_B;
}

/*
 * What one trial frees is used by the next one, as by the next block of a long
 * run: pages that the kernel would have to clear again and again, it clears
 * once.
 */
static void
keep_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, KEPT_B);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

/* Lists the files of one kind, for apply. */
static void
list_kind(const struct advise_tool *t)
{
	enum advise_kind kind = advise_kind_by_name(t->o.list);

	for (size_t i = 0; i < t->census.count; i++) {
		const struct advise_file *f = &t->census.files[i];

		if (f->kind == kind && f->seen && advise_is_proposed(t, f))
			printf("%s%c", f->path, '\0');
	}
}

/* Replaces an operand by its absolute path.  Returns 0 or -ENOMEM. */
static int
keep_place(struct advise_tool *t, uint32_t i, const char *place)
{
	t->o.places[i] = arena_copy(&t->census.text, place, strlen(place));
	return t->o.places[i] == NULL ? -ENOMEM : 0;
}

/* Does all the work.  Returns 0 or -errno. */
static int
advise(struct advise_tool *t, uint64_t start_ns)
{
	int rc = 0;

	for (uint32_t i = 0; i < t->o.place_count; i++) {
		/* the rows must be right in any directory */
		char *place = realpath(t->o.places[i], NULL);

		rc = place == NULL ? -errno : keep_place(t, i, place);
		free(place);
		if (rc == 0)
			rc = advise_census_add(&t->census, t->o.places[i], i,
			    t->o.list != NULL || t->o.cpu ? UINT64_MAX :
			    at_share(t, start_ns, NAMES));
		if (rc == -ENOMEM)
			return rc;
		if (rc != 0)
			msg_error(&t->msg, "%s: %s", t->o.places[i],
			    strerror(-rc));
	}
	rc = advise_census_look(&t->census, t->o.list != NULL || t->o.cpu ?
	    UINT64_MAX : at_share(t, start_ns, KINDS));
	if (rc != 0 || t->o.list != NULL)
		return rc;
	rc = advise_cases_make(t);
	if (rc == 0)
		rc = advise_readers(t) < 0 ? 0 : -ECANCELED;
	/* what is left is for the last unit, and for printing */
	if (rc == 0)
		rc = advise_cases_measure(t, at_share(t, t->o.cpu ? 0 :
		    start_ns, 0.93));
	if (rc == 0)
		rc = advise_choose(t);
	t->took_s = 1e-9 * (double)(sys_now_ns() - start_ns);
	if (rc == 0)
		rc = advise_print_rows(t);
	return rc;
}

int
main(int argc, char **argv)
{
	struct advise_tool t = { .count = 0 };
	uint64_t start = sys_now_ns();
	bool advice = false;
	int status, rc;

	t.start_s = cpu_used();
	t.touch_s = cpu_of_memory();
	keep_memory();
	fdio_hold_standard();
	status = advise_parse(&t, argc, argv);
	if (status >= 0)
		return status;
	/* whoever else is here comes first */
	setpriority(PRIO_PROCESS, 0, NICE);
	rc = advise(&t, start);
	if (rc != 0 && t.msg.status == 0)
		msg_error(&t.msg, "%s", strerror(-rc));
	if (rc == 0 && t.o.list != NULL)
		list_kind(&t);
	else if (rc == 0 && !t.o.json && !t.msg.quiet)
		advise_print_table(&t);
	for (size_t i = 0; i < t.count; i++)
		advice |= t.cases[i].number > 0;
	advise_cases_free(&t);
	advise_census_free(&t.census);
	status = msg_finish(&t.msg);
	return status == 0 && advice ? THERE_IS_ADVICE : status;
}
