/*
 * test_cas_refused.c - repositories whose writing or reading is refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation, each call of the system and each of a library fails in turn.
 * What was refused is reported with a reason, and leaves nothing under the name;
 * or the repository is the same as ever.
 */
#include "suffers.h"

#include "kinds_made.h"
#include "lazy/blobs_file.h"
#include "lazy/cvmfs/cas.h"
#include "lazy/layer.h"
#include "scratch.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 8192 };

#define NAME "test.example.org"

static char dir[SCRATCH_B];
static char why[LAYER_WHY];

/* Two archives, of which the second replaces some names of the first. */
static int archives[2];

/* A private key, and one that is the master of another. */
static char key[TEXT_MAX], master[TEXT_MAX];
static uint8_t key_digest[LAYER_DIGEST];

/* What is below a directory */

static unsigned
count_names(const char *path)
{
	unsigned n = 0;
	DIR *d;

	fault_direct++;
	d = opendir(path);
	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	fault_direct--;
	return n;
}

static unsigned
count_objects(const char *path)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 256; i++) {
		char name[80];

		/* without . and .. */
		snprintf(name, sizeof(name), "%s/data/%02x", path, i);
		n += count_names(name) - 2;
	}
	return n;
}

static void
take_file(const char *path)
{
	static char text[1 << 16];
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	take_text(path);
	take(text, fread(text, 1, sizeof(text), f));
	fclose(f);
}

/* Takes the files of a repository, and the names of its objects. */
static void
take_repository(const char *path)
{
	static char of[256][80];
	char name[80];
	unsigned long sum = 0;

	snprintf(name, sizeof(name), "%s/.cvmfspublished", path);
	take_file(name);
	snprintf(name, sizeof(name), "%s/.cvmfswhitelist", path);
	take_file(name);
	snprintf(name, sizeof(name), "%s/.cvmfs_master_replica", path);
	take_file(name);
	for (unsigned i = 0; i < 256; i++) {
		const struct dirent *e;
		DIR *d;

		snprintf(of[i], sizeof(of[i]), "%s/data/%02x", path, i);
		d = opendir(of[i]);
		assert_non_null(d);
		/* in no order: their sum */
		while ((e = readdir(d)) != NULL)
			for (const char *s = e->d_name; *s != '\0'; s++)
				sum = sum * 31 + (unsigned char)*s + i;
		closedir(d);
		take_number(sum);
		sum = 0;
	}
}

/* Publishing */

/* The objects that there should be. */
static uint64_t objects;

/* How often a key was called one that cannot be used */
static unsigned invalid;

static int
publish(const char *path, const char *before, const char *master_key, int first,
    int count)
{
	const struct cas_options o = { .threads = 1, .level = 1,
		.chunk = KINDS_CHUNK, .catalog = CAS_CATALOG_MIN, .name = NAME,
		.key = key, .master_key = master_key, .update = before };
	struct cas_result r;
	struct cas *c = NULL;
	int rc;

	*why = '\0';
	rc = explained(cas_open(&c, &o, path, why), why);
	for (int i = first; rc == 0 && i < first + count; i++) {
		OWN((void)lseek(archives[i], 0, SEEK_SET));
		rc = explained(cas_add(c, archives[i], why), why);
	}
	if (rc == 0)
		rc = explained(cas_finish(c, &r, why), why);
	if (rc == 0) {
		/* also a warning */
		take_text(why);
		take(r.catalog, CAS_HASH);
		take(r.certificate, CAS_HASH);
		take(r.key, LAYER_DIGEST);
		take(r.fingerprint, CAS_HASH);
		take_number(r.revision);
		take_number(r.entries);
		take_number(r.catalogs);
		take_number(r.files_B);
		take_number(r.chunks);
		take_number(r.objects);
		take_number(r.objects_B);
		take_number(r.kept);
		objects = r.objects + r.kept;
	}
	cas_close(c);
	invalid += rc == -EINVAL;
	return rc;
}

/* Publishes under a new name, which must not be there after an error. */
static int
publish_new(const char *before, const char *master_key, int first, int count)
{
	unsigned names = count_names(".");
	int rc = publish("new", before, master_key, first, count);

	fault_direct++;
	if (rc == 0) {
		take_repository("new");
		if (count_objects("new") != objects)
			fail_msg("%s: %u objects", suffers_run.call,
			    count_objects("new"));
		assert_int_equal(scratch_remove("new"), 0);
	} else if (access("new", F_OK) == 0) {
		/* it is complete when its name is made durable */
		if (strstr(suffers_run.call, "fsync") == NULL)
			fail_msg("%s: %d, but it is there", suffers_run.call, rc);
	}
	/* a directory that could not be removed has another name */
	if (count_names(".") != names)
		(void)!system("rm -rf .new* new*");
	assert_int_equal(count_names("."), names);
	fault_direct--;
	return rc;
}

static int
make(void)
{
	return publish_new(NULL, NULL, 0, 2);
}

static int
make_mastered(void)
{
	return publish_new(NULL, master, 0, 1);
}

static int
update(void)
{
	return publish_new("before", NULL, 1, 1);
}

static int
update_mastered(void)
{
	return publish_new("before", key, 1, 1);
}

/* Reading */

static int
take_units(const struct layer *l, const struct layer_blobs *b)
{
	static uint8_t stored[1 << 17], content[1 << 17];
	struct layer_decoder *d = NULL;
	size_t count;
	const struct layer_unit *u = layer_units(l, &count);
	int rc = layer_decoder_open(&d, l);

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		struct layer_range r[LAYER_RANGES_MAX];
		const char *clause = NULL;

		assert_int_equal(layer_ranges(l, i, r), 1);
		assert_true(r[0].length <= sizeof(stored));
		assert_true(u[i].content <= sizeof(content));
		r[0].buf = stored;
		rc = b->read(b->arg, r, 1);
		if (rc == 0)
			rc = layer_decode(d, i, r, content, &clause);
		if (rc == 0)
			take(content, (size_t)u[i].content);
	}
	layer_decoder_close(d);
	return rc;
}

/* Reads the whole, or one part; the parts that are left out are in `parts`. */
static int
read_layer(const struct layer_expect *e, struct layer_part *parts, size_t room)
{
	const struct layer_entry *of;
	const struct layer_part *left;
	struct blobs_file *b;
	struct layer *l = NULL;
	size_t count;
	int rc = blobs_file_open(&b, "before", NULL);

	if (rc != 0)
		return rc;
	*why = '\0';
	rc = explained(layer_open(&l, blobs_file_blobs(b), e, why), why);
	if (rc != 0)
		goto out;
	of = layer_entries(l, &count);
	for (size_t i = 0; i < count; i++) {
		take_text(of[i].path);
		take_text(of[i].link);
		take_number(of[i].type);
		take_number(of[i].mode);
		take_number(of[i].size);
		take_number(of[i].run_count);
		for (size_t k = 0; k < of[i].xattr_count; k++) {
			take_text(of[i].xattrs[k].name);
			take(of[i].xattrs[k].value, of[i].xattrs[k].length);
		}
	}
	rc = take_units(l, blobs_file_blobs(b));
	left = layer_parts(l, &count);
	take_number(count);
	for (size_t i = 0; parts != NULL && i < count; i++) {
		assert_true(i < room);
		parts[i] = left[i];
		take_text(left[i].path);
		take_number(left[i].links);
	}
out:
	layer_close(l);
	blobs_file_close(b);
	return rc;
}

static int
read_whole(void)
{
	const struct layer_expect e = { .key_digest = key_digest };

	return read_layer(&e, NULL, 0);
}

static int
read_parts(void)
{
	const struct layer_expect e = { .parts = true };
	struct layer_part parts[8] = { { .entry = 0 } };
	struct layer_expect of = { .part = &parts[0], .parts = true };
	int rc = read_layer(&e, parts, 8);

	/* the paths belonged to the layer */
	parts[0].path = "/d";
	return rc != 0 ? rc : read_layer(&of, NULL, 0);
}

static int
find_key(void)
{
	static const char *const files[] = { "public.pem",
		"certificate.pem" };
	uint8_t digest[LAYER_DIGEST];

	for (size_t i = 0; i < 2; i++) {
		int rc;

		*why = '\0';
		rc = cas_key_find(files[i], digest, why);
		if (rc != 0)
			return rc;
		take(digest, sizeof(digest));
	}
	return 0;
}

/* The tests */

/* Each run makes hundreds of directories, so that not all can be tried. */
#define KIND(name) SUFFERS_KIND(name)

static void
publishing(void **state)
{
	(void)state;
	suffers_run.first = 2;
	suffers_run.last = suffers_run.turns = 1;
	suffers_kinds = ~(KIND(LIBRARY) | KIND(MALLOC));
	SUFFERS(make);
	suffers_run.first = suffers_run.last = 16;
	suffers_kinds = KIND(LIBRARY);
	invalid = 0;
	SUFFERS(make);
	/* only if it was not read */
	assert_int_equal(invalid, 1);
	suffers_kinds = KIND(MALLOC);
	suffers_run.last = suffers_run.turns = 2;
	SUFFERS(make);
	/* a second key */
	suffers_kinds = KIND(LIBRARY);
	suffers_run.last = suffers_run.turns = 1;
	SUFFERS(make_mastered);
	assert_int_equal(invalid, 3);
}

static void
updating(void **state)
{
	(void)state;
	suffers_run.first = suffers_run.last = suffers_run.turns = 1;
	suffers_kinds = KIND(LIBRARY) | KIND(OPENAT) | KIND(READ) |
	    KIND(GETDENTS) | KIND(LINKAT) | KIND(STAT);
	SUFFERS(update);
	suffers_kinds = KIND(MALLOC);
	SUFFERS(update_mastered);
	/* the revision before is read first */
	suffers_run.first = 30;
	SUFFERS(update);
	suffers_run.first = 2;
	/* objects are copied if they cannot be linked, unlike the first files */
	suffers_kinds = KIND(MALLOC) | KIND(OPENAT) | KIND(READ) |
	    KIND(WRITE) | KIND(CLOSE);
	suffers_run.last = 3;
	suffers_run.always = "linkat:4+:EXDEV,";
	SUFFERS(update);
	suffers_run.always = NULL;
	suffers_kinds = UINT64_MAX;
}

static void
reading(void **state)
{
	(void)state;
	suffers_run.first = 30;
	suffers_run.turns = 50;
	suffers_run.last = 1;
	SUFFERS(read_whole);
	SUFFERS(read_parts);
	SUFFERS(find_key);
}

/* The archives and keys */

static EVP_PKEY *
put_key(char *text)
{
	EVP_PKEY *k = EVP_RSA_gen(1024);
	BIO *b = BIO_new(BIO_s_mem());
	int n;

	assert_non_null(k);
	assert_int_equal(PEM_write_bio_PrivateKey(b, k, NULL, NULL, 0, NULL,
	    NULL), 1);
	n = BIO_read(b, text, TEXT_MAX - 1);
	assert_in_range(n, 1, TEXT_MAX - 1);
	text[n] = '\0';
	BIO_free(b);
	return k;
}

static void
put_public(EVP_PKEY *k)
{
	X509 *x = X509_new();
	FILE *f = fopen("public.pem", "w");

	assert_non_null(f);
	assert_int_equal(PEM_write_PUBKEY(f, k), 1);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(X509_set_pubkey(x, k), 1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x), 0));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x), 1000));
	assert_true(X509_sign(x, k, EVP_sha256()) > 0);
	f = fopen("certificate.pem", "w");
	assert_int_equal(PEM_write_X509(f, x), 1);
	assert_int_equal(fclose(f), 0);
	X509_free(x);
}

static int
begin_all(void **state)
{
	EVP_PKEY *k;

	(void)state;
	if (scratch_enter(dir) != 0)
		return 1;
	assert_true(fault_plan(""));
	EVP_PKEY_free(put_key(master));
	k = put_key(key);
	put_public(k);
	EVP_PKEY_free(k);
	assert_int_equal(cas_key_find("public.pem", key_digest, why), 0);
	for (unsigned i = 0; i < 2; i++)
		archives[i] = kinds_file(i);
	got.len = 0;
	if (publish("before", NULL, NULL, 0, 1) != 0)
		fail_msg("%s", why);
	return 0;
}

static int
end_all(void **state)
{
	(void)state;
	close(archives[0]);
	close(archives[1]);
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(publishing),
		cmocka_unit_test(updating),
		cmocka_unit_test(reading),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
