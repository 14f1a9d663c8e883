#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"

struct keeper keeper;

/* At run time: as an initialiser it would put megabytes of zeros into the file. */
static void initialise(void)
{
	keeper.report = keeper.ctl = keeper.oom = keeper.dir = keeper.listener = -1;
	keeper.kill_at = keeper.settle_at = keeper.drain_until = NEVER;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		keeper.clients[i].fd = -1;
}

static uint64_t milliseconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t now_ms(void)
{
	return milliseconds(CLOCK_MONOTONIC);
}

uint64_t wall_ms(void)
{
	return milliseconds(CLOCK_REALTIME);
}

uint64_t run_time(void)
{
	bool counting = (keeper.state == RUNNING || keeper.state == STOPPING) && !keeper.paused;

	return keeper.ran + (counting ? now_ms() - keeper.run_since : 0);
}

static uint64_t key_of(enum source source, size_t index)
{
	return (uint64_t)source << 32 | index;
}

/*
 * A descriptor that must wait is taken out of the set, not left in it with no events: the kernel reports hang-ups and errors
 * always, and would wake us for ever.
 */
int watch_fd(int fd, uint32_t events, enum source source, size_t index)
{
	struct epoll_event event = { .events = events, .data.u64 = key_of(source, index) };

	if (epoll_ctl(keeper.epoll, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	return errno == EEXIST ? 0 : -1;
}

int change_fd(int fd, uint32_t events, enum source source, size_t index)
{
	struct epoll_event event = { .events = events, .data.u64 = key_of(source, index) };

	return epoll_ctl(keeper.epoll, EPOLL_CTL_MOD, fd, &event);
}

void unwatch_fd(int fd)
{
	epoll_ctl(keeper.epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void report(struct record_writer *w)
{
	if (keeper.report < 0)
		return;
	/* A starter that went away does not hinder: the agent's life does not depend on it. */
	(void)write_all(keeper.report, w->buf, w->len);
	close(keeper.report);
	keeper.report = -1;
}

void fail_start(const char *code, const char *fmt, ...)
{
	char buf[1024], text[512];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	put_str(&w, "error", code);
	put_str(&w, "message", text);
	report(&w);
	leave(1);
}

/* init is this process's only child. In `enhanced` it was made before this program was executed, so the kernel is asked. */
static pid_t only_child(void)
{
	char path[64];
	FILE *list;
	int pid = 0;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	list = fopen(path, "re");
	if (list && fscanf(list, "%d", &pid) != 1)
		pid = 0;
	if (list)
		fclose(list);
	return pid;
}

void report_started(void)
{
	char buf[128];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	if (keeper.init == 0)
		keeper.init = only_child();
	put_str(&w, "ok", "1");
	put_u64(&w, "keeper_pid", (uint64_t)getpid());
	put_u64(&w, "init_pid", (uint64_t)keeper.init);
	report(&w);
}

void leave(int status)
{
	/* init is gone or going; who asked for the end is answered when the kernel has let go of it. */
	while (keeper.init_gone && (waitpid(-1, NULL, 0) > 0 || errno == EINTR))
		init_reaped();
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &keeper.clients[i];

		/* Those who asked for the end get their answer now that it has come. */
		if (c->fd >= 0 && c->kind == CLIENT_END)
			(void)send(c->fd, "\6\0\0\0Aok=1", 10, MSG_NOSIGNAL);
	}
	if (keeper.listener >= 0 && unlinkat(keeper.dir, "keeper.sock", 0) < 0 && errno != ENOENT)
		status = status ? status : 4;
	exit(status);
}

static int parse_fd(const char *text)
{
	int fd = atoi(text);

	return fd < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : fd;
}

static int parse_arguments(int argc, char **argv)
{
	int spec = -1;

	for (int i = 2; i + 1 < argc; i += 2) {
		int fd = parse_fd(argv[i + 1]);

		if (fd < 0)
			return -1;
		if (strcmp(argv[i], "--spec-fd") == 0)
			spec = fd;
		else if (strcmp(argv[i], "--report-fd") == 0)
			keeper.report = fd;
		else if (strcmp(argv[i], "--ctl-fd") == 0)
			keeper.ctl = fd;
		else if (strcmp(argv[i], "--oom-fd") == 0)
			keeper.oom = fd;
		else
			return -1;
	}
	return spec;
}

static void open_dir(void)
{
	keeper.dir = open(keeper.spec.dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (keeper.dir < 0 || fchdir(keeper.dir) < 0)
		fail_start("bad_path", "%s: %s", keeper.spec.dir, strerror(errno));
}

static void set_up(int spec_fd)
{
	sigset_t set;

	/* An agent of the same uid has no business in here. */
	prctl(PR_SET_DUMPABLE, 0);
	umask(077);
	setsid();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	keeper.epoll = epoll_create1(EPOLL_CLOEXEC);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	keeper.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keeper.epoll < 0 || keeper.signals < 0)
		fail_start("spawn_failed", "%s", strerror(errno));
	read_spec(spec_fd);
	open_dir();
	open_logs();
	open_socket();
	if (keeper.ctl < 0)
		start_basic_init();
	if (watch_fd(keeper.signals, EPOLLIN, SRC_SIGNALS, 0) < 0 || watch_fd(keeper.ctl, EPOLLIN, SRC_CTL, 0) < 0)
		fail_start("spawn_failed", "epoll: %s", strerror(errno));
}

static void handle_signal(void)
{
	struct signalfd_siginfo info;

	while (read(keeper.signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD) {
			init_reaped();
		} else if (keeper.state == RUNNING) {
			keeper.stop_asked = true;
			stop_job0(keeper.spec.grace_ms);
		}
	}
}

static void dispatch(const struct epoll_event *event)
{
	size_t index = (size_t)(event->data.u64 & UINT32_MAX);
	enum source source = (enum source)(event->data.u64 >> 32);

	switch (source) {
	case SRC_CTL:
		if (keeper.ctl >= 0)
			init_message();
		break;
	case SRC_SIGNALS:
		handle_signal();
		break;
	case SRC_LISTEN:
		accept_client();
		break;
	case SRC_OUT:
		output_ready(&keeper.out);
		break;
	case SRC_ERR:
		output_ready(&keeper.err);
		break;
	case SRC_CLIENT:
		client_event(index, event->events);
		break;
	case SRC_JOB_IN:
	case SRC_JOB_OUT:
	case SRC_JOB_ERR:
		exec_event(index, source);
		break;
	}
}

static uint64_t next_deadline(void)
{
	uint64_t all[] = { job0_deadline(), exec_deadline(), linger_deadline(), keeper.out.retry_at, keeper.err.retry_at }, first = NEVER;

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i] < first)
			first = all[i];
	return first;
}

static int timeout_until(uint64_t deadline)
{
	uint64_t now = now_ms();

	if (deadline == NEVER)
		return -1;
	if (deadline <= now)
		return 0;
	return deadline - now > 3600000 ? 3600000 : (int)(deadline - now);
}

static _Noreturn void run(void)
{
	struct epoll_event events[16];

	for (;;) {
		int n = epoll_wait(keeper.epoll, events, 16, timeout_until(next_deadline()));
		uint64_t now;

		for (int i = 0; i < n; i++)
			dispatch(&events[i]);
		now = now_ms();
		output_retry(&keeper.out, now);
		output_retry(&keeper.err, now);
		exec_timers(now);
		linger_timers(now);
		job0_timers(now);
	}
}

int main(int argc, char **argv)
{
	int spec;

	initialise();
	if (argc > 2 && strcmp(argv[1], "supervise") == 0)
		return supervise(argc - 2, argv + 2);
	spec = argc > 2 && strcmp(argv[1], "run") == 0 ? parse_arguments(argc, argv) : -1;
	if (spec < 0) {
		fputs("usage: drover-keeper run --spec-fd N --report-fd N [--ctl-fd N] [--oom-fd N]\n"
		      "       drover-keeper supervise -- PROGRAM ARGS...\n"
		      "Both are started by Drover itself.\n",
		      stderr);
		return 2;
	}
	set_up(spec);
	run();
}
