/** What is wrong with a command line, in the one form that all errors have. */
import type { Command, CommanderError } from 'commander';
import { usage } from './parse-options.ts';
import { nearest } from './suggest.ts';
import { escapeLine } from './text/escape.ts';

/** The error of a word that is no command, with what was probably meant. */
export function unknownCommand(word: string, program: Command): Error {
  const names = program.commands.map((command) => command.name());
  const near = nearest(word, names);
  const hint = near === undefined ? 'orangebox --help lists the commands' : `did you mean orangebox ${near}?`;
  return usage(`there is no command "${escapeLine(word)}"`, hint);
}

/** Refuses `--context prod purge`: a place named before a command that reads from none would be passed over in silence. */
export function refuseStray(command: Command, program: Command): void {
  if (command === program) return;
  const takes = new Set(command.options.map((option) => option.attributeName()));
  // The store of `archive` is where it writes to, and typed after it.
  const reads = takes.has('source') ? ['source', 'store', 'context'] : takes.has('context') ? ['context'] : [];
  const given: { [name: string]: unknown } = program.opts();
  const stray = ['source', 'store', 'context'].find((name) => given[name] !== undefined && !reads.includes(name));
  if (stray === undefined) return;
  throw usage(
    `--${stray} stands before ${command.name()}, which does not read from there`,
    `orangebox ${command.name()} --help shows what it takes`,
  );
}

/** What commander found wrong, in the one form that all errors have. */
export function usageError(error: CommanderError, argv: readonly string[], program: Command): Error {
  // What commander calls an error here is `help` with a word that is no command.
  if (error.code === 'commander.help' && argv.includes('help'))
    return unknownCommand(argv[argv.indexOf('help') + 1] ?? '', program);
  if (error.code === 'commander.help')
    return usage('bucket takes one word more', 'orangebox bucket init s3://bucket/prefix');
  const [first = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const command = program.commands.find((c) => c.name() === argv.find((word) => !word.startsWith('-')));
  const help = command === undefined ? 'orangebox --help' : `orangebox ${command.name()} --help`;
  const mean = /Did you mean (.*)\?/.exec(suggestion ?? '')?.[1];
  return usage(first, mean === undefined ? `${help} shows what it takes` : `did you mean ${mean}?`);
}
