/** Version of this package, for instrumentation scopes. A test compares it with package.json. */
export const recorderVersion = '0.1.0';
