/*
 * The child of a spawn. It opens what root must open (control files, programs), clones the init into the sandbox's groups and new
 * namespaces, waits until that one has become drover-init, then gives up everything and becomes drover-keeper.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper.h"

struct keeper {
	int program, ctl, spec, oom; /* oom: -1 where there is no such count */
	int failed;                  /* reading end: how the init's set-up went */
};

static int open_program(const struct config *config, const char *name, struct error *err)
{
	fd_auto int dir = open(config->libexec, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -1 : openat(dir, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? fail_errno(err, "spawn_failed", "%s/%s", config->libexec, name) : fd;
}

static int open_groups(struct launch *l, struct error *err)
{
	const struct sandbox *s = l->sandbox;
	const struct cgroups *cg = &l->h->cgroups;

	for (size_t i = 0; i < cg->count; i++) {
		l->agent_procs[i] = group_open(&cg->at[i], s->uid, s->id, PART_AGENT, "cgroup.procs", O_WRONLY);
		l->side_procs[i] = group_open(&cg->at[i], s->uid, s->id, PART_SIDE, "cgroup.procs", O_WRONLY);
		if (l->agent_procs[i] < 0 || l->side_procs[i] < 0)
			return fail_errno(err, "spawn_failed", "cgroup.procs");
		l->procs_count = i + 1;
	}
	return 0;
}

/* The request as it was received, for the keeper to read. Sealed: what was checked is what is read. */
static int spec_file(const struct request *rq, struct error *err)
{
	fd_auto int fd = memfd_create("spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, rq->bytes, rq->len) != (ssize_t)rq->len || lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return fail_errno(err, "internal", "spec");
	return take_fd(&fd);
}

static int open_all(struct launch *l, struct keeper *k, const struct request *rq, struct error *err)
{
	const struct hierarchy *memory = l->h->cgroups.home[CTL_MEMORY];
	int ctl[2], failed[2];

	k->program = open_program(&l->h->config, "drover-keeper", err);
	l->init_program = k->program < 0 ? -1 : open_program(&l->h->config, "drover-init", err);
	if (l->init_program < 0 || open_groups(l, err) < 0)
		return -1;
	k->spec = spec_file(rq, err);
	if (k->spec < 0)
		return -1;
	k->oom = memory ? group_open(memory, l->sandbox->uid, l->sandbox->id, PART_AGENT, oom_file(&l->h->cgroups), O_RDONLY) : -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ctl) < 0 || pipe2(failed, O_CLOEXEC) < 0)
		return fail_errno(err, "internal", "socketpair");
	k->ctl = ctl[0];
	l->ctl = ctl[1];
	k->failed = failed[0];
	l->failed = failed[1];
	return 0;
}

/*
 * Not CLONE_INTO_CGROUP: kernels that count kills (seen on 6.18) compare the new group's count with the old one's, and end every child
 * cloned into a group on which cgroup.kill was ever used. The child joins by itself, first of all; until it has, it dies with the launcher.
 */
static pid_t clone_init(void)
{
	struct clone_args args = { .flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS, .exit_signal = SIGCHLD };

	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* In the init child. A launcher that died before the first line is told by its end of the channel being closed. */
static void die_with_launcher(const struct launch *l, struct keeper *k)
{
	struct pollfd launcher = { .fd = l->ctl };

	close_fd(&k->ctl);
	close_fd(&k->failed);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || poll(&launcher, 1, 0) < 0 || (launcher.revents & POLLHUP))
		_exit(73);
}

/* Nothing arrives when the exec succeeded and closed the pipe. */
static int wait_for_init(int failed, struct error *err)
{
	static struct records list;
	char text[2048];
	ssize_t n;

	do
		n = read(failed, text, sizeof text);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	if (n < 0 || records_parse(text, (size_t)n, &list) < 0 || !records_get(&list, "error") || !records_get(&list, "message"))
		return fail(err, "spawn_failed", "the set-up of the sandbox failed without a word");
	return fail(err, records_get(&list, "error"), "%s", records_get(&list, "message"));
}

static void use_null_for_standard_files(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			_exit(72);
}

static void pass_on(char text[16], int fd)
{
	snprintf(text, 16, "%d", fd);
	fcntl(fd, F_SETFD, 0);
}

static int execute_keeper(const struct keeper *k, const struct peer *peer, int report, struct error *err)
{
	char ctl[16], reporting[16], spec[16], oom[16];
	char *argv[] = { "drover-keeper", "run", "--ctl-fd", ctl, "--report-fd", reporting, "--spec-fd", spec, NULL, NULL, NULL };
	char *environment[] = { NULL };

	pass_on(ctl, k->ctl);
	pass_on(reporting, report);
	pass_on(spec, k->spec);
	if (k->oom >= 0) {
		pass_on(oom, k->oom);
		argv[8] = "--oom-fd";
		argv[9] = oom;
	}
	use_null_for_standard_files();
	if (chdir("/") < 0 || drop_to_peer(peer, err) < 0)
		return -1;
	syscall(SYS_execveat, k->program, "", argv, environment, AT_EMPTY_PATH);
	return fail_errno(err, "spawn_failed", "drover-keeper cannot be executed");
}

static int run(struct helper *h, struct child *c, int report, struct error *err)
{
	struct launch l = { .h = h, .spec = c->request->list, .sandbox = c->sandbox, .peer = &c->peer };
	struct keeper k = { -1, -1, -1, -1, -1 };
	pid_t init;

	if (open_all(&l, &k, c->request, err) < 0)
		return -1;
	init = clone_init();
	if (init < 0)
		return fail_errno(err, "spawn_failed", "the namespaces cannot be made");
	if (init == 0) {
		die_with_launcher(&l, &k);
		namespaces_enter(&l, err);
		report_error(l.failed, err);
		_exit(1);
	}
	close_fd(&l.failed);
	close_fd(&l.ctl);
	if (wait_for_init(k.failed, err) < 0)
		return -1;
	return execute_keeper(&k, &c->peer, report, err);
}

int launch(struct helper *h, struct child *c, int report)
{
	struct error err;

	if (run(h, c, report, &err) < 0)
		report_error(report, &err);
	return -1;
}
