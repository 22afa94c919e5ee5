import type { Placement } from './placements.mjs';

export function startSecretsServer(placements: Placement[]): Promise<{ url: string; close(): void }>;
