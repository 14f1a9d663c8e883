import { DroverError } from '@drover/core/client';
import { defineCommand } from '../define-command.ts';

export const command = defineCommand({
  examples: [['drover config show', 'Every key, its value, and the file or flag it comes from']],
  async run() {
    throw new DroverError('internal', 'not wired');
  },
});
