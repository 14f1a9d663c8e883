KEEPER = keeper.o keeper-spec.o keeper-log.o keeper-exit.o keeper-init.o keeper-serve.o keeper-exec.o supervise.o init-kill.o channel.o records.o
INIT = init.o init-job.o init-kill.o channel.o records.o
