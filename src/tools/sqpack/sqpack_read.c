/*
 * sqpack_read.c - opening an image and selecting names in it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_read.h"

#include "as.h"
#include "sqpack_regex.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>

static void
tell(void *arg, uint64_t at, const char *why)
{
	struct sqpack_image *i = arg;

	i->refused = true;
	if (!i->p->told)
		msg_error(&i->p->msg, "%s: offset %llu: %s", i->p->o.source,
		    (unsigned long long)at, why);
}

/*
 * Reports all names with a damaged inode or listing, whatever is selected, so
 * that no task ends well on an image on which another does not.
 */
static int
tell_names(struct sqpack_image *i)
{
	struct sq_entry e;
	const char *path;

	for (size_t n = 0; n < sq_count(i->m); n++) {
		sq_get(i->m, n, &e);
		if (e.why == NULL)
			continue;
		i->refused = true;
		if (i->p->told)
			return 0;
		path = sqpack_image_path(i, n);
		if (path == NULL)
			return -ENOMEM;
		msg_error(&i->p->msg, "%s: %s: %s", i->p->o.source,
		    n == 0 ? "/" : path, e.why);
	}
	return 0;
}

static int
open_image(struct sqpack_image *i)
{
	struct sqpack *p = i->p;
	const char *why = NULL;
	int rc;

	i->fd = sys_openat(AT_FDCWD, p->o.source, O_RDONLY | O_CLOEXEC, 0);
	i->offset = p->o.offset;
	rc = i->fd < 0 ? i->fd : p->o.has_offset ? 1 :
	    sq_find(i->fd, &i->offset);
	if (rc == 0) {
		why = "not a squashfs image";
		rc = -EBADMSG;
	}
	if (rc > 0)
		rc = sq_open(&i->m, i->fd, i->offset, p->o.data.threads,
		    p->o.memory, tell, i, &why);
	if (rc == -EDQUOT)
		why = "the tables and names need more memory than --memory "
		    "allows";
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", p->o.source,
		    why != NULL ? why : strerror(-rc));
	return rc;
}

const char *
sqpack_image_path(struct sqpack_image *i, size_t number)
{
	if (sq_path(i->m, number, &i->path, &i->path_cap) == 0)
		return i->path;
	msg_error(&i->p->msg, "%s", strerror(ENOMEM));
	return NULL;
}

/* Selects a name, all names below it and its parent directories. */
static void
want(struct sqpack_image *i, size_t number)
{
	struct sq_entry e;

	memset(i->wanted + number, SQPACK_IN, sq_end(i->m, number) - number);
	for (size_t n = number; n != 0; n = e.parent) {
		sq_get(i->m, n, &e);
		if (i->wanted[e.parent] != SQPACK_OUT)
			return;
		i->wanted[e.parent] = SQPACK_ABOVE;
	}
}

static bool
matches(const struct sqpack_image *i, const struct sqpack_regex *regex,
    const char *glob, const char *path)
{
	return regex != NULL ? sqpack_regex_match(regex, path) :
	    i->p->o.plain_names ? strcmp(glob, path) == 0 :
	    i->p->o.as != NULL ? as_matches(glob, path) :
	    fnmatch(glob, path, FNM_PATHNAME) == 0;
}

static int
choose_matches(struct sqpack_image *i, const struct sqpack_regex *regex,
    const char *glob)
{
	size_t count = sq_count(i->m), found = 0;

	for (size_t n = 1; n < count;) {
		const char *path = sqpack_image_path(i, n);

		if (path == NULL)
			return -ENOMEM;
		if (matches(i, regex, glob, path)) {
			want(i, n);
			found++;
			n = sq_end(i->m, n);
		} else {
			n++;
		}
	}
	if (found == 0 && !i->p->o.missing_is_fine)
		msg_error(&i->p->msg, "%s: no name matches %s",
		    i->p->o.source, glob);
	return 0;
}

static int
choose_glob(struct sqpack_image *i, const char *glob)
{
	struct sqpack_regex *regex = NULL;
	char why[SQPACK_REGEX_WHY] = "";
	int rc;

	glob += strspn(glob, "/");
	if (!i->p->o.regex)
		return choose_matches(i, NULL, glob);
	rc = sqpack_regex_open(&regex, glob, false, why);
	if (rc == 0)
		rc = choose_matches(i, regex, glob);
	else
		msg_error(&i->p->msg, "'%s': %s", glob, rc == -EINVAL ? why :
		    strerror(-rc));
	sqpack_regex_close(regex);
	return rc;
}

static int
choose(struct sqpack_image *i)
{
	size_t count = sq_count(i->m);
	int rc = 0;

	i->wanted = sys_calloc(count, 1);
	if (i->wanted == NULL) {
		msg_error(&i->p->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	if (i->p->o.glob_count == 0)
		memset(i->wanted, SQPACK_IN, count);
	for (size_t k = 0; rc == 0 && k < i->p->o.glob_count; k++)
		rc = choose_glob(i, i->p->o.globs[k]);
	return rc;
}

int
sqpack_image_open(struct sqpack_image *i, struct sqpack *p)
{
	int rc;

	*i = (struct sqpack_image){ .p = p, .fd = -1 };
	rc = open_image(i);
	if (rc == 0)
		rc = tell_names(i);
	if (rc == 0)
		p->told = true;
	return rc != 0 ? rc : choose(i);
}

void
sqpack_image_close(struct sqpack_image *i)
{
	sq_close(i->m);
	if (i->fd >= 0)
		sys_close(i->fd);
	sys_free(i->wanted);
	sys_free(i->path);
}

int
sqpack_image_padding(const struct sqpack_image *i, char *padding, size_t size)
{
	return (int)fdio_pread(i->fd, padding, size,
	    (off_t)(i->offset + sq_facts(i->m)->used_B));
}
