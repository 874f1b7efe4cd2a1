/*
 * packer_lzo_notice.c - what a program linked with liblzo2 says of its licence
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/packer/packer.h"

#ifdef COLDPRESS_LZO

#include <lzo/lzoconf.h>

const char *
packer_lzo_notice(void)
{
	return "\nlzo " LZO_VERSION_STRING ": with it, this program as a whole "
	    "is under the GPL, version 3 or later";
}

#else

const char *
packer_lzo_notice(void)
{
	return "";
}

#endif
