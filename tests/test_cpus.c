/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/cpus.h"
#include "base/ram.h"

#include "scratch.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char root[SCRATCH_B];

static int
clean(void **state)
{
	char line[SCRATCH_B + 16];

	(void)state;
	snprintf(line, sizeof(line), "rm -rf '%s'/*", root);
	return system(line);
}

static int
setup(void **state)
{
	(void)state;
	return scratch_make(root) == NULL;
}

static int
teardown(void **state)
{
	clean(state);
	return rmdir(root);
}

static void
put(const char *path, const char *text)
{
	char name[512];
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *s = name + strlen(root) + 1; (s = strchr(s, '/')) != NULL;
	    s++) {
		*s = '\0';
		mkdir(name, 0700);
		*s = '/';
	}
	f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void
v2_host(void)
{
	put("/proc/self/cgroup", "0::/user.slice/user-1.slice/x.scope\n");
	put("/proc/self/mountinfo",
	    "22 1 0:21 / /proc rw - proc proc rw\n"
	    "26 23 0:24 / /cg rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
}

static void
no_quota_is_zero(void **state)
{
	(void)state;
	assert_int_equal(cpus_quota(root), 0);
	v2_host();
	assert_int_equal(cpus_quota(root), 0);
	put("/cg/user.slice/user-1.slice/x.scope/cpu.max", "max 100000\n");
	assert_int_equal(cpus_quota(root), 0);
	put("/cg/user.slice/user-1.slice/x.scope/cpu.max", "");
	assert_int_equal(cpus_quota(root), 0);
}

static void
v2_takes_the_tightest_above(void **state)
{
	(void)state;
	v2_host();
	put("/cg/user.slice/user-1.slice/x.scope/cpu.max", "max 100000\n");
	put("/cg/user.slice/user-1.slice/cpu.max", "800000 100000\n");
	put("/cg/user.slice/cpu.max", "350000 100000\n");
	assert_int_equal(cpus_quota(root), 4);
	put("/cg/cpu.max", "10000 100000\n");
	assert_int_equal(cpus_quota(root), 1);
	put("/cg/cpu.max", "9223372036854775807 1\n");
	assert_int_equal(cpus_quota(root), 4);
	/* anything next to the path, or above the mount, belongs to others */
	put("/cg/user.slice/user-2.slice/cpu.max", "100000 100000\n");
	put("/cpu.max", "100000 100000\n");
	assert_int_equal(cpus_quota(root), 4);
}

static void
v2_in_a_container(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/\n");
	put("/proc/self/mountinfo",
	    "26 23 0:24 / /sys\\040x/cg rw - cgroup2 cgroup rw\n");
	put("/sys x/cg/cpu.max", "150000 100000\n");
	assert_int_equal(cpus_quota(root), 2);
	/* outside the namespace: only the mount can be examined */
	put("/proc/self/cgroup", "0::/../other\n");
	put("/sys x/other/cpu.max", "100000 100000\n");
	assert_int_equal(cpus_quota(root), 2);
}

/* The mounted part of the hierarchy is a group above that of the process. */
static void
v2_below_a_group(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/docker/a/b\n");
	put("/proc/self/mountinfo",
	    "26 23 0:24 /docker/a /cg rw - cgroup2 cgroup rw\n");
	put("/cg/b/cpu.max", "150000 100000\n");
	assert_int_equal(cpus_quota(root), 2);
	/* another filesystem, with a file of that name */
	put("/proc/self/mountinfo",
	    "26 23 0:24 /docker/a /cg rw - tmpfs cgroup rw\n");
	assert_int_equal(cpus_quota(root), 0);
}

static void
v1_host_and_container(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "4:cpu,cpuacct:/docker/a\n3:cpuset:/z\n"
	    "1:name=systemd:/docker/a\n0::/\n");
	put("/proc/self/mountinfo",
	    "31 23 0:26 / /c/cpuset rw - cgroup cgroup rw,cpuset\n"
	    "32 23 0:27 / /c/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	    "33 23 0:28 / /c/unified rw - cgroup2 cgroup2 rw\n");
	put("/c/cpu/docker/a/cpu.cfs_quota_us", "-1\n");
	put("/c/cpu/docker/a/cpu.cfs_period_us", "100000\n");
	put("/c/cpuset/z/cpu.cfs_quota_us", "1\n");
	put("/c/cpuset/z/cpu.cfs_period_us", "1\n");
	assert_int_equal(cpus_quota(root), 0);
	put("/c/cpu/docker/cpu.cfs_quota_us", "250001\n");
	put("/c/cpu/docker/cpu.cfs_period_us", "50000\n");
	assert_int_equal(cpus_quota(root), 6);
	/* another controller, whose name is as long */
	put("/proc/self/cgroup", "4:cpx:/docker/a\n");
	assert_int_equal(cpus_quota(root), 0);
	put("/proc/self/cgroup", "4:cpu,cpuacct:/docker/a\n");
	/* the mounted part of the hierarchy is the group itself */
	put("/proc/self/mountinfo", "32 23 0:27 /docker/a /c/cpu/docker rw "
	    "master:9 - cgroup cgroup rw,cpu,cpuacct\n");
	assert_int_equal(cpus_quota(root), 6);
	/* /docker/a is not under /dock */
	put("/proc/self/mountinfo", "32 23 0:27 /dock /c/cpu/docker rw "
	    "- cgroup cgroup rw,cpuacct,cpu\n");
	assert_int_equal(cpus_quota(root), 6);
}

static void
nonsense_is_no_quota(void **state)
{
	static const char *const bad[] = { "", "\n", "32 23\n", " - ",
	    "1 2 3 / /cg rw - cgroup2\n", "1 2 3 4 - cgroup2 a b\n",
	    "1 2 3 / /cg\\04 rw - cgroup2 a b" };

	(void)state;
	put("/cg/cpu.max", "-5 0\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put("/proc/self/cgroup", "0::/\n");
		put("/proc/self/mountinfo", bad[i]);
		assert_int_equal(cpus_quota(root), 0);
		put("/proc/self/cgroup", bad[i]);
		assert_int_equal(cpus_quota(root), 0);
	}
	v2_host();
	assert_int_equal(cpus_quota(root), 0);
}

static void
memory_limits(void **state)
{
	(void)state;
	assert_true(ram_quota(root) == UINT64_MAX);
	v2_host();
	put("/cg/user.slice/user-1.slice/x.scope/memory.max", "max\n");
	put("/cg/user.slice/memory.max", "-1\n");
	assert_true(ram_quota(root) == UINT64_MAX);
	put("/cg/user.slice/user-1.slice/memory.high", "9000000000\n");
	assert_true(ram_quota(root) == 9000000000);
	put("/cg/memory.max", "4096\n");
	assert_true(ram_quota(root) == 4096);
	put("/cg/user.slice/user-1.slice/x.scope/memory.max", "0\n");
	assert_true(ram_quota(root) == 0);
	/* the other version's file */
	put("/cg/user.slice/user-1.slice/x.scope/memory.max", "5000\n");
	put("/cg/user.slice/memory.limit_in_bytes", "7\n");
	assert_true(ram_quota(root) == 4096);
	clean(state);
	put("/proc/self/cgroup", "4:cpu:/z\n5:memory:/docker/a\n0::/\n");
	put("/proc/self/mountinfo",
	    "32 23 0:27 / /c/cpu rw - cgroup cgroup rw,cpu\n"
	    "33 23 0:28 / /c/mem rw - cgroup cgroup rw,memory\n");
	put("/c/cpu/z/memory.limit_in_bytes", "1\n");
	put("/c/mem/docker/a/memory.max", "2\n");
	assert_true(ram_quota(root) == UINT64_MAX);
	put("/c/mem/docker/memory.limit_in_bytes", "536870912\n");
	put("/c/mem/docker/a/memory.limit_in_bytes", "9223372036854771712\n");
	assert_true(ram_quota(root) == 536870912);
}

static void
follows_the_affinity_mask(void **state)
{
	cpu_set_t old, one;
	unsigned all = cpus_usable();

	(void)state;
	assert_true(all >= 1);
	assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
	assert_true(all <= (unsigned)CPU_COUNT(&old));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &old))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(cpus_usable(), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
	assert_int_equal(cpus_usable(), all);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(no_quota_is_zero, clean),
		cmocka_unit_test_teardown(v2_takes_the_tightest_above, clean),
		cmocka_unit_test_teardown(v2_in_a_container, clean),
		cmocka_unit_test_teardown(v2_below_a_group, clean),
		cmocka_unit_test_teardown(v1_host_and_container, clean),
		cmocka_unit_test_teardown(nonsense_is_no_quota, clean),
		cmocka_unit_test_teardown(memory_limits, clean),
		cmocka_unit_test(follows_the_affinity_mask),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
