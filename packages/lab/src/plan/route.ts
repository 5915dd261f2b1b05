/** Routes from addresses: what differs from call to call is taken out, so that calls of one kind come together. */

/** Addresses are few and repeat themselves; beyond this many they are worked out each time. */
const mostKept = 10_000
const kept = new Map<string, string>()

/** `/users/42?page=2` is `/users/:id`. */
export const routeOf = (address: string): string => {
  const known = kept.get(address)
  if (known !== undefined) return known
  const route = normalise(address)
  if (kept.size < mostKept) kept.set(copyOf(address), copyOf(route))
  return route
}

const normalise = (address: string): string =>
  address
    .replace(/[?#].*$/s, "")
    .replace(/^[a-z]+:\/\/([^/]*)/i, "$1")
    .split("/")
    .map((part) => (isIdentifier(part) ? ":id" : part))
    .join("/")

const isIdentifier = (part: string): boolean =>
  /^\d+$/.test(part) ||
  /^[\da-f]{8}-[\da-f-]{27,}$/i.test(part) ||
  (part.length >= 16 && /\d/.test(part) && /^[\w-]+$/.test(part))

/** A text of its own: a part of a line that has been read keeps the line's whole chunk in memory. */
export const copyOf = (text: string): string => Buffer.from(text).toString()
