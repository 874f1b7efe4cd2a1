/*
 * test_pull.c - spans of blobs in order, and layers over one another
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_client.h"
#include "tar_made.h"

#include "pull_fetch.h"
#include "pull_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { BLOBS = 3, LINK_NAME = 157 };

static const enum server_mode kinds[] = { SERVER_GOOD, SERVER_IGNORES,
	SERVER_DIES, SERVER_SHORT, SERVER_503, SERVER_MOVES };

static void
count_arrived(void *arg, uint64_t bytes)
{
	_Atomic uint64_t *sum = arg;

	*sum += bytes;
}

/* Fetches the served blob `count` times, as if it had so many bytes. */
static struct pull_fetch *
begin_fetch(struct client *c, struct oci_blob blobs[BLOBS], size_t count,
    uint64_t size, unsigned connections, _Atomic uint64_t *sum)
{
	static char base[64];
	struct pull_fetch_options o = { .http = c->h, .base = base,
		.blobs = blobs, .count = count, .connections = connections,
		.arrived = count_arrived, .arg = sum };
	struct pull_fetch *f;

	snprintf(base, sizeof(base), "http://127.0.0.1:%u/bl",
	    server_port(server));
	for (size_t i = 0; i < count; i++) {
		strcpy(blobs[i].hex, "ob");
		blobs[i].size = size;
	}
	*sum = 0;
	assert_int_equal(pull_fetch_open(&f, &o), 0);
	return f;
}

static void
test_order(void **state)
{
	struct oci_blob blobs[BLOBS];
	_Atomic uint64_t sum;
	const uint8_t *data;
	ssize_t n;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(*kinds); i++) {
		enum server_mode mode = kinds[i / 2];
		struct client c = client_open(mode, mode == SERVER_IGNORES ?
		    1 : 3, NULL);
		struct pull_fetch *f = begin_fetch(&c, blobs, BLOBS, SIZE,
		    i % 2 == 0 ? 1 : 4, &sum);

		for (size_t k = 0; k < BLOBS; k++) {
			uint64_t at = 0;

			while ((n = pull_fetch_next(f, k, &data)) > 0) {
				assert_memory_equal(data, content + at,
				    (size_t)n);
				at += (uint64_t)n;
			}
			assert_int_equal(n, 0);
			assert_int_equal(at, SIZE);
		}
		assert_int_equal(sum, (uint64_t)BLOBS * SIZE);
		pull_fetch_close(f);
		client_close(&c);
	}
}

/* A blob that is shorter or longer than its manifest says. */
static void
test_sizes(void **state)
{
	struct oci_blob blobs[BLOBS];
	char why[LAYER_WHY];
	_Atomic uint64_t sum;
	const uint8_t *data;
	ssize_t n;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct client c = client_open(i < 2 ? SERVER_GOOD :
		    SERVER_IGNORES, 1, NULL);
		struct pull_fetch *f = begin_fetch(&c, blobs, 1, i % 2 == 0 ?
		    SIZE - 1 : SIZE + 1, 2, &sum);

		do
			n = pull_fetch_next(f, 0, &data);
		while (n > 0);
		assert_true(n < 0);
		pull_fetch_why(f, 0, why);
		assert_true(*why != '\0');
		pull_fetch_close(f);
		client_close(&c);
	}
}

/* What nobody reads does not keep the threads from ending. */
static void
test_stops(void **state)
{
	struct oci_blob blobs[BLOBS];
	_Atomic uint64_t sum;
	const uint8_t *data;
	ssize_t n;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct client c = client_open(i == 0 ? SERVER_GOOD :
		    SERVER_IGNORES, 1, NULL);
		struct pull_fetch *f = begin_fetch(&c, blobs, BLOBS, SIZE, 1,
		    &sum);

		assert_true(pull_fetch_next(f, 0, &data) > 0);
		pull_fetch_stop(f);
		do
			n = pull_fetch_next(f, BLOBS - 1, &data);
		while (n > 0);
		assert_int_equal(n, -ECANCELED);
		pull_fetch_close(f);
		client_close(&c);
	}
}

/* A URL of as many bytes as there is room for, and one more. */
static void
test_long(void **state)
{
	enum { URL = 8192 };
	struct client c = client_open(SERVER_GOOD, 1, NULL);
	struct oci_blob blob = { .hex = "ob", .size = SIZE };
	_Atomic uint64_t sum = 0;
	char base[URL];
	struct pull_fetch_options o = { .http = c.h, .base = base,
		.blobs = &blob, .count = 1, .connections = 1,
		.arrived = count_arrived, .arg = &sum };

	(void)state;
	for (size_t len = URL - 1; len <= URL; len++) {
		struct pull_fetch *f;
		const uint8_t *data;
		ssize_t n;

		memset(base, 'x', sizeof(base));
		n = snprintf(base, sizeof(base), "http://127.0.0.1:%u/",
		    server_port(server));
		base[n] = 'x';
		base[len - strlen(blob.hex)] = '\0';
		assert_int_equal(pull_fetch_open(&f, &o), 0);
		n = pull_fetch_next(f, 0, &data);
		assert_true(n < 0);
		assert_int_equal(n == -ENAMETOOLONG, len == URL);
		pull_fetch_close(f);
	}
	client_close(&c);
}

/* Reading an object from its beginning */

struct taken {
	uint64_t at;			/* bytes that were right */
	int rc;
};

static int
take_right(void *arg, uint64_t offset, const void *data, size_t len)
{
	struct taken *t = arg;

	if (offset + len > SIZE || memcmp(content + offset, data, len) != 0)
		return -EBADMSG;
	if (offset + len > t->at)
		t->at = offset + len;
	return t->at > SIZE / 2 ? t->rc : 0;
}

static void
test_all(void **state)
{
	struct taken t;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct client c = client_open(kinds[i], 2, NULL);

		for (int k = 0; k < 3; k++) {
			t = (struct taken){ .at = 0 };
			assert_int_equal(http_read_all(c.o, take_right, &t,
			    HTTP_READ), 0);
			assert_int_equal(t.at, SIZE);
		}
		t = (struct taken){ .rc = -EDOM };
		assert_int_equal(http_read_all(c.o, take_right, &t,
		    HTTP_READ), -EDOM);
		client_close(&c);
	}
}

/* Layers */

static void
add_file(struct archive *a, const char *name, const char *text)
{
	sum(add(a, '0', name, text, strlen(text)));
}

static void
add_link(struct archive *a, char type, const char *name, const char *to)
{
	uint8_t *h = add(a, type, name, "", 0);

	strcpy((char *)h + LINK_NAME, to);
	sum(h);
}

static int
apply(struct pull_tree *t, struct archive *a, char why[LAYER_WHY])
{
	struct tar *tar = opened(a);
	int rc = pull_tree_layer(t, tar, why);

	tar_close(tar);
	return rc;
}

static bool
is_there(int root, const char *name, mode_t type, nlink_t links)
{
	struct stat st;

	return fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (st.st_mode & S_IFMT) == type && (S_ISDIR(type) ||
	    st.st_nlink == links);
}

static void
test_layers(void **state)
{
	struct archive *a = calloc(1, sizeof(*a));
	char why[LAYER_WHY], command[SCRATCH_B + 16], at[SCRATCH_B];
	struct pull_tree_counts counts;
	struct pull_tree *t;
	struct stat st;
	int root;

	(void)state;
	assert_non_null(a);
	assert_non_null(scratch_make(at));
	root = open(at, O_RDONLY | O_DIRECTORY);
	assert_true(root >= 0);
	assert_int_equal(pull_tree_open(&t, root, false), 0);
	begin(a);
	add_file(a, "implied/deep/file", "x");
	add_file(a, "hidden", "x");
	add_file(a, "opaque/lower", "x");
	add_file(a, "first", "x");
	add_link(a, '2', "link", "../outside");
	add_link(a, '1', "implied/other", "first");
	assert_int_equal(apply(t, a, why), 0);

	begin(a);
	add_file(a, "opaque/upper", "y");
	add_file(a, "own", "y");
	add_file(a, "opaque/.wh..wh..opq", "");
	add_file(a, ".wh.hidden", "");
	add_file(a, ".wh.own", "");
	add_file(a, "link/inside", "y");
	add_link(a, '1', "third", "first");
	add_link(a, '1', "first", "./first");
	assert_int_equal(apply(t, a, why), 0);
	assert_int_equal(pull_tree_finish(t, why), 0);
	pull_tree_counted(t, &counts);
	assert_int_equal(counts.entries, 14);
	assert_int_equal(counts.devices, 0);

	assert_false(is_there(root, "hidden", S_IFREG, 1));
	assert_false(is_there(root, "opaque/lower", S_IFREG, 1));
	assert_true(is_there(root, "opaque/upper", S_IFREG, 1));
	assert_true(is_there(root, "own", S_IFREG, 1));
	assert_true(is_there(root, "link", S_IFDIR, 0));
	assert_true(is_there(root, "link/inside", S_IFREG, 1));
	assert_true(is_there(root, "first", S_IFREG, 3));
	assert_true(is_there(root, "third", S_IFREG, 3));
	assert_true(is_there(root, "implied/other", S_IFREG, 3));
	assert_int_equal(fstatat(root, "implied/deep", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(st.st_mtime, 0);
	pull_tree_close(t);
	close(root);
	snprintf(command, sizeof(command), "rm -rf '%s'", at);
	assert_int_equal(system(command), 0);
	free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_layers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
