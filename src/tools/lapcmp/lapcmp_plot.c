/*
 * lapcmp_plot.c - each run as a point, in a terminal and as SVG
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A label has one line.  In a terminal, runs that share a column are stacked as
 * the dots of a braille character; in SVG, all lie on the line, moved apart by
 * their number.  A box reaches from the first to the third quartile.  The scale
 * begins at 0, so that lengths can be compared.
 */
#include "lapcmp.h"

#include "base/strbuf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	COLUMNS = 78,			/* of a terminal */
	NAME_MAX_W = 24,
	STACK = 4,			/* dots of a braille character */
	SVG_WIDTH = 720, SVG_ROW = 34, SVG_NAME = 170, SVG_TOP = 40,
	SVG_RIGHT = 40
};

static const char *const metric_titles[CMP_METRICS] = { "wall_s",
	"user+sys_s" };

/* The results of one group and metric: c->result[first .. end - 1]. */
struct chart {
	size_t first, end;
	double most;			/* the end of the scale */
};

/* Finds the chart that begins at a result.  Returns false at the end. */
static bool
next_chart(const struct cmp *c, struct chart *chart)
{
	const struct cmp_result *r;

	chart->first = chart->end;
	chart->most = 0;
	if (chart->first == c->count)
		return false;
	r = &c->result[chart->first];
	while (chart->end < c->count && c->result[chart->end].group ==
	    r->group && c->result[chart->end].metric == r->metric) {
		chart->most = fmax(chart->most, c->result[chart->end].max);
		chart->end++;
	}
	return true;
}

/* Returns the value of a counted run, or NaN. */
static double
point_of(const struct cmp *c, const struct cmp_result *r, size_t row)
{
	const struct cmp_row *p = &c->rows.row[row];

	return cmp_counts(c, p) ? p->v[r->metric] : NAN;
}

/* Prints a character of the braille block with n dots, from the bottom up. */
static void
put_dots(unsigned n)
{
	/* both columns: 1+4, 2+5, 3+6, 7+8 */
	static const unsigned dots[STACK + 1] = { 0, 0xc0, 0xe4, 0xf6, 0xff };
	unsigned code = 0x2800 + dots[n];

	putchar(0xe0 | (int)(code >> 12));
	putchar(0x80 | (int)(code >> 6 & 0x3f));
	putchar(0x80 | (int)(code & 0x3f));
}

static void
plot_line(const struct cmp *c, const struct cmp_result *r, int width,
    double most)
{
	unsigned n[COLUMNS] = { 0 };
	int room = COLUMNS - width - 2;
	size_t first, end = cmp_find(&c->rows, r->group, r->label, &first);
	const char *name = c->rows.labels.text[r->label];

	for (int i = 0; i < width; i++)
		if (*name == '\0')
			putchar(' ');
		else {
			putchar((unsigned char)*name < ' ' || *name == 0x7f ?
			    '?' : *name);
			name++;
		}
	printf(" |");
	for (size_t i = first; i < end; i++) {
		double v = point_of(c, r, i);
		int at = isnan(v) || most <= 0 ? -1 :
		    (int)(v / most * (room - 1) + 0.5);

		if (at >= 0 && at < room && n[at] < STACK)
			n[at]++;
	}
	for (int i = 0; i < room; i++) {
		double lo = (i - 0.5) / (room - 1) * most;
		double hi = (i + 0.5) / (room - 1) * most;

		if (n[i] > 0)
			put_dots(n[i]);
		else if (r->n > 0 && hi > r->q1 && lo < r->q3)
			putchar('-');
		else
			putchar(' ');
	}
	putchar('\n');
}

int
cmp_plot_text(struct cmp *c)
{
	struct chart chart = { .end = 0 };

	while (next_chart(c, &chart)) {
		const struct cmp_result *r = &c->result[chart.first];
		int width = (int)strlen(metric_titles[r->metric]);

		for (size_t i = chart.first; i < chart.end; i++) {
			size_t n = strlen(c->rows.labels.text[
			    c->result[i].label]);

			if ((int)n > width)
				width = (int)(n < NAME_MAX_W ? n : NAME_MAX_W);
		}
		printf("\n%-*s 0%*.4g\n", width, metric_titles[r->metric],
		    COLUMNS - width - 2, chart.most);
		for (size_t i = chart.first; i < chart.end; i++)
			plot_line(c, &c->result[i], width, chart.most);
	}
	return 0;
}

/* Appends text for XML. */
static void
add_xml(struct strbuf *b, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '<')
			strbuf_str(b, "&lt;");
		else if (*text == '&')
			strbuf_str(b, "&amp;");
		else if (*text == '"')
			strbuf_str(b, "&quot;");
		else
			strbuf_char(b, (unsigned char)*text < ' ' ? '?' :
			    *text);
}

static void
add_svg_line(struct strbuf *b, const struct cmp *c, const struct cmp_result *r,
    double y, double scale)
{
	size_t first, end = cmp_find(&c->rows, r->group, r->label, &first);

	strbuf_fmt(b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
	    SVG_NAME - 8, y + 4);
	add_xml(b, c->rows.labels.text[r->label]);
	strbuf_str(b, "</text>\n");
	if (r->n == 0)
		return;
	strbuf_fmt(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
	    "height=\"18\" class=\"box\"/>\n", SVG_NAME + r->q1 * scale, y - 9,
	    fmax(1, (r->q3 - r->q1) * scale));
	strbuf_fmt(b, "<path d=\"M%.1f %.1fv22\" class=\"median\"/>\n",
	    SVG_NAME + r->median * scale, y - 11);
	for (size_t i = first; i < end; i++) {
		double v = point_of(c, r, i);

		if (!isnan(v))
			strbuf_fmt(b, "<circle cx=\"%.1f\" cy=\"%.1f\" "
			    "r=\"2.5\"><title>run %jd: %.6g s</title>"
			    "</circle>\n", SVG_NAME + v * scale, y +
			    (double)(c->rows.row[i].run % 5 - 2) * 3,
			    (intmax_t)c->rows.row[i].run, v);
	}
}

/* Appends a chart, and returns its height. */
static double
add_chart(struct strbuf *b, const struct cmp *c, const struct chart *chart,
    double y)
{
	const struct cmp_result *r = &c->result[chart->first];
	double room = SVG_WIDTH - SVG_NAME - SVG_RIGHT, end;
	double scale = chart->most > 0 ? room / chart->most : 0;

	strbuf_fmt(b, "<text x=\"%d\" y=\"%.1f\" class=\"title\">", SVG_NAME,
	    y + 18);
	add_xml(b, metric_titles[r->metric]);
	strbuf_str(b, *c->rows.groups.text[r->group] == '\0' ? "" : ", ");
	add_xml(b, c->rows.groups.text[r->group]);
	strbuf_str(b, "</text>\n");
	end = y + SVG_TOP + (double)(chart->end - chart->first) * SVG_ROW;
	for (int i = 0; i <= 4; i++) {
		double x = SVG_NAME + room * i / 4;

		strbuf_fmt(b, "<path d=\"M%.1f %.1fV%.1f\" class=\"grid\"/>\n"
		    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">"
		    "%.3g</text>\n", x, y + SVG_TOP - 12, end - 8, x, end + 8,
		    chart->most * i / 4);
	}
	for (size_t i = chart->first; i < chart->end; i++)
		add_svg_line(b, c, &c->result[i], y + SVG_TOP +
		    (double)(i - chart->first) * SVG_ROW + 8, scale);
	return end + 24 - y;
}

int
cmp_plot_svg(struct cmp *c)
{
	struct strbuf b = { 0 };
	struct chart chart = { .end = 0 };
	double y = 0;
	int rc = 0;

	while (next_chart(c, &chart))
		y += add_chart(&b, c, &chart, y);
	if (b.failed)
		rc = -ENOMEM;
	else {
		printf("<svg xmlns=\"http://www.w3.org/2000/svg\" "
		    "viewBox=\"0 0 %d %.0f\" role=\"img\" "
		    "font-family=\"sans-serif\" font-size=\"12\">\n"
		    "<title>Each run as a point, with quartiles and median"
		    "</title>\n<style>\n"
		    "svg { background: #fff; }\n"
		    "text { fill: #222; } .title { font-weight: bold; }\n"
		    "circle { fill: #1f5fa8; fill-opacity: .75; }\n"
		    ".box { fill: #bcd3ee; } .median { stroke: #222; "
		    "stroke-width: 2; }\n.grid { stroke: #ccc; }\n"
		    "</style>\n", SVG_WIDTH, y);
		fwrite(b.data, 1, b.len, stdout);
		puts("</svg>");
	}
	strbuf_free(&b);
	return rc;
}
