/*
 * pzc.c - compress and decompress streams and files on all cores
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * pzc_style.c, pzc_gzip.c and pzc_pigz.c define the behaviour for each program
 * name.  pzc_options.c parses the command line and checks it.  pzc_file.c opens
 * an operand, converts it and names the output; pzc_walk.c does so for all
 * files below a directory.  pzc_list.c lists a file, and pzc_stats.c reports
 * statistics.
 */
#include "pzc.h"

#include "base/fdio.h"
#include "base/output.h"

#include <string.h>

int
main(int argc, char **argv)
{
	static char stdin_name[] = "-";
	static char *stdin_only[] = { stdin_name };
	struct pzc p;
	int status;

	fdio_hold_standard();
	output_on_signals();
	status = pzc_parse(&p, argc, argv);
	if (status >= 0) {
		pzc_release(&p);
		return status;
	}
	if (p.file_count == 0) {
		p.files = stdin_only;
		p.file_count = 1;
	}
	for (int i = 0; i < p.file_count; i++) {
		if (p.recursive && strcmp(p.files[i], "-") != 0)
			pzc_walk(&p, p.files[i]);
		else
			pzc_operand(&p, p.files[i]);
	}
	if (p.mode == PZC_LIST)
		pzc_list_end(&p);
	pzc_release(&p);
	return msg_finish(&p.msg);
}
