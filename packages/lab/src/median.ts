/** The middle value; the mean of the middle two of an even number; null if any is unknown. */
export const medianOf = (values: ReadonlyArray<number | null>): number | null => {
  const known = values.filter((value) => value !== null).sort((a, b) => a - b)
  if (known.length === 0 || known.length < values.length) return null
  const middle = (known.length - 1) / 2
  return (known[Math.floor(middle)]! + known[Math.ceil(middle)]!) / 2
}
