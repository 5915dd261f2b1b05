/** Conditions on a row: `status=200`, `verb!=WATCH`, `path~^/api`, `size>1000`. */
import type { Row } from "./format.js"

type Operator = "=" | "!=" | "~" | "!~" | "<" | "<=" | ">" | ">="

export interface Condition {
  readonly text: string
  readonly field: string
  readonly holds: (value: unknown) => boolean
}

export const allowed =
  "must be FIELD, one of = != ~ !~ < <= > >=, and a value (a pattern after ~), status=200 for example"

/** Undefined for what is no condition. */
export const parse = (text: string): Condition | undefined => {
  const [, field = "", operator, value = ""] = /^([^=!~<>]+)(!=|!~|<=|>=|=|~|<|>)(.*)$/s.exec(text) ?? []
  if (operator === undefined) return undefined
  const test = comparison(operator as Operator, value.trim())
  return test === undefined ? undefined : { text, field: field.trim(), holds: test }
}

const comparison = (operator: Operator, value: string): Condition["holds"] | undefined => {
  switch (operator) {
    case "=":
      return (found) => textOf(found) === value
    case "!=":
      return (found) => textOf(found) !== value
    case "~":
    case "!~": {
      const pattern = compile(value)
      return pattern && ((found) => pattern.test(textOf(found)) === (operator === "~"))
    }
    default: {
      const bound = Number(value)
      if (value === "" || Number.isNaN(bound)) return undefined
      return (found) => compare(Number(textOf(found) || Number.NaN), operator, bound)
    }
  }
}

const compare = (found: number, operator: Operator, bound: number): boolean => {
  switch (operator) {
    case "<":
      return found < bound
    case "<=":
      return found <= bound
    case ">":
      return found > bound
    default:
      return found >= bound
  }
}

const compile = (pattern: string): RegExp | undefined => {
  try {
    return new RegExp(pattern)
  } catch {
    return undefined
  }
}

/** A value as it is compared and shown; nothing is the empty text. */
export const textOf = (value: unknown): string =>
  value === undefined || value === null
    ? ""
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value)

export const allHold = (conditions: ReadonlyArray<Condition>, row: Row): boolean =>
  conditions.every(({ field, holds }) => holds(row.field(field)))
