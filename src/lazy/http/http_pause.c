/*
 * http_pause.c - computing pauses between attempts, and their deadline
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_private.h"

#include "base/sys.h"

#include <errno.h>

enum { FIRST_MS = 20, DOUBLINGS = 8 };

static const uint64_t second = 1000000000, millisecond = 1000000;

void
http_patience_start(struct http_patience *p, unsigned timeout_s)
{
	*p = (struct http_patience){ .limit_ns = timeout_s * second };
	p->deadline_ns = sys_now_ns() + p->limit_ns;
}

void
http_patience_renew(struct http_patience *p)
{
	p->tries = 0;
	p->answered = false;
	p->deadline_ns = sys_now_ns() + p->limit_ns;
}

int
http_patience_pause(struct http_patience *p, unsigned retry_after)
{
	unsigned doublings = p->tries < DOUBLINGS ? p->tries : DOUBLINGS;
	uint64_t now = sys_now_ns(), pause;

	/* clients that failed simultaneously should not retry simultaneously */
	pause = (FIRST_MS << doublings) * millisecond;
	pause = pause / 2 + now % (pause / 2);
	if (retry_after > 0)
		pause = retry_after * second;
	p->tries++;
	if (now + pause >= p->deadline_ns &&
	    (p->tries >= HTTP_TRIES || retry_after > 0))
		return -ETIMEDOUT;
	sys_sleep_ns(pause);
	return 0;
}
