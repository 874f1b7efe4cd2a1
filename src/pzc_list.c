#include "pzc.h"
void
pzc_list(struct pzc *p, const char *path)
{
	msg_error(&p->msg, "%s: -l is not there yet", path);
}
