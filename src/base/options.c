/*
 * options.c - a tool's command line, from one table of its options
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/options.h"

#include "base/args.h"
#include "base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_B = 32, TYPOS_MAX = 2 };

/* The value of an option without a letter is this plus the index of its row. */
enum { NO_LETTER = 256 };

/* The layout of --help: text begins after the widest heading, within limits. */
enum { WIDTH = 80, INDENT = 2, HEADING_MAX = 21, HEADING_B = 128 };

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Returns how many letters must be inserted, deleted, replaced or transposed to
 * turn a into b; more than TYPOS_MAX if a name is too long to compare.
 */
static size_t
typos(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t d[NAME_MAX_B + 1][NAME_MAX_B + 1];

	if (a_len > NAME_MAX_B || b_len > NAME_MAX_B)
		return TYPOS_MAX + 1;
	for (size_t i = 0; i <= a_len; i++)
		for (size_t j = 0; j <= b_len; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
			    d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[a_len][b_len];
}

/*
 * Says what may have been meant by an invalid option: the closest long name, if
 * any is close.
 */
static void
suggest_option(const struct options *o, int argc, char **argv)
{
	/* optopt is the value of a known option, or an unknown letter */
	const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
	bool unknown = optopt == 0 && strncmp(word, "--", 2) == 0;
	size_t len = unknown ? strcspn(word + 2, "=") : 0;
	size_t fewest = TYPOS_MAX + 1;
	const char *name = NULL;

	for (const struct option *l = o->longs; unknown && l->name != NULL;
	    l++) {
		size_t n = typos(word + 2, len, l->name, strlen(l->name));

		/*
		 * a short name with half of its letters changed is not a typo
		 */
		if (n < fewest && 2 * n < len) {
			fewest = n;
			name = l->name;
		}
	}
	if (name != NULL)
		fprintf(stderr, "Did you mean '--%s'?  ", name);
	fprintf(stderr, "Try '%s --help'.\n", o->msg->prog);
}

/* Returns whether the program has this row, which may be a note. */
static bool
is_known(const struct options *o, const struct options_row *r)
{
	return r->mask == 0 || o->mask == 0 || (r->mask & o->mask) != 0;
}

static bool
is_optional(const char *value)
{
	return value != NULL && *value == '[';
}

static int
by_long_name(const void *a, const void *b)
{
	const struct option *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Makes the tables for getopt_long(3); it lists names in alphabetical order. */
static void
make_tables(struct options *o)
{
	char *s = stpcpy(o->letters, o->scan == NULL ? "" : o->scan);
	size_t n = 0;

	for (size_t i = 0; i < o->count; i++) {
		const struct options_row *r = &o->rows[i];
		const char *const names[] = { r->name, r->also };
		int has = required_argument;

		if (r->kind == OPTIONS_IS_HELP || is_optional(r->value))
			has = optional_argument;
		else if (r->value == NULL)
			has = no_argument;
		if (r->kind == OPTIONS_IS_NOTE || !is_known(o, r))
			continue;
		if (r->letter != 0)
			*s++ = (char)r->letter;
		if (r->letter != 0 && has == required_argument)
			*s++ = ':';
		for (size_t j = 0; j < 2; j++)
			if (names[j] != NULL)
				o->longs[n++] = (struct option){ names[j], has,
				    NULL, r->letter != 0 ? r->letter :
				    NO_LETTER + (int)i };
	}
	*s = '\0';
	qsort(o->longs, n, sizeof(o->longs[0]), by_long_name);
}

int
options_letter(struct options *o, int argc, char **argv)
{
	int opt;

	if (o->longs[0].name == NULL)
		make_tables(o);
	opt = getopt_long(argc, argv, o->letters, o->longs, NULL);
	if (opt == '?')
		suggest_option(o, argc, argv);
	return opt;
}

/* Returns the name after one of n bytes in "a, b or c", or NULL. */
static const char *
next_name(const char *name, size_t n)
{
	name += n;
	if (*name == '\0')
		return NULL;
	return name + (strncmp(name, " or ", 4) == 0 ? 4 : 2);
}

/* Stores a number that is known to fit. */
static void
store_number(void *at, size_t width, uint64_t n)
{
	bool *flag = at;
	uint32_t *word = at;
	uint64_t *number = at;

	if (width == sizeof(*flag))
		*flag = n != 0;
	else if (width == sizeof(*word))
		*word = (uint32_t)n;
	else
		*number = n;
}

int
options_add(struct msg *m, struct options_list *list, const char *text)
{
	void *items = list->items;

	if (array_grow(&items, list->count, &list->room,
	    sizeof(*list->items)) != 0)
		return options_wrong(m, strerror(ENOMEM));
	list->items = items;
	list->items[list->count++] = text;
	return -1;
}

/* Takes one of the names in the list "a, b or c". */
static int
take_name(struct msg *m, const struct options_row *r, void *at)
{
	const char *names = r->range, **word = at;
	uint64_t i = 0;
	size_t n;

	for (; names != NULL; names = next_name(names, n), i++) {
		n = strcspn(names, ", ");
		if (strncmp(names, optarg, n) != 0 || optarg[n] != '\0')
			continue;
		if (r->kind == OPTIONS_IS_WORD)
			*word = optarg;
		else
			store_number(at, r->width, i);
		return -1;
	}
	return options_bad(m, r->what, r->range);
}

static int
take_number(struct msg *m, const struct options_row *r, void *at)
{
	int64_t n = 0;

	if (r->range != NULL &&
	    args_int(optarg, r->least, r->most, &n) != 0)
		return options_bad(m, r->what, r->range);
	if (r->range == NULL &&
	    options_int(m, r->what, r->least, r->most, &n) >= 0)
		return MSG_ERROR;
	store_number(at, r->width, (uint64_t)n);
	return -1;
}

static int
take_size(struct msg *m, const struct options_row *r, void *at)
{
	uint64_t n;

	if (args_size(optarg, &n) != 0 || n < (uint64_t)r->least ||
	    n > (uint64_t)r->most ||
	    (r->kind == OPTIONS_IS_POWER && (n & (n - 1)) != 0))
		return options_bad(m, r->what, r->range);
	store_number(at, r->width, n);
	return -1;
}

static int
take_threads(struct msg *m, const struct options_row *r, unsigned *threads)
{
	static const char what[] = "number of threads";
	int64_t n = 0;
	char range[64];
	int status;

	/* xz and zstd use all CPUs with 0 */
	if (args_int(optarg, 0, 0, &n) == 0) {
		snprintf(range, sizeof(range), "in 1..%u (omit it to use all "
		    "CPUs)", (unsigned)r->most);
		return options_bad(m, what, range);
	}
	status = options_int(m, what, 1, r->most, &n);
	*threads = (unsigned)n;
	return status;
}

/*
 * Prints a line for one of the row's names, which follows these dashes: also
 * the names that are valid as a value, " a b c" or "-", and the row's help,
 * which may be that of a row below.
 */
static void
show_name(const struct options *o, const struct options_row *r,
    const char *dashes, const char *name, FILE *out)
{
	bool fixed = r->kind == OPTIONS_IS_WORD || r->kind == OPTIONS_IS_NAME;
	const char *values = fixed ? r->range : r->names;
	const char *takes = "none", *help = r->help;
	size_t n;

	if (is_optional(r->value))
		takes = dashes[1] == '-' ? "optional" : "none";
	else if (r->value != NULL)
		takes = strcmp(r->value, "LIST") == 0 ? "values" : "value";
	fprintf(out, "%s%s\t%s\t", dashes, name, takes);
	if (r->list != NULL)
		r->list(out);
	else if (values == NULL)
		fputc('-', out);
	for (; values != NULL; values = next_name(values, n)) {
		n = strcspn(values, ", ");
		fprintf(out, " %.*s", (int)n, values);
	}
	for (; help != NULL && *help == '\0' && r + 1 < o->rows + o->count;) {
		r++;
		if (r->help != NULL && is_known(o, r))
			help = r->help;
	}
	fprintf(out, "\t%s\n", help == NULL ? "" : help);
}

static int
take_help(struct options *o)
{
	if (optarg == NULL) {
		options_show(o, o->help_to != NULL ? o->help_to : stdout);
		return msg_finish(o->msg);
	}
	if (strcmp(optarg, "options") != 0) {
		fprintf(stderr, "%s: option '--help' doesn't allow an argument"
		    "\nTry '%s --help'.\n", o->msg->prog, o->msg->prog);
		return MSG_ERROR;
	}
	/* a line for every name of every option */
	for (const char *s = o->scan; s != NULL && *s != '\0'; s++)
		if (*s != '+' && *s != '-')
			printf("-%c\tnone\t-\t\n", *s);
	for (size_t i = 0; i < o->count; i++) {
		const struct options_row *r = &o->rows[i];
		const char letter[] = { (char)r->letter, '\0' };

		if (!is_known(o, r))
			continue;
		if (r->letter != 0)
			show_name(o, r, "-", letter, stdout);
		if (r->name != NULL)
			show_name(o, r, "--", r->name, stdout);
		if (r->also != NULL)
			show_name(o, r, "--", r->also, stdout);
	}
	return msg_finish(o->msg);
}

const struct options_row *
options_find(const struct options *o, int opt)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct options_row *r = &o->rows[i];

		if (is_known(o, r) && opt == (r->letter != 0 ? r->letter :
		    NO_LETTER + (int)i))
			return r;
	}
	return NULL;
}

int
options_take(struct options *o, int opt)
{
	const struct options_row *r = options_find(o, opt);
	const char **text;
	bool *given;
	int *count;
	void *at;

	if (r == NULL)
		return MSG_ERROR;
	given = (void *)((char *)o->into + r->given);
	o->given[r - o->rows] = true;
	if (r->given != 0)
		*given = true;
	at = (char *)o->into + r->at;
	text = at;
	count = at;
	switch (r->kind) {
	case OPTIONS_IS_SET:
		store_number(at, r->width, (uint64_t)r->least);
		return -1;
	case OPTIONS_IS_COUNT: ++*count; return -1;
	case OPTIONS_IS_TEXT:
		*text = optarg != NULL ? optarg : r->range;
		return -1;
	case OPTIONS_IS_WORD:
	case OPTIONS_IS_NAME: return take_name(o->msg, r, at);
	case OPTIONS_IS_NUMBER: return take_number(o->msg, r, at);
	case OPTIONS_IS_SIZE:
	case OPTIONS_IS_POWER: return take_size(o->msg, r, at);
	case OPTIONS_IS_SECONDS:
		return args_real(optarg, 0.001, 1e8, at) == 0 ? -1 :
		    options_bad(o->msg, r->what,
		    "a number of seconds above 0.001");
	case OPTIONS_IS_THREADS:
		return take_threads(o->msg, r, at);
	case OPTIONS_IS_LIST: return options_add(o->msg, at, optarg);
	case OPTIONS_IS_CALL: return r->call(o->into);
	case OPTIONS_IS_CALL_WITH:
		return r->call_with(o->into, (int)r->least);
	case OPTIONS_IS_CALL_TEXT: return r->call_text(o->into, r->what);
	case OPTIONS_IS_HELP: return take_help(o);
	case OPTIONS_IS_VERSION:
		printf("%s (coldpress) %s\n", r->what, COLDPRESS_VERSION);
		if (r->show != NULL)
			r->show();
		return msg_finish(o->msg);
	case OPTIONS_IS_NOTE: break;
	}
	return MSG_ERROR;
}

int
options_parse(struct options *o, int argc, char **argv)
{
	int opt, status = -1;

	while (status < 0 && (opt = options_letter(o, argc, argv)) != -1)
		status = options_take(o, opt);
	return status;
}

const struct options_row *
options_foreign(const struct options *o, unsigned mask)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->given[i] && o->rows[i].mask != 0 &&
		    (o->rows[i].mask & mask) == 0)
			return &o->rows[i];
	return NULL;
}

/*
 * Writes "-p, --threads N" or, if it shares a line with others, "-p N".
 * Returns the length.
 */
static size_t
put_names(char *text, size_t room, const struct options_row *r, bool alone)
{
	const char letter[] = { '-', (char)r->letter, '\0' };
	bool named = r->name != NULL && (alone || r->letter == 0);
	const char *value = r->value == NULL ? "" : r->value;
	bool apart = *value != '\0' && *value != '[' && *value != '=';
	int n;

	/* a note's value is its heading */
	if (r->kind == OPTIONS_IS_NOTE)
		return (size_t)snprintf(text, room, "%s", value);
	if (is_optional(value) && !named)
		value = "";
	n = snprintf(text, room, "%s%s%s%s%s%s",
	    r->letter != 0 ? letter : "", r->letter != 0 && named ? ", " : "",
	    named ? "--" : "", named ? r->name : "", apart ? " " : "", value);
	return least((size_t)n, room);
}

/*
 * Writes the heading of the next line, which begins with row *i.  Sets *i to
 * the row with its text.  Returns false at the end.
 */
static bool
next_heading(const struct options *o, size_t *i, char text[HEADING_B])
{
	size_t n = 0;
	bool alone = true;

	for (; *i < o->count; ++*i) {
		const struct options_row *r = &o->rows[*i];

		if (r->help == NULL || !is_known(o, r))
			continue;
		if (!alone)
			n += (size_t)snprintf(text + n, HEADING_B - n, ", ");
		alone &= *r->help != '\0';
		n += put_names(text + n, HEADING_B - n, r, alone);
		if (*r->help != '\0')
			return true;
	}
	return false;
}

/* Prints words from this column on, with as many lines as they need. */
static void
put_paragraph(FILE *out, size_t column, const char *text)
{
	size_t at = column;

	while (*text != '\0') {
		size_t n = strcspn(text, " ");

		if (at > column && at + 1 + n > WIDTH) {
			fprintf(out, "\n%*s", (int)column, "");
			at = column;
		} else if (at > column) {
			fputc(' ', out);
			at++;
		}
		fwrite(text, 1, n, out);
		at += n;
		text += n + (text[n] == ' ');
	}
	fputc('\n', out);
}

void
options_show(const struct options *o, FILE *out)
{
	char heading[HEADING_B];
	size_t column = 0;

	for (size_t i = 0; next_heading(o, &i, heading); i++)
		if (strlen(heading) > column && strlen(heading) <= HEADING_MAX)
			column = strlen(heading);
	column += INDENT + 2;
	fprintf(out, "%s\n%s\n", o->usage, o->about);
	for (size_t i = 0; next_heading(o, &i, heading); i++) {
		size_t n = INDENT + strlen(heading);

		if (n == INDENT) {
			fputs(o->rows[i].help, out);
			continue;
		}
		fprintf(out, "%*s%s", INDENT, "", heading);
		if (n + 2 > column)
			fprintf(out, "\n%*s", (int)column, "");
		else
			fprintf(out, "%*s", (int)(column - n), "");
		put_paragraph(out, column, o->rows[i].help);
	}
}

int
options_help(struct msg *m, const char *usage, const char *help)
{
	fputs(usage, stdout);
	fputs(help, stdout);
	return msg_finish(m);
}

int
options_usage(const char *usage)
{
	fputs(usage, stderr);
	return MSG_ERROR;
}

int
options_wrong(struct msg *m, const char *why)
{
	msg_error(m, "%s", why);
	return MSG_ERROR;
}

int
options_bad(struct msg *m, const char *what, const char *range)
{
	msg_error(m, "%s '%s' is not %s", what, optarg, range);
	return MSG_ERROR;
}

int
options_int(struct msg *m, const char *what, int64_t lo, int64_t hi,
    int64_t *value)
{
	int rc = args_int(optarg, lo, hi, value);
	char range[64];

	if (rc == 0)
		return -1;
	if (rc == -EINVAL)
		return options_bad(m, what, "a number");
	snprintf(range, sizeof(range), "in %" PRId64 "..%" PRId64, lo, hi);
	return options_bad(m, what, range);
}
