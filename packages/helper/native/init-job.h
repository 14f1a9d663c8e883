/*
 * Starting one job. A start is never waited for: the program may lie on a file system that hangs, and a process that entered a frozen
 * group stands still before it executes, while init has to go on reaping and killing.
 */
#ifndef DROVER_INIT_JOB_H
#define DROVER_INIT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "records.h"

#define AGENT_PROCS_MAX 16

struct agent_group {
	int fds[AGENT_PROCS_MAX]; /* cgroup.procs of each hierarchy, opened by root */
	size_t count;
};

struct job_spec {
	const struct records *request; /* arg, env */
	const char *cwd;
	bool in_agent_group;
	int stdio[3]; /* descriptors for 0, 1, 2 */
	bool tty;     /* stdio[1] is a terminal that becomes the controlling one */
};

struct job_error {
	int code; /* errno */
	const char *stage;
};

/* Forks the job. Returns its pid and sets `report`, which job_result reads; -1 with `error` filled when there is no process. */
pid_t job_start(const struct job_spec *spec, const struct agent_group *group, int *report, struct job_error *error);

enum job_result { JOB_STARTING, JOB_RUNS, JOB_FAILED };

/* What is known of a start. JOB_RUNS: its program was executed; JOB_FAILED: it was not, and `error` says why. */
enum job_result job_result(int report, struct job_error *error);

/* Opens a terminal of this namespace's devpts with the given size. Returns the master and sets `slave`; -1 with errno. */
int job_open_tty(unsigned rows, unsigned cols, int *slave);

#endif
