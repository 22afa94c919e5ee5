/** Folders that something besides development needs, as the lock says: where they are here, and where they go. */
export function runtimeFolders(lock: object): { source: string; target: string; link: boolean }[];
/** Writes the tree and gives how many packages it has. */
export function layOut(directory: string): number;
