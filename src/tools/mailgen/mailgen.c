/*
 * mailgen.c - generate a deterministic corpus of mail
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mailgen.h"

#include "base/fdio.h"

int
main(int argc, char **argv)
{
	struct mailgen g = { .next = 0 };
	int status;

	fdio_hold_standard();
	status = mailgen_parse(&g, argc, argv);
	if (status >= 0)
		return status;
	if (g.o.profile != NULL)
		mailgen_profile(&g);
	else
		mailgen_run(&g);
	return msg_finish(&g.msg);
}
