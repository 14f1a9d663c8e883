/*
 * Ending processes: everything below init, or one job.
 */
#ifndef DROVER_INIT_KILL_H
#define DROVER_INIT_KILL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * SIGKILL to every process but init and those in the sessions of `spared` (the side jobs). As pid 1 all processes of the namespace are
 * meant; else (level basic) init's own children, which include every orphan, since init is their subreaper.
 * Returns true when nothing was left to kill: a process that was killed may still have to be waited for, and in `basic` its
 * children become init's only then, so the caller repeats this after each wait.
 */
bool kill_everything(bool is_pid1, const pid_t *spared, size_t nspared);

#endif
