/*
 * options.c - command-line handling shared by the tools
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/options.h"

#include "base/args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_B = 32, TYPOS_MAX = 2 };

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
 * Returns the name in longs closest to the one typed, or NULL if none is close.
 */
static const char *
meant(const char *typed, const struct option *longs)
{
	size_t len = strcspn(typed, "="), fewest = TYPOS_MAX + 1;
	const char *name = NULL;

	for (; longs->name != NULL; longs++) {
		size_t n = typos(typed, len, longs->name,
		    strlen(longs->name));

		/*
		 * a short name with half of its letters changed is not a typo
		 */
		if (n < fewest && 2 * n < len) {
			fewest = n;
			name = longs->name;
		}
	}
	return name;
}

int
options_next(const struct msg *m, int argc, char **argv, const char *shorts,
    const struct option *longs)
{
	int opt = getopt_long(argc, argv, shorts, longs, NULL);
	const char *word, *name = NULL;

	if (opt != '?')
		return opt;
	/* optopt is the value of a known option, or an unknown letter */
	word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
	if (optopt == 0 && strncmp(word, "--", 2) == 0)
		name = meant(word + 2, longs);
	if (name != NULL)
		fprintf(stderr, "Did you mean '--%s'?  ", name);
	fprintf(stderr, "Try '%s --help'.\n", m->prog);
	return opt;
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

int
options_size(struct msg *m, const char *what, uint64_t *bytes)
{
	return args_size(optarg, bytes) == 0 ? -1 :
	    options_bad(m, what, "a number of bytes");
}

int
options_threads(struct msg *m, unsigned most, unsigned *threads)
{
	static const char what[] = "number of threads";
	int64_t n = 0;
	char range[64];
	int status;

	/* xz and zstd use all CPUs with 0 */
	if (args_int(optarg, 0, 0, &n) == 0) {
		snprintf(range, sizeof(range), "in 1..%u (omit it to use all "
		    "CPUs)", most);
		return options_bad(m, what, range);
	}
	status = options_int(m, what, 1, most, &n);
	*threads = (unsigned)n;
	return status;
}
