let last = 0

/** A number that no other lane of the process has. */
export const nextLaneId = (): number => ++last
