/*
 * imgsrc_pseudo.c - pseudo files, which add names to an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Definitions have the form "NAME d MODE USER GROUP" and the like, as in
 * mksquashfs 4.7.5.  They create files of all types, links to files elsewhere
 * and to other pseudo files, and change modes, owners and attributes.  If the
 * letter is in upper case, a time precedes the mode.  The definitions are
 * applied parents first; of two for one name, the first counts.
 *
 * The output of commands is kept in an unlinked file, since its length must be
 * known.
 */
#include "image/source/imgsrc.h"

#include "base/args.h"
#include "base/array.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MODE_MAX = 07777, MAJOR_MAX = 0xfff, MINOR_MAX = 0xfffff,
    TARGET_MAX = 65535, COPY_B = 1 << 16 };

#define MARKER "# START OF DATA - DO NOT MODIFY"

extern char **environ;

struct definition {
	char *text;			/* the whole definition */
	char *path;			/* in the image; "": the root */
	char type;			/* as written; a lower-case letter has
					 * no time */
	struct sqw_attr attr;
	int64_t mtime;
	char *rest;			/* command, target, other name or
					 * attribute */
	size_t file;			/* with the data, for R */
	uint64_t at, size;
	bool sparse;
	size_t order;			/* as given */
};

/* A file with definitions, and with data behind them. */
struct data_file {
	int fd;
	uint64_t start;
};

struct imgsrc_pseudo {
	struct definition *items;
	size_t count, cap;
	struct definition parent;	/* of directories that are missing; its
					 * text is NULL if there is none */
	struct data_file *files;
	size_t file_count, file_cap;
	int spool;			/* output of commands; -1: none yet */
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

/* Parsing */

static int
wrong(char why[IMGSRC_WHY], const char *text, const char *expected)
{
	snprintf(why, IMGSRC_WHY, "pseudo definition '%.200s': %s", text,
	    expected);
	return -EINVAL;
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

static bool
next_number(char **line, int64_t most, int64_t *n)
{
	const char *word = next_word(line);

	return word != NULL && args_int(word, 0, most, n) == 0;
}

/* Parses the time, the mode and the owners.  Returns NULL, or what is wrong. */
static const char *
parse_attributes(struct definition *d, char **line)
{
	static const uint16_t modes[256] = { ['d'] = S_IFDIR, ['c'] = S_IFCHR,
		['b'] = S_IFBLK, ['s'] = S_IFLNK, ['i'] = S_IFIFO,
		['f'] = S_IFREG, ['r'] = S_IFREG };
	bool timed = d->type >= 'A' && d->type <= 'Z';
	const char *word;
	unsigned long mode;
	uint32_t seconds;
	char *end;

	d->mtime = time(NULL);
	if (timed) {
		word = next_word(line);
		if (word == NULL || !imgsrc_date(word, &seconds))
			return "expected a time in seconds since 1970, or a "
			    "date";
		d->mtime = seconds;
	}
	word = next_word(line);
	mode = word == NULL ? ULONG_MAX : strtoul(word, &end, 8);
	if (mode > MODE_MAX || *end != '\0')
		return "expected an octal mode up to 7777, a user and a group";
	d->attr.mode = (uint16_t)(mode |
	    modes[(unsigned char)(timed ? d->type - 'A' + 'a' : d->type)]);
	if (S_ISLNK(d->attr.mode))
		d->attr.mode |= 0777;
	word = next_word(line);
	if (word == NULL || imgsrc_user(word, &d->attr.uid) != 0)
		return "expected a user that exists";
	word = next_word(line);
	if (word == NULL || imgsrc_group(word, &d->attr.gid) != 0)
		return "expected a group that exists";
	return NULL;
}

/* Parses what follows the letter.  Returns NULL, or what is wrong. */
static const char *
parse_rest(struct definition *d, char *line, bool has_data)
{
	int64_t n[3];
	const char *word, *why;

	if (strchr("xhlL", d->type) != NULL) {
		line += strspn(line, " \t");
		d->rest = d->type == 'x' ? line : next_word(&line);
		return d->rest == NULL || *d->rest == '\0' ? d->type == 'x' ?
		    "expected an attribute, name=value" :
		    "expected the name of a file" : NULL;
	}
	why = parse_attributes(d, &line);
	if (why != NULL)
		return why;
	line += strspn(line, " \t");
	switch (d->type) {
	case 'b':
	case 'B':
	case 'c':
	case 'C':
		if (!next_number(&line, MAJOR_MAX, &n[0]) ||
		    !next_number(&line, MINOR_MAX, &n[1]))
			return "expected two numbers for a device";
		d->attr.rdev = squashfs_device((uint32_t)n[0],
		    (uint32_t)n[1]);
		break;
	case 'i':
	case 'I':
		word = next_word(&line);
		if (word == NULL || (strcmp(word, "f") != 0 &&
		    strcmp(word, "s") != 0))
			return "expected f or s after i";
		if (*word == 's')
			d->attr.mode ^= S_IFIFO ^ S_IFSOCK;
		break;
	case 'R':
		if (!has_data)
			return "R is possible only in a file with data";
		if (!next_number(&line, INT64_MAX, &n[0]) ||
		    !next_number(&line, INT64_MAX - n[0], &n[1]) ||
		    !next_number(&line, 1, &n[2]))
			return "expected a length, an offset and 0 or 1";
		d->size = (uint64_t)n[0];
		d->at = (uint64_t)n[1];
		d->sparse = n[2] != 0;
		break;
	case 'f':
	case 'F':
	case 's':
	case 'S':
		/* to the end of the line */
		d->rest = line;
		if (*line == '\0')
			return strchr("sS", d->type) != NULL ?
			    "expected a target for the link" :
			    "expected a command";
		if (strchr("sS", d->type) != NULL && strlen(line) > TARGET_MAX)
			return "the target of the link is too long";
		d->attr.size = strlen(line);
		return NULL;
	default:
		break;
	}
	return line[strspn(line, " \t")] == '\0' ? NULL : "too many words";
}

/* Adds a definition of a file with data, or of none (SIZE_MAX). */
static int
add_definition(struct imgsrc_pseudo *p, const char *text, size_t file,
    char why[IMGSRC_WHY])
{
	struct definition d = { .file = file, .order = p->count,
		.attr.xattr = SQUASHFS_NONE };
	void *items = p->items;
	char *line, *word;
	const char *bad;
	int rc = array_grow(&items, p->count, &p->cap, sizeof(*p->items));

	p->items = items;
	if (rc != 0)
		return rc;
	d.text = strcopy(text);
	d.path = strcopy(text);	/* the words of the definition are in it */
	if (d.text == NULL || d.path == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	line = d.path;
	word = next_word(&line);
	if (word == NULL) {
		rc = wrong(why, text, "expected a name");
		goto out;
	}
	memmove(d.path, word, strlen(word) + 1);
	word = next_word(&line);
	if (word == NULL || *word == '\0' || word[1] != '\0' ||
	    strchr("dmbcfsixhlLDMBCFSIR", *word) == NULL) {
		rc = wrong(why, text, "expected one of d, m, b, c, f, s, i, x, "
		    "h, l, L or, with a time, D, M, B, C, F, S, I, R");
		goto out;
	}
	d.type = *word;
	bad = parse_rest(&d, line, file != SIZE_MAX);
	/* names above are normal, but for slashes at the start */
	if (bad == NULL && path_clean(d.path) != 0)
		bad = "the name contains '..'";
	if (bad == NULL && *d.path == '\0' && strchr("dDmMx", d.type) == NULL)
		bad = "the root is a directory";
	rc = bad == NULL ? 0 : wrong(why, text, bad);
out:
	if (rc == 0) {
		p->items[p->count++] = d;
	} else {
		sys_free(d.text);
		sys_free(d.path);
	}
	return rc;
}

int
imgsrc_pseudo_open(struct imgsrc_pseudo **p)
{
	*p = sys_calloc(1, sizeof(**p));
	if (*p == NULL)
		return -ENOMEM;
	(*p)->spool = -1;
	return 0;
}

void
imgsrc_pseudo_close(struct imgsrc_pseudo *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->count; i++) {
		sys_free(p->items[i].text);
		sys_free(p->items[i].path);
	}
	for (size_t i = 0; i < p->file_count; i++)
		if (p->files[i].fd >= 0)
			sys_close(p->files[i].fd);
	if (p->spool >= 0)
		sys_close(p->spool);
	sys_free(p->parent.text);
	sys_free(p->parent.path);
	sys_free(p->items);
	sys_free(p->files);
	sys_free(p);
}

int
imgsrc_pseudo_add(struct imgsrc_pseudo *p, const char *definition,
    char why[IMGSRC_WHY])
{
	return add_definition(p, definition, SIZE_MAX, why);
}

int
imgsrc_pseudo_set_parent(struct imgsrc_pseudo *p, const char *definition,
    char why[IMGSRC_WHY])
{
	struct strbuf text = { .len = 0 };
	int rc;

	if (strchr("dD", definition[strspn(definition, " \t")]) == NULL)
		return wrong(why, definition, "expected d or, with a time, D");
	strbuf_add(&text, "/ ", 2);
	strbuf_add(&text, definition, strlen(definition) + 1);
	rc = text.failed ? -ENOMEM : add_definition(p, text.data, SIZE_MAX,
	    why);
	strbuf_free(&text);
	if (rc != 0)
		return rc;
	sys_free(p->parent.text);
	sys_free(p->parent.path);
	p->parent = p->items[--p->count];
	return 0;
}

bool
imgsrc_pseudo_has_root(const struct imgsrc_pseudo *p)
{
	if (p->parent.text != NULL)
		return true;
	for (size_t i = 0; i < p->count; i++)
		if (*p->items[i].path == '\0' &&
		    strchr("dD", p->items[i].type) != NULL)
			return true;
	return false;
}

/* Returns a descriptor of an unlinked file in $TMPDIR, or -errno. */
static int
open_spool(void)
{
	const char *dir = getenv("TMPDIR");

	return sys_openat(AT_FDCWD, dir == NULL || *dir == '\0' ? "/tmp" : dir,
	    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* Keeps the rest of a stream, which is the data of the last file. */
static int
keep_rest(FILE *f, struct data_file *file)
{
	char *piece = sys_malloc(COPY_B);
	size_t n;
	int rc = piece == NULL ? -ENOMEM : 0;

	if (rc == 0)
		file->fd = rc = open_spool();
	while (rc >= 0 && (n = fread(piece, 1, COPY_B, f)) > 0)
		rc = fdio_write(file->fd, piece, n);
	if (rc >= 0 && ferror(f))
		rc = -EIO;
	sys_free(piece);
	return rc < 0 ? rc : 0;
}

/*
 * Reads a line without its end.  A line that ends in one backslash goes on in
 * the next.  Returns 1, 0 at the end of the file, or -errno.
 */
static int
next_line(FILE *f, struct strbuf *line)
{
	char *text = NULL;
	size_t cap = 0;
	bool any = false;
	ssize_t n;
	int rc;

	strbuf_clear(line);
	while ((n = getline(&text, &cap, f)) > 0) {
		any = true;
		n -= text[n - 1] == '\n';
		strbuf_add(line, text, (size_t)n);
		if (line->failed || n == 0 || text[n - 1] != '\\' ||
		    (n > 1 && text[n - 2] == '\\'))
			break;
		line->len--;
	}
	rc = n < 0 && !feof(f) ? -errno : any;
	strbuf_char(line, '\0');
	free(text);
	return line->failed ? -ENOMEM : rc;
}

int
imgsrc_pseudo_add_file(struct imgsrc_pseudo *p, const char *path,
    char why[IMGSRC_WHY])
{
	bool is_stdin = strcmp(path, "-") == 0, has_data = false;
	struct strbuf line = { .len = 0 };
	size_t number = p->file_count;
	void *files = p->files;
	FILE *f;
	int rc;

	rc = array_grow(&files, p->file_count, &p->file_cap,
	    sizeof(*p->files));
	p->files = files;
	if (rc != 0)
		return rc;
	f = is_stdin ? stdin : fopen(path, "re");
	if (f == NULL) {
		rc = -errno;
		goto out;
	}
	p->files[p->file_count++] = (struct data_file){ .fd = -1 };
	while ((rc = next_line(f, &line)) > 0) {
		const char *text = line.data + strspn(line.data, " \t");

		if (strcmp(text, MARKER) == 0) {
			/* one more line, "#", precedes the data */
			has_data = getc(f) == '#' && getc(f) == '\n';
			if (!has_data) {
				rc = wrong(why, text, "expected # and the data "
				    "in the next line");
				goto out;
			}
			rc = keep_rest(f, &p->files[number]);
			break;
		}
		if (*text == '\0' || *text == '#')
			continue;
		rc = add_definition(p, text, number, why);
		if (rc != 0)
			goto out;
	}
	for (size_t i = 0; rc == 0 && i < p->count; i++)
		if (p->items[i].type == 'R' && p->items[i].file == number &&
		    !has_data)
			rc = wrong(why, p->items[i].text,
			    "there is no data in this file");
out:
	if (rc != 0 && *why == '\0')
		snprintf(why, IMGSRC_WHY, "%s: %s", path, strerror(-rc));
	strbuf_free(&line);
	if (f != NULL && !is_stdin)
		fclose(f);
	return rc;
}

ssize_t
imgsrc_xattr_parse(const char *text, uint8_t **value, size_t *value_len)
{
	const char *from = strchr(text, '=');
	size_t len;
	ssize_t n = -EINVAL;
	uint8_t *to;

	if (from == NULL || from == text || from[1] == '\0')
		return -EINVAL;
	len = strlen(++from);
	to = sys_malloc(len + 1);
	if (to == NULL)
		return -ENOMEM;
	if (strncasecmp(from, "0x", 2) == 0) {
		if (len % 2 == 0 && hex_read(to, len / 2 - 1, from + 2) == 0)
			n = (ssize_t)len / 2 - 1;
	} else if (strncasecmp(from, "0s", 2) == 0) {
		n = base64_read(to, from + 2, len - 2);
	} else {
		bool escapes = strncasecmp(from, "0t", 2) == 0;

		from += escapes ? 2 : 0;
		for (n = 0; *from != '\0'; n++) {
			unsigned octal;

			if (!escapes || *from != '\\') {
				to[n] = (uint8_t)*from++;
				continue;
			}
			if (sscanf(from, "\\%3o", &octal) != 1 ||
			    strspn(from + 1, "01234567") < 3 || octal > 255) {
				n = -EINVAL;
				break;
			}
			to[n] = (uint8_t)octal;
			from += 4;
		}
	}
	if (n <= 0) {
		sys_free(to);
		return n == 0 ? -EINVAL : n;
	}
	*value = to;
	*value_len = (size_t)n;
	return strchr(text, '=') - text;
}

/* Applying */

static int
refuse(struct imgsrc_image *to, const struct definition *d, const char *why)
{
	return imgsrc_fail(to, -EINVAL, "pseudo definition '%s': %s", d->text,
	    why);
}

/* Orders definitions by path, parents first; attributes follow. */
static int
by_path(const void *a, const void *b)
{
	const struct definition *x = a, *y = b;
	int d = strcmp(x->path, y->path);

	if ((x->type == 'x') != (y->type == 'x'))
		return x->type == 'x' ? 1 : -1;
	/* links to other names come after these */
	if ((x->type == 'L') != (y->type == 'L'))
		return x->type == 'L' ? 1 : -1;
	if (d != 0)
		return d;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int
add_content(struct imgsrc_image *to, const struct imgsrc_content *c)
{
	void *items = to->contents;
	int rc = array_grow(&items, to->content_count, &to->content_cap,
	    sizeof(*to->contents));

	to->contents = items;
	if (rc == 0)
		to->contents[to->content_count++] = *c;
	return rc;
}

/*
 * Runs a command, whose output becomes the content.  Returns 0, or -errno after
 * reporting the error.
 */
static int
run_command(struct imgsrc_image *to, struct imgsrc_pseudo *p,
    const struct definition *d, struct imgsrc_content *c)
{
	char shell[] = "sh", option[] = "-c", *argv[] = { shell, option,
		d->rest, NULL };
	posix_spawn_file_actions_t actions;
	int64_t from, until;
	int status, rc;
	pid_t pid;

	if (p->spool < 0)
		p->spool = open_spool();
	if (p->spool < 0)
		return refuse(to, d, strerror(-p->spool));
	from = sys_lseek(p->spool, 0, SEEK_END);
	rc = posix_spawn_file_actions_init(&actions);
	if (rc == 0) {
		rc = posix_spawn_file_actions_adddup2(&actions, p->spool,
		    STDOUT_FILENO);
		if (rc == 0)
			rc = posix_spawn(&pid, "/bin/sh", &actions, NULL, argv,
			    environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	if (rc != 0)
		return refuse(to, d, strerror(rc));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return refuse(to, d, strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return refuse(to, d, "the command failed");
	until = sys_lseek(p->spool, 0, SEEK_END);
	if (from < 0 || until < from)
		return refuse(to, d, strerror(EIO));
	c->fd = p->spool;
	c->at = (uint64_t)from;
	c->size = (uint64_t)(until - from);
	return 0;
}

/* Fills in a link to a file that need not be in the source. */
static int
stat_link(struct imgsrc_image *to, struct definition *d,
    struct imgsrc_content *c, char target[PATH_MAX + 1])
{
	char *real = d->type == 'h' ? realpath(d->rest, NULL) :
	    strdup(d->rest);
	struct sqw_attr *attr = &d->attr;
	struct stat st;
	ssize_t n = 0;
	int rc = real == NULL ? -errno : sys_fstatat(AT_FDCWD, real, &st,
	    AT_SYMLINK_NOFOLLOW);

	if (rc == 0 && S_ISDIR(st.st_mode))
		rc = -EISDIR;
	if (rc == 0 && S_ISLNK(st.st_mode)) {
		n = sys_readlinkat(AT_FDCWD, real, target, PATH_MAX);
		rc = n < 0 ? (int)n : 0;
	}
	if (rc != 0)
		goto out;
	*attr = (struct sqw_attr){ .mode = (uint16_t)st.st_mode,
		.uid = st.st_uid, .gid = st.st_gid, .xattr = SQUASHFS_NONE,
		.rdev = squashfs_device(major(st.st_rdev), minor(st.st_rdev)) };
	d->mtime = st.st_mtime;
	if (S_ISLNK(st.st_mode)) {
		target[n] = '\0';
		attr->target = target;
		attr->size = (uint64_t)n;
	} else if (S_ISREG(st.st_mode)) {
		c->path = strcopy(real);
		c->size = (uint64_t)st.st_size;
		c->dense = (uint64_t)st.st_blocks * 512 >= c->size;
		rc = c->path == NULL ? -ENOMEM : 0;
	}
out:
	free(real);
	return rc != 0 ? imgsrc_fail(to, rc, "pseudo definition '%s': %s: %s",
	    d->text, d->rest, strerror(-rc)) : 0;
}

/* Sets the attributes of an existing name. */
static void
modify(struct imgsrc_image *to, const struct definition *d, uint32_t id)
{
	struct sqw_node *nodes = to->tree.nodes;
	struct sqw_attr *attr, want = d->attr;

	while (nodes[id].owner != id)
		id = nodes[id].owner;
	attr = &nodes[id].attr;
	imgsrc_adjust(to, &want, strchr("MDd", d->type) != NULL ? d->mtime :
	    attr->mtime);
	attr->mode = (uint16_t)((attr->mode & S_IFMT) |
	    (d->attr.mode & MODE_MAX));
	attr->uid = to->o.pseudo_first ? d->attr.uid : want.uid;
	attr->gid = to->o.pseudo_first ? d->attr.gid : want.gid;
	attr->mtime = want.mtime;
}

static int
add_attribute(struct imgsrc_image *to, const struct definition *d, uint32_t id)
{
	struct sqw_node *nodes = to->tree.nodes;
	uint8_t *value;
	size_t len;
	ssize_t n = imgsrc_xattr_parse(d->rest, &value, &len);
	char *name;
	int rc;

	if (n < 0)
		return refuse(to, d, "expected an attribute, name=value");
	if (to->xattrs == NULL) {
		sys_free(value);
		return 0;
	}
	while (nodes[id].owner != id)
		id = nodes[id].owner;
	name = strcopy_part(d->rest, (size_t)n);
	rc = name == NULL ? -ENOMEM : sqt_xattrs_amend(to->xattrs,
	    &nodes[id].attr.xattr, name, value, len);
	sys_free(name);
	sys_free(value);
	return rc == 0 ? 0 : refuse(to, d, rc == -ENOTSUP ?
	    "expected a name that begins with user., trusted. or security." :
	    strerror(-rc));
}

/* Makes a name one more of another pseudo file. */
static int
link_to(struct imgsrc_image *to, const struct definition *d)
{
	struct sqw_node *nodes = to->tree.nodes;
	uint32_t first, id;
	struct sqw_attr attr;
	int rc;

	first = path_clean(d->rest) != 0 ? SQW_NOWHERE :
	    sqw_tree_find(&to->tree, d->rest);
	if (first == SQW_NOWHERE || S_ISDIR(nodes[first].attr.mode))
		return refuse(to, d, "expected the name of a pseudo file");
	while (nodes[first].owner != first)
		first = nodes[first].owner;
	attr = nodes[first].attr;
	rc = sqw_tree_add(&to->tree, d->path, &attr, &id);
	if (rc == 0 && !to->o.no_links) {
		sqw_tree_link(&to->tree, id, first);
	} else if (rc == 0 && imgsrc_content_of(to, first) != NULL) {
		struct imgsrc_content c = *imgsrc_content_of(to, first);

		c.id = id;
		if (c.path != NULL) {
			c.path = strcopy(c.path);
			rc = c.path == NULL ? -ENOMEM : 0;
		}
		if (rc == 0)
			rc = add_content(to, &c);
		if (rc != 0)
			sys_free(c.path);
	}
	return rc == 0 ? 0 : refuse(to, d, strerror(-rc));
}

/* Returns the attributes of a new name. */
static struct sqw_attr
wanted(struct imgsrc_image *to, const struct definition *d)
{
	struct sqw_attr want = d->attr;

	imgsrc_adjust(to, &want, d->mtime);
	if (to->o.pseudo_untimed && strchr("dbcfsi", d->type) != NULL)
		want.mtime = UINT32_MAX;
	if (to->o.pseudo_first) {
		want.uid = d->attr.uid;
		want.gid = d->attr.gid;
	}
	return want;
}

/*
 * Checks that the directories of a name exist, or creates them, if they have a
 * definition.
 */
static int
need_parents(struct imgsrc_image *to, const struct imgsrc_pseudo *p,
    const struct definition *d)
{
	int rc = 0;

	for (char *slash = strchr(d->path, '/'); rc == 0 && slash != NULL;
	    slash = strchr(slash + 1, '/')) {
		struct sqw_attr want;
		uint32_t id;

		*slash = '\0';
		id = sqw_tree_find(&to->tree, d->path);
		if (id == SQW_NOWHERE && p->parent.text != NULL) {
			want = wanted(to, &p->parent);
			rc = sqw_tree_add(&to->tree, d->path, &want, &id);
			if (rc != 0)
				refuse(to, d, strerror(-rc));
		} else if (id == SQW_NOWHERE ||
		    !S_ISDIR(to->tree.nodes[id].attr.mode)) {
			rc = refuse(to, d,
			    "the parent directory is not in the image");
		}
		*slash = '/';
	}
	return rc;
}

static int
apply_definition(struct imgsrc_image *to, struct imgsrc_pseudo *p,
    struct definition *d)
{
	uint32_t id = sqw_tree_find(&to->tree, d->path);
	struct imgsrc_content c = { .fd = -1, .dense = !d->sparse };
	struct sqw_attr want;
	char target[PATH_MAX + 1];
	int rc = 0;

	if (d->type == 'x')
		return id == SQW_NOWHERE ? refuse(to, d, "there is no such "
		    "file") : add_attribute(to, d, id);
	if (strchr("mM", d->type) != NULL && id != SQW_NOWHERE) {
		modify(to, d, id);
		return 0;
	}
	/* the definition of the root matters only without a source */
	if (*d->path == '\0') {
		if (to->o.no_source)
			modify(to, d, 0);
		return 0;
	}
	if (strchr("mM", d->type) != NULL || id != SQW_NOWHERE) {
		imgsrc_tell(to, IMGSRC_WARNING,
		    "pseudo definition '%s' is ignored: %s is %s", d->text,
		    d->path, id == SQW_NOWHERE ? "missing" : "already there");
		return 0;
	}
	rc = need_parents(to, p, d);
	if (rc != 0)
		return rc;
	switch (d->type) {
	case 'L': return link_to(to, d);
	case 'h':
	case 'l': rc = stat_link(to, d, &c, target); break;
	case 'f':
	case 'F':
		rc = run_command(to, p, d, &c);
		c.dense = false;
		break;
	case 's':
	case 'S': d->attr.target = d->rest; break;
	case 'R':
		c.fd = p->files[d->file].fd;
		c.at = d->at;
		c.size = d->size;
		break;
	default: break;
	}
	if (rc != 0)
		goto out;
	if (S_ISREG(d->attr.mode))
		d->attr.size = c.size;
	want = wanted(to, d);
	rc = sqw_tree_add(&to->tree, d->path, &want, &id);
	if (rc == 0 && S_ISREG(want.mode) && want.size > 0) {
		c.id = id;
		to->total_B += c.size;
		rc = add_content(to, &c);
		if (rc == 0)
			c.path = NULL;
	}
	if (rc != 0)
		refuse(to, d, strerror(-rc));
out:
	sys_free(c.path);
	return rc;
}

int
imgsrc_pseudo_apply(struct imgsrc_image *to, struct imgsrc_pseudo *p)
{
	int rc = 0;

	if (to->o.no_source && p->parent.text != NULL)
		modify(to, &p->parent, 0);
	if (p->count > 0)
		qsort(p->items, p->count, sizeof(*p->items), by_path);
	for (size_t i = 0; rc == 0 && i < p->count; i++)
		rc = apply_definition(to, p, &p->items[i]);
	return rc;
}

const struct imgsrc_content *
imgsrc_content_of(const struct imgsrc_image *to, uint32_t id)
{
	size_t lo = 0, hi = to->content_count;

	/* they were added in the order of their ids */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (to->contents[mid].id == id)
			return &to->contents[mid];
		if (to->contents[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}
