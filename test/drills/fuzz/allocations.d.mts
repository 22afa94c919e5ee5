/** Puts itself before what allocates bytes, in this thread; returns the undo. */
export function watchAllocations(): () => void;
