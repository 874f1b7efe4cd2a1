/*
 * lap_options.c - the command line of lap
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/args.h"
#include "base/options.h"
#include "base/sys.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_MAX = 1000000 };

/* These functions return -1 to continue, or the exit status. */

static int
bad_value(struct lap *l, const char *what)
{
	msg_error(&l->msg, "invalid %s '%s'", what, optarg);
	return MSG_ERROR;
}

static int
add_key(void *into)
{
	struct lap *l = into;
	size_t len = l->o.keys == NULL ? 0 : strlen(l->o.keys);
	size_t n = lap_name_length(optarg);
	char *keys;

	if (n == 0 || optarg[n] != '=' || !lap_is_value(optarg))
		return bad_value(l, "key=val");
	keys = sys_realloc(l->o.keys, len + strlen(optarg) + 2);
	if (keys == NULL)
		return options_wrong(&l->msg, "out of memory for -k");
	if (len > 0)
		keys[len++] = ';';
	strcpy(keys + len, optarg);
	l->o.keys = keys;
	return -1;
}

static int
add_cold(void *into)
{
	struct lap *l = into;

	if (optarg != NULL)
		return options_add(&l->msg, &l->o.colds, optarg);
	l->o.cold = true;
	return -1;
}

static int
set_resolve(void *into)
{
	struct lap *l = into;
	double percent = 1;

	if (optarg != NULL && args_real(optarg, 0.001, 1e8, &percent) != 0)
		return bad_value(l, "percentage");
	l->o.within = percent * 0.01;
	return -1;
}

static const char lap_usage[] =
"usage: lap [-chqrV] [-n runs | -m runs -M runs] [-w warmup] [-t seconds]\n"
"           [--for seconds] [--resolve[=percent]] [-p prepare] [-l label]\n"
"           [--cold=label] [-k key=val] [-L name=a,b,...]\n"
"           [-P name=min:max[:step]] [-S seed] [-o file.csv] [--json]\n"
"           [--markdown] [--provenance] [--net iface] [--plain] [--sep str]\n"
"           [--stdout file | --show-output] [--fail-fast]\n"
"           {-f cells.tsv | -- command ...}\n";

static const char lap_about[] =
"Runs commands and pipelines in rounds, in random order, and writes a row for\n"
"each run.  Commands are separated by --, stages of a pipeline by '|':\n"
"  lap -n 20 -o t.csv -- tar -c d '|' gzip -- tar -c d '|' pzc\n";

#define OPTIONS_INTO struct lap

static const struct options_row lap_table[] = {
	{ 'c', "cold", "[=LABEL]", "drop caches before each run (root only); "
	    "with LABEL: only before runs of LABEL; may be repeated",
	    OPTIONS_CALL(add_cold) },
	{ 'f', "file", "FILE", "read commands from FILE (-: standard input): "
	    "lines of label, tab, command [tab, next stage ...]",
	    OPTIONS_TEXT(o.cells) },
	{ 0, "fail-fast", NULL, "stop at the first run that fails",
	    OPTIONS_FLAG(o.fail_fast) },
	{ 0, "for", "S", "run for S seconds instead of a fixed number of "
	    "rounds", OPTIONS_SECONDS(o.for_s, "time") },
	{ 0, "json", NULL, "write rows as JSON lines, not CSV",
	    OPTIONS_FLAG(o.json) },
	{ 'k', "key", "KEY=VALUE", "record this in each row; may be repeated",
	    OPTIONS_CALL(add_key) },
	{ 'L', "list", "NAME=A,B", "run commands with each value in place of "
	    "{NAME}", OPTIONS_CALL(lap_param_list) },
	{ 'l', "label", "LABEL", "label of the next command; default: its "
	    "words", OPTIONS_LIST(o.labels) },
	{ 'M', "max-runs", "N", "maximum rounds with --for or --resolve; "
	    "default 1000", OPTIONS_NUMBER(o.runs, "runs", 1, RUNS_MAX),
	    OPTIONS_GIVEN(o.bounded) },
	{ 'm', "min-runs", "N", "minimum rounds with --for or --resolve; "
	    "default 10", OPTIONS_NUMBER(o.least, "runs", 1, RUNS_MAX),
	    OPTIONS_GIVEN(o.bounded) },
	{ 0, "markdown", NULL, "print a table of medians on standard output",
	    OPTIONS_FLAG(o.markdown) },
	{ 'n', "runs", "N", "number of runs of each command; default 10",
	    OPTIONS_NUMBER(o.runs, "runs", 1, RUNS_MAX),
	    OPTIONS_GIVEN(o.counted) },
	{ 0, "net", "IFACE", "record the bytes received and sent on this "
	    "interface", OPTIONS_TEXT(o.net) },
	{ 'o', "output", "FILE", "append the rows to FILE; - is standard "
	    "output", OPTIONS_TEXT(o.out) },
	{ 'P', "range", "NAME=MIN:MAX[:STEP]", "like -L, for a range of "
	    "numbers", OPTIONS_CALL(lap_param_range) },
	{ 'p', "prepare", "CMD", "run a shell command before each run, "
	    "untimed; give it once, or once for each command",
	    OPTIONS_LIST(o.prepares) },
	{ 0, "plain", NULL, "record only times, no I/O counters or pressure",
	    OPTIONS_FLAG(o.plain) },
	{ 0, "provenance", NULL, "write provenance as comments between the "
	    "rows of CSV, not to FILE.provenance", OPTIONS_FLAG(o.provenance) },
	{ 'q', "quiet", NULL, "print neither summary nor progress",
	    OPTIONS_FLAG(msg.quiet) },
	{ 'r', "resume", NULL, "do only the runs that are not yet in -o FILE",
	    OPTIONS_FLAG(o.resume) },
	{ 0, "resolve", "[=PERCENT]", "run until each difference from the "
	    "first command is detected or known to be below PERCENT (1)",
	    OPTIONS_CALL(set_resolve) },
	{ 'S', "seed", "N", "seed of the random order",
	    OPTIONS_NUMBER(o.seed, "seed", 0, UINT32_MAX),
	    OPTIONS_GIVEN(o.seeded) },
	{ 0, "sep", "STR", "separator of commands, instead of --",
	    OPTIONS_TEXT(o.sep) },
	{ 0, "show-output", NULL, "pass on the standard output of the "
	    "commands", OPTIONS_FLAG(o.show) },
	{ 0, "stdout", "FILE", "where the last stage writes; default: "
	    "/dev/null", OPTIONS_TEXT(o.to) },
	{ 't', "timeout", "S", "kill a run that takes more than S seconds",
	    OPTIONS_SECONDS(o.timeout_s, "time-out") },
	{ 'w', "warmup", "N", "number of warm-up rounds, not recorded; "
	    "default 0", OPTIONS_NUMBER(o.warmup, "warmup", 0, RUNS_MAX) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; version",
	    OPTIONS_VERSION("lap", NULL) },
};

bool
lap_is_adaptive(const struct lap_options *o)
{
	return o->for_s > 0 || o->within > 0 || o->bounded;
}

int
lap_parse(struct lap *l, int argc, char **argv)
{
	struct lap_options *o = &l->o;
	struct options options = { .msg = &l->msg, .into = l,
	    OPTIONS_TABLE(lap_table), .usage = lap_usage, .about = lap_about,
	    .scan = "+" };
	uint32_t lot = (uint32_t)time(NULL);
	const char *wrong = NULL;
	int status;

	if (getrandom(&lot, sizeof(lot), GRND_NONBLOCK) == -1)
		lot ^= (uint32_t)sys_now_ns();
	*o = (struct lap_options){ .sep = "--", .seed = lot };
	status = options_parse(&options, argc, argv);
	o->argc = argc - optind;
	o->argv = argv + optind;
	if (status >= 0)
		return status == MSG_ERROR ? LAP_FAILED : status;
	if (!lap_is_adaptive(o)) {
		if (o->runs == 0)
			o->runs = 10;
	} else {
		/* if only -m or -M is given, three seconds, as in hyperfine */
		if (!(o->for_s > 0 || o->within > 0))
			o->for_s = 3;
		if (o->runs == 0)
			o->runs = o->least > 1000 ? o->least : 1000;
		if (o->least == 0)
			o->least = o->runs < 10 ? o->runs : 10;
	}
	if (o->argc == 0 && o->cells == NULL)
		wrong = "no command: expected -- COMMAND or -f FILE";
	else if (o->argc > 0 && o->cells != NULL)
		wrong = "-f cannot be combined with commands";
	else if (o->cells != NULL && o->labels.count > 0)
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
	options_wrong(&l->msg, wrong);
	return LAP_FAILED;
}
