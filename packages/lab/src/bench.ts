import { fork } from "node:child_process"
import { once } from "node:events"
import { type Group, groupNames } from "./bench/group.js"
import { type Row, toJson, toTable } from "./bench/row.js"

const unknown = process.argv.slice(2).filter((argument) => argument !== "--json")
if (unknown.length > 0) {
  console.error(`bench: ${unknown.join(" ")} is no option; allowed is --json`)
  process.exit(2)
}

const rowsOf = async (group: Group): Promise<ReadonlyArray<Row>> => {
  const child = fork(new URL("./bench/group.js", import.meta.url), [group], { execArgv: ["--expose-gc"] })
  const failed = once(child, "exit").then(([code]) => {
    throw new Error(`the rows of ${group} were not measured: exit code ${code}`)
  })
  const [rows] = await Promise.race([once(child, "message"), failed])
  return rows
}

const rows: Array<Row> = []
for (const group of groupNames) rows.push(...(await rowsOf(group)))
console.log(process.argv.includes("--json") ? toJson(rows) : toTable(rows))
