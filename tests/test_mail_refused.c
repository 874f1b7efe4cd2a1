/*
 * test_mail_refused.c - mail whose making or storing is refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation and each call of a run fails in turn: the run must report
 * that, or leave the same files as ever, and free and close what it has.
 */
#include "suffers.h"

#include "mail/mail.h"
#include "mail/store.h"
#include "scratch.h"

#include <sys/stat.h>

enum { MAILS = 12 };

static char dir[SCRATCH_B];
static struct world world;
static struct mail_maker maker;
static enum store_form form;

static void
take_text_of(const struct strbuf *b)
{
	take(b->data, b->len);
}

static int
make_world(void)
{
	static struct world w;
	int rc = world_make(&w, 5, 1);

	for (unsigned i = 0; rc == 0 && i < WORLD_SET; i++) {
		take_text(w.lists[i].name);
		take_text_of(&w.lists[i].page);
		take_text_of(&w.lists[i].end);
		take_text_of(&w.lists[i].logo);
	}
	for (unsigned i = 0; rc == 0 && i < WORLD_PEOPLE; i++)
		take_text(w.people[i].signature);
	world_free(&w);
	return rc;
}

static int
make_mails(void)
{
	struct mail_maker *m = &maker;
	int rc = 0;

	*m = (struct mail_maker){ .world = &world, .like = &mail_like_default,
		.seed = 5 };
	mail_week(m, 2);
	for (unsigned i = 0; rc == 0 && i < 2 * MAILS; i++) {
		rc = mail_next(m);
		if (rc == 0)
			take_text_of(&m->out);
	}
	mail_free(m);
	return rc;
}

static int
store_mails(void)
{
	struct mail_maker *m = &maker;
	uint8_t hash[DIGEST_MAX] = { 0 };
	struct store_writer w;
	struct store s;
	int rc = store_open(&s, "out", form);

	if (rc != 0)
		return rc;
	*m = (struct mail_maker){ .world = &world, .like = &mail_like_default,
		.seed = 5 };
	rc = store_writer_make(&w, &s);
	mail_week(m, 2);
	for (unsigned i = 0; rc == 0 && i < MAILS; i++) {
		rc = mail_next(m);
		if (rc == 0)
			rc = store_mail(&w, m);
	}
	if (rc == 0)
		rc = store_week(&w, m);
	if (rc == 0)
		rc = store_hash(&w, 1, hash);
	if (rc == 0)
		take(hash, sizeof(hash));
	store_writer_free(&w);
	mail_free(m);
	return rc;
}

/* The sum of the hashes of all files, in any order. */
static uint64_t sum;

static int
add_file(const char *path, const struct stat *st, int type, struct FTW *f)
{
	uint64_t h = 0xcbf29ce484222325U;
	FILE *file;
	int c;

	(void)f;
	for (const char *s = path; *s != '\0'; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3U;
	if (type == FTW_F) {
		file = fopen(path, "r");
		assert_non_null(file);
		while ((c = getc(file)) != EOF)
			h = (h ^ (uint8_t)c) * 0x100000001b3U;
		fclose(file);
		h += (uint64_t)st->st_mtime;
	}
	sum += h;
	return 0;
}

/* What has been stored, which is then removed. */
static void
take_files(void)
{
	sum = 0;
	if (access("out", F_OK) == -1)
		return;
	assert_int_equal(nftw("out", add_file, 16, FTW_PHYS), 0);
	take_number(sum);
	assert_int_equal(scratch_remove("out"), 0);
}

static void
making(void **state)
{
	(void)state;
	suffers_run.first = 10;
	suffers_run.turns = 20;
	SUFFERS(make_world);
	SUFFERS(make_mails);
}

static void
storing(void **state)
{
	static const char *const names[] = { "files", "maildirs", "mboxes" };

	(void)state;
	suffers_after = take_files;
	for (int i = 0; i < 3; i++) {
		form = (enum store_form)i;
		suffers(names[i], store_mails);
	}
	suffers_after = NULL;
}

/* Where nothing is to be stored. */
static void
places(void **state)
{
	struct store s;
	FILE *f;

	(void)state;
	assert_int_equal(store_open(&s, "none/out", STORE_FILES), -ENOENT);
	f = fopen("file", "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(store_open(&s, "file", STORE_FILES), -ENOTDIR);
	assert_int_equal(mkdir("full", 0755), 0);
	assert_int_equal(store_open(&s, "full", STORE_FILES), 0);
	assert_int_equal(rename("file", "full/file"), 0);
	assert_int_equal(store_open(&s, "full", STORE_FILES), -ENOTEMPTY);
	assert_int_equal(symlink("full", "link"), 0);
	assert_int_equal(store_open(&s, "link", STORE_FILES), -ENOTEMPTY);
	assert_int_equal(symlink("nowhere", "lost"), 0);
	assert_int_equal(store_open(&s, "lost", STORE_FILES), -ENOENT);
}

/* An mbox marks lines that look like the beginning of a message. */
static void
marks(void **state)
{
	static const char mail[] = "A: b\n\nFrom here\n>From there\n>>From\n"
	    "From\n> From \nfrom x\n>>>From all";
	static const char want[] = "A: b\n\n>From here\n>>From there\n>>From\n"
	    "From\n> From \nfrom x\n>>>>From all\n";
	struct store s = { .root = "out", .form = STORE_MBOX };
	struct mail_maker *m = &maker;
	struct store_writer w;
	const struct strbuf *b;
	const char *at;

	(void)state;
	*m = (struct mail_maker){ .world = &world, .like = &mail_like_default,
		.seed = 5 };
	assert_int_equal(store_writer_make(&w, &s), 0);
	mail_week(m, 0);
	assert_int_equal(mail_next(m), 0);
	strbuf_clear(&m->out);
	strbuf_add(&m->out, mail, sizeof(mail) - 1);
	assert_int_equal(store_mail(&w, m), 0);
	b = &w.mbox[m->mails[0].folder];
	assert_memory_equal(b->data, "From ", 5);
	at = memchr(b->data, '\n', b->len);
	assert_non_null(at);
	at++;
	assert_int_equal(b->len - (size_t)(at - b->data), sizeof(want) - 1);
	assert_memory_equal(at, want, sizeof(want) - 1);
	store_writer_free(&w);
	mail_free(m);
}

static int
begin_all(void **state)
{
	(void)state;
	return scratch_enter(dir) != 0 ||
	    world_make(&world, 5, 1) != 0;
}

static int
end_all(void **state)
{
	(void)state;
	world_free(&world);
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(making),
		cmocka_unit_test(storing),
		cmocka_unit_test(places),
		cmocka_unit_test(marks),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
