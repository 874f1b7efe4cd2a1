/*
 * as_mksquashfs_sources.c - the sources and exclusions of mksquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A single directory becomes the root of the image.  Any other source is placed
 * in the root under the last component of its path, with a suffix (_1, _2, ...)
 * if that name is taken.
 */
#include "as.h"

#include "base/args.h"
#include "base/array.h"
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

	for (size_t i = 0; in != NULL && i < a->inputs_made; i++) {
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
	struct as_mksquashfs *a = o->as;
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
	a->inputs_made++;
	if (in->path == NULL || in->real == NULL || in->name == NULL)
		return -ENOMEM;
	strcpy(in->name, base);
	for (unsigned k = 1; is_taken(o, in->name); k++)
		snprintf(in->name, len, "%s_%u", base, k);
	o->from.top_count = ++o->from.input_count;
	return *base == '\0' ? -EINVAL : 0;
}

/* Sources that keep their paths */

/* A component of a path that is kept. */
struct kept {
	char *name;			/* in the image */
	char *path;			/* of the file */
	char *real;			/* the same, absolute, but for the first
					 * slash */
	dev_t dev;
	ino_t ino;
	bool is_dir, leaf;		/* leaf: the last one of a source */
};

struct kept_list {
	struct kept *items;
	size_t count, cap;
	char *prefix;			/* what all paths begin with, except for
					 * their names; NULL: nothing yet */
	bool several;			/* they begin with different ones */
};

static void
free_kept(struct kept_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		sys_free(l->items[i].name);
		sys_free(l->items[i].path);
		sys_free(l->items[i].real);
	}
	sys_free(l->items);
	sys_free(l->prefix);
}

static int
add_kept(struct kept_list *l, const char *base, const char *path, size_t skip,
    size_t len, bool leaf)
{
	struct kept k = { .leaf = leaf };
	void *items = l->items;
	size_t room = strlen(base) + len + 2;
	struct stat st;
	int rc = array_grow(&items, l->count, &l->cap, sizeof(k));

	l->items = items;
	if (rc != 0)
		return rc;
	k.path = strcopy_part(path, len);
	k.name = strcopy_part(path + skip, len - skip);
	k.real = sys_malloc(room);
	rc = k.path == NULL || k.name == NULL || k.real == NULL ? -ENOMEM :
	    sys_fstatat(AT_FDCWD, k.path, &st, AT_SYMLINK_NOFOLLOW);
	if (rc == 0) {
		snprintf(k.real, room, "%s%s%s", base + 1, base[1] == '\0' ?
		    "" : "/", k.name);
		k.dev = st.st_dev;
		k.ino = st.st_ino;
		k.is_dir = S_ISDIR(st.st_mode);
	}
	l->items[l->count++] = k;
	return rc;
}

/*
 * Adds the components of a path, except for those at its start that have no
 * name.  Returns 0, or -errno after reporting the error.
 */
static int
keep_source(struct sqpack *p, struct kept_list *l, const char *source)
{
	const struct as_mksquashfs *a = p->o.as;
	char base[PATH_MAX], prefix[PATH_MAX];
	char *path = strcopy(source);
	size_t skip = 0, len;
	int rc = path == NULL ? -ENOMEM : 0;

	if (rc != 0)
		goto out;
	/* single slashes, and none at the end */
	len = 0;
	for (const char *s = path; *s != '\0'; s++)
		if (*s != '/' || (s[1] != '/' && (s[1] != '\0' || len == 0)))
			path[len++] = *s;
	path[len] = '\0';
	while (skip < len) {
		size_t n = strcspn(path + skip, "/");

		if (n > 2 || strncmp(path + skip, "..", n) != 0)
			break;
		skip += n + (path[skip + n] == '/');
	}
	if (skip == len) {
		/* find(1) prints "." */
		if (a->style == AS_CPIO_STYLE)
			goto out;
		msg_error(&p->msg, "%s: -tarstyle needs a path with a name",
		    source);
		sys_free(path);
		return -EINVAL;
	}
	rc = skip >= sizeof(prefix) ? -ENAMETOOLONG : 0;
	if (rc != 0)
		goto out;
	memcpy(prefix, skip == 0 ? "." : path, skip == 0 ? 1 : skip);
	prefix[skip == 0 ? 1 : skip] = '\0';
	if (realpath(prefix, base) == NULL) {
		rc = -errno;
		goto out;
	}
	if (l->prefix == NULL)
		l->prefix = strcopy(base);
	rc = l->prefix == NULL ? -ENOMEM : 0;
	l->several = rc == 0 && (l->several || strcmp(l->prefix, base) != 0);
	for (size_t at = skip; rc == 0 && at < len; at++) {
		size_t n = strcspn(path + at, "/");

		if (n <= 2 && strncmp(path + at, "..", n) == 0)
			rc = -EINVAL;
		at += n;
		if (rc == 0)
			rc = add_kept(l, base, path, skip, at, at == len);
		if (rc == 0 && at < len && !l->items[l->count - 1].is_dir)
			rc = -ENOTDIR;
	}
out:
	sys_free(path);
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", source, rc == -EINVAL ?
		    "a path that is kept cannot contain '.' or '..'" :
		    strerror(-rc));
	return rc;
}

/* Reads the names of sources; one without an end is left out. */
static int
keep_listed(struct sqpack *p, struct kept_list *l)
{
	const struct as_mksquashfs *a = p->o.as;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = getdelim(&line, &cap, a->list_end, stdin)) > 0) {
		if (line[n - 1] != a->list_end) {
			msg_warn(&p->msg, "standard input ends within a name, "
			    "which is ignored: %s", line);
			break;
		}
		line[n - 1] = '\0';
		if (n > 1)
			rc = keep_source(p, l, line);
	}
	if (rc == 0 && ferror(stdin)) {
		rc = -EIO;
		msg_error(&p->msg, "standard input: %s", strerror(-rc));
	}
	free(line);
	return rc;
}

/* Orders names without a slash first. */
static int
by_kept_name(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;
	bool deep = strchr(x->name, '/') != NULL;

	if (deep != (strchr(y->name, '/') != NULL))
		return deep ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Returns whether a directory above is a source, and thus all that it has. */
static bool
is_covered(const struct kept_list *l, const struct kept *k)
{
	struct kept key = { .name = strcopy(k->name) };
	bool covered = false;
	char *slash;

	while (!covered && key.name != NULL &&
	    (slash = strrchr(key.name, '/')) != NULL) {
		const struct kept *dir;

		*slash = '\0';
		dir = bsearch(&key, l->items, l->count, sizeof(key),
		    by_kept_name);
		covered = dir != NULL && dir->leaf;
	}
	sys_free(key.name);
	return covered;
}

/* Makes inputs of the names, each once. */
static int
use_kept(struct sqpack *p, struct kept_list *l)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;
	struct imgsrc_input *in;
	size_t count = 0;

	if (l->count > 0)
		qsort(l->items, l->count, sizeof(*l->items), by_kept_name);
	for (size_t i = 0; i < l->count; i++) {
		struct kept *k = &l->items[i];
		struct kept *last = count == 0 ? NULL : &l->items[count - 1];

		if (last == NULL || strcmp(last->name, k->name) != 0) {
			struct kept other = l->items[count];

			l->items[count++] = *k;
			*k = other;
		} else if (last->dev != k->dev || last->ino != k->ino) {
			msg_error(&p->msg, "%s and %s would have the same name",
			    last->path, k->path);
			return -EINVAL;
		} else {
			last->leaf |= k->leaf;
		}
	}
	o->from.inputs = sys_calloc(count + 1, sizeof(*in));
	if (o->from.inputs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i <= count; i++) {
		const struct kept *k = &l->items[i];
		struct kept_list all = { .items = l->items, .count = count };
		bool root = i == count;

		/* the root is that of all of them */
		if (root ? l->prefix == NULL || l->several :
		    a->style == AS_TAR_STYLE && is_covered(&all, k))
			continue;
		in = &o->from.inputs[o->from.input_count];
		a->inputs_made = ++o->from.input_count;
		*in = (struct imgsrc_input){
			.path = strcopy(root ? l->prefix : k->path),
			.real = strcopy(root ? l->prefix + 1 : k->real),
			.name = strcopy(root ? "" : k->name),
			.is_dir = !root && a->style == AS_TAR_STYLE &&
			    k->is_dir && k->leaf };
		if (in->path == NULL || in->real == NULL || in->name == NULL)
			return -ENOMEM;
		if (!root && strchr(k->name, '/') == NULL)
			o->from.top_count = o->from.input_count;
		a->root_is_made = a->root_is_made && !root;
		a->device = root ? a->device : k->dev;
	}
	return 0;
}

static int
keep_paths(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;
	struct kept_list l = { .count = 0 };
	int rc = 0;

	if (a->style == AS_CPIO_STYLE)
		rc = keep_listed(p, &l);
	for (size_t i = 0; rc == 0 && a->style == AS_TAR_STYLE &&
	    i < a->source_count; i++)
		rc = keep_source(p, &l, a->sources[i]);
	if (rc == 0)
		rc = use_kept(p, &l);
	if (rc == -ENOMEM)
		msg_error(&p->msg, "%s", strerror(ENOMEM));
	free_kept(&l);
	return rc;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Returns the path in the image of the file with this real path, if source i
 * contains it, or NULL.
 */
enum { IMAGE_PATH_MAX = 2 * PATH_MAX };

static const char *
image_path(const struct sqpack *p, size_t i, const char *real,
    char path[IMAGE_PATH_MAX])
{
	const struct as_mksquashfs *a = p->o.as;
	const struct imgsrc_input *in = &p->o.from.inputs[i];
	bool root = a->source_count == 1 && !a->as_directory &&
	    a->style == AS_STRIPPED && in->is_dir;
	size_t n = strlen(in->real);

	if (strncmp(real + 1, in->real, n) != 0 ||
	    (n > 0 && real[n + 1] != '/' && real[n + 1] != '\0'))
		return NULL;
	snprintf(path, IMAGE_PATH_MAX, "%s%s", root ? "" : in->name,
	    real + 1 + n);
	return path + (*path == '/');
}

/* Excludes the image path of the file with this real path. */
static int
add_real(struct sqpack *p, const char *real)
{
	struct as_mksquashfs *a = p->o.as;
	char room[IMAGE_PATH_MAX];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->o.from.top_count; i++) {
		const char *path = image_path(p, i, real, room);

		if (path != NULL)
			rc = as_texts_add(p, &a->paths, path, strlen(path));
	}
	return rc;
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
		if (snprintf(path, sizeof(path), "%s/%s", a->sources[i],
		    name) < (int)sizeof(path) &&
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

/* Order of data */

/* Appends a path of the image with a priority. */
static void
put_order(struct strbuf *text, const char *path, const char *priority)
{
	for (; *path != '\0'; path++) {
		if (strchr(" \t\\#", *path) != NULL)
			strbuf_char(text, '\\');
		strbuf_char(text, *path);
	}
	strbuf_char(text, ' ');
	strbuf_add(text, priority, strlen(priority));
	strbuf_char(text, '\n');
}

/*
 * Finds the files that a line names: one here or, by default, in one of the
 * sources.  Returns their number, or -errno after reporting the error.
 */
static int
find_ordered(struct sqpack *p, struct strbuf *text, const char *name,
    const char *priority, bool *from_here)
{
	const struct as_mksquashfs *a = p->o.as;
	bool here = *from_here || *name == '/' || strncmp(name, "./", 2) == 0 ||
	    strncmp(name, "../", 3) == 0;
	char real[PATH_MAX], file[PATH_MAX], room[IMAGE_PATH_MAX];
	int found = 0;

	for (size_t i = 0; i < (here ? 1 : a->source_count); i++) {
		const char *path = NULL;
		struct stat st;

		if (snprintf(file, sizeof(file), "%s%s%s", here ? "" :
		    a->sources[i], here ? "" : "/", name) >=
		    (int)sizeof(file) ||
		    sys_fstatat(AT_FDCWD, file, &st, AT_SYMLINK_NOFOLLOW) != 0
		    || real_path(file, false, real) != 0)
			continue;
		found++;
		for (size_t k = 0; path == NULL &&
		    k < p->o.from.top_count; k++)
			path = image_path(p, k, real, room);
		if (path != NULL)
			put_order(text, path, priority);
	}
	if (found == 0 && !here) {
		/* as mkisofs has it, if the first line is of this kind */
		struct stat st;

		if (text->len == 0 && sys_fstatat(AT_FDCWD, name, &st,
		    AT_SYMLINK_NOFOLLOW) == 0) {
			*from_here = true;
			return find_ordered(p, text, name, priority, from_here);
		}
	}
	if (found > 1) {
		msg_error(&p->msg, "-sort: %s is in more than one source; an "
		    "absolute path is not ambiguous", name);
		return -EINVAL;
	}
	return found;
}

/*
 * Gives the files of the sort file their paths in the image.  Returns 0, or
 * -errno after reporting the error.
 */
static int
find_order(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;
	struct as_texts lines = { .count = 0 };
	struct strbuf text = { .len = 0 };
	bool from_here = false;
	int rc = as_lines(p, &lines, p->o.from.order);

	for (size_t i = 0; rc >= 0 && i < lines.count; i++) {
		char *from = lines.items[i], *to = from, *name = from;
		size_t len;
		int64_t n;

		for (; *from != '\0' && strchr(" \t", *from) == NULL; from++) {
			if (*from == '\\' && *++from == '\0')
				break;
			*to++ = *from;
		}
		from += strspn(from, " \t");
		len = strcspn(from, " \t\r");
		if (from[len + strspn(from + len, " \t\r")] != '\0')
			len = 0;
		from[len] = '\0';
		*to = '\0';
		if (to == name)
			continue;
		if (args_int(from, -32768, 32767, &n) != 0) {
			msg_error(&p->msg, "%s: %s: expected a priority in "
			    "-32768..32767", p->o.from.order, name);
			rc = -EINVAL;
			break;
		}
		if (to - name > 1 && strcmp(to - 2, "/*") == 0)
			to[-2] = '\0';
		rc = find_ordered(p, &text, name, from, &from_here);
		if (rc == 0)
			msg_warn(&p->msg, "%s: %s: no such file in the "
			    "sources; ignored", p->o.from.order, name);
	}
	strbuf_char(&text, '\0');
	if (rc >= 0 && text.failed) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		rc = -ENOMEM;
	}
	as_texts_free(&lines);
	a->order = text.data;
	p->o.from.order_text = text.data;
	return rc < 0 ? rc : 0;
}

static int
add_sources(struct sqpack *p)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;
	int rc;

	o->source = a->sources[0];
	a->root_is_made = true;
	if (a->tar)
		return add_excludes(p);
	if (a->style != AS_STRIPPED) {
		if (a->style == AS_CPIO_STYLE && (a->source_count != 1 ||
		    strcmp(a->sources[0], "-") != 0)) {
			msg_error(&p->msg, "-cpiostyle requires the source -");
			return -EINVAL;
		}
		rc = keep_paths(p);
		o->from.no_source = o->from.input_count == 0;
		return rc != 0 ? rc : add_excludes(p);
	}
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

		rc = sys_fstatat(AT_FDCWD, a->sources[i], &st,
		    AT_SYMLINK_NOFOLLOW);
		if (rc == 0)
			rc = add_input(o, a->sources[i], S_ISDIR(st.st_mode));
		if (rc != 0) {
			msg_error(&p->msg, "%s: %s", a->sources[i],
			    strerror(-rc));
			return rc;
		}
		a->device = st.st_dev;
	}
	return add_excludes(p);
}

int
as_sources(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;
	struct imgsrc_options *from = &p->o.from;
	int rc = add_sources(p);

	if (rc == 0 && from->order != NULL)
		rc = find_order(p);
	if (rc == 0 && a->style == AS_STRIPPED && from->input_count == 1 &&
	    !a->as_directory && from->inputs[0].is_dir) {
		from->input_count = 0;
		a->root_is_made = false;
	}
	return rc;
}
