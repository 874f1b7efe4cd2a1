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
#include <unistd.h>

enum { RUNS_MAX = 1000000 };

enum { OPT_COLD = 256, OPT_FAIL_FAST, OPT_FOR, OPT_JSON, OPT_MARKDOWN, OPT_NET,
	OPT_PLAIN, OPT_RESOLVE, OPT_SEP, OPT_SHOW, OPT_STDOUT };

static const struct option longs[] = {
	{ "cold", optional_argument, NULL, OPT_COLD },
	{ "fail-fast", no_argument, NULL, OPT_FAIL_FAST },
	{ "file", required_argument, NULL, 'f' },
	{ "for", required_argument, NULL, OPT_FOR },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "key", required_argument, NULL, 'k' },
	{ "label", required_argument, NULL, 'l' },
	{ "list", required_argument, NULL, 'L' },
	{ "markdown", no_argument, NULL, OPT_MARKDOWN },
	{ "max-runs", required_argument, NULL, 'M' },
	{ "min-runs", required_argument, NULL, 'm' },
	{ "net", required_argument, NULL, OPT_NET },
	{ "output", required_argument, NULL, 'o' },
	{ "plain", no_argument, NULL, OPT_PLAIN },
	{ "prepare", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "range", required_argument, NULL, 'P' },
	{ "resolve", optional_argument, NULL, OPT_RESOLVE },
	{ "resume", no_argument, NULL, 'r' },
	{ "runs", required_argument, NULL, 'n' },
	{ "seed", required_argument, NULL, 'S' },
	{ "sep", required_argument, NULL, OPT_SEP },
	{ "show-output", no_argument, NULL, OPT_SHOW },
	{ "stdout", required_argument, NULL, OPT_STDOUT },
	{ "timeout", required_argument, NULL, 't' },
	{ "version", no_argument, NULL, 'V' },
	{ "warmup", required_argument, NULL, 'w' },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: lap [-chqrV] [-n runs | -m runs -M runs] [-w warmup] [-t seconds]\n"
"           [--for seconds] [--resolve[=percent]] [-p prepare] [-l label]\n"
"           [--cold=label] [-k key=val] [-L name=a,b,...]\n"
"           [-P name=min:max[:step]] [-S seed] [-o file.csv] [--json]\n"
"           [--markdown] [--net iface] [--plain] [--sep str]\n"
"           [--stdout file | --show-output] [--fail-fast]\n"
"           {-f cells.tsv | -- command ...}\n";

static const char help[] =
"\n"
"Runs commands and pipelines in rounds, in random order, and writes a row for\n"
"each run.  Commands are separated by --, stages of a pipeline by '|':\n"
"  lap -n 20 -o t.csv -- tar -c d '|' gzip -- tar -c d '|' pzc\n"
"\n"
"  -c, --cold           drop caches before each run (root only)\n"
"  --cold=LABEL         only before runs of LABEL; may be repeated\n"
"  -f, --file FILE      read commands from FILE (-: standard input):\n"
"                       lines of label, tab, command [tab, next stage ...]\n"
"  --fail-fast          stop at the first run that fails\n"
"  --for S              run for S seconds instead of a fixed number of rounds\n"
"  --json               write rows as JSON lines, not CSV\n"
"  -k, --key KEY=VALUE  record this in each row; may be repeated\n"
"  -L, --list NAME=A,B  run commands with each value in place of {NAME}\n"
"  -l, --label LABEL    label of the next command; default: its words\n"
"  -M, --max-runs N     maximum rounds with --for or --resolve; default 1000\n"
"  -m, --min-runs N     minimum rounds with --for or --resolve; default 10\n"
"  --markdown           print a table of medians on standard output\n"
"  -n, --runs N         number of runs of each command; default 10\n"
"  --net IFACE          record the bytes received and sent on this interface\n"
"  -o, --output FILE    append the rows to FILE; - is standard output\n"
"  -P, --range NAME=MIN:MAX[:STEP]\n"
"                       like -L, for a range of numbers\n"
"  -p, --prepare CMD    run a shell command before each run, untimed; give\n"
"                       it once, or once for each command\n"
"  --plain              record only times, no I/O counters or pressure\n"
"  -q, --quiet          print neither summary nor progress\n"
"  -r, --resume         do only the runs that are not yet in -o FILE\n"
"  --resolve[=PERCENT]  run until each difference from the first command\n"
"                       is detected or known to be below PERCENT (1)\n"
"  -S, --seed N         seed of the random order\n"
"  --sep STR            separator of commands, instead of --\n"
"  --show-output        pass on the standard output of the commands\n"
"  --stdout FILE        where the last stage writes; default: /dev/null\n"
"  -t, --timeout S      kill a run that takes more than S seconds\n"
"  -w, --warmup N       number of warm-up rounds, not recorded; default 0\n"
"  -h, -V               this help; version\n";

/* These functions return -1 to continue, or the exit status. */

static int
show_version(struct lap *l)
{
	printf("lap (coldpress) %s\n", COLDPRESS_VERSION);
	return msg_finish(&l->msg);
}

static int
bad(struct lap *l, const char *what)
{
	msg_error(&l->msg, "invalid %s '%s'", what, optarg);
	return MSG_ERROR;
}

/* Returns whether s is KEY=VALUE and fits in a list of keys. */
static bool
is_pair(const char *s)
{
	size_t n = lap_name_length(s);

	return n > 0 && s[n] == '=' && lap_is_value(s);
}

static int
add_key(struct lap *l)
{
	size_t len = l->o.keys == NULL ? 0 : strlen(l->o.keys);
	char *keys;

	if (!is_pair(optarg))
		return bad(l, "key=val");
	keys = sys_realloc(l->o.keys, len + strlen(optarg) + 2);
	if (keys == NULL) {
		msg_error(&l->msg, "out of memory for -k");
		return MSG_ERROR;
	}
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

/* Parses the values of --resolve[=PERCENT] and --for SECONDS. */
static int
set_end(struct lap *l, double *value, const char *what, double scale)
{
	if (optarg != NULL && args_real(optarg, 0.001, 1e8, value) != 0)
		return bad(l, what);
	*value *= scale;
	return -1;
}

static int
set_runs(struct lap *l, int64_t *runs, bool *given)
{
	*given = true;
	return options_int(&l->msg, "runs", 1, RUNS_MAX, runs);
}

static int
set_long(struct lap *l, int c)
{
	struct lap_options *o = &l->o;

	switch (c) {
	case OPT_COLD:
		if (optarg == NULL)
			o->cold = true;
		else
			o->colds[o->cold_count++] = optarg;
		break;
	case OPT_FAIL_FAST: o->fail_fast = true; break;
	case OPT_FOR: return set_end(l, &o->for_s, "seconds", 1);
	case OPT_JSON: o->json = true; break;
	case OPT_MARKDOWN: o->markdown = true; break;
	case OPT_NET: o->net = optarg; break;
	case OPT_PLAIN: o->plain = true; break;
	case OPT_RESOLVE:
		o->within = 1;
		return set_end(l, &o->within, "percentage", 0.01);
	case OPT_SEP: o->sep = optarg; break;
	case OPT_SHOW: o->show = true; break;
	case OPT_STDOUT: o->to = optarg; break;
	default: return MSG_ERROR;
	}
	return -1;
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
	case 'L': return lap_param_list(l, optarg);
	case 'l': o->labels[o->label_count++] = optarg; break;
	case 'M': return set_runs(l, &o->runs, &o->bounded);
	case 'm': return set_runs(l, &o->least, &o->bounded);
	case 'n': return set_runs(l, &o->runs, &o->counted);
	case 'o': o->out = optarg; break;
	case 'P': return lap_param_range(l, optarg);
	case 'p': o->prepares[o->prepare_count++] = optarg; break;
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
	default: return set_long(l, c);
	}
	return -1;
}

bool
lap_is_adaptive(const struct lap_options *o)
{
	return o->for_s > 0 || o->within > 0 || o->bounded;
}

/* If only -m or -M is given, the limit is three seconds, as in hyperfine. */
static void
set_defaults(struct lap_options *o)
{
	if (!lap_is_adaptive(o)) {
		if (o->runs == 0)
			o->runs = 10;
		return;
	}
	if (!(o->for_s > 0 || o->within > 0))
		o->for_s = 3;
	if (o->runs == 0)
		o->runs = o->least > 1000 ? o->least : 1000;
	if (o->least == 0)
		o->least = o->runs < 10 ? o->runs : 10;
}

/* Checks that the options are compatible. */
static int
check(struct lap *l)
{
	const struct lap_options *o = &l->o;
	const char *wrong = NULL;

	if (o->argc == 0 && o->cells == NULL)
		wrong = "no command: expected -- COMMAND or -f FILE";
	else if (o->argc > 0 && o->cells != NULL)
		wrong = "-f cannot be combined with commands";
	else if (o->cells != NULL && o->label_count > 0)
		wrong = "-f cannot be combined with -l: the file has labels";
	else if (o->resume && (o->out == NULL || strcmp(o->out, "-") == 0))
		wrong = "-r requires -o with a file";
	else if (o->resume && o->json)
		wrong = "-r cannot be combined with --json: it reads CSV";
	else if (o->counted && lap_is_adaptive(o))
		wrong = "-n cannot be combined with -m, -M, --for or --resolve";
	else if (o->least > o->runs)
		wrong = "-m is greater than -M";
	else if (o->resume && o->within > 0)
		wrong = "-r cannot be combined with --resolve, which judges "
		    "only the runs of one invocation";
	else if (o->show && o->to != NULL)
		wrong = "--show-output cannot be combined with --stdout";
	else if (o->show && !o->markdown && (o->out == NULL ?
	    !isatty(STDOUT_FILENO) : strcmp(o->out, "-") == 0))
		wrong = "--show-output and rows cannot both go to standard "
		    "output: give -o FILE";
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
	*o = (struct lap_options){ .sep = "--", .seed = lot };
	o->labels = sys_calloc((size_t)argc, sizeof(*o->labels));
	o->prepares = sys_calloc((size_t)argc, sizeof(*o->prepares));
	o->colds = sys_calloc((size_t)argc, sizeof(*o->colds));
	if (o->labels == NULL || o->prepares == NULL || o->colds == NULL) {
		msg_error(&l->msg, "%s", strerror(ENOMEM));
		return LAP_FAILED;
	}
	while (status < 0 && (c = options_next(&l->msg, argc, argv,
	    "+cf:hk:L:l:M:m:n:o:P:p:qrS:t:Vw:", longs)) != -1)
		status = set_option(l, c);
	o->argc = argc - optind;
	o->argv = argv + optind;
	set_defaults(o);
	if (status < 0)
		status = check(l);
	return status == MSG_ERROR ? LAP_FAILED : status;
}
