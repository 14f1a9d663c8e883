#include "init-job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

/* What the child tells its parent through the error pipe; nothing when exec succeeded, since the pipe closes then. */
struct failure {
	int code;
	int stage;
};

static const char *const STAGES[] = { "session", "cgroup", "terminal", "descriptors", "directory", "program" };
enum stage { SESSION, CGROUP, TERMINAL, DESCRIPTORS, DIRECTORY, PROGRAM };

/* Characters are UTF-8: the erase key takes a whole one. */
static int set_utf8(int slave)
{
	struct termios mode;

	if (tcgetattr(slave, &mode) < 0)
		return -1;
	mode.c_iflag |= IUTF8;
	return tcsetattr(slave, TCSANOW, &mode);
}

int job_open_tty(unsigned rows, unsigned cols, int *slave)
{
	struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols };
	int unlock = 0, saved, master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0)
		return -1;
	if (ioctl(master, TIOCSPTLCK, &unlock) < 0 || ioctl(master, TIOCSWINSZ, &size) < 0)
		goto fail;
	/* By descriptor: the path of a slave could lead to another devpts. */
	*slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave >= 0 && set_utf8(*slave) == 0)
		return master;
	if (*slave >= 0)
		close(*slave);
fail:
	saved = errno;
	close(master);
	errno = saved;
	return -1;
}

static int join_agent_group(const struct agent_group *group)
{
	/* Before exec and for every hierarchy, or not at all: a job outside its limits must not run. */
	for (size_t i = 0; i < group->count; i++)
		if (write(group->fds[i], "0", 1) != 1)
			return -1;
	return 0;
}

static void reset_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int place_stdio(const int stdio[3])
{
	int high[3];

	/* First out of the way of 0 to 2, then into place: no order of numbers can then overwrite another. */
	for (int i = 0; i < 3; i++)
		if ((high[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 10)) < 0)
			return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(high[i], i) < 0)
			return -1;
	/* Everything else goes at exec, the error pipe among them. */
	return (int)syscall(SYS_close_range, 3u, UINT_MAX, CLOSE_RANGE_CLOEXEC);
}

/* Fills `out` (room for RECORDS_MAX + 1) with the values of `key`. */
static void collect(const struct records *list, const char *key, char **out)
{
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++)
		if (record_is(&list->at[i], key))
			out[n++] = (char *)list->at[i].value;
	out[n] = NULL;
}

static enum stage become(const struct job_spec *spec, const struct agent_group *group)
{
	static char *argv[RECORDS_MAX + 1], *envp[RECORDS_MAX + 1];

	if (setsid() < 0)
		return SESSION;
	if (spec->in_agent_group && join_agent_group(group) < 0)
		return CGROUP;
	if (spec->tty && ioctl(spec->stdio[1], TIOCSCTTY, 0) < 0)
		return TERMINAL;
	if (place_stdio(spec->stdio) < 0)
		return DESCRIPTORS;
	if (chdir(spec->cwd) < 0)
		return DIRECTORY;
	collect(spec->request, "arg", argv);
	collect(spec->request, "env", envp);
	reset_signals();
	/* The job's own PATH decides where its program is. */
	environ = envp;
	execvp(argv[0], argv);
	return PROGRAM;
}

static _Noreturn void run_child(const struct job_spec *spec, const struct agent_group *group, int report)
{
	struct failure failure;

	failure.stage = (int)become(spec, group);
	failure.code = errno;
	if (write(report, &failure, sizeof failure) != sizeof failure)
		_exit(126);
	_exit(127);
}

pid_t job_start(const struct job_spec *spec, const struct agent_group *group, int *report, struct job_error *error)
{
	int ends[2];
	pid_t pid;

	error->stage = "process";
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		error->code = errno;
		return -1;
	}
	pid = fork();
	if (pid == 0) {
		/* A descriptor that stays above the ones place_stdio uses. */
		int high = fcntl(ends[1], F_DUPFD_CLOEXEC, 20);

		run_child(spec, group, high < 0 ? ends[1] : high);
	}
	error->code = errno;
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	else
		*report = ends[0];
	return pid;
}

enum job_result job_result(int report, struct job_error *error)
{
	struct failure failure;
	ssize_t n;

	do
		n = read(report, &failure, sizeof failure);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return JOB_STARTING;
	if (n == 0)
		return JOB_RUNS;
	error->code = n == sizeof failure ? failure.code : EIO;
	error->stage = n == sizeof failure ? STAGES[failure.stage] : "report";
	return JOB_FAILED;
}
