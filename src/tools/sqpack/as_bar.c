/*
 * as_bar.c - the progress bars of mksquashfs and unsquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * On standard output, whether it is a terminal or not:
 *
 *	[=====================/                             ] 143/487  29%
 *
 * or only the percentages, one a line.
 */
#include "as.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS = 80 };			/* of what is no terminal */

static unsigned
columns(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 ? w.ws_col : COLUMNS;
}

/*
 * Returns whether a bar that is not on a terminal is printed; a file would be
 * filled with it otherwise.
 */
static bool
is_due(const struct as_bar *b, uint64_t done, uint64_t all)
{
	if (b->style == AS_BAR_MKSQUASHFS)
		return (done % 100 == 0 || done == all) &&
		    b->shown != (int64_t)done;
	return done == all || b->shown != (int64_t)(done * 100 / all);
}

static void
print_bar(struct as_bar *b, uint64_t done, uint64_t all)
{
	static const char turning[] = "|/-\\";
	bool terminal = isatty(STDOUT_FILENO) == 1;
	unsigned width = columns(), digits = 1, used, i = 0;

	for (uint64_t n = all; n > 9; n /= 10)
		digits++;
	used = all == 0 ? 13 : 2 * digits + 11;
	if (done > all || width < used || (!terminal && all > 0 &&
	    !is_due(b, done, all)) ||
	    (all == 0 && b->style == AS_BAR_UNSQUASHFS))
		return;
	b->shown = (int64_t)(b->style == AS_BAR_MKSQUASHFS ? done :
	    done * 100 / all);
	fputs("\r[", stdout);
	for (; all > 0 && i < done * (width - used) / all; i++)
		putchar('=');
	putchar(turning[b->turn % 4]);
	for (; i < width - used; i++)
		putchar(' ');
	printf("] %*llu/%*llu %3llu%%", digits, (unsigned long long)done,
	    digits, (unsigned long long)all, all == 0 ? 100 :
	    (unsigned long long)(done * 100 / all));
}

static void
show(struct as_bar *b, uint64_t done, uint64_t all)
{
	int64_t percent = all == 0 ? 100 : (int64_t)(done * 100 / all);

	if (!b->percent)
		print_bar(b, done, all);
	else if (percent != b->shown)
		printf("%lld\n", (long long)percent);
	if (b->percent)
		b->shown = percent;
	fflush(stdout);
}

static void
draw(void *arg, uint64_t done_B, uint64_t total_B)
{
	struct as_bar *b = arg;
	uint64_t all = b->all, done;

	b->turn++;
	b->begun = true;
	if (total_B == 0) {		/* an archive: as far as it was read */
		done = all = done_B / b->step_B;
	} else {
		done = (uint64_t)((double)b->data * (double)done_B /
		    (double)total_B);
		done = done < b->data ? done : b->data;
	}
	show(b, done, all);
}

static void
yield(void *arg)
{
	struct as_bar *b = arg;

	if (b->begun)
		putchar('\n');
	b->begun = false;
	fflush(stdout);
}

void
as_bar_open(struct as_bar *b, enum as_bar_style style, uint32_t step_B)
{
	*b = (struct as_bar){ .form = { draw, yield, b }, .style = style,
		.percent = b->percent, .step_B = step_B, .shown = -1 };
}

void
as_bar_close(struct as_bar *b, uint64_t done, uint64_t all)
{
	show(b, done, all);
	putchar('\n');
	fflush(stdout);
}
