/*
 * options.c - what the command lines of the tools have in common
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/options.h"

#include "base/args.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

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
	int64_t n = 0;
	int status = options_int(m, "number of threads", 1, most, &n);

	*threads = (unsigned)n;
	return status;
}
