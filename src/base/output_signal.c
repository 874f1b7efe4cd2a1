/*
 * output_signal.c - removing the temporary file when a signal arrives
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A signal handler has no argument, so this module contains the library's only
 * global variable.  The handler may run in any thread while another thread
 * completes the output.  The temporary name then no longer exists, even if the
 * directory's descriptor has been reused for another directory, because names
 * include the process ID and the time.
 */
#include "output_signal.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(const struct output_armed *) armed;

/*
 * Removes the name, and raises the signal again with its default action
 * restored.
 */
static void
remove_temp(int sig)
{
	const struct output_armed *a = atomic_load(&armed);

	if (a != NULL)
		a->remove(a);
	raise(sig);
}

void
output_arm(const struct output_armed *a)
{
	const struct output_armed *none = NULL;

	atomic_compare_exchange_strong(&armed, &none, a);
}

void
output_disarm(const struct output_armed *a)
{
	const struct output_armed *mine = a;

	atomic_compare_exchange_strong(&armed, &mine, NULL);
}

void
output_on_signals(void)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU,
	    SIGXFSZ };
	struct sigaction act = { .sa_handler = remove_temp,
	    .sa_flags = (int)SA_RESETHAND }, old;

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &old) == 0 &&
		    old.sa_handler == SIG_DFL)
			sigaction(ends[i], &act, NULL);
}
