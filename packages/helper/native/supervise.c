/*
 * drover-keeper supervise -- PROGRAM ARGS...: keeps one program running, in a session of its own.
 * It starts the program again after a crash, waits longer each time it crashes soon, and ends when the program exits 0 or with
 * DO_NOT_RESTART, or has crashed CRASHES_MAX times in a row. SIGTERM and SIGINT go to the program.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "keeper.h"

#define DO_NOT_RESTART 75
#define CRASHES_MAX 8
#define FIRST_WAIT_MS 100
#define LONGEST_WAIT_MS 10000
/* A run of this length was no failed start: the count begins anew. */
#define HEALTHY_MS 30000

static volatile sig_atomic_t child, told_to_end;

static void pass_on(int number)
{
	told_to_end = 1;
	if (child > 0)
		kill((pid_t)child, number);
}

static int run_once(char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid == 0) {
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		execv(argv[0], argv);
		_exit(127);
	}
	child = pid;
	if (told_to_end)
		kill(pid, SIGTERM);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	child = 0;
	return status;
}

static void wait_ms(unsigned ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

int supervise(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = pass_on };
	unsigned crashes = 0, wait = FIRST_WAIT_MS;

	if (argc < 2 || strcmp(argv[0], "--") != 0)
		return 2;
	setsid();
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	while (!told_to_end) {
		uint64_t begun = now_ms();
		int status = run_once(argv + 1);

		if (status < 0)
			return 1;
		if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == DO_NOT_RESTART || told_to_end))
			return WEXITSTATUS(status);
		if (now_ms() - begun >= HEALTHY_MS) {
			crashes = 0;
			wait = FIRST_WAIT_MS;
		}
		if (++crashes == CRASHES_MAX) {
			fprintf(stderr, "supervise: %s crashed %u times in a row; not started again\n", argv[1], crashes);
			return 1;
		}
		fprintf(stderr, "supervise: %s %s %d; started again in %u ms\n", argv[1], WIFSIGNALED(status) ? "was ended by signal" : "exited with",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), wait);
		wait_ms(wait);
		wait = wait * 2 > LONGEST_WAIT_MS ? LONGEST_WAIT_MS : wait * 2;
	}
	return 0;
}
