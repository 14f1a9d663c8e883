import { DroverError, type LogPlace } from '@drover/core/client';

export interface LogSource {
  /** Shown above it when there is more than one. */
  title: string;
  path: string;
  /** The agent's own output, which the keeper can follow and an adapter may render. */
  isStdout: boolean;
}

export interface SourceChoice {
  stderr?: boolean;
  setup?: boolean;
  verify?: boolean;
}

/** Which files to show: the agent's stdout, or what flags ask for. */
export function chooseSources(place: LogPlace, choice: SourceChoice): LogSource[] {
  if (choice.setup || choice.verify) {
    const kinds = [choice.setup && 'setup', choice.verify && 'verify'].filter((k) => k !== undefined && k !== false);
    const found = place.exec.filter((e) => kinds.some((kind) => e.name === kind || e.name.startsWith(`${kind}-`)));
    if (found.length > 0) return found.map((e) => ({ title: e.name, path: e.path, isStdout: false }));
    throw new DroverError('no_log', `No ${kinds.join(' or ')} command has run in this attempt.`);
  }
  if (choice.stderr) {
    if (place.stderr) return [{ title: 'stderr', path: place.stderr, isStdout: false }];
    throw new DroverError('no_log', 'This agent writes both streams into one.', 'Without --stderr it shows them.');
  }
  return [{ title: 'stdout', path: place.stdout, isStdout: true }];
}
