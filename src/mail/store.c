/*
 * store.c - writing messages as files, maildirs or mboxes, and hashing them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/store.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/output.h"
#include "base/path.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int
store_open(struct store *s, const char *root, enum store_form form)
{
	struct dirent *e;
	struct stat st;
	bool empty;
	DIR *d;

	*s = (struct store){ .root = root, .form = form };
	if (mkdir(root, 0777) == -1) {
		if (errno != EEXIST || stat(root, &st) == -1)
			return -errno;
		if (!S_ISDIR(st.st_mode))
			return -ENOTDIR;
		if (access(root, R_OK | W_OK | X_OK) == -1)
			return -errno;
		d = opendir(root);
		empty = d != NULL;
		while (empty && (e = readdir(d)) != NULL)
			empty = path_is_dots(e->d_name);
		if (d != NULL)
			closedir(d);
		if (!empty)
			return -ENOTEMPTY;
	}
	return 0;
}

int
store_writer_make(struct store_writer *w, const struct store *s)
{
	*w = (struct store_writer){ .store = s };
	return digest_new_sha256(&w->digest);
}

void
store_writer_free(struct store_writer *w)
{
	digest_free(w->digest);
	arena_free(&w->paths);
	sys_free(w->lines);
	strbuf_free(&w->path);
	for (int i = 0; i < WORLD_SET; i++)
		strbuf_free(&w->mbox[i]);
}

/* Creates a directory, w->path or its parent, which may already exist. */
static int
make_dir(struct store_writer *w)
{
	strbuf_char(&w->path, '\0');
	w->path.len--;
	if (w->path.failed)
		return -ENOMEM;
	return mkdir(w->path.data, 0777) == -1 && errno != EEXIST ? -errno : 0;
}

/* Sets the path to the root, the list and the first day of the week. */
static void
set_path(struct store_writer *w, const struct mail_maker *m, unsigned folder)
{
	uint64_t list = m->week / MAIL_WEEKS * WORLD_SET + folder;
	time_t day = (time_t)mail_week_date(m->week);
	struct tm tm;

	gmtime_r(&day, &tm);
	strbuf_clear(&w->path);
	strbuf_str(&w->path, w->store->root);
	strbuf_fmt(&w->path, "/%02llu-%s/%04d-%02d-%02d",
	    (unsigned long long)list + 1, m->world->lists[list].name,
	    tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

/* Creates the directories for a folder's first file in a week. */
static int
make_dirs(struct store_writer *w)
{
	static const char *const parts[] = { "/cur", "/new", "/tmp" };
	size_t len = w->path.len, list = len;
	int rc;

	while (w->path.data[list - 1] != '/')
		list--;
	w->path.len = list - 1;
	w->path.data[list - 1] = '\0';
	rc = make_dir(w);
	w->path.data[list - 1] = '/';
	w->path.len = len;
	if (w->store->form == STORE_MBOX)
		return rc;
	if (rc == 0)
		rc = make_dir(w);
	for (int i = 0; w->store->form == STORE_MAILDIR && rc == 0 && i < 3;
	    i++) {
		strbuf_str(&w->path, parts[i]);
		rc = make_dir(w);
		w->path.len = rc == 0 ? len : w->path.len;
	}
	return rc;
}

/* Writes a complete file at w->path, with the given date, and hashes it. */
static int
write_hashed(struct store_writer *w, const void *data, size_t len,
    int64_t date)
{
	struct timespec when[2] = { { .tv_sec = (time_t)date },
	    { .tv_sec = (time_t)date } };
	void *lines = w->lines;
	struct store_line *line;
	struct output o;
	int rc;

	strbuf_char(&w->path, '\0');
	if (w->path.failed)
		return -ENOMEM;
	rc = output_create(&o, w->path.data, false);
	if (rc != 0)
		return rc;
	rc = fdio_write(o.fd, data, len);
	if (rc == 0 && futimens(o.fd, when) == -1)
		rc = -errno;
	if (rc != 0) {
		output_abort(&o);
		return rc;
	}
	rc = output_commit(&o, false);
	if (rc != 0)
		return rc;
	rc = array_grow(&lines, w->line_count, &w->line_cap,
	    sizeof(*w->lines));
	w->lines = lines;
	if (rc != 0)
		return rc;
	line = &w->lines[w->line_count];
	line->path = arena_copy(&w->paths, w->path.data +
	    strlen(w->store->root) + 1, strlen(w->path.data) -
	    strlen(w->store->root) - 1);
	if (line->path == NULL)
		return -ENOMEM;
	w->line_count++;
	return digest_once(w->digest, data, len, line->digest);
}

int
store_mail(struct store_writer *w, const struct mail_maker *m)
{
	static const char *const flags[] = { "S", "S", "S", "RS", "FS", "ST" };
	const struct mail *a = &m->mails[m->count - 1];
	uint64_t r = prng_mix(m->seed ^ a->number);
	bool first = w->number[a->folder]++ == 0, new = (r >> 8) % 16 == 0;
	int rc;

	if (w->store->form == STORE_MBOX) {
		struct strbuf *b = &w->mbox[a->folder];
		const char *at = m->out.data;
		size_t left = m->out.len;

		/*
		 * preceded by a "From " line, with ">" before lines that look
		 * like such a line
		 */
		strbuf_fmt(b, "From %s ", a->author->address);
		mail_date(b, a->date);
		strbuf_char(b, '\n');
		while (left > 0) {
			const char *nl = memchr(at, '\n', left);
			size_t n = nl == NULL ? left : (size_t)(nl - at) + 1;
			size_t marks = 0;

			while (marks < n && at[marks] == '>')
				marks++;
			if (n - marks >= 5 &&
			    memcmp(at + marks, "From ", 5) == 0)
				strbuf_char(b, '>');
			strbuf_add(b, at, n);
			at += n;
			left -= n;
		}
		strbuf_char(b, '\n');
		w->mbox_date[a->folder] = a->date;
		return b->failed ? -ENOMEM : 0;
	}
	set_path(w, m, a->folder);
	if (w->path.failed)
		return -ENOMEM;
	if (first) {
		rc = make_dirs(w);
		if (rc != 0)
			return rc;
	}
	if (w->store->form == STORE_MAILDIR) {
		/* as dovecot(1) does: time, number, host, size and flags */
		strbuf_fmt(&w->path, "/%s/%lld.M%06uP%u.home,S=%zu",
		    new ? "new" : "cur", (long long)a->date,
		    (unsigned)(r >> 32) % 1000000,
		    1000 + (unsigned)(r >> 16) % 30000, m->out.len);
		if (!new)
			strbuf_fmt(&w->path, ":2,%s", flags[r % 6]);
	} else
		strbuf_fmt(&w->path, "/%03u", w->number[a->folder]);
	return write_hashed(w, m->out.data, m->out.len, a->date);
}

int
store_week(struct store_writer *w, const struct mail_maker *m)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < WORLD_SET; i++) {
		w->number[i] = 0;
		if (w->mbox[i].len == 0)
			continue;
		set_path(w, m, i);
		strbuf_str(&w->path, ".mbox");
		rc = w->path.failed ? -ENOMEM : make_dirs(w);
		if (rc == 0)
			rc = write_hashed(w, w->mbox[i].data, w->mbox[i].len,
			    w->mbox_date[i]);
		strbuf_clear(&w->mbox[i]);
	}
	return rc;
}

static int
by_line_path(const void *a, const void *b)
{
	const struct store_line *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int
store_hash(const struct store_writer *w, unsigned count,
    uint8_t hash[DIGEST_MAX])
{
	struct store_line *all;
	struct digest *d = NULL;
	size_t total = 0, n = 0;
	int rc;

	for (unsigned i = 0; i < count; i++)
		total += w[i].line_count;
	all = sys_calloc(total + 1, sizeof(*all));
	if (all == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		if (w[i].line_count > 0)
			memcpy(all + n, w[i].lines,
			    w[i].line_count * sizeof(*all));
		n += w[i].line_count;
	}
	qsort(all, total, sizeof(*all), by_line_path);
	rc = digest_new_sha256(&d);
	if (rc == 0)
		rc = digest_start(d);
	for (n = 0; rc == 0 && n < total; n++) {
		char hex[2 * DIGEST_MAX + 3];

		hex_write(hex, all[n].digest, DIGEST_MAX);
		memcpy(hex + 2 * DIGEST_MAX, "  ", 2);
		rc = digest_add(d, hex, 2 * DIGEST_MAX + 2);
		if (rc == 0)
			rc = digest_add(d, all[n].path, strlen(all[n].path));
		if (rc == 0)
			rc = digest_add(d, "\n", 1);
	}
	if (rc == 0)
		rc = digest_end(d, hash);
	digest_free(d);
	sys_free(all);
	return rc;
}
