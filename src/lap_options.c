/*
 * lap_options.c - the command line of lap
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "args.h"
#include "sys.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { OPT_JSON = 256, OPT_MARKDOWN, OPT_NET, OPT_PLAIN, OPT_SEP, OPT_STDOUT };

static const struct option longs[] = {
	{ "cold", no_argument, NULL, 'c' },
	{ "file", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "key", required_argument, NULL, 'k' },
	{ "label", required_argument, NULL, 'l' },
	{ "markdown", no_argument, NULL, OPT_MARKDOWN },
	{ "net", required_argument, NULL, OPT_NET },
	{ "output", required_argument, NULL, 'o' },
	{ "plain", no_argument, NULL, OPT_PLAIN },
	{ "prepare", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "resume", no_argument, NULL, 'r' },
	{ "runs", required_argument, NULL, 'n' },
	{ "seed", required_argument, NULL, 'S' },
	{ "sep", required_argument, NULL, OPT_SEP },
	{ "stdout", required_argument, NULL, OPT_STDOUT },
	{ "timeout", required_argument, NULL, 't' },
	{ "version", no_argument, NULL, 'V' },
	{ "warmup", required_argument, NULL, 'w' },
	{ NULL, 0, NULL, 0 }
};

static void
print_usage(FILE *f)
{
	fputs("usage: lap [-chqrV] [-n runs] [-w warmup] [-t seconds] "
	    "[-p prepare] [-l label]\n"
	    "           [-k key=val] [-S seed] [-o file.csv] [--json] "
	    "[--markdown] [--net iface]\n"
	    "           [--plain] [--sep str] [--stdout file] "
	    "{-f cells.tsv | -- command ...}\n", f);
}

/* Each returns 0 or, after a sentence, LAP_FAILED. */
static int
bad(struct lap *l, const char *what, const char *value)
{
	msg_error(&l->msg, "%s '%s' is wrong", what, value);
	return LAP_FAILED;
}

static int
parse_int(struct lap *l, const char *what, int64_t lo, int64_t hi, int64_t *v)
{
	if (args_int(optarg, lo, hi, v) == 0)
		return 0;
	msg_error(&l->msg, "%s '%s' is not in %" PRId64 "..%" PRId64, what,
	    optarg, lo, hi);
	return LAP_FAILED;
}

/* A key and a value that can stand in a list of them. */
static bool
is_pair(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	if (n == 0 || s[n] != '=')
		return false;
	for (; *s != '\0'; s++)
		if (*s == ';' || (unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static int
add_key(struct lap *l)
{
	size_t len = l->o.keys == NULL ? 0 : strlen(l->o.keys);
	char *keys;

	if (!is_pair(optarg))
		return bad(l, "key=val", optarg);
	keys = sys_realloc(l->o.keys, len + strlen(optarg) + 2);
	if (keys == NULL)
		return bad(l, "for lack of memory, -k", optarg);
	if (len > 0)
		keys[len++] = ';';
	strcpy(keys + len, optarg);
	l->o.keys = keys;
	return 0;
}

static int
set_option(struct lap *l, int c)
{
	struct lap_options *o = &l->o;

	switch (c) {
	case 'c': o->cold = true; return 0;
	case 'f': o->cells = optarg; return 0;
	case 'k': return add_key(l);
	case 'l': o->labels[o->label_count++] = optarg; return 0;
	case 'n': return parse_int(l, "runs", 1, 1000000, &o->runs);
	case 'o': o->out = optarg; return 0;
	case 'p': o->prepare = optarg; return 0;
	case 'q': l->msg.quiet = true; return 0;
	case 'r': o->resume = true; return 0;
	case 'S':
		o->seeded = true;
		return parse_int(l, "seed", 0, UINT32_MAX, &o->seed);
	case 't':
		if (args_real(optarg, 0.001, 1e8, &o->timeout_s) != 0)
			return bad(l, "time-out", optarg);
		return 0;
	case 'w': return parse_int(l, "warmup", 0, 1000000, &o->warmup);
	case OPT_JSON: o->json = true; return 0;
	case OPT_MARKDOWN: o->markdown = true; return 0;
	case OPT_NET: o->net = optarg; return 0;
	case OPT_PLAIN: o->plain = true; return 0;
	case OPT_SEP: o->sep = optarg; return 0;
	case OPT_STDOUT: o->to = optarg; return 0;
	default:
		print_usage(stderr);
		return LAP_FAILED;
	}
}

/* What options ask for together.  0 or LAP_FAILED. */
static int
check(struct lap *l)
{
	const struct lap_options *o = &l->o;
	const char *wrong = NULL;

	if (o->argc == 0 && o->cells == NULL)
		wrong = "a command is missing";
	else if (o->argc > 0 && o->cells != NULL)
		wrong = "-f excludes commands";
	else if (o->cells != NULL && o->label_count > 0)
		wrong = "-f excludes -l: the file has labels";
	else if (o->resume && (o->out == NULL || strcmp(o->out, "-") == 0))
		wrong = "-r needs -o with a file";
	else if (o->resume && o->json)
		wrong = "-r excludes --json: it reads CSV";
	else if (o->markdown && o->out != NULL && strcmp(o->out, "-") == 0)
		wrong = "--markdown and rows cannot both go to standard output";
	if (wrong == NULL)
		return 0;
	msg_error(&l->msg, "%s", wrong);
	return LAP_FAILED;
}

int
lap_parse(struct lap *l, int argc, char **argv)
{
	struct lap_options *o = &l->o;
	uint32_t lot = (uint32_t)time(NULL);
	int c, rc;

	if (getrandom(&lot, sizeof(lot), GRND_NONBLOCK) == -1)
		lot ^= (uint32_t)sys_now_ns();
	*o = (struct lap_options){ .runs = 10, .sep = "--", .seed = lot };
	o->labels = sys_calloc((size_t)argc, sizeof(*o->labels));
	if (o->labels == NULL)
		return bad(l, "for lack of memory, the call", argv[0]) + 1;
	while ((c = getopt_long(argc, argv, "+cf:hk:l:n:o:p:qrS:t:Vw:", longs,
	    NULL)) != -1) {
		if (c == 'h') {
			print_usage(stdout);
			return msg_finish(&l->msg) + 1;
		}
		if (c == 'V') {
			printf("lap (coldpress) %s\n", COLDPRESS_VERSION);
			return msg_finish(&l->msg) + 1;
		}
		rc = set_option(l, c);
		if (rc != 0)
			return rc + 1;
	}
	o->argc = argc - optind;
	o->argv = argv + optind;
	rc = check(l);
	return rc == 0 ? 0 : rc + 1;
}
