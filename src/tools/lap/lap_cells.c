/*
 * lap_cells.c - the commands: from the call, or from a file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX_B = 1 << 20 };

static const char LABEL[] = "LAP_LABEL=";
static const char DEFAULT_PATH[] = "/usr/local/bin:/usr/bin:/bin";

static int
fail(struct lap *l, const char *what, int rc)
{
	msg_error(&l->msg, "%s: %s", what, strerror(-rc));
	return LAP_FAILED;
}

/*
 * "LAP_LABEL=" and the words joined by blanks: the command is its label for
 * want of another.  NULL: no memory.
 */
static char *
join(char *const *words, int n)
{
	size_t size = sizeof(LABEL);
	char *text, *s;

	for (int i = 0; i < n; i++)
		size += strlen(words[i]) + 1;
	text = sys_malloc(size);
	if (text == NULL)
		return NULL;
	s = stpcpy(text, LABEL);
	for (int i = 0; i < n; i++) {
		if (i > 0)
			*s++ = ' ';
		s = stpcpy(s, words[i]);
	}
	return text;
}

/*
 * A stage's argv and the file that it names.  Looking for the file is done
 * here once, and so a program that is missing is told before anything runs.
 */
static int
add_stage(struct lap *l, struct lap_cell *c, char **argv)
{
	const char *path = getenv("PATH");
	struct proc_stage *st = &c->stages[c->count];
	char *found = NULL;
	int rc;

	if (c->count == PROC_STAGES_MAX) {
		msg_error(&l->msg, "%s: more than %d stages", c->label,
		    PROC_STAGES_MAX);
		return LAP_FAILED;
	}
	rc = proc_find(argv[0], path != NULL ? path : DEFAULT_PATH, &found);
	if (rc != 0) {
		msg_error(&l->msg, "%s: %s%s", argv[0], rc == -ENOENT ?
		    "command not found" : strerror(-rc), strpbrk(argv[0],
		    " |&;<>") != NULL ? "; for a shell's line: sh -c LINE" : "");
		return rc == -ENOENT ? LAP_NOT_FOUND : LAP_CANNOT_RUN;
	}
	st->path = found;
	st->argv = argv;
	c->count++;
	return 0;
}

/* A new command with room for stages.  NULL: no memory. */
static struct lap_cell *
add_cell(struct lap *l, char *const *words, int n, int stages)
{
	char *label = join(words, n);
	struct lap_cell *c;

	/* doubled whenever the count is a power of two */
	if ((l->cell_count & (l->cell_count - 1)) == 0) {
		size_t room = l->cell_count == 0 ? 1 : 2 * l->cell_count;

		c = sys_realloc(l->cells, room * sizeof(*c));
		if (c == NULL) {
			sys_free(label);
			return NULL;
		}
		l->cells = c;
	}
	c = &l->cells[l->cell_count];
	*c = (struct lap_cell){ .label_env = label };
	l->cell_count++;
	c->stages = sys_calloc((size_t)stages, sizeof(*c->stages));
	if (label == NULL || c->stages == NULL)
		return NULL;
	c->label = label + sizeof(LABEL) - 1;
	return c;
}

/* A command of n words, its stages separated by "|", which becomes NULL. */
static int
cell_from_words(struct lap *l, char **words, int n)
{
	int stages = 1, first = 0, rc = 0;
	struct lap_cell *c;

	for (int i = 0; i < n; i++)
		stages += strcmp(words[i], "|") == 0;
	if (l->o.label_count > 0 && (int)l->cell_count == l->o.label_count) {
		msg_error(&l->msg, "there are more commands than -l");
		return LAP_FAILED;
	}
	if (l->o.label_count > 0)
		c = add_cell(l, &l->o.labels[l->cell_count], 1, stages);
	else
		c = add_cell(l, words, n, stages);
	if (c == NULL)
		return fail(l, words[0], -ENOMEM);
	for (int i = 0; i <= n && rc == 0; i++) {
		if (i < n && strcmp(words[i], "|") != 0)
			continue;
		if (i == first) {
			msg_error(&l->msg, "%s: an empty stage", c->label);
			return LAP_FAILED;
		}
		words[i] = NULL;
		rc = add_stage(l, c, words + first);
		first = i + 1;
	}
	return rc;
}

/*
 * The last word is followed by the NULL of argv, or by a separator, so there
 * is a place for the NULL after each stage.
 */
static int
cells_from_words(struct lap *l)
{
	struct lap_options *o = &l->o;
	int first = 0, rc = 0;

	for (int i = 0; i <= o->argc && rc == 0; i++) {
		if (i < o->argc && strcmp(o->argv[i], o->sep) != 0)
			continue;
		if (i == first) {
			msg_error(&l->msg, "an empty command");
			return LAP_FAILED;
		}
		rc = cell_from_words(l, o->argv + first, i - first);
		first = i + 1;
	}
	if (rc == 0 && o->label_count > (int)l->cell_count) {
		msg_error(&l->msg, "there are more -l than commands");
		rc = LAP_FAILED;
	}
	return rc;
}

/* A line "label TAB command [TAB command ...]", each command for the shell. */
static int
cell_from_line(struct lap *l, char *line, unsigned number)
{
	static char shell[] = "/bin/sh", name[] = "sh", flag[] = "-c";
	char *text = strchr(line, '\t');
	struct lap_cell *c;
	int stages = 0, rc = 0;

	if (text == NULL || text == line || text[1] == '\0') {
		msg_error(&l->msg, "%s:%u: not a label, a tab and a command",
		    l->o.cells, number);
		return LAP_FAILED;
	}
	for (const char *s = text; s != NULL; s = strchr(s + 1, '\t'))
		stages++;
	*text++ = '\0';
	c = add_cell(l, &line, 1, stages);
	if (c == NULL)
		return fail(l, line, -ENOMEM);
	for (char *next; rc == 0 && text != NULL; text = next) {
		char **argv = sys_calloc(4, sizeof(*argv));

		if (argv == NULL)
			return fail(l, line, -ENOMEM);
		next = strchr(text, '\t');
		if (next != NULL)
			*next++ = '\0';
		argv[0] = shell;
		argv[1] = flag;
		argv[2] = text;
		rc = add_stage(l, c, argv);
		argv[0] = name;
		if (rc != 0)
			sys_free(argv);
	}
	return rc;
}

/* Reads the whole of -f into l->cells_text, of *length.  0 or -errno. */
static int
read_file(struct lap *l, int fd, size_t *length)
{
	size_t size = 4096, len = 0;
	char *text = NULL, *more;
	ssize_t n;

	do {
		size *= 2;
		more = size > FILE_MAX_B ? NULL : sys_realloc(text, size);
		if (more == NULL) {
			sys_free(text);
			return size > FILE_MAX_B ? -EFBIG : -ENOMEM;
		}
		text = more;
		n = fdio_read(fd, text + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (len == size - 1);
	text[len] = '\0';
	l->cells_text = text;
	*length = len;
	return n < 0 ? (int)n : 0;
}

static int
cells_from_file(struct lap *l)
{
	const char *path = l->o.cells;
	unsigned number = 0;
	size_t len = 0;
	int fd = 0, rc;

	if (strcmp(path, "-") != 0)
		fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	rc = fd < 0 ? fd : read_file(l, fd, &len);
	if (fd > 0)
		sys_close(fd);
	if (rc != 0)
		return fail(l, path, rc);
	/* what is behind it would be left out without a word */
	if (strlen(l->cells_text) < len) {
		msg_error(&l->msg, "%s: not a text: it has a NUL", path);
		return LAP_FAILED;
	}
	for (char *line = l->cells_text, *next; rc == 0 && *line != '\0';
	    line = next) {
		next = line + strcspn(line, "\n");
		if (*next == '\n')
			*next++ = '\0';
		number++;
		if (*line != '\0' && *line != '#')
			rc = cell_from_line(l, line, number);
	}
	if (rc == 0 && l->cell_count == 0) {
		msg_error(&l->msg, "%s: no commands", path);
		rc = LAP_FAILED;
	}
	return rc;
}

int
lap_cells_read(struct lap *l)
{
	int rc = l->o.cells != NULL ? cells_from_file(l) : cells_from_words(l);

	for (uint32_t i = 0; rc == 0 && i < l->cell_count; i++)
		for (uint32_t k = 0; rc == 0 && k < i; k++)
			if (strcmp(l->cells[i].label, l->cells[k].label) == 0) {
				msg_error(&l->msg, "two commands have the label"
				    " '%s': give -l", l->cells[i].label);
				rc = LAP_FAILED;
			}
	if (rc != 0)
		return rc;
	l->order = sys_calloc(l->cell_count, sizeof(*l->order));
	return l->order == NULL ? fail(l, "lap", -ENOMEM) : 0;
}

void
lap_cells_free(struct lap *l)
{
	for (uint32_t i = 0; i < l->cell_count; i++) {
		struct lap_cell *c = &l->cells[i];

		for (int k = 0; k < c->count; k++) {
			sys_free(c->stages[k].path);
			if (l->o.cells != NULL)
				sys_free(c->stages[k].argv);
		}
		sys_free(c->stages);
		sys_free(c->label_env);
		sys_free(c->done);
	}
	sys_free(l->cells);
	sys_free(l->order);
	sys_free(l->cells_text);
	sys_free(l->o.labels);
	sys_free(l->o.keys);
}
