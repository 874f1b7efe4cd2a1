/*
 * sqpack_read.c - reading an image: names selected, extracted, or written
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/fdio.h"
#include "base/path_regex.h"
#include "base/sandbox.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "walk/node.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };		/* followed in one path */

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

/*
 * Selects what matches a pattern, which may be a regular expression, or with
 * `out` the opposite.
 */
static int
choose_matches(struct sqpack_image *i, const char *glob, bool out)
{
	const struct sqpack_options *o = &i->p->o;
	size_t count = sq_count(i->m), found = 0;
	struct path_regex *regex = NULL;
	char why[PATH_REGEX_WHY] = "";
	int rc = 0;

	glob += strspn(glob, "/");
	if (o->regex)
		rc = path_regex_open(&regex, glob, false, why);
	if (rc != 0) {
		msg_error(&i->p->msg, "'%s': %s", glob, rc == -EINVAL ? why :
		    strerror(-rc));
		goto out;
	}
	for (size_t n = 1; n < count;) {
		const char *path = sqpack_image_path(i, n);
		bool match;

		if (path == NULL) {
			rc = -ENOMEM;
			goto out;
		}
		if (regex != NULL)
			match = path_regex_match(regex, path);
		else if (o->plain_names)
			match = strcmp(glob, path) == 0;
		else if (o->as != NULL)
			match = as_matches(glob, path);
		else
			match = fnmatch(glob, path, FNM_PATHNAME) == 0;
		if (match && out)
			memset(i->wanted + n, SQ_OUT, sq_end(i->m, n) - n);
		else if (match)
			want(i, n);
		found += match;
		n = match ? sq_end(i->m, n) : n + 1;
	}
	if (found == 0 && !out && !o->missing_is_fine)
		msg_error(&i->p->msg, "%s: no name matches %s", o->source,
		    glob);
out:
	path_regex_close(regex);
	return rc;
}

/* Returns the number of a name in a directory, or 0. */
static size_t
child_of(const struct sq_image *m, size_t dir, const char *name, size_t len)
{
	struct sq_entry e;

	for (size_t n = dir + 1; n < sq_end(m, dir); n = sq_end(m, n)) {
		sq_get(m, n, &e);
		if (e.name_len == len && memcmp(e.name, name, len) == 0)
			return n;
	}
	return 0;
}

/*
 * Selects what a path leads to, and the symbolic links on the way, which do not
 * leave the image.  Returns 0 or -ENOMEM.
 */
static int
choose_followed(struct sqpack_image *i, const char *name)
{
	char *rest = strcopy(name), *made;
	size_t at = 0, len, n;
	unsigned links = 0;
	struct sq_entry e;

	for (char *s = rest; s != NULL && *s != '\0';) {
		len = strcspn(s, "/");
		sq_get(i->m, at, &e);
		if (len == 0 || (len == 1 && *s == '.')) {
			s += len + (s[len] == '/');
			continue;
		}
		if (len == 2 && memcmp(s, "..", 2) == 0) {
			at = e.parent;
			s += len + (s[len] == '/');
			continue;
		}
		n = !S_ISDIR(e.mode) ? 0 : child_of(i->m, at, s, len);
		if (n == 0 || links > LINKS_MAX) {
			if (i->p->o.follow_missing)
				msg_error(&i->p->msg, "%s: %s: %s",
				    i->p->o.source, name, links > LINKS_MAX ?
				    strerror(ELOOP) : "what it leads to is "
				    "not in the image");
			sys_free(rest);
			return 0;
		}
		s += len;
		sq_get(i->m, n, &e);
		if (!S_ISLNK(e.mode)) {
			at = n;
			continue;
		}
		/* its target takes the place of what has been used */
		links++;
		want(i, n);
		at = e.size > 0 && *e.target == '/' ? 0 : at;
		made = sys_malloc((size_t)e.size + strlen(s) + 1);
		if (made != NULL) {
			memcpy(made, e.target, (size_t)e.size);
			strcpy(made + e.size, s);
		}
		sys_free(rest);
		rest = s = made;
	}
	if (rest == NULL) {
		msg_error(&i->p->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	want(i, at);
	sys_free(rest);
	return 0;
}

/* Leaves out what is too far below the root. */
static void
choose_depth(struct sqpack_image *i, int64_t most)
{
	struct sq_entry e;

	for (size_t n = 1; n < sq_count(i->m);) {
		int64_t depth = 0;

		for (size_t k = n; k != 0; k = e.parent) {
			sq_get(i->m, k, &e);
			depth++;
		}
		if (depth > most) {
			memset(i->wanted + n, SQ_OUT, sq_end(i->m, n) - n);
			n = sq_end(i->m, n);
		} else {
			n++;
		}
	}
}

int
sqpack_read(struct sqpack *p)
{
	struct sq_file_options o = { .path = p->o.source,
		.has_offset = p->o.from.has_offset,
		.offset = p->o.from.offset, .threads = p->o.data.threads,
		.memory = p->o.memory, .arg = p, .report = report_damage,
		.may_be_streamed = p->o.may_be_streamed };
	struct sqpack_image i = { .p = p };
	const char *why;
	int rc = sq_file_open(&i.file, &o, &why);

	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", p->o.source, why);
		goto out;
	}
	i.m = i.file.image;
	i.wanted = sys_calloc(sq_count(i.m), 1);
	if (i.wanted == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		rc = -ENOMEM;
		goto out;
	}
	if (p->o.glob_count == 0)
		memset(i.wanted, SQ_IN, sq_count(i.m));
	for (size_t k = 0; rc == 0 && k < p->o.glob_count; k++)
		rc = p->o.follow ? choose_followed(&i, p->o.globs[k]) :
		    choose_matches(&i, p->o.globs[k], false);
	for (size_t k = 0; rc == 0 && k < p->o.out_glob_count; k++)
		rc = choose_matches(&i, p->o.out_globs[k], true);
	if (rc == 0 && p->o.max_depth >= 0)
		choose_depth(&i, p->o.max_depth);
	if (rc == 0)
		rc = p->o.task(&i);
out:
	sq_file_close(&i.file);
	sys_free(i.wanted);
	return rc;
}

static void
report_name(void *arg, enum extract_level level, const char *path,
    const char *text)
{
	struct sqpack *p = arg;
	const char *dir = p->o.directory, *slash = path == NULL ? "" : "/";

	path = path == NULL ? "" : path;
	if (level == EXTRACT_ERROR)
		msg_error(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (level == EXTRACT_WARNING)
		msg_warn(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (p->msg.verbose > 0)
		msg_note(&p->msg, "%s%s%s: %s", dir, slash, path, text);
}

static void
report_data(void *arg, const char *path, uint64_t at, const char *why)
{
	struct sqpack *p = arg;

	if (at == 0)
		msg_error(&p->msg, "%s: %s: %s", p->o.source, path, why);
	else
		msg_error(&p->msg, "%s: %s: offset %llu: %s", p->o.source,
		    path, (unsigned long long)at, why);
}

/* The sandbox is entered once it is known where data will be written. */
static void
allow_deep(void *arg, int fd)
{
	sandbox_making_add(arg, fd);
}

static void
confine(void *arg)
{
	bool confined;

	sandbox_making_enter(arg, &confined);
}

int
sqpack_extract(struct sqpack_image *i)
{
	struct sqpack *p = i->p;
	struct sandbox_making sandbox;
	struct sq_extract_options o = {
		.to = { .replace = p->o.force, .owner = geteuid() == 0,
		    .threads = p->o.data.threads, .made_deep = allow_deep,
		    .made_dirs = confine, .arg = &sandbox },
		.wanted = i->wanted, .no_xattrs = p->o.no_xattrs,
		.user_xattrs = p->o.user_xattrs,
		.wants_xattr = p->o.wants_xattr,
		.has_mtime = p->o.has_time, .mtime = p->o.time,
		.show_progress = !p->msg.quiet && p->o.as == NULL,
		.progress = p->o.progress,
		.report = report_name, .damage = report_data, .arg = p
	};
	int rc;

	/* node.h's modes are meant as they are */
	umask(0);
	o.to.root = node_root(p->o.directory, 0700, &o.to.made_root);
	if (o.to.root < 0) {
		msg_error(&p->msg, "%s: %s", p->o.directory,
		    strerror(-o.to.root));
		return o.to.root;
	}
	sandbox_making_begin(&sandbox, o.to.root);
	rc = sq_extract(i->m, &o);
	sandbox_making_close(&sandbox);
	sys_close(o.to.root);
	return rc;
}

int
sqpack_cat_open(struct sqpack_cat *c, struct sqpack_image *i, int fd)
{
	uint32_t block = sq_facts(i->m)->block;
	int rc;

	*c = (struct sqpack_cat){ .i = i, .fd = fd };
	rc = sq_decoder_open(&c->decoder, i->m);
	c->data = sys_malloc(block);
	c->zeros = sys_calloc(1, block);
	if (c->data != NULL && c->zeros != NULL && rc == 0)
		return 0;
	msg_error(&i->p->msg, "%s", strerror(ENOMEM));
	return -ENOMEM;
}

void
sqpack_cat_close(struct sqpack_cat *c)
{
	sq_decoder_close(c->decoder);
	sys_free(c->data);
	sys_free(c->zeros);
}

static int
put_data(const struct sqpack_cat *c, const uint8_t *data, size_t len)
{
	int rc = fdio_write(c->fd, data, len);

	if (rc != 0)
		msg_error(&c->i->p->msg, "%s: %s", c->fd == STDOUT_FILENO ?
		    "standard output" : "writing", strerror(-rc));
	return rc;
}

int
sqpack_cat_file(struct sqpack_cat *c, size_t number)
{
	const struct sq_image *m = c->i->m;
	struct sq_entry e;
	uint32_t word, len;
	const char *why;
	int64_t made;
	uint64_t at;
	int rc = 0;

	sq_get(m, number, &e);
	/* sqpack_read() has reported the reason */
	if (e.mode == 0 || e.lost)
		return -EBADMSG;
	at = e.start;
	for (uint32_t k = 0; rc == 0 && k < e.blocks; k++) {
		word = sq_word(&e, k);
		len = sq_block_len(m, &e, k);
		if (word != 0 && sq_unpack(c->decoder, at, word, len, c->data,
		    &why) < 0)
			goto damaged;
		rc = put_data(c, word == 0 ? c->zeros : c->data, len);
		at += sq_word_len(word);
	}
	len = sq_tail_len(m, &e);
	if (rc != 0 || len == 0)
		return rc;
	sq_fragment(m, e.fragment, &at, &word);
	made = sq_unpack(c->decoder, at, word, 0, c->data, &why);
	if (made < 0)
		goto damaged;
	if ((uint64_t)made < (uint64_t)e.tail_at + len) {
		why = "the fragment block ends before the file does";
		goto damaged;
	}
	return put_data(c, c->data + e.tail_at, len);
damaged:
	msg_error(&c->i->p->msg, "%s: %s: offset %llu: %s",
	    c->i->p->o.source, sqpack_image_path(c->i, number),
	    (unsigned long long)at, why);
	return -EBADMSG;
}

/*
 * Writes the file to standard output.  A name that is not that of a file is
 * reported, and the next one follows.
 */
static int
write_named(struct sqpack_cat *c, const char *name)
{
	struct sqpack_image *i = c->i;
	const struct sq_image *m = i->m;
	size_t count = sq_count(m), n = 1;
	struct sq_entry e = { .mode = 0 };

	/* find it by its path, without following symbolic links */
	while (n < count) {
		const char *path = sqpack_image_path(i, n);
		size_t dir_len;

		if (path == NULL)
			return -ENOMEM;
		if (strcmp(path, name) == 0) {
			sq_get(m, n, &e);
			break;
		}
		/* skip directories that do not contain the file */
		dir_len = strlen(path);
		n = strncmp(path, name, dir_len) == 0 && name[dir_len] == '/' ?
		    n + 1 : sq_end(m, n);
	}
	if (n < count && (e.mode == 0 || S_ISREG(e.mode)))
		return sqpack_cat_file(c, n);
	msg_error(&i->p->msg, "%s: %s: %s", i->p->o.source, name,
	    n >= count ? strerror(ENOENT) : "not a regular file");
	return 0;
}

int
sqpack_cat(struct sqpack_image *i)
{
	const struct sqpack_options *o = &i->p->o;
	struct sqpack_cat c;
	bool confined;
	int rc;

	sandbox_enter(&confined);
	rc = sqpack_cat_open(&c, i, STDOUT_FILENO);
	for (size_t k = 0; rc == 0 && k < o->name_count; k++)
		rc = write_named(&c, o->names[k] + strspn(o->names[k], "/"));
	sqpack_cat_close(&c);
	return rc;
}
