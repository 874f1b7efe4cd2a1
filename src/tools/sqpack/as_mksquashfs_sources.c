/*
 * as_mksquashfs_sources.c - the sources and exclusions of mksquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A single directory becomes the root of the image.  Any other source is placed
 * in the root under the last component of its path, with a suffix (_1, _2, ...)
 * if that name is taken.
 */
#include "as.h"

#include "base/path.h"
#include "base/path_regex.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Resolves the directory of path, and appends the last component. */
static int
real_path(const char *path, bool follow, char real[PATH_MAX])
{
	char copy[PATH_MAX];
	size_t len = strlen(path);
	char *slash;
	int n;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, path, len);
	copy[len] = '\0';
	slash = strrchr(copy, '/');
	if (follow)
		return realpath(copy, real) == NULL ? -errno : 0;
	if (slash != NULL)
		*slash = '\0';
	if (realpath(slash == NULL ? "." : slash == copy ? "/" : copy,
	    real) == NULL)
		return -errno;
	len = strlen(real);
	n = snprintf(real + len, PATH_MAX - len, "%s%s", real[len - 1] == '/' ?
	    "" : "/", slash == NULL ? copy : slash + 1);
	return n < 0 || (size_t)n >= PATH_MAX - len ? -ENAMETOOLONG : 0;
}

void
as_sources_free(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	struct imgsrc_input *in = p->o.from.inputs;

	for (size_t i = 0; a->patterns != NULL && i < a->excludes.count; i++)
		path_regex_close(a->patterns[i]);
	sys_free(a->patterns);

	for (size_t i = 0; in != NULL && i < a->source_count; i++) {
		sys_free(in[i].path);
		sys_free(in[i].real);
		sys_free(in[i].name);
	}
	sys_free(in);
}

static bool
is_taken(const struct sqpack_options *o, const char *name)
{
	for (size_t i = 0; i < o->from.input_count; i++)
		if (strcmp(o->from.inputs[i].name, name) == 0)
			return true;
	return false;
}

/* Adds a source, whose name in the root gets a number if it is taken. */
static int
add_input(struct sqpack_options *o, const char *path, bool is_dir)
{
	struct imgsrc_input *in = &o->from.inputs[o->from.input_count];
	const char *base;
	char real[PATH_MAX];
	size_t len;
	int rc = real_path(path, is_dir, real);

	if (rc != 0)
		return rc;
	base = path_name(real + 1);
	len = strlen(base) + 24;
	*in = (struct imgsrc_input){ .is_dir = is_dir, .path = strcopy(path),
		.real = strcopy(real + 1), .name = sys_malloc(len) };
	if (in->path == NULL || in->real == NULL || in->name == NULL)
		return -ENOMEM;
	strcpy(in->name, base);
	for (unsigned k = 1; is_taken(o, in->name); k++)
		snprintf(in->name, len, "%s_%u", base, k);
	o->from.input_count++;
	return *base == '\0' ? -EINVAL : 0;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Excludes the image path of the file with this real path. */
static int
add_real(struct sqpack *p, const char *real)
{
	struct as_mksquashfs *a = p->o.as;
	bool root = a->source_count == 1 && !a->as_directory &&
	    p->o.from.inputs[0].is_dir;

	for (size_t i = 0; i < a->source_count; i++) {
		const struct imgsrc_input *in = &p->o.from.inputs[i];
		size_t n = strlen(in->real);
		char path[2 * PATH_MAX];
		int rc;

		if (strncmp(real + 1, in->real, n) != 0 ||
		    (n > 0 && real[n + 1] != '/' && real[n + 1] != '\0'))
			continue;
		snprintf(path, sizeof(path), "%s%s", root ? "" : in->name,
		    real + 1 + n);
		rc = as_texts_add(p, &a->paths, path + (*path == '/'),
		    strlen(path + (*path == '/')));
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Excludes a path from the sources, or one that begins at /, ./ or ../. */
static int
add_plain(struct sqpack *p, const char *name)
{
	struct as_mksquashfs *a = p->o.as;
	char path[PATH_MAX], real[PATH_MAX];
	int rc = 0;

	if (*name == '/' || strncmp(name, "./", 2) == 0 ||
	    strncmp(name, "../", 3) == 0) {
		if (real_path(name, false, real) == 0)
			return add_real(p, real);
		msg_warn(&p->msg, "%s does not exist, so it cannot be excluded",
		    name);
		return 0;
	}
	for (size_t i = 0; rc == 0 && i < a->source_count; i++)
		if (snprintf(path, sizeof(path), "/%s/%s",
		    p->o.from.inputs[i].real, name) < (int)sizeof(path) &&
		    real_path(path, false, real) == 0)
			rc = add_real(p, real);
	return rc;
}

/*
 * Returns the pattern, which is matched from the root or, after "...  ", in any
 * directory.
 */
static const char *
pattern_of(const char *exclude, bool *anywhere)
{
	*anywhere = strncmp(exclude, "... ", 4) == 0;
	exclude += *anywhere ? 4 : 0;
	return exclude + strspn(exclude, "/");
}

/* Returns the last components of path, as many as pattern has, or all. */
static const char *
last_components(const char *path, const char *pattern)
{
	const char *slash = path + strlen(path);

	for (;;) {
		slash = memrchr(path, '/', (size_t)(slash - path));
		if (slash == NULL)
			return path;
		pattern = strchr(pattern, '/');
		if (pattern == NULL)
			return slash + 1;
		pattern++;
	}
}

static bool
matches(const char *exclude, const char *path)
{
	bool anywhere;
	const char *pattern = pattern_of(exclude, &anywhere);

	return as_matches(pattern, anywhere ? last_components(path, pattern) :
	    path);
}

/* Returns whether the lists exclude a path or a directory that it is below. */
static bool
is_excluded(const struct as_mksquashfs *a, char *path)
{
	bool patterns = a->wildcards || a->regex;
	const char *key = path;
	char *slash;

	for (;;) {
		for (size_t i = 0; patterns && i < a->excludes.count; i++)
			if (a->regex ? path_regex_match(a->patterns[i], path) :
			    matches(a->excludes.items[i], path))
				return true;
		if (a->paths.count > 0 && bsearch(&key, a->paths.items,
		    a->paths.count, sizeof(char *), by_text) != NULL)
			return true;
		slash = strrchr(path, '/');
		if (slash == NULL)
			return false;
		*slash = '\0';
	}
}

/* Finds where a path is, or belongs, in a sorted list. */
static size_t
place_of(const struct as_texts *t, const char *path, size_t len, bool *found)
{
	size_t lo = 0, hi = t->count;

	*found = false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = strncmp(t->items[mid], path, len);

		if (order == 0 && t->items[mid][len] != '\0')
			order = 1;
		*found |= order == 0;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Returns 1 if an action excludes a path or a directory that it is below, which
 * has been listed earlier; 0 or -ENOMEM.
 */
static int
is_out(struct sqpack *p, const char *path, const struct stat *st)
{
	struct as_mksquashfs *a = p->o.as;
	struct as_subject s = { .path = path, .mode = (uint16_t)st->st_mode,
		.uid = st->st_uid, .gid = st->st_gid,
		.size = (uint64_t)st->st_size, .block = p->o.data.block };
	struct as_effect e = { .out = false };
	struct as_texts *dirs = &a->out_dirs;
	bool found;
	size_t at;
	char *last;
	int rc;

	for (const char *slash = strchr(path, '/'); slash != NULL;
	    slash = strchr(slash + 1, '/')) {
		place_of(dirs, path, (size_t)(slash - path), &found);
		if (found)
			return 1;
	}
	rc = as_actions_run(a->actions, AS_EXCLUDE, &s, &e, NULL, NULL);
	if (rc != 0 || !e.out || !S_ISDIR(st->st_mode))
		return rc != 0 ? rc : e.out;
	at = place_of(dirs, path, strlen(path), &found);
	rc = as_texts_add(p, dirs, path, strlen(path));
	if (rc != 0)
		return rc;
	last = dirs->items[dirs->count - 1];
	memmove(dirs->items + at + 1, dirs->items + at,
	    (dirs->count - 1 - at) * sizeof(*dirs->items));
	dirs->items[at] = last;
	return 1;
}

/* Excludes paths that match, and all below them. */
static int
left_out(void *arg, const char *path, const struct stat *st)
{
	struct sqpack *p = arg;
	const struct as_mksquashfs *a = p->o.as;
	bool excluded;
	char *copy;
	int rc;

	if (a->one_file_system && st != NULL && st->st_dev != a->device)
		return 1;
	if (a->has_max_depth) {
		uint32_t depth = 1;

		for (const char *s = path; (s = strchr(s, '/')) != NULL; s++)
			depth++;
		if (depth > a->max_depth)
			return 1;
	}
	rc = st == NULL || !as_actions_has(a->actions, AS_EXCLUDE) ? 0 :
	    is_out(p, path, st);
	if (rc != 0 || (!a->wildcards && !a->regex && a->paths.count == 0))
		return rc;
	copy = strcopy(path);
	if (copy == NULL)
		return -ENOMEM;
	excluded = is_excluded(a, copy);
	sys_free(copy);
	return excluded;
}

static int
add_excludes(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;
	char real[PATH_MAX], why[PATH_REGEX_WHY] = "";
	int rc = 0;

	if (a->regex) {
		a->patterns = sys_calloc(a->excludes.count + 1,
		    sizeof(struct path_regex *));
		rc = a->patterns == NULL ? -ENOMEM : 0;
	}
	for (size_t i = 0; rc == 0 && i < a->excludes.count; i++) {
		const char *exclude = a->excludes.items[i], *pattern;
		bool anywhere;

		if (a->regex) {
			pattern = pattern_of(exclude, &anywhere);
			rc = path_regex_open(&a->patterns[i], pattern,
			    anywhere, why);
			if (rc == -EINVAL)
				msg_error(&p->msg, "-regex: '%s': %s", pattern,
				    why);
		} else if (!a->wildcards) {
			rc = add_plain(p, exclude);
		} else if (!as_can_match(&p->msg, exclude)) {
			rc = -ENOTSUP;
		}
	}
	if (rc == -ENOMEM && a->regex)
		msg_error(&p->msg, "%s", strerror(ENOMEM));
	/* an older image inside the source is not included in the new one */
	if (rc == 0 && !a->tar && real_path(p->o.output, true, real) == 0)
		rc = add_real(p, real);
	if (a->paths.count > 0)
		qsort(a->paths.items, a->paths.count, sizeof(char *), by_text);
	p->o.from.left_out = left_out;
	return rc;
}

int
as_sources(struct sqpack *p)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;
	int rc;

	o->source = a->sources[0];
	a->root_is_made = true;
	if (a->tar)
		return add_excludes(p);
	if (a->source_count == 1 && strcmp(a->sources[0], "-") == 0) {
		if (!imgsrc_pseudo_has_root(a->pseudo)) {
			msg_error(&p->msg, "the source is -, but there is "
			    "neither -tar nor a pseudo definition of /");
			return -EINVAL;
		}
		o->from.no_source = a->pseudo_root = true;
		return 0;
	}
	o->from.inputs = sys_calloc(a->source_count, sizeof(*o->from.inputs));
	if (o->from.inputs == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (size_t i = 0; i < a->source_count; i++) {
		struct stat st;

		/* follow a link only if it is the only source */
		rc = sys_fstatat(AT_FDCWD, a->sources[i], &st,
		    a->source_count == 1 ? 0 : AT_SYMLINK_NOFOLLOW);
		if (rc == 0)
			rc = add_input(o, a->sources[i], S_ISDIR(st.st_mode));
		if (rc != 0) {
			msg_error(&p->msg, "%s: %s", a->sources[i],
			    strerror(-rc));
			return rc;
		}
		a->device = st.st_dev;
	}
	rc = add_excludes(p);
	if (rc != 0)
		return rc;
	if (a->source_count == 1 && !a->as_directory &&
	    o->from.inputs[0].is_dir) {
		o->from.input_count = 0;
		a->root_is_made = false;
	}
	return 0;
}
