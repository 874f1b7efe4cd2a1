/*
 * sqpack_read.c - opening an image and selecting names in it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_read.h"

#include "as.h"

#include "base/path_regex.h"
#include "base/sys.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

static void
report_damage(void *arg, const char *place, const char *why)
{
	struct sqpack *p = arg;

	msg_error(&p->msg, "%s: %s: %s", p->o.source, place, why);
}

const char *
sqpack_image_path(struct sqpack_image *i, size_t number)
{
	const char *path = sq_file_path(&i->file, number);

	if (path == NULL)
		msg_error(&i->p->msg, "%s", strerror(ENOMEM));
	return path;
}

/* Selects a name, all names below it and its parent directories. */
static void
want(struct sqpack_image *i, size_t number)
{
	struct sq_entry e;

	memset(i->wanted + number, SQ_IN, sq_end(i->m, number) - number);
	for (size_t n = number; n != 0; n = e.parent) {
		sq_get(i->m, n, &e);
		if (i->wanted[e.parent] != SQ_OUT)
			return;
		i->wanted[e.parent] = SQ_ABOVE;
	}
}

static bool
matches(const struct sqpack_image *i, const struct path_regex *regex,
    const char *glob, const char *path)
{
	return regex != NULL ? path_regex_match(regex, path) :
	    i->p->o.plain_names ? strcmp(glob, path) == 0 :
	    i->p->o.as != NULL ? as_matches(glob, path) :
	    fnmatch(glob, path, FNM_PATHNAME) == 0;
}

static int
choose_matches(struct sqpack_image *i, const struct path_regex *regex,
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
	struct path_regex *regex = NULL;
	char why[PATH_REGEX_WHY] = "";
	int rc;

	glob += strspn(glob, "/");
	if (!i->p->o.regex)
		return choose_matches(i, NULL, glob);
	rc = path_regex_open(&regex, glob, false, why);
	if (rc == 0)
		rc = choose_matches(i, regex, glob);
	else
		msg_error(&i->p->msg, "'%s': %s", glob, rc == -EINVAL ? why :
		    strerror(-rc));
	path_regex_close(regex);
	return rc;
}

static int
choose_names(struct sqpack_image *i)
{
	size_t count = sq_count(i->m);
	int rc = 0;

	i->wanted = sys_calloc(count, 1);
	if (i->wanted == NULL) {
		msg_error(&i->p->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	if (i->p->o.glob_count == 0)
		memset(i->wanted, SQ_IN, count);
	for (size_t k = 0; rc == 0 && k < i->p->o.glob_count; k++)
		rc = choose_glob(i, i->p->o.globs[k]);
	return rc;
}

int
sqpack_image_open(struct sqpack_image *i, struct sqpack *p)
{
	struct sq_file_options o = { .path = p->o.source,
		.has_offset = p->o.from.has_offset,
		.offset = p->o.from.offset, .threads = p->o.data.threads,
		.memory = p->o.memory, .arg = p,
		.report = p->told ? NULL : report_damage };
	const char *why;
	int rc;

	*i = (struct sqpack_image){ .p = p };
	rc = sq_file_open(&i->file, &o, &why);
	i->m = i->file.image;
	i->refused = i->file.refused;
	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", p->o.source, why);
		return rc;
	}
	p->told = true;
	return choose_names(i);
}

void
sqpack_image_close(struct sqpack_image *i)
{
	sq_file_close(&i->file);
	sys_free(i->wanted);
}
