/*
 * test_extract.c - extracting entries below a directory that others may change
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk/extract.h"

#include "base/fdio.h"
#include "base/parallel.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#define NONE EXTRACT_NONE

struct entry {
	const char *path;
	mode_t mode;
	size_t parent, file;		/* file: NONE: itself */
	const char *text;		/* data of a file, or a link's target */
	unsigned pieces;
	bool above;
	enum extract_form form;
	uint64_t more;			/* bytes after the text: a hole */
};

#define OTHER(p, m, up) \
	{ .path = (p), .mode = (m), .parent = (up), .file = NONE }
#define DATA(p, m, up, t, n) \
	{ .path = (p), .mode = (m), .parent = (up), .file = NONE, \
	    .text = (t), .pieces = (n) }
#define NAME(p, up, of) \
	{ .path = (p), .mode = FILE_MODE, .parent = (up), .file = (of) }

/* An extraction, and what it reported: a line for each report. */
struct made {
	const struct entry *entries;
	struct extract_source s;
	struct extract_options o;
	struct extract *x;
	/* called before piece k of entry n is written; returns 0 or -errno */
	int (*before)(struct made *m, size_t n, unsigned k);
	atomic_size_t next;
	pthread_mutex_t lock;
	char said[4096];
	int rc;
};

static char path[SCRATCH_B];
static int dir;

static int
set_up(void **state)
{
	(void)state;
	if (scratch_make(path) == NULL)
		return -1;
	dir = open(path, O_RDONLY | O_DIRECTORY);
	return dir < 0 ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	close(dir);
	return scratch_remove(path);
}

/* The source */

static bool
get_entry(void *arg, size_t n, struct extract_entry *out)
{
	const struct made *m = arg;
	const struct entry *e = &m->entries[n];

	if (e->path == NULL)
		return false;
	*out = (struct extract_entry){ .mode = e->mode, .form = e->form,
		.parent = e->parent, .file = e->file == NONE ? n : e->file,
		.above = e->above, .mtime = { 86400, 5 },
		.device = makedev(1, 3),
		.size = (e->text == NULL ? 0 : strlen(e->text)) + e->more,
		.target = e->text,
		.target_len = e->text == NULL ? 0 : strlen(e->text) };
	return true;
}

static const char *
path_of(void *arg, size_t n, struct extract_text *text)
{
	const struct made *m = arg;

	(void)text;
	return m->entries[n].path;
}

static void
attributes(void *arg, size_t n, extract_attribute_fn *set, void *to)
{
	(void)arg;
	(void)n;
	/* no such namespace: refused everywhere */
	set(to, "nowhere.a", "b", 1);
}

static void
report(void *arg, enum extract_level level, const char *of, const char *text)
{
	struct made *m = arg;
	size_t len;

	pthread_mutex_lock(&m->lock);
	len = strlen(m->said);
	snprintf(m->said + len, sizeof(m->said) - len, "%c %s: %s\n",
	    "EWN"[level], of == NULL ? "all" : of, text);
	pthread_mutex_unlock(&m->lock);
}

static void
write_pieces(void *arg, unsigned thread)
{
	struct made *m = arg;
	struct extract_place place;
	size_t n;

	(void)thread;
	extract_place_open(&place, m->x);
	while (!extract_ended(m->x) &&
	    (n = atomic_fetch_add(&m->next, 1)) < m->s.count) {
		const struct entry *e = &m->entries[n];
		size_t len = e->pieces == 0 ? 0 : strlen(e->text), from, end;

		for (unsigned k = 0; k < e->pieces; k++) {
			int rc = m->before == NULL ? 0 : m->before(m, n, k);
			int fd = extract_file_open(&place, n);

			from = len * k / e->pieces;
			end = len * (k + 1) / e->pieces;
			if (fd >= 0)
				extract_file_close(&place, fd, n, rc != 0 ?
				    rc : fdio_pwrite(fd, e->text + from,
				    end - from, (off_t)from));
		}
	}
	extract_place_close(&place);
}

static void
write_data(void *arg, struct extract *x)
{
	struct made *m = arg;

	assert_ptr_equal(m->x, x);
	parallel_run(m->o.threads, write_pieces, m);
}

/* Extracts count entries to dir, with the options and callbacks in m. */
static void
extract(struct made *m, const struct entry *entries, size_t count)
{
	m->entries = entries;
	m->s.count = count;
	m->s.get = get_entry;
	m->s.path = path_of;
	m->s.data = write_data;
	m->s.report = report;
	m->s.arg = m;
	m->o.root = dir;
	m->o.threads = m->o.threads == 0 ? 3 : m->o.threads;
	m->said[0] = '\0';
	atomic_store(&m->next, 0);
	pthread_mutex_init(&m->lock, NULL);
	assert_int_equal(extract_open(&m->x, &m->s, &m->o), 0);
	for (size_t n = 0; n < count; n++)
		for (unsigned k = 0; k < entries[n].pieces; k++)
			extract_expect(m->x, n);
	m->rc = extract_run(m->x);
	extract_close(m->x);
	pthread_mutex_destroy(&m->lock);
}

/* Looking at the result */

static struct stat
status(const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

static bool
exists(const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
contains(const char *name, const char *text)
{
	char data[64];
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW);
	ssize_t n = read(fd, data, sizeof(data) - 1);

	assert_true(n >= 0);
	data[n] = '\0';
	assert_string_equal(data, text);
	close(fd);
}

/* Creates a file that is not part of the extraction. */
static void
put(const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

enum {
	FILE_MODE = S_IFREG | 0640, DIR_MODE = S_IFDIR | 0751
};

/*
 * Every kind of entry; hard links to earlier and later entries; a directory
 * that follows its contents, ones that are not entries, and one that nothing
 * could be created in once it is complete.
 */
static void
test_kinds(void **state)
{
	static const struct entry all[] = {
		OTHER("", DIR_MODE, 0),
		OTHER("d", S_IFDIR | 0555, 0),
		NAME("d/late", 1, 4),
		OTHER("d/empty", FILE_MODE, 1),
		DATA("d/one", FILE_MODE, 1, "in one piece", 1),
		DATA("d/three", S_IFREG | 04400, 1, "in three pieces", 3),
		NAME("d/early", 1, 5),
		DATA("d/link", S_IFLNK | 0777, 1, "to nowhere", 0),
		OTHER("d/fifo", S_IFIFO | 0611, 1),
		OTHER("d/null", S_IFCHR | 0666, 1),
		OTHER("d/zero", S_IFBLK | 0666, 1),
		NAME("d/no", 1, 10),
		DATA("a/b/c", FILE_MODE, 0, "below", 1),
		OTHER("e/f", DIR_MODE, 14),
		OTHER("e", DIR_MODE, 0),
		OTHER(NULL, FILE_MODE, 0),
		NAME("d/link2", 1, 7),
		DATA("d/hole", FILE_MODE, 1, "zeros", 0),
	};
	struct made m = { .rc = 1 };
	struct stat st;

	(void)state;
	extract(&m, all, sizeof(all) / sizeof(*all));
	assert_int_equal(m.rc, 0);
	assert_non_null(strstr(m.said,
	    ": device nodes are skipped: only root can create them\n"));
	assert_non_null(strstr(m.said,
	    "W all: 2 device nodes were skipped\n"));
	assert_null(strstr(m.said, "E "));
	assert_false(exists("d/null") || exists("d/zero") || exists("d/no"));
	contains("d/empty", "");
	contains("d/one", "in one piece");
	contains("d/late", "in one piece");
	contains("d/three", "in three pieces");
	assert_int_equal(status("d/late").st_ino, status("d/one").st_ino);
	assert_int_equal(status("d/early").st_ino, status("d/three").st_ino);
	assert_int_equal(status("d/link2").st_ino, status("d/link").st_ino);
	assert_int_equal(status("d/hole").st_size, 5);
	contains("a/b/c", "below");
	assert_int_equal(status("a/b").st_mode & 07777, 0755);
	assert_int_equal(status("d/fifo").st_mode, S_IFIFO | 0611);
	assert_true(S_ISLNK(status("d/link").st_mode));
	assert_int_equal(status("d/link").st_mtim.tv_sec, 86400);
	/* the owner was not asked for: no set-ID bit */
	st = status("d/three");
	assert_int_equal(st.st_mode, S_IFREG | 0400);
	assert_int_equal(st.st_mtim.tv_sec, 86400);
	assert_int_equal(st.st_mtim.tv_nsec, 5);
	st = status("d");
	assert_int_equal(st.st_mode, S_IFDIR | 0555);
	assert_int_equal(st.st_mtim.tv_sec, 86400);
	assert_int_equal(status("e/f").st_mtim.tv_sec, 86400);
	assert_int_equal(status("e").st_mode, DIR_MODE);
	/* an existing root keeps its mode */
	assert_int_equal(status(".").st_mode & 07777, 0700);
	assert_int_equal(fchmodat(dir, "d", 0700, 0), 0);
}

/* The root is completed if it is new, and only a directory can be the root. */
static void
test_root(void **state)
{
	static const struct entry all[] = {
		OTHER("", DIR_MODE, NONE), OTHER("f", FILE_MODE, 0) };
	static const struct entry bad[] = { OTHER("", FILE_MODE, NONE) };
	struct made m = { .o = { .made_root = true } };

	(void)state;
	extract(&m, all, 2);
	assert_string_equal(m.said, "");
	assert_int_equal(status(".").st_mode, DIR_MODE);
	extract(&m, bad, 1);
	assert_string_equal(m.said, "E : Is a directory\n");
}

static void
test_existing(void **state)
{
	static const struct entry all[] = {
		DATA("f", FILE_MODE, NONE, "new", 1),
		DATA("g", FILE_MODE, NONE, "newer", 2),
		NAME("h", NONE, 0),
		DATA("s", S_IFLNK | 0777, NONE, "f", 0),
		{ .path = "d", .mode = DIR_MODE, .parent = NONE,
		    .file = NONE, .above = true },
		DATA("d/f", FILE_MODE, 4, "in d", 1),
		OTHER("e", DIR_MODE, NONE),
		OTHER("x", DIR_MODE, NONE),
		DATA("x/f", FILE_MODE, 7, "in x", 1),
		DATA("x/g", FILE_MODE, 7, "in x", 2),
		OTHER("x/d", DIR_MODE, 7),
	};
	struct made m = { .o = { .threads = 1 } };

	(void)state;
	put("f", "old");
	put("g", "older");
	put("h", "oldest");
	put("s", "no link");
	put("x", "no directory");
	assert_int_equal(linkat(dir, "f", dir, "kept", 0), 0);
	assert_int_equal(mkdirat(dir, "d", 0700), 0);
	assert_int_equal(mkdirat(dir, "e", 0700), 0);
	extract(&m, all, sizeof(all) / sizeof(*all));
	assert_int_equal(m.rc, 0);
	/* what is in x is not reported, nor the second name of f */
	assert_string_equal(m.said,
	    "E x: already exists (-f replaces it)\n"
	    "E g: already exists (-f replaces it)\n"
	    "E s: already exists (-f replaces it)\n"
	    "E f: already exists (-f replaces it)\n");
	contains("f", "old");
	contains("g", "older");
	contains("h", "oldest");
	contains("d/f", "in d");
	assert_int_equal(status("d").st_mode & 07777, 0700);
	assert_int_equal(status("e").st_mode, DIR_MODE);
	unlinkat(dir, "d/f", 0);

	m.o.replace = true;
	extract(&m, all, sizeof(all) / sizeof(*all));
	assert_string_equal(m.said, "");
	contains("f", "new");
	contains("g", "newer");
	contains("h", "new");
	contains("x/g", "in x");
	contains("kept", "old");
	assert_true(S_ISLNK(status("s").st_mode));
	/* a directory is not replaced */
	unlinkat(dir, "f", 0);
	assert_int_equal(mkdirat(dir, "f", 0700), 0);
	extract(&m, all, 1);
	assert_string_equal(m.said, "E f: Is a directory\n");
}

/* Nothing leads out of the root. */
static void
test_outside(void **state)
{
	static const struct entry all[] = {
		DATA("in/link", S_IFLNK | 0777, NONE, "../out", 0),
		DATA("in/link/f", FILE_MODE, 0, "new", 1),
		DATA("in/there/f", FILE_MODE, NONE, "new", 1),
		DATA("in/there/g", FILE_MODE, NONE, "new", 2),
		OTHER("in/there/d", DIR_MODE, NONE),
		DATA("..", FILE_MODE, NONE, "new", 1),
		OTHER("in/.", S_IFIFO | 0600, NONE),
		NAME("in/..", NONE, 2),
		DATA("in/f", FILE_MODE, NONE, "a file", 1),
		DATA("in/f/g", FILE_MODE, 8, "below a file", 1),
		OTHER("in/f/d", DIR_MODE, 8),
		DATA("in/f/d/g", FILE_MODE, 10, "below that", 1),
	};
	struct made m = { .o = { .threads = 1, .replace = true } };

	(void)state;
	assert_int_equal(mkdirat(dir, "out", 0700), 0);
	assert_int_equal(mkdirat(dir, "in", 0700), 0);
	assert_int_equal(symlinkat("../out", dir, "in/there"), 0);
	put("out/f", "old");
	extract(&m, all, sizeof(all) / sizeof(*all));
	assert_int_equal(m.rc, 0);
	contains("out/f", "old");
	assert_false(exists("out/g") || exists("out/d"));
	contains("in/f", "a file");
	assert_non_null(strstr(m.said, "E in/link/f: Not a directory\n"));
	assert_non_null(strstr(m.said, "E in/there/f: "));
	assert_non_null(strstr(m.said, "E in/there/g: "));
	assert_non_null(strstr(m.said, "E in/there/d: "));
	assert_non_null(strstr(m.said, "E ..: Invalid argument\n"));
	assert_non_null(strstr(m.said, "E in/.: Invalid argument\n"));
	assert_non_null(strstr(m.said, "E in/f/g: Not a directory\n"));
	assert_non_null(strstr(m.said, "E in/f/d: Not a directory\n"));
	assert_null(strstr(m.said, "in/f/d/g"));
}

/* Before its second piece, somebody gives the file another name. */
static int
link_elsewhere(struct made *m, size_t n, unsigned k)
{
	if (k == 1)
		assert_int_equal(linkat(dir, m->entries[n].path, dir, "other",
		    0), 0);
	return 0;
}

/* The same, but replaces it by a link. */
static int
replace_by_link(struct made *m, size_t n, unsigned k)
{
	if (k == 1) {
		assert_int_equal(unlinkat(dir, m->entries[n].path, 0), 0);
		assert_int_equal(symlinkat("victim", dir, m->entries[n].path),
		    0);
	}
	return 0;
}

static void
test_replaced(void **state)
{
	static const struct entry all[] = {
		DATA("f", FILE_MODE, NONE, "12345678", 2),
		NAME("g", NONE, 0),
	};
	struct made m = { .before = link_elsewhere };

	(void)state;
	extract(&m, all, 2);
	assert_int_equal(m.rc, 0);
	assert_string_equal(m.said, "E f: replaced during extraction\n");
	/* the second piece was not written through the other name */
	assert_int_equal(status("other").st_size, 4);
	contains("other", "1234");
	assert_false(exists("f") || exists("g"));

	put("victim", "untouched");
	m.before = replace_by_link;
	extract(&m, all, 2);
	assert_string_equal(m.said,
	    "E f: Too many levels of symbolic links\n");
	contains("victim", "untouched");
}

static int
full_at_f(struct made *m, size_t n, unsigned k)
{
	return strcmp(m->entries[n].path, "d/f") == 0 && k == 1 ? -ENOSPC : 0;
}

static int
large_at_f(struct made *m, size_t n, unsigned k)
{
	return full_at_f(m, n, k) == 0 ? 0 : -EFBIG;
}

static const struct entry with_f[] = {
	OTHER("d", DIR_MODE, NONE),
	DATA("d/e", FILE_MODE, 0, "before", 1),
	DATA("d/f", FILE_MODE, 0, "in the middle", 2),
	DATA("d/g", FILE_MODE, 0, "after", 1),
	DATA("d/h", FILE_MODE, 0, "after", 2),
	NAME("d/i", 0, 2),
	NAME("d/j", 0, 1),
	OTHER("d/k", FILE_MODE, 0),
};

/* An error that ends it: what exists is complete, and the rest is named. */
static void
test_fatal(void **state)
{
	struct made m = { .before = full_at_f, .o = { .threads = 1 } };

	(void)state;
	extract(&m, with_f, 8);
	assert_int_equal(m.rc, -ENOSPC);
	assert_string_equal(m.said,
	    "E d/f: No space left on device\n"
	    "N d/f: not extracted\n"
	    "N d/g: not extracted\n"
	    "N d/h: not extracted\n"
	    "N d/i: not extracted\n"
	    "N d/j: not extracted\n"
	    "E all: 5 of 8 entries are missing, the first d/f\n");
	contains("d/e", "before");
	assert_true(exists("d/k"));
	assert_false(exists("d/f") || exists("d/g") || exists("d/h") ||
	    exists("d/i") || exists("d/j"));
	assert_int_equal(status("d").st_mode, DIR_MODE);
	assert_int_equal(status("d").st_mtim.tv_sec, 86400);
}

/* Any other error concerns only its file, under all of its names. */
static void
test_one_error(void **state)
{
	struct made m = { .before = large_at_f };

	(void)state;
	extract(&m, with_f, 8);
	assert_int_equal(m.rc, 0);
	assert_string_equal(m.said, "E d/f: File too large\n");
	assert_false(exists("d/f") || exists("d/i"));
	contains("d/g", "after");
	contains("d/h", "after");
	contains("d/j", "before");
}

/* A name that is too long for any directory. */
static void
test_long(void **state)
{
	static char name[70000];
	const struct entry entries[] = {
		{ .path = name, .mode = S_IFREG | 0600, .parent = NONE,
		    .file = NONE, .text = "x", .pieces = 1 },
		{ .path = "short", .mode = S_IFREG | 0600, .parent = NONE,
		    .file = NONE, .text = "after", .pieces = 1 },
	};
	struct made m = { .rc = 0 };

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	extract(&m, entries, 2);
	assert_int_equal(m.rc, 0);
	assert_memory_equal(m.said, "E nnn", 5);
	contains("short", "after");
}

static void
give_up(void *arg, struct extract *x)
{
	struct extract_place place;

	(void)arg;
	extract_place_open(&place, x);
	extract_file_break(&place, 1, "damaged", -EBADMSG);
	extract_file_break(&place, 2, "", 0);
	assert_false(extract_wants(x, 1));
	assert_int_equal(extract_file_open(&place, 1), -1);
	assert_true(extract_wants(x, 3));
	extract_place_close(&place);
	extract_end(x, -ENOMEM);
	extract_end(x, -EIO);
}

/* Data that is not available, and an error that concerns no entry */
static void
test_no_data(void **state)
{
	struct made m = { .rc = 0 };
	struct extract_options o = { .root = dir, .threads = 1 };

	(void)state;
	m.entries = with_f;
	m.s = (struct extract_source){ .count = 5, .get = get_entry,
		.path = path_of, .data = give_up, .report = report,
		.arg = &m };
	pthread_mutex_init(&m.lock, NULL);
	assert_int_equal(extract_open(&m.x, &m.s, &o), 0);
	for (size_t n = 1; n < 5; n++)
		for (unsigned k = 0; k < with_f[n].pieces; k++)
			extract_expect(m.x, n);
	assert_int_equal(extract_run(m.x), -ENOMEM);
	extract_close(m.x);
	pthread_mutex_destroy(&m.lock);
	assert_string_equal(m.said,
	    "E d/e: damaged\n"
	    "E all: Cannot allocate memory\n"
	    "N d/e: not extracted\n"
	    "N d/f: not extracted\n"
	    "N d/g: not extracted\n"
	    "N d/h: not extracted\n"
	    "E all: 4 of 5 entries are missing, the first d/e\n");
	assert_false(exists("d/e") || exists("d/f") || exists("d/h"));
}

/* Only the first attribute that cannot be set is named. */
static void
test_attributes(void **state)
{
	struct made m = { .s = { .attributes = attributes },
		.o = { .threads = 1 } };

	(void)state;
	extract(&m, with_f, 2);
	assert_string_equal(m.said,
	    "W d/e: attribute nowhere.a is skipped: Operation not supported\n"
	    "W all: 2 attributes were skipped\n");
	contains("d/e", "before");
}

/* Whiteouts, as overlayfs stores them, if that is permitted here */
static void
test_whiteouts(void **state)
{
	static const struct entry all[] = {
		{ .path = "d/gone", .mode = FILE_MODE, .parent = NONE,
		    .file = NONE, .form = EXTRACT_WHITEOUT },
		{ .path = "d/.wh..wh..opq", .mode = FILE_MODE, .parent = NONE,
		    .file = NONE, .form = EXTRACT_OPAQUE },
	};
	struct made m = { .o = { .owner = true } };
	char value[2];
	struct stat st;

	(void)state;
	extract(&m, all, 2);
	if (m.said[0] != '\0')
		skip();
	st = status("d/gone");
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(st.st_rdev, makedev(0, 0));
	assert_false(exists("d/.wh..wh..opq"));
	assert_int_equal(fchdir(dir), 0);
	assert_int_equal(getxattr("d", "trusted.overlay.opaque", value, 2), 1);
	assert_int_equal(*value, 'y');
	assert_int_equal(chdir("/"), 0);
}

/* Many names and pieces, by several threads */
static void
test_many(void **state)
{
	enum { MANY = 1000 };
	static struct entry all[MANY];
	static char names[MANY][24];
	struct made m = { .o = { .threads = 8 } };

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "d%zu/f%zu", i % 7, i);
		all[i] = (struct entry)DATA(names[i], FILE_MODE, NONE,
		    "0123456789", (unsigned)(i % 4));
	}
	extract(&m, all, MANY);
	assert_int_equal(m.rc, 0);
	assert_string_equal(m.said, "");
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(status(names[i]).st_size, 10);
		assert_int_equal(status(names[i]).st_mode, FILE_MODE);
		if (all[i].pieces > 0)
			contains(names[i], "0123456789");
	}
}

/* A file that cannot have the hole at its end is not whole. */
static void
test_hole(void **state)
{
	static const struct entry all[] = {
		{ .path = "f", .mode = FILE_MODE, .parent = NONE, .file = NONE,
		    .text = "text", .pieces = 1, .more = 1 << 20 },
		{ .path = "g", .mode = FILE_MODE, .parent = NONE, .file = NONE,
		    .text = "text", .pieces = 1, .more = UINT64_MAX - 4 },
		{ .path = "h", .mode = FILE_MODE, .parent = NONE, .file = NONE,
		    .text = "", .more = UINT64_MAX },
	};
	struct made m = { .o = { .threads = 1 } };

	(void)state;
	extract(&m, all, 3);
	assert_int_equal(m.rc, 0);
	assert_string_equal(m.said, "E h: Invalid argument\n"
	    "E g: Invalid argument\n");
	assert_int_equal(status("f").st_size, 4 + (1 << 20));
	assert_false(exists("g") || exists("h"));
}

/* The directories that are passed on: how many, and the inode of the last. */
struct passed {
	size_t count;
	ino_t last;
};

static void
pass_deep(void *arg, int fd)
{
	struct passed *p = arg;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	p->count++;
	p->last = st.st_ino;
}

/* Every fourth level, but not for ever; then only every 64th. */
static void
test_deep(void **state)
{
	enum { CHAIN = 130, WIDE = EXTRACT_NEAR + 100, NAME_B = 2 * CHAIN };
	struct entry *all = calloc(WIDE + CHAIN, sizeof(*all));
	char (*names)[NAME_B] = calloc(WIDE + CHAIN, sizeof(*names));
	struct passed passed = { .count = 0 };
	struct made m = { .o = { .made_deep = pass_deep, .arg = &passed } };
	size_t n = 0;

	(void)state;
	assert_non_null(all);
	assert_non_null(names);
	for (; n < CHAIN; n++) {
		snprintf(names[n], NAME_B, "%s%sa", n == 0 ? "" : names[n - 1],
		    n == 0 ? "" : "/");
		all[n] = (struct entry)OTHER(names[n], DIR_MODE,
		    n == 0 ? NONE : n - 1);
	}
	extract(&m, all, n);
	assert_int_equal(m.rc, 0);
	assert_int_equal(passed.count, CHAIN / EXTRACT_LEVELS);
	assert_int_equal(passed.last, status(names[CHAIN - 3]).st_ino);

	/* many at the fourth level, before the others */
	for (size_t i = 0; i < WIDE; i++) {
		size_t up = i < 3 ? i - 1 : 2;

		snprintf(names[i], NAME_B, "%s%s%zu", i == 0 ? "" : names[up],
		    i == 0 ? "" : "/", i);
		all[i] = (struct entry)OTHER(names[i], DIR_MODE,
		    i == 0 ? NONE : up);
	}
	for (size_t i = 0; i < CHAIN; i++) {
		n = WIDE + i;
		snprintf(names[n], NAME_B, "%s%sb", i == 0 ? "" : names[n - 1],
		    i == 0 ? "" : "/");
		all[n] = (struct entry)OTHER(names[n], DIR_MODE,
		    i == 0 ? NONE : n - 1);
	}
	passed.count = 0;
	extract(&m, all, WIDE + CHAIN);
	assert_int_equal(m.rc, 0);
	assert_int_equal(passed.count, EXTRACT_NEAR + CHAIN / EXTRACT_FAR);
	assert_int_equal(passed.last, status(names[WIDE + 127]).st_ino);
	free(names);
	free(all);
}

int
main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(test_kinds), test(test_root), test(test_existing),
		test(test_outside), test(test_replaced), test(test_fatal),
		test(test_one_error), test(test_no_data),
		test(test_long),
		test(test_attributes), test(test_whiteouts), test(test_many),
		test(test_deep), test(test_hole)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
