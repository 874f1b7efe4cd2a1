/*
 * mailgen.h - declarations shared by the parts of mailgen
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_MAILGEN_H
#define COLDPRESS_MAILGEN_H

#include "base/msg.h"
#include "base/progress.h"
#include "mail/mail.h"
#include "mail/measure.h"
#include "mail/store.h"

#include <pthread.h>

struct mailgen_options {
	const char *root;
	const char *profile;		/* mail to measure, or NULL */
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
	struct mail_maker *makers;	/* one per thread, */
	struct store_writer *writers;	/* too */
	uint32_t *sizes;		/* one per message */
	uint8_t hash[DIGEST_MAX];
	uint64_t start_ns, files;

	pthread_mutex_t lock;		/* protects everything below */
	uint64_t next;			/* week */
	int err;			/* the first -errno, */
	char *err_path;			/* the path concerned, or NULL */
};

/* Returns -1, or the exit status.  Sets up g->msg and g->o. */
int mailgen_parse(struct mailgen *g, int argc, char **argv);

/* A sample of the mail consists of so many runs of messages. */
enum { MAILGEN_RUNS = 4 };

/* Compression ratios: of each message, and of a sample together. */
struct mailgen_fit {
	double each;
	double want[TOGETHER], together[TOGETHER];
};

/*
 * Determines what cannot be measured in the messages of m, by generating
 * messages until they compress alike.  Returns 0 or -ENOMEM.
 */
int mailgen_fit(struct mail_like *like, const struct measure *m,
    struct mailgen_fit *got);

/* Measures the mail in g->o.profile and writes its profile. */
void mailgen_profile(struct mailgen *g);

/*
 * These functions convert the properties of a corpus to text, one `name value
 * ...'  per line, and back.  mailgen_like_load() returns 0, -EBADMSG (*line is
 * then the number of the invalid line) or -errno.
 */
void mailgen_like_text(struct strbuf *b, const struct mail_like *like);
int mailgen_like_load(struct mail_like *like, const char *path,
    unsigned *line);

#endif
