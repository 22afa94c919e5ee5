/** Files that hold secrets by their name: their content is kept nowhere. */

const SECRET_NAMES: readonly RegExp[] = [
  /^\.env(?:[.-].*)?$/,
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
