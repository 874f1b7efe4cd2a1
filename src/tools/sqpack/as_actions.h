/*
 * as_actions.h - the actions of mksquashfs: ACTION@EXPRESSION
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An expression consists of tests, !, && and ||, which are evaluated from left
 * to right, and brackets.  Supported are the tests and actions for which the
 * tree of an image, or the status of a source, is enough.
 */
#ifndef COLDPRESS_SQPACK_AS_ACTIONS_H
#define COLDPRESS_SQPACK_AS_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_actions;

enum { AS_ACTIONS_WHY = 256 };

/* Returns 0 or -ENOMEM. */
int as_actions_open(struct as_actions **a);
void as_actions_close(struct as_actions *a);	/* a may be NULL */

/* When an action is logged: if its expression is true, or false; bits. */
enum as_log { AS_LOG_TRUE = 1, AS_LOG_FALSE = 2 };

/*
 * Adds an action.  Returns 0, -ENOMEM, or -EINVAL or -ENOTSUP (sqpack does not
 * support it) with the reason in why.
 */
int as_actions_add(struct as_actions *a, const char *text, unsigned log,
    char why[AS_ACTIONS_WHY]);

/* A file that expressions are evaluated for. */
struct as_subject {
	const char *path;		/* in the image, without a leading
					 * slash; "" for the root */
	uint16_t mode;			/* type and permissions */
	uint32_t uid, gid;
	uint64_t size;			/* of a file */
	const char *target;		/* of a symbolic link; NULL: unknown */
	uint32_t block;			/* size of the image's blocks */
};

enum as_stage { AS_EXCLUDE, AS_CHANGE, AS_PRUNE };

/* What actions do to a file, beside changing the subject. */
struct as_effect {
	bool out;			/* it is left out */
	bool has_raw, raw;		/* whether its blocks are compressed */
};

/* Returns whether there are actions of a stage. */
bool as_actions_has(const struct as_actions *a, enum as_stage stage);

/*
 * Evaluates all actions of a stage, in the order in which they were added,
 * prints those that are logged, and changes s and e.  Calls xattr, with
 * NAME=VALUE, for each attribute to be added, which returns 0 or -errno; NULL:
 * adds none.  Returns 0, -ENOMEM or that -errno.
 */
int as_actions_run(const struct as_actions *a, enum as_stage stage,
    struct as_subject *s, struct as_effect *e,
    int (*xattr)(void *arg, const char *text), void *arg);

#endif
