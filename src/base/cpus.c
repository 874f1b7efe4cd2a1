/*
 * cpus.c - the number of CPUs this process may use
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/cpus.h"

#include "base/sys.h"
#include "cgroup.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

enum { MOST_CPUS = 1 << 20 };

static unsigned
tighter(unsigned a, unsigned b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/*
 * Converts a quota, in microseconds per period, to whole CPUs.  A negative
 * quota means that there is none.
 */
static unsigned
whole_cpus(long long quota, long long period)
{
	long long n;

	if (quota <= 0 || period <= 0)
		return 0;
	n = quota / period + (quota % period != 0);
	return n > MOST_CPUS ? MOST_CPUS : (unsigned)n;
}

static void
take_quota(void *arg, const struct cgroup *g)
{
	unsigned *least = arg;
	long long quota[2], period[2];

	/* "max 100000" means no quota, and is not a number */
	if (g->v2 && cgroup_numbers(g, "cpu.max", quota) == 2)
		*least = tighter(*least, whole_cpus(quota[0], quota[1]));
	else if (!g->v2 && cgroup_numbers(g, "cpu.cfs_quota_us", quota) > 0 &&
	    cgroup_numbers(g, "cpu.cfs_period_us", period) > 0)
		*least = tighter(*least, whole_cpus(quota[0], period[0]));
}

unsigned
cpus_quota(const char *root)
{
	unsigned least = 0;

	cgroup_each(root, "cpu", take_quota, &least);
	return least;
}

unsigned
cpus_usable(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = 0;

	/*
	 * The number of CPUs in the affinity mask.  The kernel rejects a mask
	 * smaller than its own, so larger masks are tried.
	 */
	for (size_t cpus = 1024; n == 0 && cpus <= MOST_CPUS; cpus *= 2) {
		size_t size = CPU_ALLOC_SIZE(cpus);
		cpu_set_t *set = sys_calloc(1, size);
		int rc;

		if (set == NULL)
			break;
		rc = sched_getaffinity(0, size, set);
		if (rc == 0)
			n = (unsigned)CPU_COUNT_S(size, set);
		sys_free(set);
		if (rc != 0 && errno != EINVAL)
			break;
	}
	if (n == 0)
		n = online > 0 ? (unsigned)online : 1;
	return tighter(n, cpus_quota(""));
}

unsigned
cpus_choose(unsigned asked, unsigned most)
{
	unsigned n = asked != 0 ? asked : cpus_usable();

	return n < most ? n : most;
}
