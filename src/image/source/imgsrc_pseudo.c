/*
 * imgsrc_pseudo.c - pseudo files, which add names to an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Definitions have the form "NAME d MODE USER GROUP" and the like, as in
 * mksquashfs 4.5.1.  They create directories, devices, links, fifos and
 * sockets, and change the modes of existing files.  If the letter is in upper
 * case, a time precedes the mode.  Files written by commands (f, F) are
 * rejected.
 */
#include "image/source/imgsrc.h"

#include "base/args.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS = 8, MODE_MAX = 07777, MAJOR_MAX = 0xfff, MINOR_MAX = 0xfffff };

struct definition {
	const char *text;		/* the whole definition, for messages */
	char *words[WORDS];
	size_t count;
	char type;			/* in lower case */
	struct sqw_attr attr;
	int64_t mtime;
};

int
imgsrc_user(const char *text, uint32_t *id)
{
	const struct passwd *pw;
	int64_t n;

	if (args_int(text, 0, UINT32_MAX, &n) == 0) {
		*id = (uint32_t)n;
		return 0;
	}
	pw = getpwnam(text);
	if (pw == NULL)
		return -ENOENT;
	*id = pw->pw_uid;
	return 0;
}

int
imgsrc_group(const char *text, uint32_t *id)
{
	const struct group *gr;
	int64_t n;

	if (args_int(text, 0, UINT32_MAX, &n) == 0) {
		*id = (uint32_t)n;
		return 0;
	}
	gr = getgrnam(text);
	if (gr == NULL)
		return -ENOENT;
	*id = gr->gr_gid;
	return 0;
}

static int
refuse(struct imgsrc_image *to, const struct definition *d, const char *why)
{
	return imgsrc_fail(to, -EINVAL, "pseudo definition '%s': %s", d->text,
	    why);
}

/*
 * Extracts one word of the line.  Quoted words may contain blanks; a backslash
 * makes the next character literal.
 */
static char *
next_word(char **line)
{
	char *from = *line + strspn(*line, " \t"), *word = from, *to = from;
	bool quoted = false;

	if (*from == '\0')
		return NULL;
	for (; *from != '\0' && (quoted || (*from != ' ' && *from != '\t'));
	    from++) {
		if (*from == '"') {
			quoted = !quoted;
			continue;
		}
		if (*from == '\\' && from[1] != '\0')
			from++;
		*to++ = *from;
	}
	*line = from + (*from != '\0');
	*to = '\0';
	return word;
}

static int
parse_definition(struct imgsrc_image *to, struct definition *d)
{
	static const struct { char type; uint16_t mode; } types[] = {
		{ 'd', S_IFDIR }, { 'c', S_IFCHR }, { 'b', S_IFBLK },
		{ 's', S_IFLNK }, { 'i', S_IFIFO }, { 'm', 0 }
	};
	const char *type = d->count > 1 ? d->words[1] : "";
	bool timed = *type >= 'A' && *type <= 'Z';
	size_t at = 2 + (size_t)timed;	/* the word with the mode */
	int64_t major, minor;
	unsigned long mode;
	char *end;

	d->type = (char)(timed ? *type - 'A' + 'a' : *type);
	d->mtime = time(NULL);
	if (*type == '\0' || type[1] != '\0' ||
	    strchr("dmbcsi", d->type) == NULL)
		return refuse(to, d, "expected type d, m, b, c, s or i");
	if (timed && (d->count < 3 ||
	    args_int(d->words[2], 0, UINT32_MAX, &d->mtime) != 0))
		return refuse(to, d, "expected a time in seconds since 1970");
	if (d->count < at + 3)
		return refuse(to, d, "expected a mode, a user and a group");
	mode = strtoul(d->words[at], &end, 8);
	if (*end != '\0' || mode > MODE_MAX)
		return refuse(to, d, "expected an octal mode up to 7777");
	d->attr = (struct sqw_attr){ .mode = (uint16_t)mode,
		.xattr = SQUASHFS_NONE };
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].type == d->type)
			d->attr.mode |= types[i].mode;
	if (imgsrc_user(d->words[at + 1], &d->attr.uid) != 0)
		return imgsrc_fail(to, -EINVAL, "user '%s' does not exist",
		    d->words[at + 1]);
	if (imgsrc_group(d->words[at + 2], &d->attr.gid) != 0)
		return imgsrc_fail(to, -EINVAL, "group '%s' does not exist",
		    d->words[at + 2]);
	at += 3;
	switch (d->type) {
	case 'b':
	case 'c':
		if (d->count != at + 2 ||
		    args_int(d->words[at], 0, MAJOR_MAX, &major) != 0 ||
		    args_int(d->words[at + 1], 0, MINOR_MAX, &minor) != 0)
			return refuse(to, d,
			    "expected two numbers for a device");
		d->attr.rdev = squashfs_device((uint32_t)major,
		    (uint32_t)minor);
		return 0;
	case 's':
		if (d->count != at + 1)
			return refuse(to, d, "expected a target for the link");
		d->attr.target = d->words[at];
		d->attr.size = strlen(d->words[at]);
		return 0;
	case 'i':
		if (d->count != at + 1 || (strcmp(d->words[at], "f") != 0 &&
		    strcmp(d->words[at], "s") != 0))
			return refuse(to, d, "expected f or s after i");
		if (*d->words[at] == 's')
			d->attr.mode ^= S_IFIFO ^ S_IFSOCK;
		return 0;
	default:
		return d->count == at ? 0 : refuse(to, d, "too many words");
	}
}

static int
apply_definition(struct imgsrc_image *to, struct definition *d)
{
	char *path = d->words[0] + strspn(d->words[0], "/"), *slash;
	bool timed = d->words[1][0] != d->type;
	struct sqw_node *nodes = to->tree.nodes;
	uint32_t id = sqw_tree_find(&to->tree, path), parent;
	int rc;

	if (*path == '\0' && d->type != 'm')
		return refuse(to, d, "the root already exists");
	if (d->type == 'm' && id != SQW_NOWHERE) {
		struct sqw_attr *attr;

		while (nodes[id].owner != id)
			id = nodes[id].owner;
		attr = &nodes[id].attr;
		attr->mode = (uint16_t)((attr->mode & S_IFMT) | d->attr.mode);
		attr->uid = d->attr.uid;
		attr->gid = d->attr.gid;
		imgsrc_adjust(to, attr, timed ? d->mtime : attr->mtime);
		return 0;
	}
	if (d->type == 'm' || id != SQW_NOWHERE) {
		imgsrc_tell(to, IMGSRC_WARNING,
		    "pseudo definition '%s' is ignored: %s is %s", d->text,
		    path, d->type == 'm' ? "missing" : "already there");
		return 0;
	}
	/* missing directories are not created */
	slash = strrchr(path, '/');
	if (slash != NULL) {
		*slash = '\0';
		parent = sqw_tree_find(&to->tree, path);
		*slash = '/';
		if (parent == SQW_NOWHERE || !S_ISDIR(nodes[parent].attr.mode))
			return refuse(to, d,
			    "the parent directory is not in the image");
	}
	imgsrc_adjust(to, &d->attr, d->mtime);
	rc = sqw_tree_add(&to->tree, path, &d->attr, &id);
	return rc != 0 ? refuse(to, d, strerror(-rc)) : 0;
}

int
imgsrc_pseudo(struct imgsrc_image *to, const char *definition)
{
	struct definition d = { .text = definition };
	char *line = strcopy(definition), *rest = line, *word;
	size_t target = SIZE_MAX;
	int rc;

	if (line == NULL)
		return imgsrc_fail(to, -ENOMEM, "%s: %s", to->o.path,
		    strerror(ENOMEM));
	while (d.count < WORDS && d.count != target &&
	    (word = next_word(&rest)) != NULL) {
		d.words[d.count++] = word;
		if (d.count == 2 && strcmp(word, "s") == 0)
			target = 5;
		if (d.count == 2 && strcmp(word, "S") == 0)
			target = 6;
	}
	/* the target of a link extends to the end of the line */
	rest += strspn(rest, " \t");
	if (d.count == target && *rest != '\0')
		d.words[d.count++] = rest;
	rc = parse_definition(to, &d);
	if (rc == 0)
		rc = apply_definition(to, &d);
	sys_free(line);
	return rc;
}
