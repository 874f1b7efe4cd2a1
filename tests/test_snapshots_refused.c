/*
 * test_snapshots_refused.c - a snapshotter whose calls are refused in turn
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation, each call of the system and each of SQLite fails in turn.
 * What was refused is reported with a reason, or everything is as ever; and the
 * root can be opened again, with a directory for each snapshot.
 */
#include "suffers.h"

#include "base/sys.h"
#include "lazy/snapshots/snapshots.h"
#include "scratch.h"

#include "filter.h"

#include <stdlib.h>
#include <sys/stat.h>

static char dir[SCRATCH_B], root[SCRATCH_B + 8];
static char why[SNAPSHOTS_WHY];

/* The layers of the image "lazy" are mounted. */

static bool down;
static unsigned mounts, unmounts;

static int
mount_layer(void *arg, const char *image, const char *digest, const char *path)
{
	(void)arg;
	(void)digest;
	(void)path;
	mounts++;
	return strncmp(image, "lazy", 4) == 0 ? 0 : -ENOENT;
}

static void
unmount_layer(void *arg, const char *image, const char *digest,
    const char *path)
{
	(void)arg;
	(void)image;
	(void)digest;
	(void)path;
	unmounts++;
}

static bool
is_mounted(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return !down;
}

static void
warn(void *arg, const char *what, const char *reason)
{
	(void)arg;
	assert_true(*what != '\0' && *reason != '\0');
	got.warned = true;
}

static const struct snapshots_layers layers = { .mount = mount_layer,
	.unmount = unmount_layer, .is_mounted = is_mounted, .warn = warn };

/* Taking what is told of snapshots */

static void
take_info(const struct snapshots_info *i)
{
	take_text(i->name);
	take_text(i->parent);
	take_number(i->kind);
	for (size_t k = 0; k < i->labels.count; k++) {
		take_text(i->labels.of[k].name);
		take_text(i->labels.of[k].value);
	}
}

static int
take_listed(void *arg, const struct snapshots_info *i)
{
	unsigned *count = arg;

	++*count;
	take_info(i);
	return 0;
}

static void
take_mount(const struct snapshots_mount *m)
{
	take_text(m->type);
	take_text(m->source);
	/* whether overlayfs has the option is asked of the kernel */
	for (size_t i = 0; i < m->option_count; i++)
		if (strcmp(m->options[i], "index=off") != 0)
			take_text(m->options[i]);
}

/* The steps of a run: 0, or an error with a reason */

static struct snapshots *s;
static struct arena arena;

static struct snapshots_label label_of_lazy[] = {
	{ "containerd.io/snapshot.ref", "L" },
	{ "containerd.io/snapshot/cri.image-ref", "lazy" },
	{ "containerd.io/snapshot/cri.layer-digest", "sha256:1" },
	{ "containerd.io/snapshot/cri.manifest-digest", "sha256:2" },
}, label_of_other[] = {
	{ "containerd.io/snapshot.ref", "M" },
	{ "containerd.io/snapshot/remote/stargz.reference", "other" },
	{ "containerd.io/snapshot/remote/stargz.digest", "sha256:1" },
}, plain[] = { { "one", "1" }, { "two", "2" } };

static int
create(enum snapshots_kind kind, const char *key, const char *parent,
    struct snapshots_label *of, size_t count)
{
	const struct snapshots_labels labels = { .of = of, .count = count };
	struct snapshots_mount m;
	int rc;

	/* each has to take memory anew */
	arena_free(&arena);
	*why = '\0';
	rc = explained(snapshots_create(s, kind, key, parent, &labels, &m,
	    &arena, why), why);
	if (rc == 0)
		take_mount(&m);
	return rc;
}

static int
commit(const char *key, const char *name)
{
	const struct snapshots_labels labels = { .of = plain, .count = 2 };

	*why = '\0';
	return explained(snapshots_commit(s, key, name, &labels, why), why);
}

static int
make(void)
{
	int rc = create(SNAPSHOTS_ACTIVE, "a", "", plain, 1);

	if (rc == 0)
		rc = commit("a", "A");
	/* the layer is mounted in place of the snapshot */
	if (rc == 0)
		rc = create(SNAPSHOTS_ACTIVE, "l", "A", label_of_lazy, 4);
	if (rc == -EEXIST)
		rc = 0;
	label_of_lazy[0].value = "K";
	if (rc == 0)
		rc = create(SNAPSHOTS_ACTIVE, "k", "", label_of_lazy, 4);
	label_of_lazy[0].value = "L";
	if (rc == -EEXIST)
		rc = 0;
	if (rc == 0)
		rc = create(SNAPSHOTS_ACTIVE, "m", "A", label_of_other, 3);
	if (rc == 0)
		rc = create(SNAPSHOTS_VIEW, "v", "A", NULL, 0);
	return rc == 0 ? create(SNAPSHOTS_ACTIVE, "b", "L", NULL, 0) : rc;
}

static int
describe(void)
{
	static const char *const filters[] = { "kind==active,name!=\"b\"",
		"labels.two==2" };
	struct snapshots_usage u;
	struct snapshots_info i;
	struct snapshots_mount m;
	unsigned count = 0;
	int rc = explained(snapshots_mount_of(s, "b", &m, &arena, why), why);

	if (rc == 0) {
		take_mount(&m);
		rc = explained(snapshots_stat(s, "L", &i, &arena, why), why);
	}
	if (rc == 0) {
		take_info(&i);
		rc = explained(snapshots_list(s, filters, 2, take_listed,
		    &count, why), why);
	}
	take_number(count);
	if (rc == 0)
		rc = explained(snapshots_usage(s, "m", &u, why), why);
	if (rc == 0) {
		take_number((uint64_t)u.bytes);
		take_number((uint64_t)u.inodes);
		rc = explained(snapshots_usage(s, "A", &u, why), why);
	}
	if (rc == 0)
		take_number((uint64_t)u.inodes);
	return rc;
}

static int
change(void)
{
	static const char *const paths[] = { "labels.one", "labels.new" };
	struct snapshots_label of[] = { { "new", "3" }, { "other", "4" } };
	struct snapshots_info i = { .name = "A", .labels = { .of = of,
		.count = 2 } };
	int64_t n;
	int rc = explained(snapshots_update(s, &i, paths, 2, &arena, why),
	    why);

	if (rc != 0)
		return rc;
	take_info(&i);
	n = snapshots_lazy_count(s);
	if (n < 0)
		return (int)n;
	take_number((uint64_t)n);
	*why = '\0';
	down = true;
	rc = explained(snapshots_remount(s, why), why);
	down = false;
	if (rc == 0)
		rc = explained(snapshots_unmount(s, why), why);
	/*
	 * L and K when they were created and when they were down, and in vain M;
	 * what is mounted again is unmounted before
	 */
	if (*suffers_run.call == '\0') {
		assert_int_equal(mounts, 5);
		assert_int_equal(unmounts, 4);
	}
	take_number(mounts);
	take_number(unmounts);
	if (rc == 0)
		rc = explained(snapshots_remove(s, "b", why), why);
	if (rc == 0)
		rc = explained(snapshots_remove(s, "L", why), why);
	if (rc == 0)
		rc = explained(snapshots_unmount(s, why), why);
	return rc == 0 ? explained(snapshots_cleanup(s, why), why) : rc;
}

static unsigned
count_dirs(void)
{
	char path[SCRATCH_B + 24];
	struct dirent *e;
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/snapshots", root);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Opens the root as it was left; what it has does not count. */
static void
open_again(void)
{
	size_t len = got.len;
	bool warned = got.warned;
	unsigned count = 0;

	unmounts = 0;
	if (snapshots_open(&s, root, &layers, why) != 0 ||
	    snapshots_list(s, NULL, 0, take_listed, &count, why) != 0)
		fail_msg("%s: opened again: %s", suffers_run.call, why);
	/* nothing was mounted there */
	assert_int_equal(unmounts, 0);
	if (count_dirs() != count)
		fail_msg("%s: %u snapshots, but %u directories",
		    suffers_run.call, count, count_dirs());
	snapshots_close(s);
	assert_int_equal(scratch_remove(root), 0);
	got.len = len;
	got.warned = warned;
}

static int
run(void)
{
	int rc;

	OWN(rc = mkdir(root, 0700));
	assert_int_equal(rc, 0);
	*why = '\0';
	s = NULL;
	mounts = unmounts = 0;
	rc = explained(snapshots_open(&s, root, &layers, why), why);
	if (rc == 0) {
		rc = make();
		if (rc == 0)
			rc = describe();
		if (rc == 0)
			rc = change();
		snapshots_close(s);
	}
	arena_free(&arena);
	return rc;
}

static void
refused(void **state)
{
	(void)state;
	suffers_run.first = 25;
	suffers_run.turns = 80;
	suffers_after = open_again;
	SUFFERS(run);
}

/*
 * Memory runs out at each place in the caller's arena.  What is then described
 * is as ever, or an error: of a layer, that it cannot be read now.
 */
static void
exhausted(void **state)
{
	enum { CHUNK = (256 << 10) - 16, MOST = 1500, PLANS = 4 };
	static const char *const plans[PLANS] = { "malloc:1:ENOMEM",
		"malloc:2:ENOMEM", "malloc:3:ENOMEM", "" };
	unsigned failed = 0;
	static char usual_text[4096];

	(void)state;
	assert_int_equal(mkdir(root, 0700), 0);
	assert_int_equal(snapshots_open(&s, root, &layers, why), 0);
	assert_int_equal(make(), 0);
	for (size_t i = PLANS * MOST; i-- > 0;) {
		size_t left = i / PLANS;
		struct snapshots_mount m;
		char text[4096] = "";
		int rc;

		arena_free(&arena);
		assert_non_null(arena_take(&arena, CHUNK - left));
		assert_true(fault_plan(plans[i % PLANS]));
		rc = snapshots_mount_of(s, "b", &m, &arena, why);
		assert_true(fault_plan(""));
		for (size_t k = 0; rc == 0 && k < m.option_count; k++)
			strcat(strcat(text, m.options[k]), ",");
		if (*usual_text == '\0')
			strcpy(usual_text, text);
		failed += rc != 0;
		if (rc != 0 ? (rc != -ENOMEM && rc != -EAGAIN) || *why == '\0' :
		    strcmp(text, usual_text) != 0)
			fail_msg("%zu bytes left: %d, %s%s", left, rc, why,
			    text);
	}
	assert_in_range(failed, MOST, (PLANS - 1) * MOST);
	snapshots_close(s);
	arena_free(&arena);
	assert_int_equal(scratch_remove(root), 0);
}

/* So does that of a filter. */
static void
filters(void **state)
{
	struct arena a = { .chunks = NULL };
	const char *reason = "";
	struct filter *f;

	(void)state;
	assert_true(fault_plan("malloc:1:ENOMEM"));
	assert_int_equal(filter_parse(&f, "name==a", &a, &reason), -ENOMEM);
	assert_true(fault_plan(""));
	assert_int_equal(filter_parse(&f, "name==a", &a, &reason), 0);
	arena_free(&a);
}

static int
begin_all(void **state)
{
	(void)state;
	if (scratch_make(dir) == NULL)
		return 1;
	snprintf(root, sizeof(root), "%s/root", dir);
	return 0;
}

static int
end_all(void **state)
{
	(void)state;
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(exhausted),
		cmocka_unit_test(filters),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
