KEEPER = keeper.o keeper-spec.o keeper-port.o keeper-log.o keeper-exit.o keeper-init.o keeper-job0.o keeper-client.o keeper-ops.o keeper-exec.o \
	supervise.o init-kill.o channel.o records.o
INIT = init.o init-job.o init-kill.o channel.o records.o
