/*
 * store.h - writing messages as files, maildirs or mboxes, and hashing them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * There is a directory for each list, which contains a directory of files, a
 * maildir or an mbox for each week.  The hash of a corpus is the SHA-256 of the
 * lines that sha256sum(1) would write for its files, sorted bytewise by path.
 *
 * A struct store_writer belongs to one thread; all writers share a struct
 * store, which is constant.
 */
#ifndef COLDPRESS_STORE_H
#define COLDPRESS_STORE_H

#include "base/arena.h"
#include "engine/digest/digest.h"
#include "mail/mail.h"

enum store_form { STORE_FILES, STORE_MAILDIR, STORE_MBOX };

struct store {
	const char *root;
	enum store_form form;
};

struct store_line {
	const char *path;
	uint8_t digest[DIGEST_MAX];
};

struct store_writer {
	const struct store *store;
	struct digest *digest;
	struct arena paths;
	struct store_line *lines;
	size_t line_count, line_cap;
	struct strbuf path;		/* path including the root; after an
					 * error, the path concerned */
	struct strbuf mbox[WORLD_SET];
	int64_t mbox_date[WORLD_SET];
	uint16_t number[WORLD_SET];	/* messages of this week, by folder */
};

/*
 * Creates the directory, or uses an empty one, and sets up SHA-256.  Returns 0,
 * -ENOTEMPTY or -errno.
 */
int store_open(struct store *s, const char *root, enum store_form form);

/*
 * Creates a writer.  Returns 0 or -ENOMEM; call store_writer_free() even on
 * failure.
 */
int store_writer_make(struct store_writer *w, const struct store *s);
void store_writer_free(struct store_writer *w);

/*
 * Writes the most recently generated message, or ends its week.  Returns 0 or
 * -errno; after an error other than -ENOMEM, w->path is the NUL-terminated path
 * that caused it.
 */
int store_mail(struct store_writer *w, const struct mail_maker *m);
int store_week(struct store_writer *w, const struct mail_maker *m);

/*
 * Computes the hash of all files written by `count` writers.  Returns 0,
 * -ENOMEM or -EIO.
 */
int store_hash(const struct store_writer *w, unsigned count,
    uint8_t hash[DIGEST_MAX]);

#endif
