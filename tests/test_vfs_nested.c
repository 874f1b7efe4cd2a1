/*
 * test_vfs_nested.c - nested catalogs, opened when they are entered
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_made.h"

#include "base/sys.h"
#include "lazy/blobs_file.h"
#include "lazy/cvmfs/cas.h"
#include "tar_made.h"

#include <pthread.h>

enum { THREADS = 8 };

/* A repository: /a, /a/b and /x have catalogs of their own. */
static char repository[SCRATCH_B + 16], root[SCRATCH_B];

/* Reads it, counts, and fails or gives wrong bytes if that is set. */
struct site {
	struct blobs_file *file;
	_Atomic unsigned reads;
	_Atomic int fails, wrong;
	_Atomic unsigned forgotten;
};

static int
site_read(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct site *s = arg;
	const struct layer_blobs *b = blobs_file_blobs(s->file);
	int rc;

	(void)phase;
	s->reads += (unsigned)count;
	sys_sleep_ns(20000000);
	if (s->fails != 0)
		return s->fails;
	rc = b->read(b->arg, r, count);
	if (rc == 0 && s->wrong > 0) {
		s->wrong--;
		((uint8_t *)r[0].buf)[30] ^= 1;
	}
	return rc;
}

static int
site_size(void *arg, const char *object, uint64_t *size)
{
	struct site *s = arg;
	const struct layer_blobs *b = blobs_file_blobs(s->file);

	return b->size(b->arg, object, size);
}

static void
site_forget(void *arg, const struct layer_range *r)
{
	struct site *s = arg;

	assert_memory_equal(r->object, "data/", 5);
	s->forgotten++;
}

static const struct vfs_source_ops site_ops = { .read = site_read,
	.size = site_size, .forget = site_forget };

static void
file(struct archive *a, const char *name, const char *content)
{
	sum(add(a, '0', name, content, strlen(content)));
}

static int
make_repository(void **state)
{
	static const struct cas_options o = { .threads = 1, .level = 6,
		.chunk = 1 << 20, .catalog = 1000, .name = "a.test" };
	struct archive *a = calloc(1, sizeof(*a));
	char path[SCRATCH_B + 16];
	struct cas_result r;
	struct cas *c;
	int fd;

	(void)state;
	if (a == NULL || scratch_make(root) == NULL)
		return -1;
	begin(a);
	file(a, "top", "0");
	file(a, "a/.cvmfscatalog", "");
	file(a, "a/one", "1");
	file(a, "a/b/.cvmfscatalog", "");
	file(a, "a/b/two", "22");
	file(a, "a/b/dir/file", "333");
	file(a, "x/.cvmfscatalog", "");
	file(a, "x/y/four", "4444");
	snprintf(path, sizeof(path), "%s/a.tar", root);
	snprintf(repository, sizeof(repository), "%s/repo", root);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	/* and two blocks of zeros */
	a->len += 1024;
	assert_int_equal(write(fd, a->data, a->len), (ssize_t)a->len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(cas_open(&c, &o, repository, why), 0);
	assert_int_equal(cas_add(c, fd, why), 0);
	assert_int_equal(cas_finish(c, &r, why), 0);
	assert_int_equal(r.catalogs, 4);
	cas_close(c);
	close(fd);
	free(a);
	return 0;
}

static int
remove_repository(void **state)
{
	(void)state;
	return scratch_remove(root);
}

static void
start(struct fake_vfs *w, struct site *s, bool parts)
{
	memset(s, 0, sizeof(*s));
	vfs_prepare(w);
	w->o.expect.kind = "cas";
	w->o.expect.parts = parts;
	assert_int_equal(blobs_file_open(&s->file, repository, NULL), 0);
	assert_int_equal(vfs_open(&w->v, &w->o), 0);
	w->s.v = w->v;
	assert_int_equal(vfs_stack_add_ops(&w->s, "repo", &site_ops, s), 0);
	assert_int_equal(vfs_stack_build(&w->s, MERGE_MERGED), 0);
	w->s.first_inode = 1;
}

static void
end(struct fake_vfs *w, struct site *s)
{
	vfs_end(w);
	blobs_file_close(s->file);
}

/* Walks to a path.  Returns 0, or -errno, or 1 if a name does not exist. */
static int
walk(struct vfs_stack *top, const char *path, struct vfs_stack **s,
    uint32_t *inode)
{
	char copy[100], *rest = copy, *name;
	int64_t node;
	int rc;

	snprintf(copy, sizeof(copy), "%s", path);
	*s = top;
	*inode = MERGE_ROOT;
	while ((name = strsep(&rest, "/")) != NULL) {
		rc = vfs_stack_enter(s, inode);
		if (rc != 0)
			return rc;
		node = merge_lookup((*s)->tree, *inode, name);
		if (node < 0)
			return 1;
		*inode = merge_node((*s)->tree, (uint32_t)node)->inode;
	}
	return 0;
}

static bool
gives(struct vfs_stack *top, const char *path, const char *content)
{
	struct vfs_stack *s;
	struct vfs_read r;
	uint32_t inode;
	ssize_t n;
	bool same;

	if (walk(top, path, &s, &inode) != 0)
		return false;
	r = (struct vfs_read){ .stack = s, .inode = inode };
	n = vfs_read(&r, 100);
	same = n == (ssize_t)strlen(content) &&
	    memcmp(r.data, content, (size_t)n) == 0;
	vfs_read_end(&r);
	return same;
}

static void
entered(void **state)
{
	struct vfs_stack *s;
	struct fake_vfs w;
	struct site site;
	uint32_t inode;

	(void)state;
	start(&w, &site, true);
	/* the manifest, the certificate, and one catalog */
	assert_int_equal(site.reads, 3);
	assert_int_equal(walk(&w.s, "a", &s, &inode), 0);
	assert_ptr_equal(s, &w.s);
	/* "b" is a subdirectory of it, which is not known yet */
	assert_int_equal(vfs_stack_links(s, inode), 3);
	assert_int_equal(site.reads, 3);
	assert_true(gives(&w.s, "a/b/dir/file", "333"));
	assert_int_equal(site.reads, 6);
	assert_true(gives(&w.s, "a/b/two", "22"));
	assert_true(gives(&w.s, "a/one", "1"));
	assert_int_equal(site.reads, 8);
	assert_int_equal(walk(&w.s, "a/b/missing", &s, &inode), 1);
	assert_int_equal(walk(&w.s, "a/b", &s, &inode), 0);
	assert_int_equal(vfs_stack_enter(&s, &inode), 0);
	assert_int_equal(inode, MERGE_ROOT);
	assert_ptr_equal(vfs_stack_numbered(&w.s, s->number), s);
	assert_null(vfs_stack_numbered(&w.s, 3));
	assert_true(s->first_inode > s->up->first_inode);
	vfs_stack_leave(&s, &inode);
	assert_string_equal(merge_node(s->tree, inode)->name, "b");
	/* a directory within it */
	assert_int_equal(walk(&w.s, "a/b/dir", &s, &inode), 0);
	vfs_stack_leave(&s, &inode);
	assert_string_equal(merge_node(s->tree, inode)->name, "dir");
	end(&w, &site);

	start(&w, &site, false);
	assert_int_equal(site.reads, 6);
	assert_true(gives(&w.s, "x/y/four", "4444"));
	assert_string_equal(w.said, "");
	end(&w, &site);
}

static void *
enter(void *arg)
{
	return gives(arg, "x/y/four", "4444") ? arg : NULL;
}

static unsigned
enter_at_once(struct vfs_stack *top)
{
	pthread_t threads[THREADS];
	unsigned right = 0;
	void *result;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, enter, top),
		    0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		right += result != NULL;
	}
	return right;
}

static void
together(void **state)
{
	struct fake_vfs w;
	struct site site;

	(void)state;
	start(&w, &site, true);
	assert_int_equal(enter_at_once(&w.s), THREADS);
	assert_int_equal(site.reads, 5);
	end(&w, &site);
	start(&w, &site, true);
	site.fails = -ETIMEDOUT;
	assert_int_equal(enter_at_once(&w.s), 0);
	site.fails = 0;
	assert_int_equal(enter_at_once(&w.s), THREADS);
	end(&w, &site);
}

static void
failing(void **state)
{
	struct vfs_stack *s;
	struct vfs_counts c;
	struct fake_vfs w;
	struct site site;
	uint32_t inode;

	(void)state;
	start(&w, &site, true);
	assert_true(gives(&w.s, "a/one", "1"));
	site.fails = -EHOSTUNREACH;
	assert_int_equal(walk(&w.s, "x/y", &s, &inode), -EHOSTUNREACH);
	assert_int_equal(walk(&w.s, "x/y", &s, &inode), -EHOSTUNREACH);
	assert_int_equal(walk(&w.s, "x", &s, &inode), 0);
	assert_true(gives(&w.s, "a/one", "1"));
	assert_string_equal(w.said, "repo: /x: the index cannot be read: No "
	    "route to host\n");
	vfs_counted(w.v, &c);
	assert_int_equal(c.failures, 2);
	/* wrong bytes are not kept, and are fetched again once */
	site.fails = 0;
	site.wrong = 2;
	assert_int_equal(walk(&w.s, "x/y", &s, &inode), -EBADMSG);
	assert_int_equal(site.forgotten, 2);
	site.wrong = 1;
	assert_int_equal(walk(&w.s, "x/y", &s, &inode), 0);
	assert_true(gives(&w.s, "x/y/four", "4444"));
	end(&w, &site);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entered),
		cmocka_unit_test(together),
		cmocka_unit_test(failing),
	};

	return cmocka_run_group_tests(tests, make_repository,
	    remove_repository);
}
