/** Milliseconds of the system's monotonic clock, the same in every process of this machine. */
export const now = (): number => {
  const [seconds, nanos] = process.hrtime()
  return seconds * 1_000 + nanos / 1_000_000
}
