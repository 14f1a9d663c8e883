/*
 * drover-init: pid 1 of a sandbox, or, in level `basic`, the subreaper of an agent's tree.
 *
 * It starts jobs that the keeper asks for, reaps everything, and ends everything when told to or when the keeper is gone. It runs
 * as the agent's uid without a capability; what it has beyond the agent are descriptors of cgroup.procs files, opened by root, by which
 * a job enters the limited group. It is therefore not dumpable: an agent of the same uid can neither trace it nor open its descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "init-job.h"
#include "init-kill.h"
#include "records.h"

#define JOBS_MAX 64

/* How often a kill is repeated while processes are left: one that a side job has to wait for tells init nothing. */
#define KILL_AGAIN_MS 20
/* The source of an event that is no job's. */
#define CTL JOBS_MAX
#define SIGNALS (JOBS_MAX + 1)

struct job {
	bool used;
	bool side;
	uint64_t number;
	pid_t pid;
	int report; /* -1 once it is known whether the program runs */
	int master; /* the terminal, until the keeper has it; -1 */
	int slave;  /* held open, so that a program which closes its terminal for a while does not lose it; -1 */
};

static struct {
	int ctl;
	int signals;
	int epoll;
	bool is_pid1;
	bool killing;
	struct agent_group agent;
	struct job jobs[JOBS_MAX];
} self;

static char message[FRAME_MAX];
static struct records request;

static void tell(struct record_writer *w)
{
	/* A keeper that is gone is noticed by the end of the channel. */
	(void)channel_send(self.ctl, w->buf, w->len, NULL, 0);
}

static struct record_writer writer(void)
{
	static char buf[1024];

	return (struct record_writer){ .buf = buf, .cap = sizeof buf };
}

static struct job *find_job(uint64_t number)
{
	for (size_t i = 0; i < JOBS_MAX; i++)
		if (self.jobs[i].used && self.jobs[i].number == number)
			return &self.jobs[i];
	return NULL;
}

static struct job *free_job(void)
{
	for (size_t i = 0; i < JOBS_MAX; i++)
		if (!self.jobs[i].used)
			return &self.jobs[i];
	return NULL;
}

static size_t side_sessions(pid_t out[JOBS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < JOBS_MAX; i++)
		if (self.jobs[i].used && self.jobs[i].side)
			out[n++] = self.jobs[i].pid;
	return n;
}

static bool kill_all_but_side(void)
{
	pid_t spared[JOBS_MAX];
	size_t n = side_sessions(spared);

	return kill_everything(self.is_pid1, spared, n);
}

static void tell_not_started(uint64_t number, int code, const char *stage)
{
	struct record_writer w = writer();
	char text[128];

	snprintf(text, sizeof text, "%s: %s", stage, strerror(code));
	put_u64(&w, "notstarted", number);
	put_u64(&w, "errno", (uint64_t)code);
	put_str(&w, "message", text);
	tell(&w);
}

static void tell_started(uint64_t number, pid_t pid, int master)
{
	struct record_writer w = writer();

	put_u64(&w, "started", number);
	put_u64(&w, "pid", (uint64_t)pid);
	(void)channel_send(self.ctl, w.buf, w.len, &master, master < 0 ? 0 : 1);
}

/* Reads rows or cols of the request; a missing or wrong one is 24 and 80. */
static unsigned tty_size(const char *key, unsigned otherwise)
{
	const char *text = records_get(&request, key);
	uint64_t n;

	return text && parse_u64(text, 1, 9999, &n) == 0 ? (unsigned)n : otherwise;
}

static int watch(int fd, uint32_t source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };

	return epoll_ctl(self.epoll, EPOLL_CTL_ADD, fd, &event);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void forget(struct job *job)
{
	close_fd(&job->report);
	close_fd(&job->master);
	close_fd(&job->slave);
	job->used = false;
}

static void run(uint64_t number, int *fds, size_t nfds)
{
	const char *cwd = records_get(&request, "cwd"), *group = records_get(&request, "group"), *tty = records_get(&request, "tty");
	struct job_spec spec = { .request = &request, .cwd = cwd, .tty = tty && strcmp(tty, "1") == 0 };
	struct job_error error;
	struct job *job = free_job();

	if (!job)
		return tell_not_started(number, EAGAIN, "jobs");
	if (!cwd || !group || find_job(number) || records_count(&request, "arg") == 0 || (spec.tty ? nfds > 1 : nfds != 3))
		return tell_not_started(number, EINVAL, "request");
	spec.in_agent_group = strcmp(group, "agent") == 0;
	*job = (struct job){ .used = true, .side = !spec.in_agent_group, .number = number, .report = -1, .master = -1, .slave = -1 };
	if (spec.tty && (job->master = job_open_tty(tty_size("rows", 24), tty_size("cols", 80), &job->slave)) < 0) {
		tell_not_started(number, errno, "terminal");
		return forget(job);
	}
	for (int i = 0; i < 3; i++)
		spec.stdio[i] = spec.tty && (i > 0 || nfds == 0) ? job->slave : fds[i];
	job->pid = job_start(&spec, &self.agent, &job->report, &error);
	if (job->pid < 0) {
		tell_not_started(number, error.code, error.stage);
		return forget(job);
	}
	if (watch(job->report, (uint32_t)(job - self.jobs)) < 0) {
		kill(job->pid, SIGKILL);
		tell_not_started(number, errno, "epoll");
		forget(job);
	}
}

/* Looks whether a job that was starting runs, and tells. A job that does not is forgotten: its process is reaped as any other. */
static void follow_start(struct job *job)
{
	struct job_error error;
	enum job_result result = job_result(job->report, &error);

	if (result == JOB_STARTING)
		return;
	if (result == JOB_FAILED) {
		tell_not_started(job->number, error.code, error.stage);
		return forget(job);
	}
	close_fd(&job->report);
	tell_started(job->number, job->pid, job->master);
	close_fd(&job->master);
}

static void send_signal(uint64_t number)
{
	const char *text = records_get(&request, "number");
	struct job *job = find_job(number);
	uint64_t sig;

	if (!job || !text || parse_u64(text, 1, 64, &sig) < 0)
		return;
	/* The job was not waited for yet, so its number, and its group's and session's, are still its own. */
	if (kill(-job->pid, (int)sig) < 0)
		kill(job->pid, (int)sig); /* it has no group of its own yet */
	/* A shell with job control has its commands in other groups of the session. */
	if (sig == SIGKILL)
		kill_session(job->pid);
}

static void tell_killed(void)
{
	struct record_writer w = writer();

	self.killing = false;
	put_str(&w, "killed", "1");
	tell(&w);
}

/* Kills, and says so once nobody is left but side jobs. Called again after each wait while `killing`. */
static void go_on_killing(void)
{
	if (kill_all_but_side())
		tell_killed();
}

static void handle_message(int *fds, size_t nfds)
{
	const struct record *head = &request.at[0];
	uint64_t number;

	if (record_is(head, "killall")) {
		self.killing = true;
		go_on_killing();
	} else if (parse_u64(head->value, 0, UINT32_MAX, &number) < 0) {
		return;
	} else if (record_is(head, "run")) {
		run(number, fds, nfds);
	} else if (record_is(head, "signal")) {
		send_signal(number);
	}
}

/* Returns false at the end of the channel. */
static bool serve_channel(void)
{
	int fds[CHANNEL_FDS_MAX];
	size_t nfds;
	ssize_t n = channel_receive(self.ctl, message, sizeof message, fds, &nfds);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EMSGSIZE))
		return false;
	if (n > 0 && records_parse(message, (size_t)n, &request) == 0 && request.count > 0)
		handle_message(fds, nfds);
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	return true;
}

static uint64_t microseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_usec;
}

static void tell_ended(struct job *job, int status, const struct rusage *use)
{
	struct record_writer w = writer();

	put_u64(&w, "ended", job->number);
	if (WIFSIGNALED(status))
		put_u64(&w, "signal", (uint64_t)WTERMSIG(status));
	else
		put_u64(&w, "code", (uint64_t)WEXITSTATUS(status));
	put_u64(&w, "utime_us", microseconds(use->ru_utime));
	put_u64(&w, "stime_us", microseconds(use->ru_stime));
	put_u64(&w, "maxrss_kb", (uint64_t)use->ru_maxrss);
	tell(&w);
	forget(job);
}

static struct job *job_of(pid_t pid)
{
	for (size_t i = 0; i < JOBS_MAX; i++)
		if (self.jobs[i].used && self.jobs[i].pid == pid)
			return &self.jobs[i];
	return NULL;
}

static void reap(void)
{
	struct rusage use;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &use)) > 0) {
		struct job *job = job_of(pid);

		/* `started` comes before `ended`, or `notstarted` in place of both. */
		if (job && job->report >= 0)
			follow_start(job);
		if (job && job->used)
			tell_ended(job, status, &use);
	}
	if (self.killing)
		go_on_killing();
}

/* The keeper is gone or says the end: nobody may be left behind. As pid 1 the exit alone ends the namespace. */
static _Noreturn void end(void)
{
	while (!self.is_pid1 && !kill_everything(false, NULL, 0)) {
		struct pollfd child = { .fd = self.signals, .events = POLLIN };
		struct signalfd_siginfo info;

		if (poll(&child, 1, KILL_AGAIN_MS) > 0)
			(void)!read(self.signals, &info, sizeof info);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	_exit(0);
}

/* "7,8,9" into self.agent. */
static int parse_fds(const char *list)
{
	while (*list) {
		char *after;
		long fd = strtol(list, &after, 10);

		if (after == list || fd < 3 || self.agent.count == AGENT_PROCS_MAX)
			return -1;
		self.agent.fds[self.agent.count++] = (int)fd;
		if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
			return -1;
		list = *after == ',' ? after + 1 : after;
	}
	return 0;
}

static int parse_arguments(int argc, char **argv)
{
	uint64_t fd = 0;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--ctl-fd") == 0) {
			if (parse_u64(argv[i + 1], 3, 1 << 20, &fd) < 0)
				return -1;
		} else if (strcmp(argv[i], "--agent-procs") != 0 || parse_fds(argv[i + 1]) < 0) {
			return -1;
		}
	}
	self.ctl = (int)fd;
	return fd == 0 ? -1 : fcntl(self.ctl, F_SETFD, FD_CLOEXEC);
}

/* All signals are blocked before anything is done: pid 1 has no use for any but the news of a child. */
static int set_up(void)
{
	sigset_t all, child;

	self.is_pid1 = getpid() == 1;
	if (!self.is_pid1 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	self.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	self.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (self.signals < 0 || self.epoll < 0)
		return -1;
	return watch(self.signals, SIGNALS) < 0 || watch(self.ctl, CTL) < 0 ? -1 : 0;
}

static void serve(uint32_t source)
{
	struct signalfd_siginfo info;

	if (source == CTL) {
		if (!serve_channel())
			end();
	} else if (source == SIGNALS) {
		while (read(self.signals, &info, sizeof info) == sizeof info)
			;
		reap();
	} else if (self.jobs[source].used && self.jobs[source].report >= 0) {
		follow_start(&self.jobs[source]);
	}
}

int main(int argc, char **argv)
{
	struct record_writer w = writer();

	/* First of all, before anything could run that might look in here. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || parse_arguments(argc, argv) < 0) {
		fputs("usage: drover-init --ctl-fd N [--agent-procs N,N,...]; started by the keeper or the helper\n", stderr);
		return 2;
	}
	if (set_up() < 0)
		return 3;
	put_str(&w, "ready", "1");
	tell(&w);
	for (;;) {
		struct epoll_event event;
		int n = epoll_wait(self.epoll, &event, 1, self.killing ? KILL_AGAIN_MS : -1);

		if (n == 1)
			serve(event.data.u32);
		else if (n == 0)
			reap();
	}
}
