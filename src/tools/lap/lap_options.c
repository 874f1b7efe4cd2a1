/*
 * lap_options.c - the command line of lap
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/args.h"
#include "base/options.h"
#include "base/sys.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { RUNS_MAX = 1000000 };

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

static const char usage[] =
"usage: lap [-chqrV] [-n runs] [-w warmup] [-t seconds] [-p prepare]\n"
"           [-l label] [-k key=val] [-S seed] [-o file.csv] [--json]\n"
"           [--markdown] [--net iface] [--plain] [--sep str] [--stdout file]\n"
"           {-f cells.tsv | -- command ...}\n";

static const char help[] =
"\n"
"Runs commands and pipelines in turns, in random order, and writes a row for\n"
"each run.  Commands are separated by --, stages of a pipeline by '|':\n"
"  lap -n 20 -o t.csv -- tar -c d '|' gzip -- tar -c d '|' pzc\n"
"\n"
"  -c, --cold           drop the caches before each run (as root)\n"
"  -f, --file FILE      commands from FILE, or - for standard input: lines of\n"
"                       label, tab, shell command [tab, the next stage ...]\n"
"  --json               rows as JSON lines, not CSV\n"
"  -k, --key KEY=VALUE  recorded with each row; may be repeated\n"
"  -l, --label LABEL    of the next command; default: the command itself\n"
"  --markdown           a table of the medians on standard output\n"
"  -n, --runs N         runs of each command; default 10\n"
"  --net IFACE          record the bytes that this interface moved\n"
"  -o, --output FILE    append the rows to FILE; - is standard output\n"
"  -p, --prepare CMD    shell command before each run, not timed\n"
"  --plain              times only, no I/O counters and no pressure\n"
"  -q, --quiet          no summary and no progress\n"
"  -r, --resume         do only the runs that -o FILE does not have yet\n"
"  -S, --seed N         of the random order\n"
"  --sep STR            separates commands, in place of --\n"
"  --stdout FILE        where the last stage writes; default: /dev/null\n"
"  -t, --timeout S      kill a run after S seconds\n"
"  -w, --warmup N       runs before the first row; default 0\n"
"  -h, -V               this help; version\n";

/* These return -1 to go on, or the status when all is said. */

static int
show_version(struct lap *l)
{
	printf("lap (coldpress) %s\n", COLDPRESS_VERSION);
	return msg_finish(&l->msg);
}

static int
bad(struct lap *l, const char *what)
{
	msg_error(&l->msg, "%s '%s' is wrong", what, optarg);
	return MSG_ERROR;
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
		return bad(l, "key=val");
	keys = sys_realloc(l->o.keys, len + strlen(optarg) + 2);
	if (keys == NULL)
		return bad(l, "for lack of memory, -k");
	if (len > 0)
		keys[len++] = ';';
	strcpy(keys + len, optarg);
	l->o.keys = keys;
	return -1;
}

static int
set_timeout(struct lap *l)
{
	return args_real(optarg, 0.001, 1e8, &l->o.timeout_s) == 0 ? -1 :
	    bad(l, "time-out");
}

static int
set_option(struct lap *l, int c)
{
	struct lap_options *o = &l->o;

	switch (c) {
	case 'c': o->cold = true; break;
	case 'f': o->cells = optarg; break;
	case 'h': return options_help(&l->msg, usage, help);
	case 'k': return add_key(l);
	case 'l': o->labels[o->label_count++] = optarg; break;
	case 'n': return options_int(&l->msg, "runs", 1, RUNS_MAX, &o->runs);
	case 'o': o->out = optarg; break;
	case 'p': o->prepare = optarg; break;
	case 'q': l->msg.quiet = true; break;
	case 'r': o->resume = true; break;
	case 'S':
		o->seeded = true;
		return options_int(&l->msg, "seed", 0, UINT32_MAX, &o->seed);
	case 't': return set_timeout(l);
	case 'V': return show_version(l);
	case 'w':
		return options_int(&l->msg, "warmup", 0, RUNS_MAX,
		    &o->warmup);
	case OPT_JSON: o->json = true; break;
	case OPT_MARKDOWN: o->markdown = true; break;
	case OPT_NET: o->net = optarg; break;
	case OPT_PLAIN: o->plain = true; break;
	case OPT_SEP: o->sep = optarg; break;
	case OPT_STDOUT: o->to = optarg; break;
	default: return MSG_ERROR;
	}
	return -1;
}

/* What options ask for together. */
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
		return -1;
	msg_error(&l->msg, "%s", wrong);
	return MSG_ERROR;
}

int
lap_parse(struct lap *l, int argc, char **argv)
{
	struct lap_options *o = &l->o;
	uint32_t lot = (uint32_t)time(NULL);
	int c, status = -1;

	if (getrandom(&lot, sizeof(lot), GRND_NONBLOCK) == -1)
		lot ^= (uint32_t)sys_now_ns();
	*o = (struct lap_options){ .runs = 10, .sep = "--", .seed = lot };
	o->labels = sys_calloc((size_t)argc, sizeof(*o->labels));
	if (o->labels == NULL) {
		msg_error(&l->msg, "%s", strerror(ENOMEM));
		return LAP_FAILED;
	}
	while (status < 0 && (c = options_next(&l->msg, argc, argv,
	    "+cf:hk:l:n:o:p:qrS:t:Vw:", longs)) != -1)
		status = set_option(l, c);
	o->argc = argc - optind;
	o->argv = argv + optind;
	if (status < 0)
		status = check(l);
	return status == MSG_ERROR ? LAP_FAILED : status;
}
