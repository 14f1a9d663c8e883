/*
 * Ending processes: everything below init, or one job's session.
 */
#ifndef DROVER_INIT_KILL_H
#define DROVER_INIT_KILL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * SIGKILL to every process but the caller, and the `spared` ones (the side jobs) with their sessions. As pid 1 all processes of the
 * namespace are meant; else (level basic) the caller's children, which include every orphan, since it is their subreaper.
 * Returns true when nothing was left to kill. A process that was killed may still have to be waited for, and in `basic` its children
 * become the caller's only when it has died, so this is called again after each wait until it returns true.
 * A process that may not be killed (of another uid, by a setuid program in `basic`) counts as none: waiting would not end it.
 */
bool kill_everything(bool is_pid1, const pid_t *spared, size_t nspared);

/* SIGKILL to every process of a session. */
void kill_session(pid_t session);

#endif
