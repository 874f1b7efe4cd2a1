/*
 * ram.c - the memory this process may use
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/ram.h"

#include "cgroup.h"

#include <stddef.h>
#include <unistd.h>

static void
take_limits(void *arg, const struct cgroup *g)
{
	/* "max" means no limit, and is not a number */
	static const char *const names[2][2] = {
		{ "memory.limit_in_bytes", NULL },
		{ "memory.max", "memory.high" } };
	uint64_t *least = arg;

	for (unsigned i = 0; i < 2; i++) {
		const char *name = names[g->v2][i];
		long long n[2];

		if (name != NULL && cgroup_numbers(g, name, n) > 0 &&
		    n[0] >= 0 && (uint64_t)n[0] < *least)
			*least = (uint64_t)n[0];
	}
}

uint64_t
ram_quota(const char *root)
{
	uint64_t least = UINT64_MAX;

	cgroup_each(root, "memory", take_limits, &least);
	return least;
}

uint64_t
ram_usable(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t quota = ram_quota(""), all;

	if (pages <= 0 || page <= 0)
		return quota == UINT64_MAX ? 0 : quota;
	all = (uint64_t)pages * (uint64_t)page;
	return quota < all ? quota : all;
}
