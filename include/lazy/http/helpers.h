/*
 * helpers.h - credentials from the programs that a file of credentials names
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process of its own runs them, since one that confines itself can run no
 * program.  It reads the file itself: who has taken over its parent can ask for
 * a host's credentials, but not for another program.
 *
 * Sources: containers-auth.json(5); the protocol of docker-credential-helpers.
 */
#ifndef COLDPRESS_LAZY_HTTP_HELPERS_H
#define COLDPRESS_LAZY_HTTP_HELPERS_H

#include "lazy/layer.h"

#include <stddef.h>

enum {
	HELPERS_S = 10,			/* the usual limit of a program */
	HELPERS_TEXT = 64 << 10		/* maximum size of what it writes */
};

/* Which program of the file is asked. */
enum helpers_which {
	HELPERS_OF_HOST,		/* credHelpers has one for the host */
	HELPERS_OF_REST			/* credsStore */
};

struct helpers;

/*
 * Starts the process, which ends with its parent and reads the file for each
 * question.  A program that takes longer than timeout_s seconds is killed.  To
 * be called before there are threads.  Returns 0, -ENOMEM, -EAGAIN or another
 * -errno.
 */
int helpers_start(struct helpers **h, const char *auth_file,
    unsigned timeout_s);

/* Ends the process.  No call may be in progress; h may be NULL. */
void helpers_stop(struct helpers *h);

/*
 * Asks for the credentials of HOST:PORT.  Answers are kept for some seconds.
 * Both texts must be freed with helpers_forget().  If the user is "<token>", the
 * secret is an identity token.  Returns 0; -ENOENT (there are none); -ENOMEM; or
 * -EACCES or -ETIMEDOUT with a reason, which never has a secret.  Thread-safe.
 */
int helpers_ask(struct helpers *h, enum helpers_which which, const char *host,
    char **user, char **secret, char why[LAYER_WHY]);

/* Overwrites and frees a text, or NULL. */
void helpers_forget(char *text);

/*
 * Finds the text after "docker-credential-" in a file of credentials; *name must
 * be freed with sys_free().  Returns 0, -ENOENT (it names none), -EBADMSG,
 * -ENOMEM, or -EINVAL with a reason if the name is not allowed.
 */
int helpers_find(const char *text, size_t len, enum helpers_which which,
    const char *host, char **name, char why[LAYER_WHY]);

/*
 * Finds the credentials in what a program wrote: len bytes, and a NUL.  Returns
 * 0 as helpers_ask() does, -ENOENT (they are empty), -ENOMEM, or -EBADMSG with a
 * reason.
 */
int helpers_parse(const char *text, size_t len, char **user, char **secret,
    char why[LAYER_WHY]);

#endif
