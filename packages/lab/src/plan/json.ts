/** JSON values by path. */

export const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const marks = /"(?:[^"\\]|\\.)*"|[{}[\],]/g

/** A value of which only the beginning is there, as far as it goes: cut after its last whole element, and closed. */
export const parseBeginning = (text: string): unknown => {
  let end = 0
  for (const { 0: mark, index } of text.matchAll(marks)) {
    if (mark === ",") end = index
    else if (mark === "}" || mark === "]") end = index + 1
  }
  const whole = text.slice(0, end)
  const open: Array<string> = []
  for (const [mark] of whole.matchAll(marks)) {
    if (mark === "{" || mark === "[") open.push(mark === "{" ? "}" : "]")
    else if (mark === "}" || mark === "]") open.pop()
  }
  return parse(whole + open.reverse().join(""))
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What stands under a name, or under a path of names with dots between; undefined if nothing does. */
export const at = (value: unknown, path: string): unknown => {
  if (typeof value !== "object" || value === null) return undefined
  const own = (value as Readonly<Record<string, unknown>>)[path]
  if (own !== undefined) return own
  const dot = path.indexOf(".")
  return dot === -1
    ? undefined
    : at((value as Readonly<Record<string, unknown>>)[path.slice(0, dot)], path.slice(dot + 1))
}

/** The first of these paths under which something stands. */
export const firstAt = (value: unknown, paths: ReadonlyArray<string>): unknown => {
  for (const path of paths) {
    const found = at(value, path)
    if (found !== undefined && found !== null) return found
  }
  return undefined
}

/** The paths that lead to a number, or to text that begins like one, through objects and the first element of arrays. */
export const numericPaths = (value: unknown, prefix = "", depth = 0): ReadonlyArray<string> => {
  if (depth > 8) return []
  if (typeof value === "number" || (typeof value === "string" && /^\s*[\d.]/.test(value))) return [prefix]
  if (Array.isArray(value)) return numericPaths(value[0], prefix, depth + 1)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    numericPaths(inner, prefix === "" ? name : `${prefix}.${name}`, depth + 1)
  )
}
