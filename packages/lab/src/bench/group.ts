import { calls } from "./calls.js"
import { http } from "./http.js"
import { lanes } from "./lanes.js"
import { learning } from "./learning.js"
import { memory } from "./memory.js"

/** Rows that are measured in one process, and in no other: what one group has made of the heap and of compiled code is not another's. */
const groups = { calls, learning, memory, http, lanes }

export type Group = keyof typeof groups

export const groupNames = Object.keys(groups) as ReadonlyArray<Group>

const [name] = process.argv.slice(2)

if (process.send !== undefined && name !== undefined) {
  process.send(await groups[name as Group]())
  process.disconnect()
}
