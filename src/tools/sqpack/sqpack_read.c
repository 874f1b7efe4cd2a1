/*
 * sqpack_read.c - reading an image: names selected, extracted, or written
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/fdio.h"
#include "base/path_regex.h"
#include "base/sandbox.h"
#include "base/sys.h"
#include "walk/node.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Selects what matches a pattern, which may be a regular expression. */
static int
choose_matches(struct sqpack_image *i, const char *glob)
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
		if (match) {
			want(i, n);
			found++;
		}
		n = match ? sq_end(i->m, n) : n + 1;
	}
	if (found == 0 && !o->missing_is_fine)
		msg_error(&i->p->msg, "%s: no name matches %s", o->source,
		    glob);
out:
	path_regex_close(regex);
	return rc;
}

int
sqpack_read(struct sqpack *p)
{
	struct sq_file_options o = { .path = p->o.source,
		.has_offset = p->o.from.has_offset,
		.offset = p->o.from.offset, .threads = p->o.data.threads,
		.memory = p->o.memory, .arg = p, .report = report_damage };
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
		rc = choose_matches(&i, p->o.globs[k]);
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

int
sqpack_extract(struct sqpack_image *i)
{
	struct sqpack *p = i->p;
	struct sq_extract_options o = {
		.to = { .replace = p->o.force, .owner = geteuid() == 0,
		    .threads = p->o.data.threads },
		.wanted = i->wanted, .no_xattrs = p->o.no_xattrs,
		.user_xattrs = p->o.user_xattrs,
		.show_progress = !p->msg.quiet,
		.report = report_name, .damage = report_data, .arg = p
	};
	bool confined;
	int rc;

	umask(077);
	o.to.root = node_root(p->o.directory, 0700, &o.to.made_root);
	if (o.to.root < 0) {
		msg_error(&p->msg, "%s: %s", p->o.directory,
		    strerror(-o.to.root));
		return o.to.root;
	}
	sandbox_enter_making(o.to.root, NULL, 0, &confined);
	rc = sq_extract(i->m, &o);
	sys_close(o.to.root);
	return rc;
}

static int
put_data(struct sqpack *p, const uint8_t *data, size_t len)
{
	int rc = fdio_write(STDOUT_FILENO, data, len);

	if (rc != 0)
		msg_error(&p->msg, "standard output: %s", strerror(-rc));
	return rc;
}

/*
 * Writes the file to standard output.  A name that is not that of a file is
 * reported, and the next one follows.
 */
static int
write_file(struct sqpack_image *i, struct sq_decoder *decoder, uint8_t *data,
    const uint8_t *zeros, const char *name)
{
	const struct sq_image *m = i->m;
	size_t count = sq_count(m), n = 1;
	struct sq_entry e = { .mode = 0 };
	uint32_t word, len;
	const char *why;
	int64_t made;
	uint64_t at;
	int rc = 0;

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
	if (n >= count || (e.mode != 0 && !S_ISREG(e.mode))) {
		msg_error(&i->p->msg, "%s: %s: %s", i->p->o.source, name,
		    n >= count ? strerror(ENOENT) : "not a regular file");
		return 0;
	}
	/* sqpack_read() has reported the reason */
	if (e.mode == 0 || e.lost)
		return -EBADMSG;
	at = e.start;
	for (uint32_t k = 0; rc == 0 && k < e.blocks; k++) {
		word = sq_word(&e, k);
		len = sq_block_len(m, &e, k);
		if (word != 0 && sq_unpack(decoder, at, word, len, data,
		    &why) < 0)
			goto damaged;
		rc = put_data(i->p, word == 0 ? zeros : data, len);
		at += sq_word_len(word);
	}
	len = sq_tail_len(m, &e);
	if (rc != 0 || len == 0)
		return rc;
	sq_fragment(m, e.fragment, &at, &word);
	made = sq_unpack(decoder, at, word, 0, data, &why);
	if (made < 0)
		goto damaged;
	if ((uint64_t)made < (uint64_t)e.tail_at + len) {
		why = "the fragment block ends before the file does";
		goto damaged;
	}
	return put_data(i->p, data + e.tail_at, len);
damaged:
	msg_error(&i->p->msg, "%s: %s: offset %llu: %s", i->p->o.source, name,
	    (unsigned long long)at, why);
	return -EBADMSG;
}

int
sqpack_cat(struct sqpack_image *i)
{
	const struct sqpack_options *o = &i->p->o;
	uint32_t block = sq_facts(i->m)->block;
	struct sq_decoder *decoder = NULL;
	uint8_t *data, *zeros;
	bool confined;
	int rc;

	sandbox_enter(&confined);
	rc = sq_decoder_open(&decoder, i->m);
	data = sys_malloc(block);
	zeros = sys_calloc(1, block);
	if (data == NULL || zeros == NULL || rc != 0) {
		msg_error(&i->p->msg, "%s", strerror(ENOMEM));
		rc = -ENOMEM;
	}
	for (size_t k = 0; rc == 0 && k < o->name_count; k++)
		rc = write_file(i, decoder, data, zeros,
		    o->names[k] + strspn(o->names[k], "/"));
	sq_decoder_close(decoder);
	sys_free(data);
	sys_free(zeros);
	return rc;
}
