/*
 * lap_cells.c - reading the commands, and splitting them into stages
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX_B = 1 << 20 };

static const char LABEL[] = "LAP_LABEL=";
static const char SHELL[] = "\n|&;<>()$`\\\"'*?[]#~=%{}!";
static const char DEFAULT_PATH[] = "/usr/local/bin:/usr/bin:/bin";

static int
no_memory(struct lap *l)
{
	msg_error(&l->msg, "commands: %s", strerror(ENOMEM));
	return LAP_FAILED;
}

/*
 * Returns the words joined by blanks, in the arena, or NULL if out of memory.
 */
static char *
join_words(struct lap *l, char *const *words, int n)
{
	size_t size = 1;
	char *text, *s;

	for (int i = 0; i < n; i++)
		size += strlen(words[i]) + 1;
	text = s = arena_take(&l->arena, size);
	for (int i = 0; i < n && text != NULL; i++) {
		if (i > 0)
			*s++ = ' ';
		s = stpcpy(s, words[i]);
	}
	return text;
}

/*
 * Splits a command line given as one word, such as 'sleep 1' or 'gzip f | cat'.
 */
static char **
words_of_line(struct lap *l, char *line)
{
	static char shell[] = "/bin/sh", flag[] = "-c";
	bool plain = strpbrk(line, SHELL) == NULL;
	size_t room = plain ? strlen(line) / 2 + 2 : 4, n = 0;
	char **words = arena_take(&l->arena, room * sizeof(*words));

	if (words == NULL)
		return NULL;
	if (!plain) {
		words[n++] = shell;
		words[n++] = flag;
		words[n++] = line;
	}
	while (plain) {
		line += strspn(line, " \t");
		if (*line == '\0')
			break;
		words[n++] = line;
		line += strcspn(line, " \t");
		if (*line != '\0')
			*line++ = '\0';
	}
	words[n] = NULL;
	return words;
}

/*
 * Splits n words, followed by a NULL, into stages at each "|", which becomes
 * NULL.  The executables are looked up only here, so that a missing program is
 * reported before any run.
 */
static int
add_stages(struct lap *l, struct lap_cell *c, char **words, int n)
{
	const char *path = getenv("PATH");
	int first = 0, rc;

	path = path != NULL ? path : DEFAULT_PATH;
	for (int i = 0; i <= n; i++) {
		char **argv = words + first, *found = NULL;

		if (i < n && strcmp(words[i], "|") != 0)
			continue;
		if (i == first) {
			msg_error(&l->msg, "%s: expected a command in each "
			    "stage", c->label);
			return LAP_FAILED;
		}
		words[i] = NULL;
		first = i + 1;
		if (c->count == PROC_STAGES_MAX) {
			msg_error(&l->msg, "%s: more than %d stages", c->label,
			    PROC_STAGES_MAX);
			return LAP_FAILED;
		}
		rc = proc_find(argv[0], path, &found);
		/* a word with blanks or shell characters, but no program */
		if (argv[1] == NULL &&
		    strpbrk(argv[0], " \t\n|&;<>()$`\"'") != NULL &&
		    (rc == -ENOENT || access(argv[0], F_OK) != 0)) {
			sys_free(found);
			argv = words_of_line(l, argv[0]);
			if (argv == NULL || argv[0] == NULL)
				return no_memory(l);
			rc = proc_find(argv[0], path, &found);
		}
		if (rc != 0) {
			msg_error(&l->msg, "%s: %s", argv[0], rc == -ENOENT ?
			    "command not found" : strerror(-rc));
			return rc == -ENOENT ? LAP_NOT_FOUND : LAP_CANNOT_RUN;
		}
		c->stages[c->count].path = found;
		c->stages[c->count++].argv = argv;
	}
	return 0;
}

/* Adds one variant of a command. */
static int
add_variant(struct lap *l, uint64_t variant, const char *label, char **words,
    int n)
{
	char **filled = arena_take(&l->arena,
	    (size_t)(n + 1) * sizeof(*filled));
	char *name = lap_fill(l, variant, label), *env;
	char *keys = lap_variant_keys(l, variant);
	struct lap_cell *c;
	int stages = 1;

	if (filled == NULL || name == NULL || keys == NULL)
		return no_memory(l);
	for (int i = 0; i < n; i++) {
		stages += strcmp(words[i], "|") == 0;
		filled[i] = lap_fill(l, variant, words[i]);
		if (filled[i] == NULL)
			return no_memory(l);
	}
	if (array_grow((void **)&l->cells, l->cell_count, &l->cell_room,
	    sizeof(*l->cells)) != 0)
		return no_memory(l);
	c = &l->cells[l->cell_count];
	*c = (struct lap_cell){ .keys = keys, .variant = variant,
	    .command = l->command_count };
	c->stages = arena_take(&l->arena,
	    (size_t)stages * sizeof(*c->stages));
	env = arena_take(&l->arena, sizeof(LABEL) + strlen(name));
	if (c->stages == NULL || env == NULL)
		return no_memory(l);
	memset(c->stages, 0, (size_t)stages * sizeof(*c->stages));
	strcpy(stpcpy(env, LABEL), name);
	c->label_env = env;
	c->label = env + sizeof(LABEL) - 1;
	l->cell_count++;
	c->text = join_words(l, filled, n);
	return c->text == NULL ? no_memory(l) : add_stages(l, c, filled, n);
}

/*
 * Adds all variants of one command, given as n words with room for a NULL after
 * them.  Returns 0 or an exit status.
 */
static int
add_command(struct lap *l, const char *label, char **words, int n)
{
	uint64_t variants = lap_variants(l);
	int rc = 0;

	if (variants * (l->command_count + 1) > LAP_CELLS_MAX) {
		msg_error(&l->msg, "more than %d commands after expanding "
		    "parameters", LAP_CELLS_MAX);
		return LAP_FAILED;
	}
	for (uint64_t v = 0; v < variants && rc == 0; v++)
		rc = add_variant(l, v, label, words, n);
	l->command_count++;
	return rc;
}

static int
file_failed(struct lap *l, int rc)
{
	msg_error(&l->msg, "%s: %s", l->o.cells, strerror(-rc));
	return LAP_FAILED;
}

/*
 * Reads the commands of -f: lines "label TAB command [TAB command ...]" with
 * shell commands.  Returns 0 or an exit status.
 */
static int
cells_from_file(struct lap *l)
{
	static char shell[] = "/bin/sh", flag[] = "-c", pipe[] = "|";
	const char *path = l->o.cells;
	bool std = strcmp(path, "-") == 0;
	int fd = std ? STDIN_FILENO :
	    sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	char *text = arena_take(&l->arena, FILE_MAX_B + 1);
	unsigned number = 0;
	ssize_t n = fd < 0 ? fd : text == NULL ? -ENOMEM : 1;
	size_t len = 0;
	int rc = 0;

	while (n > 0 && len <= FILE_MAX_B) {
		n = fdio_read(fd, text + len, FILE_MAX_B + 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0 && !std)
		sys_close(fd);
	if (n < 0 || len > FILE_MAX_B)
		return file_failed(l, n < 0 ? (int)n : -EFBIG);
	text[len] = '\0';
	/* text after a NUL would be silently ignored */
	if (strlen(text) < len) {
		msg_error(&l->msg, "%s: expected text, found a NUL", path);
		return LAP_FAILED;
	}
	for (char *line = text, *next; rc == 0 && *line != '\0'; line = next) {
		int stages = 0, count = 0;
		char **words;

		/* a line ends with a newline, or CR and newline */
		next = line + strcspn(line, "\n");
		if (next > line && next[-1] == '\r')
			next[-1] = '\0';
		if (*next == '\n')
			*next++ = '\0';
		number++;
		if (*line == '\0' || *line == '#')
			continue;
		text = strchr(line, '\t');
		if (text == NULL || text == line || text[1] == '\0') {
			msg_error(&l->msg, "%s:%u: expected a label, a tab and "
			    "a command", path, number);
			return LAP_FAILED;
		}
		for (const char *s = text; s != NULL; s = strchr(s + 1, '\t'))
			stages++;
		words = arena_take(&l->arena,
		    (size_t)(4 * stages) * sizeof(*words));
		if (words == NULL)
			return file_failed(l, -ENOMEM);
		/* the words of a pipeline */
		while (text != NULL) {
			*text++ = '\0';
			if (count > 0)
				words[count++] = pipe;
			words[count++] = shell;
			words[count++] = flag;
			words[count++] = text;
			text = strchr(text, '\t');
		}
		rc = add_command(l, line, words, count);
	}
	if (rc == 0 && l->cell_count == 0) {
		msg_error(&l->msg, "%s: no commands", path);
		rc = LAP_FAILED;
	}
	return rc;
}

static int
cells_from_words(struct lap *l)
{
	const struct lap_options *o = &l->o;
	int first = 0, rc = 0;

	for (int i = 0; i <= o->argc && rc == 0; i++) {
		const char *label;

		if (i < o->argc && strcmp(o->argv[i], o->sep) != 0)
			continue;
		if (i == first) {
			msg_error(&l->msg, "expected a command, found none");
			return LAP_FAILED;
		}
		if (o->labels.count > 0 &&
		    (size_t)l->command_count == o->labels.count) {
			msg_error(&l->msg, "there are more commands than -l "
			    "options");
			return LAP_FAILED;
		}
		/* a label defaults to the words */
		label = o->labels.count > 0 ? o->labels.items[l->command_count] :
		    join_words(l, o->argv + first, i - first);
		if (label == NULL)
			return no_memory(l);
		rc = add_command(l, label, o->argv + first, i - first);
		first = i + 1;
	}
	if (rc == 0 && o->labels.count > (size_t)l->command_count) {
		msg_error(&l->msg, "there are more -l options than commands");
		rc = LAP_FAILED;
	}
	return rc;
}

int
lap_cells_read(struct lap *l)
{
	const struct lap_options *o = &l->o;
	int rc = o->cells != NULL ? cells_from_file(l) :
	    cells_from_words(l);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < l->cell_count; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(l->cells[i].label, l->cells[k].label) == 0 &&
			    strcmp(l->cells[i].keys, l->cells[k].keys) == 0) {
				msg_error(&l->msg, "two commands have the "
				    "label '%s'; use -l to rename one",
				    l->cells[i].label);
				return LAP_FAILED;
			}
	/* -p: one for all commands, or one for each */
	if (o->prepares.count > 1 &&
	    o->prepares.count != (size_t)l->command_count) {
		msg_error(&l->msg, "expected one -p, or one for each of "
		    "%d commands; found %zu", l->command_count,
		    o->prepares.count);
		return LAP_FAILED;
	}
	for (size_t i = 0; i < l->cell_count; i++) {
		struct lap_cell *c = &l->cells[i];

		c->cold = o->cold;
		if (o->prepares.count == 0)
			continue;
		c->prepare = lap_fill(l, c->variant, o->prepares.items[
		    o->prepares.count > 1 ? c->command : 0]);
		if (c->prepare == NULL)
			return no_memory(l);
	}
	/* --cold=LABEL, for the commands with this label */
	for (size_t k = 0; k < o->colds.count; k++) {
		bool any = false;

		for (size_t i = 0; i < l->cell_count; i++)
			if (strcmp(l->cells[i].label, o->colds.items[k]) == 0)
				any = l->cells[i].cold = true;
		if (!any) {
			msg_error(&l->msg, "--cold=%s: no command has this "
			    "label", o->colds.items[k]);
			return LAP_FAILED;
		}
	}
	l->order = arena_take(&l->arena, l->cell_count * sizeof(*l->order));
	return l->order == NULL ? no_memory(l) : 0;
}

void
lap_cells_free(struct lap *l)
{
	for (size_t i = 0; i < l->cell_count; i++) {
		struct lap_cell *c = &l->cells[i];

		for (int k = 0; k < c->count; k++)
			sys_free(c->stages[k].path);
		sys_free(c->done);
	}
	sys_free(l->cells);
	lap_params_free(l);
	arena_free(&l->arena);
	sys_free(l->o.labels.items);
	sys_free(l->o.prepares.items);
	sys_free(l->o.colds.items);
	sys_free(l->o.keys);
}
