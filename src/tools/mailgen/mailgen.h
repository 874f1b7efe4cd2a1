/*
 * mailgen.h - what the parts of mailgen share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_MAILGEN_H
#define COLDPRESS_MAILGEN_H

#include "base/msg.h"
#include "base/progress.h"
#include "mail/mail.h"
#include "mail/store.h"

#include <pthread.h>

struct mailgen_options {
	const char *root;
	const char *profile;		/* mail to be measured, or NULL */
	uint64_t count, seed;
	uint64_t mean_B, median_B;	/* 0: not given */
	enum store_form form;
	unsigned threads;
	bool stats;
	const char *stats_file;		/* or NULL: standard error */
	struct mail_like like;
};

struct mailgen {
	struct msg msg;
	struct mailgen_options o;
	struct progress progress;
	struct world world;
	struct store store;
	struct store_writer *writers;	/* one a thread */
	uint32_t *sizes;		/* of each mail */
	uint8_t hash[DIGEST_MAX];
	uint64_t start_ns, files;

	pthread_mutex_t lock;		/* over what follows */
	uint64_t next;			/* week */
	int err;			/* the first -errno, and */
	char *err_path;			/* of what, or NULL */
};

/* -1, or the exit status.  Sets up g->msg and g->o. */
int mailgen_parse(struct mailgen *g, int argc, char **argv);

/* Writes the corpus; what goes wrong is told. */
void mailgen_run(struct mailgen *g);

/* Measures the mail of g->o.profile and writes what it is like. */
void mailgen_profile(struct mailgen *g);

/*
 * What a corpus is like as text, `name value ...' a line, and back.  Load: 0,
 * -EBADMSG (then *line is the number of the line that makes no sense) or
 * -errno.
 */
void mailgen_like_text(struct strbuf *b, const struct mail_like *like);
int mailgen_like_load(struct mail_like *like, const char *path,
    unsigned *line);

/* One line of figures, as JSON.  0 or -errno. */
int mailgen_stats(struct mailgen *g);

#endif
