/** The first index below `length` for which a condition holds that, once true, stays so; `length` if there is none. */
export const firstWhere = (length: number, condition: (index: number) => boolean): number => {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (condition(middle)) high = middle
    else low = middle + 1
  }
  return low
}
