/*
 * lap_file.c - reading commands from the file given with -f
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { FILE_MAX_B = 1 << 20 };

static int
report_failed(struct lap *l, int rc)
{
	msg_error(&l->msg, "%s: %s", l->o.cells, strerror(-rc));
	return LAP_FAILED;
}

/*
 * Converts a line "label TAB command [TAB command ...]" with shell commands to
 * the words of a pipeline.
 */
static int
cell_from_line(struct lap *l, char *line, unsigned number)
{
	static char shell[] = "/bin/sh", flag[] = "-c", pipe[] = "|";
	char *text = strchr(line, '\t');
	int stages = 0, n = 0;
	char **words;

	if (text == NULL || text == line || text[1] == '\0') {
		msg_error(&l->msg, "%s:%u: expected a label, a tab and a "
		    "command", l->o.cells, number);
		return LAP_FAILED;
	}
	for (const char *s = text; s != NULL; s = strchr(s + 1, '\t'))
		stages++;
	words = arena_take(&l->arena, (size_t)(4 * stages) * sizeof(*words));
	if (words == NULL)
		return report_failed(l, -ENOMEM);
	while (text != NULL) {
		*text++ = '\0';
		if (n > 0)
			words[n++] = pipe;
		words[n++] = shell;
		words[n++] = flag;
		words[n++] = text;
		text = strchr(text, '\t');
	}
	return lap_cells_add(l, line, words, n);
}

/*
 * Reads the whole file into the arena, and sets *length to its size in bytes.
 * Returns 0 or -errno.
 */
static int
read_cells_file(struct lap *l, int fd, char **out, size_t *length)
{
	char *text = arena_take(&l->arena, FILE_MAX_B + 1);
	size_t len = 0;
	ssize_t n;

	if (text == NULL)
		return -ENOMEM;
	do {
		n = fdio_read(fd, text + len, FILE_MAX_B + 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len <= FILE_MAX_B);
	if (len > FILE_MAX_B)
		return -EFBIG;
	text[len] = '\0';
	*out = text;
	*length = len;
	return n < 0 ? (int)n : 0;
}

int
lap_cells_from_file(struct lap *l)
{
	const char *path = l->o.cells;
	unsigned number = 0;
	char *text = NULL;
	size_t len = 0;
	int fd = 0, rc;

	if (strcmp(path, "-") != 0)
		fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	rc = fd < 0 ? fd : read_cells_file(l, fd, &text, &len);
	if (fd > 0)
		sys_close(fd);
	if (rc != 0)
		return report_failed(l, rc);
	/* text after a NUL would be silently ignored */
	if (strlen(text) < len) {
		msg_error(&l->msg, "%s: expected text, found a NUL", path);
		return LAP_FAILED;
	}
	for (char *line = text, *next; rc == 0 && *line != '\0'; line = next) {
		size_t n = strcspn(line, "\n");

		/* a line ends with a newline, or CR and newline */
		next = line + n;
		if (*next == '\n')
			*next++ = '\0';
		if (n > 0 && line[n - 1] == '\r')
			line[n - 1] = '\0';
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
