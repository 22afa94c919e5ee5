/** Files that hold secrets by their name, or by a name in them: their content is kept nowhere. */
import { isSecretEnvName } from '@orangebox/codec';

const SECRET_NAMES: readonly RegExp[] = [
  /^\.env(?:rc|[.-].*)?$/,
  /^\.dev\.vars(?:[.-].*)?$/,
  /\.tfvars(?:\.json)?$/,
  /^secrets\./,
  /(?:^|[._-])kubeconfig(?:[._-].*)?$/,
  /^database\.ya?ml$/,
  /\.env$/,
  /\.(?:pem|key|p12|pfx|p8|jks|keystore|kdbx|ppk|asc|gpg|tfstate)$/,
  /^id_[a-z0-9_]+$/,
  /(?:^|[._-])credentials?(?:[._-]|$)/,
  /(?:^|[._-])secrets?(?:[._-].*)?\.(?:json|ya?ml|toml|ini|txt|env)$/,
  /^\.?(?:npmrc|netrc|_netrc|pypirc|pgpass|git-credentials|htpasswd|dockercfg|yarnrc(?:\.yml)?|boto|my\.cnf)$/,
  /service[._-]?account.*\.json$/,
  /^(?:client_secret|token|tokens)(?:[._-].*)?\.(?:json|ya?ml|txt)$/,
];

/** Whether a path's last name says so. */
export function isSecretName(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return SECRET_NAMES.some((known) => known.test(name));
}

/** Larger files are not looked through for names. */
const MAX_SEARCHED_BYTES = 64 * 1024;
const MIN_VALUE_LENGTH = 8;
/** In these a value without quotes is an expression. */
const SOURCE_CODE = /\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|cs|php|swift|c|h|cc|cpp|hpp|scala|vue|svelte)$/i;
/** `NAME=value`, `export NAME=value`, `name: value`, alone on a line or within an object. */
const NAMED_VALUE =
  /(?:^|[{,])[ \t]*(?:-[ \t]+)?(?:export[ \t]+)?["']?([A-Za-z_][\w.-]{0,99})["']?[ \t]*[:=][ \t]*(?:"([^"\n]{1,200})|'([^'\n]{1,200})|([^\s"',;]{1,200}))/gm;
/** What stands for a value that is elsewhere. */
const REFERENCE = /^(?:\$|<|\{\{|%\w+%|process\.env\b|os\.(?:environ|getenv)\b)/;

/** Whether a small text gives a value to a name that is a secret's. */
export function holdsNamedSecret(path: string, bytes: Uint8Array): boolean {
  if (bytes.length > MAX_SEARCHED_BYTES || bytes.includes(0)) return false;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const isSource = SOURCE_CODE.test(path);
  for (const [, name = '', double, single, bare] of text.matchAll(NAMED_VALUE)) {
    if (!isSecretEnvName(name)) continue;
    const value = double ?? single ?? (isSource ? '' : (bare ?? ''));
    if (value.length >= MIN_VALUE_LENGTH && !REFERENCE.test(value)) return true;
  }
  return false;
}
