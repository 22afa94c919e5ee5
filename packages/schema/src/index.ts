export * from './attributes.ts';
export * from './errors.ts';
export * from './key.ts';
export * from './segment.ts';
export * from './snapshot.ts';
