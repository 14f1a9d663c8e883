/* drover-helper: start, loop, stop. helper.h tells the whole. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "helper.h"

#define OOM_SCORE "-900"
#define FILES_WANTED 4096

/* All zero at the start: some twenty megabytes of tables that take no memory before they are used. */
static struct helper helper;

void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("drover-helper: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}

static uint64_t tag_of(enum epoll_kind kind, int index)
{
	return (uint64_t)kind << 32 | (uint32_t)index;
}

int loop_add(struct helper *h, int fd, enum epoll_kind kind, int index, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = tag_of(kind, index) };

	return epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &event);
}

void loop_change(struct helper *h, int fd, enum epoll_kind kind, int index, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = tag_of(kind, index) };

	epoll_ctl(h->epoll, EPOLL_CTL_MOD, fd, &event);
}

/* ---- the process itself ---- */

static int open_signals(struct helper *h, struct error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	h->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return h->signals < 0 || loop_add(h, h->signals, EPOLL_SIGNAL, 0, EPOLLIN) < 0 ? fail_errno(err, "internal", "signalfd") : 0;
}

/* Under memory pressure agents should die, not what limits them. Not every container lets us say so. */
static void protect(struct helper *h)
{
	fd_auto int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	struct rlimit files;

	h->oom_lowered = fd >= 0 && write(fd, OOM_SCORE, strlen(OOM_SCORE)) > 0;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	umask(022);
	getrlimit(RLIMIT_NOFILE, &files);
	h->files_limit = files.rlim_cur;
	h->files_limit_max = files.rlim_max;
	if (files.rlim_cur < FILES_WANTED && files.rlim_max > files.rlim_cur) {
		files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* Descriptors 0 to 2 must be something, or a socket of ours would become somebody's standard output. */
static int open_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int open_staging(struct helper *h, struct error *err)
{
	snprintf(h->staging, sizeof h->staging, "%s/root", h->config.state_dir);
	if (mkdir(h->staging, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "internal", "%s", h->staging);
	return 0;
}

static const char *why_no_spawn(const struct helper *h)
{
	char path[1100];

	if (!h->cgroups.can_kill)
		return "it needs cgroup2 mounted and Linux 5.14";
	snprintf(path, sizeof path, "%s/drover-keeper", h->config.libexec);
	if (access(path, X_OK) != 0)
		return "drover-keeper is not in the helper's directory";
	snprintf(path, sizeof path, "%s/drover-init", h->config.libexec);
	return access(path, X_OK) != 0 ? "drover-init is not in the helper's directory" : NULL;
}

static int start(struct helper *h, struct error *err)
{
	if (geteuid() != 0)
		return fail(err, "not_permitted", "the helper runs as root");
	protect(h);
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll < 0 || open_signals(h, err) < 0 || watch_open(h, err) < 0)
		return -1;
	/* The socket first: it tells whether another helper is at work, whose sandboxes would be strays to us. */
	if (connections_listen(h, err) < 0 || registry_open(&h->registry, h->config.state_dir, err) < 0 || open_staging(h, err) < 0)
		return -1;
	if (cgroups_open(&h->cgroups, h->config.cgroup, err) < 0 || seccomp_build(&h->filter, err) < 0)
		return -1;
	h->spawn_missing = why_no_spawn(h);
	reconcile(h);
	return loop_add(h, h->listener, EPOLL_LISTEN, 0, EPOLLIN) < 0 ? fail_errno(err, "internal", "epoll") : 0;
}

/* ---- the loop ---- */

static void serve_signals(struct helper *h)
{
	struct signalfd_siginfo info;

	while (read(h->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			children_reap();
		else
			h->stop = true;
	}
}

static void serve(struct helper *h, const struct epoll_event *event)
{
	int index = (int)(uint32_t)event->data.u64;

	switch ((enum epoll_kind)(event->data.u64 >> 32)) {
	case EPOLL_LISTEN:
		connection_accept(h);
		break;
	case EPOLL_SIGNAL:
		serve_signals(h);
		break;
	case EPOLL_INOTIFY:
		watch_serve(h);
		break;
	case EPOLL_CONNECTION:
		connection_serve(h, index, event->events);
		break;
	case EPOLL_CHILD:
		child_serve(h, index);
		break;
	case EPOLL_OOM:
		watch_oom(h, index);
		break;
	}
}

static bool children_running(const struct helper *h)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (h->children[i].used)
			return true;
	return false;
}

/* With sandboxes the daemon stays: on v1 it is the one that ends a group after an OOM kill. */
static int64_t idle_deadline(struct helper *h, int64_t now)
{
	static int64_t idle_since;

	if (h->config.idle_exit_s == 0)
		return INT64_MAX;
	if (connections_count(h) > 0 || registry_total(&h->registry) > 0 || children_running(h)) {
		idle_since = 0;
		return INT64_MAX;
	}
	if (idle_since == 0)
		idle_since = now;
	h->stop |= now >= idle_since + (int64_t)h->config.idle_exit_s * 1000;
	return idle_since + (int64_t)h->config.idle_exit_s * 1000;
}

/* Does what is due; returns how long the loop may sleep. */
static int run_timers(struct helper *h)
{
	int64_t now = now_ms(), next = connections_expire(h, now), due[] = {
		children_expire(h, now), waits_check(h, NULL, now), watch_expire(h, now), idle_deadline(h, now),
	};

	for (size_t i = 0; i < sizeof due / sizeof *due; i++)
		next = due[i] < next ? due[i] : next;
	if (next == INT64_MAX)
		return -1;
	return next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);
}

static void loop(struct helper *h)
{
	struct epoll_event events[64];

	while (!h->stop) {
		int n = epoll_wait(h->epoll, events, 64, run_timers(h));

		for (int i = 0; i < n; i++)
			serve(h, &events[i]);
		connections_resume(h);
	}
}

/* Sandboxes live on and are adopted at the next start. A socket from systemd is systemd's to remove. */
static void stop(struct helper *h)
{
	if (h->own_socket)
		unlink(h->config.socket);
	cgroups_close(&h->cgroups);
}

static const char usage[] =
	"drover-helper: the privileged part of Drover. Runs as root.\n"
	"  --socket PATH          default /run/drover/helper.sock, unless systemd passes one\n"
	"  --state-dir DIR        registry and staging; default /run/drover\n"
	"  --cgroup NAME          own group in each hierarchy; default drover\n"
	"  --libexec DIR          where drover-keeper and drover-init are; default beside this program\n"
	"  --group NAME           whose members may use it\n"
	"  --allow-uid N          who may use it (repeatable)\n"
	"  --agent-uids A-B       uids for the agents of root; default 2000000-2065535\n"
	"  --idle-exit SECONDS    end when nobody is connected and there is no sandbox\n"
	"  --config FILE          the same as key=value lines (without --); default /etc/drover/helper.conf\n"
	"  --max_sandboxes N --max_memory BYTES --max_pids N   ceilings of each user\n"
	"  --print-protocol       the table of requests, as JSON lines\n";

int main(int argc, char **argv)
{
	struct error err;

	if (open_standard_files() < 0)
		return 1;
	if (config_read(&helper.config, argc, argv, &err) < 0) {
		say("%s", err.text);
		return 2;
	}
	if (helper.config.help)
		fputs(usage, stdout);
	if (helper.config.print_protocol)
		protocol_print();
	if (helper.config.help || helper.config.print_protocol)
		return 0;
	if (start(&helper, &err) < 0) {
		say("%s", err.text);
		return 1;
	}
	loop(&helper);
	stop(&helper);
	return 0;
}
