/*
 * lapcmp.c - compare runs by paired ratios, with an interval
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lapcmp.h"

#include "base/args.h"
#include "base/options.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
set_trim(void *into)
{
	struct cmp *c = into;
	double percent = 10;

	if (optarg != NULL && args_real(optarg, 0, 49.999, &percent) != 0)
		return options_bad(&c->msg, "trim", "in 0..49");
	c->o.trim = percent / 100;
	return -1;
}

static int
set_effect(void *into)
{
	struct cmp *c = into;
	double percent;

	if (args_real(optarg, 1e-6, 1e6, &percent) != 0)
		return options_bad(&c->msg, "effect", "in 0.000001..1000000");
	c->o.effect = percent / 100;
	return -1;
}

static int
set_plot(void *into)
{
	struct cmp *c = into;

	c->o.plot = optarg == NULL ? "text" : optarg;
	if (strcmp(c->o.plot, "text") != 0 && strcmp(c->o.plot, "svg") != 0)
		return options_bad(&c->msg, "plot", "text or svg");
	return -1;
}

/* Prints the results in the way that the options ask for. */
static int
print_all_results(struct cmp *c)
{
	bool svg = c->o.plot != NULL && strcmp(c->o.plot, "svg") == 0;
	int rc;

	if (svg)
		return cmp_plot_svg(c);
	if (c->o.csv || c->o.json)
		return cmp_print_rows(c);
	rc = cmp_print_text(c);
	return rc != 0 || c->o.plot == NULL ? rc : cmp_plot_text(c);
}

static const char lapcmp_usage[] =
"usage: lapcmp [-hV] [-r label] [-s stage] [-k key,...] [--across] [--all]\n"
"              [--holm] [--test ranks|sign] [--effect percent]\n"
"              [--trim[=percent]] [--plot[=text|svg]] [--csv | --json]\n"
"              [file ...]\n";

static const char lapcmp_about[] =
"Compares runs recorded by lap: the ratio of pairs and its 95 % confidence\n"
"interval.  Reads standard input for -, or without a file.\n";

#define OPTIONS_INTO struct cmp

static const struct options_row lapcmp_table[] = {
	{ 0, "across", NULL, "pair runs from different invocations of lap",
	    OPTIONS_FLAG(o.across) },
	{ 0, "all", NULL, "also compare failed runs", OPTIONS_FLAG(o.all) },
	{ 0, "csv", NULL, "", OPTIONS_FLAG(o.csv) },
	{ 0, "json", NULL, "write rows instead of a table",
	    OPTIONS_FLAG(o.json) },
	{ 0, "effect", "PERCENT", "say how many pairs would detect this "
	    "difference; default: 1", OPTIONS_CALL(set_effect) },
	{ 0, "holm", NULL, "intervals for all comparisons together (Holm)",
	    OPTIONS_FLAG(o.holm) },
	{ 'k', "keys", "KEY,...", "group runs by these keys only",
	    OPTIONS_TEXT(o.keys) },
	{ 0, "plot", "[=text|svg]", "also draw each run as a point, in the "
	    "terminal (text); or only that, as SVG", OPTIONS_CALL(set_plot),
	    .names = "text or svg" },
	{ 'r', "reference", "LABEL", "compare with this label; default: the "
	    "first of the group", OPTIONS_TEXT(o.ref) },
	{ 's', "stage", "N", "compare this stage of pipelines; default: all",
	    OPTIONS_TEXT(o.stage) },
	{ 0, "test", "ranks|sign", "the test that decides: signed ranks "
	    "(symmetric noise; default) or sign test (any noise; less "
	    "powerful)", OPTIONS_NAME(o.test, "test", "ranks or sign") },
	{ 0, "trim", "[=PERCENT]", "also print the mean without the outer "
	    "PERCENT (10)", OPTIONS_CALL(set_trim) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; version",
	    OPTIONS_VERSION("lapcmp", NULL) },
};

static int
read_operands(struct cmp *c, int argc, char **argv)
{
	int rc = 0;

	if (optind == argc)
		return cmp_read(c, "-");
	for (int i = optind; i < argc && rc == 0; i++)
		rc = cmp_read(c, argv[i]);
	return rc;
}

static void
note_rows(struct cmp *c)
{
	if (c->rows.again == 1)
		msg_note(&c->msg, "1 row repeats a run (same series, label "
		    "and number) and was counted once");
	else if (c->rows.again > 1)
		msg_note(&c->msg, "%zu rows repeat a run (same series, label "
		    "and number) and were counted once", c->rows.again);
}

int
main(int argc, char *argv[])
{
	struct cmp c = { .o = { .stage = "all", .trim = -1,
	    .effect = 0.01 } };
	struct options options = { .msg = &c.msg, .into = &c,
	    OPTIONS_TABLE(lapcmp_table), .usage = lapcmp_usage,
	    .about = lapcmp_about };
	int rc;

	msg_init(&c.msg, argv[0]);
	rc = options_parse(&options, argc, argv);
	if (rc >= 0)
		return rc;
	rc = read_operands(&c, argc, argv);
	if (rc == 0 && c.rows.count == 0)
		msg_error(&c.msg, "no rows for stage '%s'", c.o.stage);
	else if (rc == 0) {
		rc = cmp_compare(&c);
		if (rc == 0)
			note_rows(&c);
		if (rc == 0)
			rc = print_all_results(&c);
		if (rc == -ENOENT)
			msg_error(&c.msg, "no rows have the label '%s'",
			    c.o.ref);
		else if (rc != 0)
			msg_error(&c.msg, "%s", strerror(-rc));
	}
	sys_free(c.result);
	sys_free(c.scratch);
	cmp_rows_free(&c.rows);
	return msg_finish(&c.msg);
}
