/*
 * walk_log.h - the rows of a walk, sorted
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_WALK_LOG_H
#define COLDPRESS_WALK_LOG_H

#include "walk/walk.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk_log {
	char **line;
	size_t count, cap;
	size_t damaged;
};

/* Adds a line for each file: path, size, error and digest. */
static inline int
walk_log_row(void *arg, const struct walk_file *f)
{
	struct walk_log *log = arg;
	char hex[2 * DIGEST_MAX + 1] = "", *line;

	for (unsigned i = 0; i < f->digest_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", f->digest[i]);
	if (asprintf(&line, "%s|%d|%llu|%d|%s", f->path, (int)f->type,
	    (unsigned long long)f->size, f->err, hex) == -1)
		abort();
	if (log->count == log->cap) {
		log->cap = log->cap == 0 ? 64 : 2 * log->cap;
		log->line = realloc(log->line, log->cap * sizeof(char *));
		if (log->line == NULL)
			abort();
	}
	log->line[log->count++] = line;
	return 0;
}

static inline int
walk_log_damage(void *arg, const struct walk_damage *d)
{
	struct walk_log *log = arg;

	if (d->reason == NULL || d->reason[0] == '\0')
		abort();
	log->damaged++;
	return 0;
}

static inline int
walk_log_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void
walk_log_sort(struct walk_log *log)
{
	if (log->count > 0)
		qsort(log->line, log->count, sizeof(char *), walk_log_order);
}

static inline void
walk_log_free(struct walk_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		free(log->line[i]);
	free(log->line);
	memset(log, 0, sizeof(*log));
}

#endif
