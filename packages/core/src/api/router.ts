import { initTRPC, type TRPCError } from '@trpc/server';
import * as z from 'zod';
import { DroverError } from '../shared/errors.ts';
import * as c from './contract.ts';
import type { EngineApi } from './engine-api.ts';
import { toWireError, type WireError } from './wire-error.ts';

/** What the engine implements: the API without the connection. */
export type EngineService = Omit<EngineApi, 'close'>;

/** Every connection has it: aborts when the server closes. */
export interface RouterContext {
  closing: AbortSignal;
}

/** The router that serves `service` to the typed client. Errors keep code, message, hint and issues. */
export function createRouter(service: EngineService) {
  const t = initTRPC.context<RouterContext>().create({
    isDev: false,
    errorFormatter: ({ shape, error }) => ({ ...shape, data: { ...shape.data, drover: describe(error) } }),
  });
  const call = t.procedure;
  return t.router({
    info: call.output(c.engineInfo).query(() => service.info()),
    shutdown: call.input(z.strictObject({ force: z.boolean() })).mutation(({ input }) => service.shutdown(input)),
    submitPlan: call
      .input(c.planSubmit)
      .output(c.submitted)
      .mutation(({ input }) => service.submitPlan(input)),
    spawnTask: call
      .input(c.taskSpawn)
      .output(c.submitted)
      .mutation(({ input }) => service.spawnTask(input)),
    status: call
      .input(c.fleetQuery)
      .output(c.fleetStatus)
      .query(({ input }) => service.status(input)),
    task: call
      .input(z.strictObject({ ref: c.taskRef }))
      .output(c.taskDetail)
      .query(({ input }) => service.task(input)),
    stop: call.input(c.stopInput).mutation(({ input }) => service.stop(input)),
    remove: call.input(c.removeInput).mutation(({ input }) => service.remove(input)),
    diff: call
      .input(c.diffInput)
      .output(c.diffResult)
      .query(({ input }) => service.diff(input)),
    logs: call
      .input(z.strictObject({ ref: c.taskRef, attempt: z.number().int().min(1).optional() }))
      .output(c.logPlace)
      .query(({ input }) => service.logs(input)),
    events: call
      .input(z.strictObject({ sinceSeq: z.number().int().min(0), plan: z.string().optional() }))
      .subscription(async function* ({ input, ctx, signal }) {
        const ended = signal ? AbortSignal.any([signal, ctx.closing]) : ctx.closing;
        yield* service.events(input, ended);
      }),
  });
}

export type EngineRouter = ReturnType<typeof createRouter>;

function describe(error: TRPCError): WireError {
  if (error.code === 'NOT_FOUND' && !error.cause) {
    return toWireError(new DroverError('bad_request', error.message, 'Client and engine are of different builds.'));
  }
  if (error.code === 'BAD_REQUEST' && error.cause instanceof z.ZodError) return toWireError(badRequest(error.cause));
  return toWireError(error.cause ?? error);
}

function badRequest(error: z.ZodError): DroverError {
  const issues = error.issues.map((issue) => ({ key: issue.path.join('.'), message: issue.message }));
  const first = issues[0];
  const message = first ? `${first.key || 'request'}: ${first.message}` : 'the request is not valid';
  return Object.assign(new DroverError('bad_request', message), { issues });
}
