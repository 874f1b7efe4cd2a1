/*
 * test_snapshots.c - snapshots are created, changed, listed and removed, also
 * over gRPC, and after the process was killed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tests run in an empty directory.  Layers are "mounted" by this test, which
 * writes a file; root_layermount_containerd.sh mounts real ones.
 */
#include "lazy/snapshots/snapshots.h"

#include "dirs.h"
#include "wire.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char root[4096];
static char why[SNAPSHOTS_WHY];
static struct arena arena;

/* Layers: those of the image "lazy" can be mounted, unless they are "down". */

static bool down;
static int mounts;

static int
mount_layer(void *arg, const char *image, const char *digest, const char *dir)
{
	char path[8192];
	FILE *f;

	(void)arg;
	if (strncmp(image, "lazy", 4) != 0 || down)
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/%s", dir, digest);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	mounts++;
	return 0;
}

static void
unmount_layer(void *arg, const char *image, const char *digest,
    const char *dir)
{
	(void)arg;
	(void)image;
	(void)digest;
	(void)dir;
}

static bool
is_mounted(void *arg, const char *dir)
{
	(void)arg;
	(void)dir;
	return !down;
}

static void
warn(void *arg, const char *what, const char *reason)
{
	(void)arg;
	fail_msg("%s: %s", what, reason);
}

static const struct snapshots_layers layers = { .mount = mount_layer,
	.unmount = unmount_layer, .is_mounted = is_mounted, .warn = warn };

/* Directories */

static unsigned
count_dirs(void)
{
	char path[8192];
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

static struct snapshots *
open_new(void **state)
{
	static unsigned number;
	struct snapshots *s;
	char cwd[2048];

	(void)state;
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(root, sizeof(root), "%s/root%u", cwd, number++);
	assert_int_equal(mkdir(root, 0700), 0);
	assert_int_equal(snapshots_open(&s, root, &layers, why), 0);
	return s;
}

static void
close_all(struct snapshots *s)
{
	snapshots_close(s);
	arena_free(&arena);
}

static int
create(struct snapshots *s, enum snapshots_kind kind, const char *key,
    const char *parent, struct snapshots_mount *m)
{
	const struct snapshots_labels none = { .count = 0 };

	return snapshots_create(s, kind, key, parent, &none, m, &arena, why);
}

static int
commit(struct snapshots *s, const char *key, const char *name)
{
	const struct snapshots_labels none = { .count = 0 };

	return snapshots_commit(s, key, name, &none, why);
}

/* Whether an option is at the place, and a directory's name in it */
static void
check_option(const struct snapshots_mount *m, size_t i, const char *name,
    const char *end)
{
	assert_true(i < m->option_count);
	assert_memory_equal(m->options[i], name, strlen(name));
	assert_true(strlen(m->options[i]) >= strlen(end));
	assert_string_equal(m->options[i] + strlen(m->options[i]) -
	    strlen(end), end);
}

static void
test_mounts(void **state)
{
	struct snapshots *s = open_new(state);
	struct snapshots_mount m;
	size_t at;

	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "a", "", &m), 0);
	assert_string_equal(m.type, "bind");
	check_option(&m, 0, "rw", "");
	assert_int_equal(access(m.source, F_OK), 0);
	assert_int_equal(commit(s, "a", "A"), 0);
	assert_int_equal(create(s, SNAPSHOTS_VIEW, "v", "A", &m), 0);
	assert_string_equal(m.type, "bind");
	check_option(&m, 0, "ro", "");
	assert_non_null(strstr(m.source, "/snapshots/1/fs"));
	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "b", "A", &m), 0);
	assert_string_equal(m.type, "overlay");
	at = strcmp(m.options[0], "index=off") == 0;
	check_option(&m, at, "workdir=", "/snapshots/3/work");
	check_option(&m, at + 1, "upperdir=", "/snapshots/3/fs");
	check_option(&m, at + 2, "lowerdir=", "/snapshots/1/fs");
	assert_int_equal(commit(s, "b", "B"), 0);
	assert_int_equal(create(s, SNAPSHOTS_VIEW, "w", "B", &m), 0);
	assert_int_equal(m.option_count, at + 1);
	check_option(&m, at, "lowerdir=", "/snapshots/1/fs");
	assert_non_null(strstr(m.options[at], "/snapshots/3/fs:"));
	assert_int_equal(snapshots_mount_of(s, "w", &m, &arena, why), 0);
	assert_int_equal(m.option_count, at + 1);
	close_all(s);
}

static void
test_refusals(void **state)
{
	struct snapshots *s = open_new(state);
	struct snapshots_info i;
	struct snapshots_usage u;
	struct snapshots_mount m;

	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "", "", &m), -EINVAL);
	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "a", "none", &m),
	    -ENOENT);
	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "a", "", &m), 0);
	assert_int_equal(create(s, SNAPSHOTS_VIEW, "a", "", &m), -EEXIST);
	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "b", "a", &m), -EINVAL);
	assert_int_equal(commit(s, "none", "A"), -ENOENT);
	assert_int_equal(commit(s, "a", ""), -EINVAL);
	assert_int_equal(commit(s, "a", "a"), -EEXIST);
	assert_int_equal(commit(s, "a", "A"), 0);
	assert_int_equal(commit(s, "A", "B"), -EBUSY);
	assert_int_equal(snapshots_mount_of(s, "A", &m, &arena, why), -EBUSY);
	assert_int_equal(snapshots_mount_of(s, "a", &m, &arena, why), -ENOENT);
	assert_int_equal(create(s, SNAPSHOTS_VIEW, "v", "A", &m), 0);
	assert_int_equal(commit(s, "v", "V"), -EBUSY);
	assert_int_equal(snapshots_remove(s, "A", why), -EBUSY);
	assert_non_null(strstr(why, "remove"));
	assert_int_equal(snapshots_remove(s, "v", why), 0);
	assert_int_equal(snapshots_remove(s, "A", why), 0);
	assert_int_equal(snapshots_remove(s, "A", why), -ENOENT);
	assert_int_equal(snapshots_stat(s, "A", &i, &arena, why), -ENOENT);
	assert_int_equal(snapshots_usage(s, "A", &u, why), -ENOENT);
	assert_int_equal(count_dirs(), 0);
	assert_int_equal(dirs_remove(AT_FDCWD, "none"), 0);
	close_all(s);
}

static int
set(struct snapshots *s, struct snapshots_info *i, const char *name,
    const char *value, const char *path)
{
	struct snapshots_label label = { name, value };

	*i = (struct snapshots_info){ .name = "a", .labels = { .of = &label,
		.count = *name != '\0' } };
	return snapshots_update(s, i, &path, path != NULL, &arena, why);
}

static void
test_labels(void **state)
{
	struct snapshots *s = open_new(state);
	struct snapshots_label of[] = { { "x", "1" }, { "y", "2" },
		{ "empty", "" } };
	const struct snapshots_labels labels = { .of = of, .count = 3 };
	struct snapshots_info i, before;
	struct snapshots_mount m;

	assert_int_equal(snapshots_create(s, SNAPSHOTS_ACTIVE, "a", "",
	    &labels, &m, &arena, why), 0);
	assert_int_equal(snapshots_stat(s, "a", &before, &arena, why), 0);
	assert_int_equal(before.labels.count, 2);
	assert_int_equal(before.kind, SNAPSHOTS_ACTIVE);
	assert_true(before.created_ns == before.updated_ns);
	assert_int_equal(set(s, &i, "z.a/b", "3", "labels.z.a/b"), 0);
	assert_int_equal(i.labels.count, 3);
	assert_true(i.created_ns == before.created_ns);
	assert_true(i.updated_ns >= before.updated_ns);
	assert_int_equal(set(s, &i, "x", "", "labels.x"), 0);
	assert_int_equal(i.labels.count, 2);
	assert_int_equal(set(s, &i, "", "", "labels.y"), 0);
	assert_int_equal(i.labels.count, 1);
	assert_string_equal(i.labels.of[0].name, "z.a/b");
	assert_int_equal(set(s, &i, "q", "4", "kind"), -EINVAL);
	assert_int_equal(set(s, &i, "q", "4", "labels"), 0);
	assert_int_equal(i.labels.count, 1);
	assert_string_equal(i.labels.of[0].name, "q");
	assert_int_equal(set(s, &i, "r", "5", NULL), 0);
	assert_int_equal(i.labels.count, 1);
	assert_string_equal(i.labels.of[0].value, "5");
	/* a commit replaces them */
	assert_int_equal(snapshots_commit(s, "a", "A", &labels, why), 0);
	assert_int_equal(snapshots_stat(s, "A", &i, &arena, why), 0);
	assert_int_equal(i.labels.count, 2);
	assert_int_equal(i.kind, SNAPSHOTS_COMMITTED);
	close_all(s);
}

static int
add_name(void *arg, const struct snapshots_info *i)
{
	char *names = arg;

	snprintf(names + strlen(names), 256 - strlen(names), "%s ", i->name);
	return 0;
}

static const char *
list(struct snapshots *s, const char *one, const char *two)
{
	static char names[256];
	const char *filters[] = { one, two };

	names[0] = '\0';
	if (snapshots_list(s, filters, one == NULL ? 0 : two == NULL ? 1 : 2,
	    add_name, names, why) != 0)
		return NULL;
	return names;
}

static void
test_list(void **state)
{
	struct snapshots *s = open_new(state);
	struct snapshots_label of = { "k", "v" };
	const struct snapshots_labels labels = { .of = &of, .count = 1 };
	struct snapshots_mount m;

	assert_string_equal(list(s, NULL, NULL), "");
	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "b", "", &m), 0);
	assert_int_equal(snapshots_commit(s, "b", "a", &labels, why), 0);
	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "c", "a", &m), 0);
	assert_int_equal(create(s, SNAPSHOTS_VIEW, "b", "a", &m), 0);
	assert_string_equal(list(s, NULL, NULL), "a b c ");
	assert_string_equal(list(s, "kind==committed", NULL), "a ");
	assert_string_equal(list(s, "parent==a", NULL), "b c ");
	assert_string_equal(list(s, "parent==a,kind==view", NULL), "b ");
	assert_string_equal(list(s, "kind==view", "labels.k==v"), "a b ");
	assert_string_equal(list(s, "labels.\"k\"", NULL), "a ");
	assert_null(list(s, "kind=", NULL));
	assert_non_null(strstr(why, "kind="));
	close_all(s);
}

static void
write_file(const char *dir, const char *name, size_t size)
{
	char path[8192], *data = calloc(1, size + 1);
	int fd;

	assert_non_null(data);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_true(write(fd, data, size) == (ssize_t)size);
	close(fd);
	free(data);
}

static void
test_usage(void **state)
{
	struct snapshots *s = open_new(state);
	struct snapshots_usage u;
	struct snapshots_mount m;
	char one[8192], two[8192];

	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "a", "", &m), 0);
	assert_int_equal(snapshots_usage(s, "a", &u, why), 0);
	assert_int_equal(u.inodes, 1);
	write_file(m.source, "file", 1 << 20);
	snprintf(one, sizeof(one), "%s/file", m.source);
	snprintf(two, sizeof(two), "%s/hard", m.source);
	assert_int_equal(link(one, two), 0);
	snprintf(two, sizeof(two), "%s/dir", m.source);
	assert_int_equal(mkdir(two, 0700), 0);
	assert_int_equal(snapshots_usage(s, "a", &u, why), 0);
	assert_int_equal(u.inodes, 3);
	assert_true(u.bytes >= 1 << 20 && u.bytes < 3 << 19);
	assert_int_equal(commit(s, "a", "A"), 0);
	assert_int_equal(unlink(one), 0);
	/* as it was when it was committed */
	assert_int_equal(snapshots_usage(s, "A", &u, why), 0);
	assert_int_equal(u.inodes, 3);
	close_all(s);
}

/* A directory deeper than any path may be long is measured and removed. */
static void
test_deep(void **state)
{
	enum { DEPTH = 1200 };
	struct snapshots *s = open_new(state);
	struct snapshots_usage u;
	struct snapshots_mount m;
	int fd, next;

	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "a", "", &m), 0);
	fd = open(m.source, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < DEPTH; i++) {
		assert_int_equal(mkdirat(fd, "deep", 0700), 0);
		next = openat(fd, "deep", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	close(fd);
	assert_int_equal(snapshots_usage(s, "a", &u, why), 0);
	assert_int_equal(u.inodes, DEPTH + 1);
	assert_int_equal(snapshots_remove(s, "a", why), 0);
	assert_int_equal(count_dirs(), 0);
	close_all(s);
}

/* Layers */

static int
prepare_layer(struct snapshots *s, const char *key, const char *parent,
    const char *image, const char *digest)
{
	struct snapshots_label of[] = {
		{ "containerd.io/snapshot.ref", digest },
		{ "containerd.io/snapshot/cri.image-ref", image },
		{ "containerd.io/snapshot/cri.layer-digest", digest },
	};
	const struct snapshots_labels labels = { .of = of, .count = 3 };
	struct snapshots_mount m;

	return snapshots_create(s, SNAPSHOTS_ACTIVE, key, parent, &labels, &m,
	    &arena, why);
}

static void
test_lazy(void **state)
{
	struct snapshots *s = open_new(state);
	struct snapshots_usage u;
	struct snapshots_info i;
	struct snapshots_mount m;

	mounts = 0;
	assert_int_equal(prepare_layer(s, "k1", "", "lazy", "d1"), -EEXIST);
	assert_int_equal(snapshots_stat(s, "d1", &i, &arena, why), 0);
	assert_int_equal(i.kind, SNAPSHOTS_COMMITTED);
	assert_int_equal(i.labels.count, 4);
	assert_int_equal(snapshots_stat(s, "k1", &i, &arena, why), -ENOENT);
	assert_int_equal(snapshots_usage(s, "d1", &u, why), 0);
	assert_int_equal(u.bytes, 0);
	/* again, by another client */
	assert_int_equal(prepare_layer(s, "k2", "", "lazy", "d1"), -EEXIST);
	assert_int_equal(prepare_layer(s, "k3", "d1", "lazy", "d2"), -EEXIST);
	/* what containerd then looks for */
	assert_string_equal(list(s, "labels.\"containerd.io/snapshot.ref\"==d2"
	    ",parent==\"d1\"", NULL), "d2 ");
	assert_int_equal(mounts, 2);
	assert_int_equal(snapshots_lazy_count(s), 2);
	/* a layer that cannot be mounted is left to the client */
	assert_int_equal(prepare_layer(s, "k4", "d2", "other", "d3"), 0);
	assert_int_equal(commit(s, "k4", "D3"), 0);
	assert_int_equal(create(s, SNAPSHOTS_ACTIVE, "c", "D3", &m), 0);
	/* a container on layers that are not there */
	down = true;
	assert_int_equal(snapshots_mount_of(s, "c", &m, &arena, why), -EAGAIN);
	assert_int_equal(create(s, SNAPSHOTS_VIEW, "v", "D3", &m), -EAGAIN);
	down = false;
	assert_int_equal(snapshots_mount_of(s, "c", &m, &arena, why), 0);
	assert_int_equal(count_dirs(), 5);
	snapshots_close(s);
	/* a restart */
	assert_int_equal(snapshots_open(&s, root, &layers, why), 0);
	assert_int_equal(snapshots_lazy_count(s), 2);
	assert_int_equal(snapshots_remount(s, why), 0);
	close_all(s);
}

/* Processes */

static void
test_locked(void **state)
{
	struct snapshots *s = open_new(state), *other;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		status = snapshots_open(&other, root, &layers, why);
		_exit(status == -EBUSY ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close_all(s);
}

static int
count_row(void *arg, const struct snapshots_info *i)
{
	(void)i;
	++*(unsigned *)arg;
	return 0;
}

/* Creates, commits and removes snapshots until it is killed. */
static void
work_until_killed(struct snapshots *s, unsigned seed)
{
	struct snapshots_mount m;
	char key[32], name[32];

	for (unsigned i = seed;; i = i * 1103515245 + 12345) {
		unsigned n = i >> 16 & 7, p = i >> 20 & 7;

		snprintf(key, sizeof(key), "key%u", n);
		snprintf(name, sizeof(name), "name%u", p);
		switch (i >> 24 & 3) {
		case 0:
			(void)create(s, SNAPSHOTS_ACTIVE, key, "", &m);
			break;
		case 1:
			(void)create(s, SNAPSHOTS_ACTIVE, key, name, &m);
			break;
		case 2:
			(void)commit(s, key, name);
			break;
		default:
			(void)snapshots_remove(s, p < 4 ? key : name, why);
			break;
		}
	}
}

static void
test_killed(void **state)
{
	struct snapshots *s = open_new(state);
	char path[8192];

	snprintf(path, sizeof(path), "%s/snapshots/new-leftover", root);
	for (unsigned round = 0; round < 12; round++) {
		unsigned rows = 0;
		int status;
		pid_t pid;

		snapshots_close(s);
		pid = fork();
		if (pid == 0) {
			if (snapshots_open(&s, root, &layers, why) != 0)
				_exit(1);
			work_until_killed(s, round);
		}
		usleep(20000 + 3701 * round % 50000);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(mkdir(path, 0700), 0);
		assert_int_equal(snapshots_open(&s, root, &layers, why), 0);
		assert_int_equal(snapshots_list(s, NULL, 0, count_row, &rows,
		    why), 0);
		assert_int_equal(count_dirs(), rows);
	}
	close_all(s);
}

/* gRPC */

struct reply {
	char status[64], message[1024];
	struct strbuf body;
};

static size_t
take_header(char *data, size_t size, size_t count, void *arg)
{
	struct reply *r = arg;

	(void)sscanf(data, "grpc-status: %60[0-9]", r->status);
	(void)sscanf(data, "grpc-message: %1000[^\r]", r->message);
	return size * count;
}

static size_t
take_body(char *data, size_t size, size_t count, void *arg)
{
	struct reply *r = arg;

	strbuf_add(&r->body, data, size * count);
	return size * count;
}

/* Calls a method.  Returns the gRPC status, or -1. */
static int
call(const char *method, const struct strbuf *request, struct reply *r)
{
	struct curl_slist *h = curl_slist_append(NULL,
	    "content-type: application/grpc");
	CURL *c = curl_easy_init();
	struct strbuf frame = { .len = 0 };
	char url[256], head[5] = { 0, (char)(request->len >> 24),
		(char)(request->len >> 16), (char)(request->len >> 8),
		(char)request->len };
	CURLcode rc;

	*r = (struct reply){ .status = "-1" };
	h = curl_slist_append(h, "te: trailers");
	strbuf_add(&frame, head, sizeof(head));
	strbuf_add(&frame, request->data, request->len);
	snprintf(url, sizeof(url), "http://s/%s", method);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, "socket");
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION,
	    (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, h);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, frame.data);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)frame.len);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, r);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, 60L);
	rc = curl_easy_perform(c);
	curl_easy_cleanup(c);
	curl_slist_free_all(h);
	strbuf_free(&frame);
	return rc == CURLE_OK ? atoi(r->status) : -1;
}

#define SERVICE "containerd.services.snapshots.v1.Snapshots/"

static void *
serve(void *arg)
{
	assert_int_equal(snapshots_serve(arg), 0);
	return NULL;
}

/* Counts the messages in a reply, and the fields in all of them. */
static unsigned
count_messages(const struct strbuf *b, unsigned *fields)
{
	unsigned n = 0;

	*fields = 0;
	for (size_t at = 0; at < b->len; n++) {
		const uint8_t *f = (const uint8_t *)b->data + at;
		struct wire_field field;
		struct wire w;
		size_t length;

		assert_true(at + 5 <= b->len);
		length = (size_t)f[1] << 24 | (size_t)f[2] << 16 |
		    (size_t)f[3] << 8 | f[4];
		assert_true(at + 5 + length <= b->len);
		w = wire_message(f + 5, length);
		while (wire_next(&w, &field) == 1)
			++*fields;
		at += 5 + length;
	}
	return n;
}

static void
test_serve(void **state)
{
	struct snapshots *s = open_new(state);
	struct sockaddr_un a = { .sun_family = AF_UNIX,
		.sun_path = "socket" };
	struct snapshots_service service = { .snapshots = s, .timeout_s = 10 };
	struct strbuf q = { .len = 0 };
	unsigned fields;
	struct reply r;
	pthread_t thread;
	int stop[2];

	assert_int_equal(pipe(stop), 0);
	service.stop = stop[0];
	service.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(service.listener, (struct sockaddr *)&a,
	    sizeof(a)), 0);
	assert_int_equal(listen(service.listener, 10), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, &service), 0);

	wire_put_text(&q, 1, "coldpress", false);
	assert_int_equal(call(SERVICE "List", &q, &r), 0);
	assert_int_equal(count_messages(&r.body, &fields), 1);
	assert_int_equal(fields, 0);
	strbuf_free(&r.body);
	for (int i = 0; i < 120; i++) {
		char key[32];

		snprintf(key, sizeof(key), "key%d", i);
		strbuf_clear(&q);
		wire_put_text(&q, 2, key, false);
		if (i % 50 == 0)
			assert_int_equal(call(SERVICE "Prepare", &q, &r), 0);
		else
			assert_int_equal(snapshots_answer(s, "Prepare", q.data,
			    q.len, &r.body, why), 0);
		assert_int_equal(count_messages(&r.body, &fields), 1);
		assert_int_equal(fields, 1);
		strbuf_free(&r.body);
		r.body = (struct strbuf){ .len = 0 };
	}
	assert_int_equal(call(SERVICE "Prepare", &q, &r), 6);
	assert_string_equal(r.message, "key119: there is such a snapshot");
	assert_int_equal(call(SERVICE "Remove", &q, &r), 0);
	assert_int_equal(r.body.len, 5);
	strbuf_free(&r.body);
	assert_int_equal(call(SERVICE "Remove", &q, &r), 5);
	assert_int_equal(call(SERVICE "Cleanup", &q, &r), 0);
	strbuf_free(&r.body);
	assert_int_equal(call(SERVICE "Nothing", &q, &r), 12);
	assert_int_equal(call("other.Service/List", &q, &r), 12);
	/* many messages */
	strbuf_clear(&q);
	assert_int_equal(call(SERVICE "List", &q, &r), 0);
	assert_int_equal(count_messages(&r.body, &fields), 2);
	assert_int_equal(fields, 119);
	strbuf_free(&r.body);
	/* a message is percent-encoded */
	wire_put_text(&q, 2, "\303\251%", false);
	assert_int_equal(call(SERVICE "Stat", &q, &r), 5);
	assert_string_equal(r.message,
	    "%C3%A9%25: there is no such snapshot");
	/* requests that are damaged, or too large */
	strbuf_clear(&q);
	strbuf_str(&q, "\x12\x7f");
	assert_int_equal(call(SERVICE "Stat", &q, &r), 3);
	strbuf_clear(&q);
	assert_non_null(strbuf_room(&q, 5 << 20));
	memset(q.data, 0, 5 << 20);
	q.len = 5 << 20;
	assert_int_equal(call(SERVICE "Stat", &q, &r), 8);
	strbuf_free(&q);

	assert_int_equal(write(stop[1], "", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(service.listener);
	close(stop[0]);
	close(stop[1]);
	close_all(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_serve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
