/*
 * test_imgsrc_pseudo.c - pseudo files: definitions, and what becomes of them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "refused.h"

#include "base/sys.h"
#include "imgsrc_made.h"

#include <errno.h>
#include <sys/stat.h>

enum { TURNS = 100 };

static char dir[SCRATCH_B], text[MADE_TEXT], why[IMGSRC_WHY];
static char said[MADE_TEXT + IMGSRC_WHY];
static struct imgsrc_pseudo *pseudo;
static bool no_links;

static void
put(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static int
apply(void *arg)
{
	struct made *m = arg;

	return imgsrc_pseudo_apply(&m->image, pseudo);
}

/* An image of the tree and the definitions. */
static int
build(struct made *m)
{
	made_begin(m, "tree");
	m->image.o.no_xattrs = false;
	m->image.o.amends_xattrs = true;
	m->image.o.has_mtime = true;
	m->image.o.mtime = 3;
	m->image.o.complete = apply;
	m->image.o.no_links = no_links;
	m->image.pack.threads = 1;
	return made_build(m, &imgsrc_dir);
}

static void
begin_definitions(void)
{
	why[0] = '\0';
	assert_int_equal(imgsrc_pseudo_open(&pseudo), 0);
}

static void
end_definitions(void)
{
	imgsrc_pseudo_close(pseudo);
	pseudo = NULL;
}

/* Definitions, and the part of the reason that says what is wrong. */
static void
words(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "a d 755 1 2", NULL }, { "/a d 0 1 2", NULL },
		{ "\"a b\" m 7777 1 2", NULL }, { "a\\ b f 644 1 2 cat", NULL },
		{ "a D 5 755 1 2", NULL }, { "a x user.b=c", NULL },
		{ "a b 600 1 2 4095 1048575", NULL },
		{ "a c 600 1 2 0 0", NULL }, { "a i 600 1 2 f", NULL },
		{ "a I 5 600 1 2 s", NULL }, { "a s 777 1 2 b", NULL },
		{ "a L b", NULL }, { "a h /dev/null", NULL },
		{ "a l /dev/null", NULL }, { "/ d 755 4294967295 0", NULL },
		{ "", "expected a name" }, { " \t ", "expected a name" },
		{ "a", "expected one of d, m," },
		{ "a ", "expected one of d, m," },
		{ "a \"\" 755 1 2", "expected one of d, m," },
		{ "a dd 755 1 2", "expected one of d, m," },
		{ "a z 755 1 2", "expected one of d, m," },
		{ "a X user.b=c", "expected one of d, m," },
		{ "../a d 755 1 2", "the name contains '..'" },
		{ "a/../../b d 755 1 2", "the name contains '..'" },
		{ "/ f 644 1 2 cat", "the root is a directory" },
		{ "// L b", "the root is a directory" },
		{ "a d", "expected an octal mode" },
		{ "a d 8 1 2", "expected an octal mode" },
		{ "a d 10000 1 2", "expected an octal mode" },
		{ "a d 755x 1 2", "expected an octal mode" },
		{ "a D 755 1 2", "expected a group" },
		{ "a D 4294967296 755 1 2", "expected a time" },
		{ "a d 755", "expected a user" },
		{ "a d 755 no:one 2", "expected a user" },
		{ "a d 755 4294967296 2", "expected a user" },
		{ "a d 755 1", "expected a group" },
		{ "a d 755 1 no:one", "expected a group" },
		{ "a d 755 1 2 3", "too many words" },
		{ "a b 600 1 2", "expected two numbers" },
		{ "a b 600 1 2 3", "expected two numbers" },
		{ "a b 600 1 2 4096 0", "expected two numbers" },
		{ "a b 600 1 2 0 1048576", "expected two numbers" },
		{ "a c 600 1 2 0 -1", "expected two numbers" },
		{ "a c 600 1 2 1 2 3", "too many words" },
		{ "a i 600 1 2", "expected f or s" },
		{ "a i 600 1 2 x", "expected f or s" },
		{ "a i 600 1 2 ss", "expected f or s" },
		{ "a s 777 1 2", "expected a target" },
		{ "a f 644 1 2", "expected a command" },
		{ "a x", "expected an attribute" },
		{ "a L", "expected the name of a file" },
		{ "a h \"\"", "expected the name of a file" },
		{ "a R 9 644 1 2 5 0 0", "R is possible only in a file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int rc;

		begin_definitions();
		rc = imgsrc_pseudo_add(pseudo, rows[i].text, why);
		if (rc != (rows[i].why == NULL ? 0 : -EINVAL) ||
		    (rc != 0 && strstr(why, rows[i].why) == NULL))
			fail_msg("'%s': %d, %s", rows[i].text, rc, why);
		/* the root's is one of a directory */
		assert_int_equal(imgsrc_pseudo_has_root(pseudo), rc == 0 &&
		    strcmp(rows[i].text, "/ d 755 4294967295 0") == 0);
		end_definitions();
	}
}

/* Values of attributes */
static void
values(void **state)
{
	static const struct {
		const char *text;
		ssize_t rc;
		const char *value;
		size_t len;
	} rows[] = {
		{ "user.a=b", 6, "b", 1 }, { "a==b", 1, "=b", 2 },
		{ "a=0x6100ff", 1, "a\0\377", 3 }, { "a=0Xfe", 1, "\376", 1 },
		{ "a=0sYWI=", 1, "ab", 2 }, { "a=0tb\\101\\000c", 1, "bA\0c", 4 },
		{ "a=\\101", 1, "\\101", 4 },
		{ "a", -EINVAL, NULL, 0 }, { "", -EINVAL, NULL, 0 },
		{ "a=", -EINVAL, NULL, 0 }, { "=b", -EINVAL, NULL, 0 },
		{ "a=0x", -EINVAL, NULL, 0 }, { "a=0x1", -EINVAL, NULL, 0 },
		{ "a=0xzz", -EINVAL, NULL, 0 }, { "a=0s", -EINVAL, NULL, 0 },
		{ "a=0s!", -EINVAL, NULL, 0 }, { "a=0t", -EINVAL, NULL, 0 },
		{ "a=0t\\", -EINVAL, NULL, 0 }, { "a=0t\\1", -EINVAL, NULL, 0 },
		{ "a=0t\\18", -EINVAL, NULL, 0 },
		{ "a=0t\\400", -EINVAL, NULL, 0 },
		{ "a=0t\\377", 1, "\377", 1 }, { "a=0t\\1112", 1, "I2", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t *value = NULL;
		size_t len = 0;
		ssize_t n = imgsrc_xattr_parse(rows[i].text, &value, &len);

		if (n != rows[i].rc)
			fail_msg("%s: %zd", rows[i].text, n);
		if (n < 0)
			continue;
		assert_int_equal(len, rows[i].len);
		assert_memory_equal(value, rows[i].value, len);
		sys_free(value);
	}
}

#define DEFINITIONS \
	"\n" \
	"# a comment, and a blank line\n" \
	"new d 711 1 2\n" \
	"\n" \
	" \t\n" \
	"new/pipe i 640 3 4 f\n" \
	"new/socket i 604 3 4 s\n" \
	"new/char c 666 0 0 1 3\n" \
	"new/link s 777 5 6 \\\n" \
	"some/where\n" \
	"\n" \
	"new/command f 600 7 8 printf xyz\n" \
	"new/other L new/command\n" \
	"old m 4711 9 10\n" \
	"old x user.a=0x6263\n" \
	"new/part R 9 644 1 1 5 3 0\n" \
	"new/whole R 9 644 1 1 8 0 1\n"
#define DATA "# START OF DATA - DO NOT MODIFY\n#\nabcdefgh"

static const char wanted[] =
    "/ 40755 11:12 3 3\n"
    "/new 40711 1:2 3 2\n"
    "/new/char 20666 0:0 3 1 1,3\n"
    "/new/command 100600 7:8 3 2 3\n"
    "/new/link 120777 5:6 3 1 some/where\n"
    "/new/other 100600 7:8 3 2 3\n"
    "/new/part 100644 1:1 3 1 5\n"
    "/new/pipe 10640 3:4 3 1\n"
    "/new/socket 140604 3:4 3 1\n"
    "/new/whole 100644 1:1 3 1 8\n"
    "/old 104711 9:10 3 1 4 user.a=bc\n";

static int
build_file(struct made *m)
{
	int rc = imgsrc_pseudo_add_file(pseudo, "file", why);

	if (rc == 0)
		rc = imgsrc_pseudo_add(pseudo, "/ m 755 11 12", why);
	return rc != 0 ? rc : build(m);
}

/* All lines of a file count, whatever is between them. */
static void
files(void **state)
{
	struct made m;

	(void)state;
	put("file", DEFINITIONS DATA, sizeof(DEFINITIONS DATA) - 1);
	begin_definitions();
	if (build_file(&m) != 0)
		fail_msg("%s%s", why, m.said);
	assert_string_equal(m.said, "");
	made_list(&m, text);
	assert_string_equal(text, wanted);
	made_content(&m, "new/command", "xyz", 3);
	made_content(&m, "new/part", "defgh", 5);
	made_content(&m, "new/whole", "abcdefgh", 8);
	made_content(&m, "old", "old\n", 4);
	made_end(&m);
	end_definitions();
}

/* Files that are refused, and why. */
static void
bad_files(void **state)
{
	static const struct {
		const char *text, *why;
		int rc;
	} rows[] = {
		{ "a R 9 644 1 2 5 0 0\n", "there is no data", -EINVAL },
		{ "a R 9 644 1 2 -1 0 0\n" DATA, "expected a length", -EINVAL },
		{ "a R 9 644 1 2 5 0 2\n" DATA, "expected a length", -EINVAL },
		{ "a R 9 644 1 2 9223372036854775807 1 0\n" DATA,
		    "expected a length", -EINVAL },
		{ "# START OF DATA - DO NOT MODIFY\n", "expected # and",
		    -EINVAL },
		{ "# START OF DATA - DO NOT MODIFY\nx\n", "expected # and",
		    -EINVAL },
		{ "# START OF DATA - DO NOT MODIFY\n#x", "expected # and",
		    -EINVAL },
		{ "a d 755 1 2\n\nb\n", "expected one of", -EINVAL },
		{ "a d 755 1 2\nb d 755 1 2 \\\n", NULL, 0 },
		{ "a d 755 1 2", NULL, 0 }, { "", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int rc;

		put("file", rows[i].text, strlen(rows[i].text));
		begin_definitions();
		rc = imgsrc_pseudo_add_file(pseudo, "file", why);
		if (rc != rows[i].rc ||
		    (rc != 0 && strstr(why, rows[i].why) == NULL))
			fail_msg("'%s': %d, %s", rows[i].text, rc, why);
		end_definitions();
	}
	begin_definitions();
	assert_int_equal(imgsrc_pseudo_add_file(pseudo, "none", why), -ENOENT);
	assert_string_equal(why, "none: No such file or directory");
	end_definitions();
	begin_definitions();
	assert_int_equal(imgsrc_pseudo_add_file(pseudo, "tree", why), -EISDIR);
	end_definitions();
}

/* What cannot be applied. */
static void
not_applied(void **state)
{
	static const struct {
		const char *first, *second, *said;
		int rc;
	} rows[] = {
		{ "none m 644 1 2", NULL, "W: pseudo definition 'none m 644 1 "
		    "2' is ignored: none is missing\n", 0 },
		{ "old d 755 1 2", NULL, "W: pseudo definition 'old d 755 1 2' "
		    "is ignored: old is already there\n", 0 },
		{ "a d 755 1 2", "a f 644 1 2 false", "W: pseudo definition "
		    "'a f 644 1 2 false' is ignored: a is already there\n",
		    0 },
		{ "a f 644 1 2 exit 3", NULL, "the command failed", -EINVAL },
		{ "a f 644 1 2 kill -9 $$", NULL, "the command failed",
		    -EINVAL },
		{ "none/a d 755 1 2", NULL, "the parent directory is not in "
		    "the image", -EINVAL },
		{ "old/a d 755 1 2", NULL, "the parent directory is not in "
		    "the image", -EINVAL },
		{ "none x user.a=b", NULL, "there is no such file", -EINVAL },
		{ "old x user.a", NULL, "expected an attribute", -EINVAL },
		{ "old x mine.a=b", NULL, "expected a name that begins with",
		    -EINVAL },
		{ "a L none", NULL, "expected the name of a pseudo file",
		    -EINVAL },
		{ "a L ../old", NULL, "expected the name of a pseudo file",
		    -EINVAL },
		{ "b d 755 1 2", "a L b", "expected the name of a pseudo file",
		    -EINVAL },
		{ "a h none", NULL, "none: No such file or directory",
		    -ENOENT },
		{ "a l tree", NULL, "tree: Is a directory", -EISDIR },
	};
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int rc;

		begin_definitions();
		assert_int_equal(imgsrc_pseudo_add(pseudo, rows[i].first, why),
		    0);
		if (rows[i].second != NULL)
			assert_int_equal(imgsrc_pseudo_add(pseudo,
			    rows[i].second, why), 0);
		rc = build(&m);
		if (rc != rows[i].rc || strstr(m.said, rows[i].said) == NULL)
			fail_msg("%s: %d, %s", rows[i].first, rc, m.said);
		assert_int_equal(m.image.told, rc != 0);
		made_end(&m);
		end_definitions();
	}
}

/* What is defined first comes after all that was listed. */
static void
first_file(void **state)
{
	static char name[SQUASHFS_NAME_MAX + 64];
	struct made m;

	(void)state;
	begin_definitions();
	assert_int_equal(imgsrc_pseudo_add(pseudo, "a f 644 1 2 printf one",
	    why), 0);
	if (build(&m) != 0)
		fail_msg("%s", m.said);
	made_content(&m, "a", "one", 3);
	made_content(&m, "old", "old\n", 4);
	made_end(&m);
	end_definitions();
	/* names as long as the format allows */
	for (size_t len = SQUASHFS_NAME_MAX - 1; len < SQUASHFS_NAME_MAX + 2;
	    len++) {
		memset(name, 'n', len);
		strcpy(name + len, " d 755 1 2");
		begin_definitions();
		assert_int_equal(imgsrc_pseudo_add(pseudo, name, why), 0);
		assert_int_equal(build(&m), len <= SQUASHFS_NAME_MAX ? 0 :
		    -ENAMETOOLONG);
		if (len > SQUASHFS_NAME_MAX)
			assert_non_null(strstr(m.said, "File name too long"));
		else
			made_list(&m, text);
		made_end(&m);
		end_definitions();
	}
}

/* Directories that are missing, and links that become files. */
static void
parents(void **state)
{
	struct made m;

	(void)state;
	begin_definitions();
	assert_int_equal(imgsrc_pseudo_set_parent(pseudo, "f 644 1 2 x", why),
	    -EINVAL);
	assert_int_equal(imgsrc_pseudo_set_parent(pseudo, "dd 755 1 2", why),
	    -EINVAL);
	assert_int_equal(imgsrc_pseudo_set_parent(pseudo, "", why), -EINVAL);
	assert_false(imgsrc_pseudo_has_root(pseudo));
	assert_int_equal(imgsrc_pseudo_set_parent(pseudo, "d 700 1 2", why),
	    0);
	assert_int_equal(imgsrc_pseudo_set_parent(pseudo, "d 750 5 6", why),
	    0);
	assert_true(imgsrc_pseudo_has_root(pseudo));
	assert_int_equal(imgsrc_pseudo_add(pseudo, "x/y/z s 777 1 2 t", why),
	    0);
	assert_int_equal(imgsrc_pseudo_add(pseudo, "x/c f 600 1 2 printf 12",
	    why), 0);
	assert_int_equal(imgsrc_pseudo_add(pseudo, "x/h h tree/old", why), 0);
	assert_int_equal(imgsrc_pseudo_add(pseudo, "x/l L x/h", why), 0);
	assert_int_equal(imgsrc_pseudo_add(pseudo, "x/m L x/c", why), 0);
	made_begin(&m, "tree");
	m.image.o.has_mtime = m.image.o.no_links = true;
	m.image.o.has_uid = m.image.o.has_gid = true;
	m.image.o.pseudo_first = true;
	m.image.o.no_source = true;
	m.image.o.complete = apply;
	if (made_build(&m, &imgsrc_dir) != 0)
		fail_msg("%s", m.said);
	made_list(&m, text);
	if (strstr(text, "/ 40750 5:6 0 3\n"
	    "/x 40750 5:6 0 3\n"
	    "/x/c 100600 1:2 0 1 2\n") != text ||
	    strstr(text, "/x/m 100600 1:2 0 1 2\n"
	    "/x/y 40750 5:6 0 2\n"
	    "/x/y/z 120777 1:2 0 1 t\n") == NULL)
		fail_msg("%s", text);
	made_content(&m, "x/c", "12", 2);
	made_content(&m, "x/m", "12", 2);
	made_content(&m, "x/h", "old\n", 4);
	made_content(&m, "x/l", "old\n", 4);
	made_end(&m);
	end_definitions();
}

static const struct refusal refusals[] = {
	{ FAULT_MALLOC, ":ENOMEM", 0, false },
	{ FAULT_MALLOC, "+:ENOMEM", 0, false },
	{ FAULT_OPENAT, ":EMFILE", 0, false },
	{ FAULT_PREAD, ":EIO", 0, false },
	{ FAULT_PREAD, ":short", 0, false },
	{ FAULT_PREAD, ":end", 0, false },
	{ FAULT_WRITE, ":ENOSPC", 0, false },
	{ FAULT_LSEEK, ":EIO", 0, false },
	{ FAULT_STAT, ":EIO", 0, false },
	{ FAULT_DUP, ":EMFILE", 0, false },
};

/* So many links that the list of contents grows for one of them. */
static int
define_links(void)
{
	char link[32];
	int rc = imgsrc_pseudo_add(pseudo, "new/h h tree/old", why);

	for (unsigned i = 0; rc == 0 && i < 20; i++) {
		snprintf(link, sizeof(link), "new/h%u L new/h", i);
		rc = imgsrc_pseudo_add(pseudo, link, why);
	}
	return rc;
}

/* Defines, builds and lists, and keeps the reason of an error. */
static int
run(void)
{
	static struct made m;
	int rc;

	m = (struct made){ .fd = -1 };
	text[0] = why[0] = '\0';
	rc = imgsrc_pseudo_open(&pseudo);
	if (rc != 0)
		return rc;
	rc = define_links();
	if (rc == 0)
		rc = build_file(&m);
	snprintf(said, sizeof(said), "%s%s", why, m.said);
	if (rc == 0) {
		/* the listing is not what is refused */
		assert_true(fault_plan(""));
		made_list(&m, text);
	}
	made_end(&m);
	end_definitions();
	return rc;
}

static void
refuse_all(void)
{
	static char before[MADE_TEXT];
	struct refused f = { .name = "pseudo", .refusals = refusals,
		.turns = TURNS, .refusal_count = sizeof(refusals) /
		sizeof(refusals[0]) };
	unsigned failed = 0;
	struct made m;
	int rc;

	put("file", DEFINITIONS DATA, sizeof(DEFINITIONS DATA) - 1);
	/* the calls are counted before the listing */
	assert_true(fault_plan(""));
	begin_definitions();
	assert_int_equal(define_links(), 0);
	rc = build_file(&m);
	refused_count(&f);
	assert_int_equal(rc, 0);
	made_end(&m);
	end_definitions();
	assert_int_equal(run(), 0);
	assert_true(fault_plan(""));
	assert_non_null(strstr(text, "/new/h19"));
	strcpy(before, text);
	while (refused_next(&f)) {
		rc = run();
		refused_end(&f);
		failed += rc != 0;
		if (rc > 0 || (rc == 0 && strcmp(text, before) != 0))
			fail_msg("%s: %d, another tree", f.call, rc);
		if (f.refusal->kind == FAULT_MALLOC && rc != 0 &&
		    rc != -ENOMEM && strstr(said, "memory") == NULL)
			fail_msg("%s: %d, %s", f.call, rc, said);
		if (f.refusal->kind == FAULT_STAT && rc != 0 && rc != -EIO &&
		    strstr(said, "Input/output error") == NULL)
			fail_msg("%s: %d, %s", f.call, rc, said);
	}
	assert_true(failed > 60);
}

static void
refused(void **state)
{
	(void)state;
	refuse_all();
	no_links = true;
	refuse_all();
	no_links = false;
}

static int
begin(void **state)
{
	(void)state;
	if (scratch_enter(dir) != 0)
		return 1;
	umask(022);
	assert_int_equal(mkdir("tree", 0755), 0);
	put("tree/old", "old\n", 4);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(values),
		cmocka_unit_test(files),
		cmocka_unit_test(bad_files),
		cmocka_unit_test(not_applied),
		cmocka_unit_test(first_file),
		cmocka_unit_test(parents),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
