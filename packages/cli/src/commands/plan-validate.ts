import { DroverError } from '@drover/core/client';
import { defineCommand } from '../define-command.ts';

export const command = defineCommand({
  examples: [['drover plan validate tasks.yaml', 'Every error with file, line and key']],
  async run() {
    throw new DroverError('internal', 'not wired');
  },
});
