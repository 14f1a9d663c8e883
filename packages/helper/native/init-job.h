/*
 * Starting one job.
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
	bool tty;     /* stdio[0] is a terminal that becomes the controlling one */
};

struct job_error {
	int code; /* errno */
	const char *stage;
};

/* Starts the job and returns its pid once its program is known to run; -1 with `error` filled when it does not. */
pid_t job_start(const struct job_spec *spec, const struct agent_group *group, struct job_error *error);

/* Opens a terminal of this namespace's devpts with the given size. Returns the master and sets `slave`; -1 with errno. */
int job_open_tty(unsigned rows, unsigned cols, int *slave);

#endif
