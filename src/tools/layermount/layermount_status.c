/*
 * layermount_status.c - what the mounts on this machine say (--status)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A mount answers with an attribute of its root; see layermount_metrics.c.  One
 * that does not answer is not waited for: the thread that asks is left behind.
 *
 * Source: proc_pid_mountinfo(5).
 */
#include "layermount.h"

#include "base/json.h"
#include "base/quote.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATUS_MAX = 64 << 10 };

/* A question to a mount, which the thread that answers it frees. */
struct inquiry {
	pthread_mutex_t lock;
	bool answered, abandoned;	/* guarded by the lock */
	char *path;
	char text[STATUS_MAX + 2];	/* the members of an object, in braces */
	ssize_t length;			/* or -errno */
};

static void
inquiry_free(struct inquiry *q)
{
	pthread_mutex_destroy(&q->lock);
	sys_free(q->path);
	sys_free(q);
}

static void *
inquire(void *arg)
{
	struct inquiry *q = arg;
	ssize_t n = sys_lgetxattr(q->path, LAYERMOUNT_STATUS, q->text + 1,
	    STATUS_MAX);
	bool mine;

	pthread_mutex_lock(&q->lock);
	q->length = n;
	q->answered = true;
	mine = q->abandoned;
	pthread_mutex_unlock(&q->lock);
	if (mine)
		inquiry_free(q);
	return NULL;
}

/*
 * Asks a mount.  Returns the length of the text of an object in *text, or
 * -errno, which is -ETIMEDOUT if there is no answer.
 */
static ssize_t
ask(const char *path, char text[STATUS_MAX + 3])
{
	struct inquiry *q = sys_calloc(1, sizeof(*q));
	pthread_t thread;
	bool mine;
	ssize_t n;

	if (q == NULL)
		return -ENOMEM;
	pthread_mutex_init(&q->lock, NULL);
	q->path = strcopy(path);
	if (q->path == NULL || sys_thread(&thread, inquire, q) != 0) {
		inquiry_free(q);
		return -ENOMEM;
	}
	if (!vfs_join(thread))
		pthread_detach(thread);
	pthread_mutex_lock(&q->lock);
	mine = q->answered;
	q->abandoned = !mine;
	pthread_mutex_unlock(&q->lock);
	if (!mine)
		return -ETIMEDOUT;
	n = q->length;
	if (n >= 0) {
		n += 2;
		memcpy(text, q->text, (size_t)n - 1);
		text[0] = '{';
		text[n - 1] = '}';
		text[n] = '\0';
	}
	inquiry_free(q);
	return n;
}

/* Printing */

static long long
number(yajl_val of, const char *name)
{
	yajl_val v = json_member(of, name, yajl_t_number);

	return v != NULL && YAJL_IS_INTEGER(v) ? YAJL_GET_INTEGER(v) : 0;
}

/* Prints a text from a mount, without what could control a terminal. */
static void
print_quoted(const char *before, const char *text, const char *after)
{
	struct strbuf b = { .len = 0 };

	quote_bytes(&b, text, '\0');
	strbuf_char(&b, '\0');
	printf("%s%s%s", before, b.failed ? "?" : b.data, after);
	strbuf_free(&b);
}

static void
print_texts(yajl_val list, const char *member)
{
	for (size_t i = 0; list != NULL && i < list->u.array.len; i++) {
		yajl_val v = list->u.array.values[i];
		const char *text = member != NULL ? json_text(v, member) :
		    YAJL_GET_STRING(v);

		if (text != NULL)
			print_quoted(member != NULL ? "  layer    " :
			    "  image    ", text, "\n");
	}
}

static void
print_status(yajl_val s)
{
	yajl_val cache = json_member(s, "cache", yajl_t_object);
	yajl_val counts = json_member(s, "counts", yajl_t_object);
	yajl_val last = json_member(s, "last_message", yajl_t_object);
	const char *dir = json_text(cache, "directory");
	long long left_out = number(s, "layers_left_out");
	time_t when = (time_t)number(last, "time_s");
	char date[32] = "";
	struct tm tm;

	print_texts(json_member(s, "images", yajl_t_array), NULL);
	print_texts(json_member(s, "layers", yajl_t_array), "name");
	if (left_out > 0)
		printf("  layers   %lld more\n", left_out);
	printf("  fetched  %lld B in %lld requests, %lld of them retries\n",
	    number(counts, "wire_B"), number(counts, "requests"),
	    number(counts, "retries"));
	printf("  read     %lld B in %lld reads, %lld failures\n",
	    number(counts, "read_B"), number(counts, "reads"),
	    number(counts, "failures"));
	printf("  cache    %lld of %lld B, %lld hits, %lld misses",
	    number(cache, "used_B"), number(cache, "limit_B"),
	    number(cache, "hits"), number(cache, "misses"));
	print_quoted(", ", dir == NULL ? "a temporary file" : dir, "\n");
	if (last == NULL)
		return;
	if (gmtime_r(&when, &tm) != NULL)
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ ", &tm);
	printf("  message  %s", date);
	print_quoted("", json_text(last, "text") == NULL ? "" :
	    json_text(last, "text"), "\n");
}

/*
 * Prints what a mount says, or why it says nothing.  Returns whether it is in
 * order.
 */
static bool
show(struct layermount *m, const char *path, bool named)
{
	char *text = sys_malloc(STATUS_MAX + 3), why[JSON_WHY] = "";
	ssize_t n = text == NULL ? -ENOMEM : ask(path, text);
	struct strbuf b = { .len = 0 };
	yajl_val root = NULL;
	bool well = false;
	int rc = n < 0 ? (int)n : json_parse(&root, text, (size_t)n, why);

	/* the mounts of other users are theirs */
	if (rc == -EACCES && !named) {
		well = true;
		goto out;
	}
	if (rc == -ENODATA || rc == -EOPNOTSUPP)
		snprintf(why, sizeof(why), "it belongs to another user, or to "
		    "a version that does not answer");
	else if (rc == -ETIMEDOUT)
		snprintf(why, sizeof(why), "it does not answer");
	else if (rc != 0 && *why == '\0')
		snprintf(why, sizeof(why), "%s", strerror(-rc));
	well = rc == 0 && YAJL_IS_TRUE(json_member(root, "healthy",
	    yajl_t_any));
	if (m->o.json) {
		strbuf_str(&b, "{\"mountpoint\":");
		quote_json(&b, path);
		if (rc == 0) {
			strbuf_char(&b, ',');
			strbuf_add(&b, text + 1, (size_t)n - 1);
		} else {
			strbuf_str(&b, ",\"healthy\":false,\"error\":");
			quote_json(&b, why);
			strbuf_char(&b, '}');
		}
		strbuf_char(&b, '\0');
		if (b.failed)
			well = false;
		else
			puts(b.data);
	} else {
		print_quoted("", path, ": ");
		print_quoted("", rc != 0 ? why : well ? "ok" :
		    "data cannot be fetched", "\n");
		if (rc == 0)
			print_status(root);
	}
out:
	yajl_tree_free(root);
	strbuf_free(&b);
	sys_free(text);
	return well;
}

struct shown {
	struct layermount *m;
	size_t count;
	bool well;
};

static void
show_mount(void *arg, const char *path)
{
	struct shown *s = arg;

	s->count++;
	s->well = show(s->m, path, false) && s->well;
}

int
layermount_status(struct layermount *m)
{
	struct shown s = { .m = m, .well = true };
	unsigned major, minor;
	char *path;

	for (int i = 0; i < m->o.operand_count; i++) {
		const char *dir = m->o.operands[i];

		/* the root of a dead mount cannot be resolved */
		path = realpath(dir, NULL);
		if (!mounted_by_us(path != NULL ? path : dir, &major,
		    &minor)) {
			msg_error(&m->msg, "%s: not a mount of layermount",
			    dir);
			s.well = false;
		} else {
			s.well = show(m, path != NULL ? path : dir, true) &&
			    s.well;
		}
		free(path);
	}
	if (m->o.operand_count == 0)
		mounted_each(show_mount, &s);
	if (!s.well)
		m->msg.status = MSG_ERROR;
	return msg_finish(&m->msg);
}
