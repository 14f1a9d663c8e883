#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"

struct keeper keeper;

/* At run time: as an initialiser it would put megabytes of zeros into the file. */
static void initialise(void)
{
	keeper.report = keeper.oom = keeper.dir = -1;
	keeper.ctl.fd = keeper.signals.fd = keeper.listener.fd = -1;
	keeper.out.port.fd = keeper.err.port.fd = keeper.out.log = keeper.err.log = -1;
	keeper.out.retry_at = keeper.err.retry_at = NEVER;
	keeper.start_by = keeper.kill_at = keeper.reap_at = keeper.killing_since = NEVER;
	keeper.drain_until = keeper.drain_end = keeper.record_at = keeper.settle_at = NEVER;
	keeper.code = keeper.signal = -1;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		keeper.clients[i].port.fd = -1;
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

static void report(const struct record_writer *w)
{
	if (keeper.report < 0)
		return;
	/* A starter that went away does not hinder: the agent's life does not depend on it. */
	(void)write_all(keeper.report, w->buf, w->len);
	close(keeper.report);
	keeper.report = -1;
}

/* From here on the directory is free for another keeper: whoever hears of this one's end may start it. */
static void release_dir(void)
{
	if (keeper.listener.fd >= 0)
		(void)unlinkat(keeper.dir, "keeper.sock", 0);
	port_close(&keeper.listener);
	if (keeper.dir >= 0)
		close(keeper.dir);
	keeper.dir = -1;
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
	release_dir();
	report(&w);
	leave(1);
}

void report_started(void)
{
	char buf[128];
	struct record_writer w = { .buf = buf, .cap = sizeof buf };

	put_u64(&w, "ok", 1);
	put_u64(&w, "keeper_pid", (uint64_t)getpid());
	put_u64(&w, "init_pid", (uint64_t)keeper.init);
	report(&w);
}

void leave(int status)
{
	static const char ok[] = "\6\0\0\0Aok=1";

	release_dir();
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &keeper.clients[i];

		if (c->port.fd >= 0 && c->kind == CLIENT_END)
			(void)send(c->port.fd, ok, sizeof ok, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	exit(status);
}

/* Returns -1 when `text` is no number of an open descriptor above 2. */
static int parse_fd(const char *text)
{
	uint64_t fd;

	if (parse_u64(text, 3, 1 << 20, &fd) < 0 || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	return (int)fd;
}

/* Returns the spec's descriptor, or -1. */
static int parse_arguments(int argc, char **argv)
{
	int spec = -1;

	for (int i = 2; i < argc; i += 2) {
		int fd = i + 1 < argc ? parse_fd(argv[i + 1]) : -1;

		if (fd < 0)
			return -1;
		if (strcmp(argv[i], "--spec-fd") == 0)
			spec = fd;
		else if (strcmp(argv[i], "--report-fd") == 0)
			keeper.report = fd;
		else if (strcmp(argv[i], "--ctl-fd") == 0)
			port_set(&keeper.ctl, fd, SRC_CTL, 0);
		else if (strcmp(argv[i], "--oom-fd") == 0)
			keeper.oom = fd;
		else
			return -1;
	}
	return spec;
}

/* One keeper for a directory, for as long as it lives: a second one must not touch the logs of the first. */
static void open_dir(void)
{
	keeper.dir = open(keeper.spec.dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (keeper.dir < 0 || fchdir(keeper.dir) < 0)
		fail_start("bad_path", "%s: %s", keeper.spec.dir, strerror(errno));
	if (flock(keeper.dir, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			fail_start("busy", "another keeper serves %s", keeper.spec.dir);
		fail_start("spawn_failed", "%s cannot be locked: %s", keeper.spec.dir, strerror(errno));
	}
	/* The record of an earlier run must not be taken for this one's. */
	if (unlinkat(keeper.dir, "exit", 0) < 0 && errno != ENOENT)
		fail_start("bad_path", "%s/exit: %s", keeper.spec.dir, strerror(errno));
}

static void open_signals(void)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* A limit on the size of files must not end the agent. */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	keeper.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0 || keeper.epoll < 0)
		fail_start("spawn_failed", "%s", strerror(errno));
	port_set(&keeper.signals, fd, SRC_SIGNALS, 0);
}

static void set_up(int spec_fd)
{
	/* An agent of the same uid has no business in here. */
	prctl(PR_SET_DUMPABLE, 0);
	setsid();
	open_signals();
	job0_expect();
	read_spec(spec_fd);
	open_dir();
	open_logs();
	open_socket();
	if (keeper.ctl.fd < 0)
		start_basic_init();
	if (port_arm(&keeper.signals, EPOLLIN) < 0 || port_arm(&keeper.ctl, EPOLLIN) < 0)
		fail_start("spawn_failed", "epoll: %s", strerror(errno));
}

/* SIGTERM: the agent is stopped as by a client, and nothing settles after it. */
static void told_to_end(void)
{
	keeper.leave_after = true;
	if (keeper.state == STARTING)
		fail_start("spawn_failed", "the keeper was told to end before the agent ran");
	if (keeper.state == RUNNING) {
		keeper.stop_asked = true;
		job0_stop(keeper.spec.grace_ms);
	}
	if (keeper.state == SETTLING)
		begin_leaving();
}

static void handle_signals(void)
{
	struct signalfd_siginfo info;

	while (read(keeper.signals.fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			child_ended();
		else
			told_to_end();
	}
}

static void dispatch(const struct port *p, uint32_t events)
{
	struct client *c = &keeper.clients[p->index];

	switch ((enum source)p->source) {
	case SRC_CTL:
		return init_message();
	case SRC_SIGNALS:
		return handle_signals();
	case SRC_LISTEN:
		return accept_clients();
	case SRC_OUT:
		return output_ready(&keeper.out, events);
	case SRC_ERR:
		return output_ready(&keeper.err, events);
	case SRC_CLIENT:
		return client_event(c, events);
	case SRC_JOB_IN:
	case SRC_JOB_OUT:
	case SRC_JOB_ERR:
		return exec_event(c, (enum source)p->source);
	}
}

static uint64_t next_deadline(void)
{
	uint64_t all[] = { job0_deadline(), clients_deadline(), keeper.out.retry_at, keeper.err.retry_at }, first = NEVER;

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

		for (int i = 0; i < n; i++) {
			const struct port *p = port_of(events[i].data.u64);

			if (p)
				dispatch(p, events[i].events);
		}
		now = now_ms();
		output_retry(&keeper.out, now);
		output_retry(&keeper.err, now);
		clients_timers(now);
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
		      "       drover-keeper supervise [--max-restarts N] -- PROGRAM ARGS...\n"
		      "Both are started by Drover itself.\n",
		      stderr);
		return 2;
	}
	set_up(spec);
	run();
}
