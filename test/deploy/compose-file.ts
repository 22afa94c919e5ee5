/** The compose file as tests look at it: parsed, with its anchors merged. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { inRepository } from '../helpers/repository.ts';

/** A service, as far as the tests look at it. */
export interface ComposeService {
  image: string;
  build?: { context: string; dockerfile: string };
  command?: string[];
  entrypoint?: string[];
  user?: string;
  environment?: Record<string, string>;
  volumes?: string[];
  tmpfs?: string[];
  networks: string[];
  ports?: string[];
  profiles?: string[];
  healthcheck?: { test?: string[]; disable?: boolean };
  depends_on?: Record<string, { condition: string; required?: boolean }>;
}

/** The whole file. */
export interface ComposeFile {
  name: string;
  services: Record<string, ComposeService>;
  networks: Record<string, unknown>;
  volumes: Record<string, unknown>;
}

/** Text of a file under `deploy/`. */
export const deployText = (path: string): string => readFileSync(inRepository(`deploy/${path}`), 'utf8');

/** Reads `deploy/compose.yaml`. */
export function readCompose(): ComposeFile {
  return parse(deployText('compose.yaml'), { merge: true }) as ComposeFile;
}

/** A variable of the file: `${NAME}`, `${NAME:-default}` or `${NAME:?message}`. */
export interface Interpolation {
  name: string;
  fallback: string | undefined;
  required: boolean;
}

/** Every variable that a text of the compose file takes from its environment. */
export function interpolationsOf(text: string): Interpolation[] {
  return [...text.matchAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g)].map(([, name = '', operator, rest]) => ({
    name,
    fallback: operator === '-' ? rest : undefined,
    required: operator === '?',
  }));
}

/** The text with its variables filled in by their defaults and `values`. */
export function interpolate(text: string, values: Record<string, string> = {}): string {
  return text.replace(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_whole, name: string, rest: string | undefined) => {
    return values[name] ?? rest ?? '';
  });
}

/** `NAME=value` lines; commented ones too where `commented` is asked for. */
export function readEnvFile(text: string, commented = false): Record<string, string> {
  const pattern = commented ? /^#?([A-Z0-9_]+)=(.*)$/gm : /^([A-Z0-9_]+)=(.*)$/gm;
  return Object.fromEntries([...text.matchAll(pattern)].map(([, name, value]) => [name, value]));
}
